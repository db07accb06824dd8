import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
// @ts-expect-error: a script without types
import { DOCUMENTS, withTables } from '../scripts/published-tables.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const read = (path: string): string => readFileSync(`${root}${path}`, 'utf8')
const results: unknown = JSON.parse(read('bench/results.json'))

test.each(DOCUMENTS as string[])('every figure of %s is the one in bench/results.json', (document) => {
  const text = read(document)
  expect(text).toContain('<!-- figures: ')
  expect(withTables(text, results)).toBe(text)
})

test('a table whose figures differ from the results is found', () => {
  const text = read('README.md')
  const changed = text.replace(/(<!-- figures: readme-peers -->[\s\S]*?\| durlog \| █+ \| )[\d.,]+/, '$10.001')
  expect(changed).not.toBe(text)
  expect(withTables(changed, results)).toBe(text)
})
