/** The exceptions of `npm run test:on` name files and tests that exist. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { FILES, TESTS } from '../scripts/test-on-exceptions.mjs'

const paths = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .map((path) => join('test', path))
// A test file may import its tests, or their names.
const texts = paths
  .filter((path) => path !== join('test', 'test-on-exceptions.test.ts'))
  .map((path) => readFileSync(path, 'utf8'))

test.each(FILES)('$files is the beginning of a test file', ({ files }) => {
  expect(paths.some((path) => path.startsWith(join(files)) && path.endsWith('.test.ts'))).toBe(true)
})

test.each(TESTS)('$file exists, and so do tests named $test', ({ file, test: names }) => {
  expect(paths).toContain(join(file))
  for (const name of names.source.split('|')) expect(texts.some((text) => new RegExp(name).test(text))).toBe(true)
})
