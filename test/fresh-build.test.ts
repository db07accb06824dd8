import { mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isStale } from './fixtures/fresh-build.js'
import { scratchDir } from './fixtures/scratch.js'

test('a build is stale if a source is newer than it, or if it is missing', () => {
  const dir = scratchDir()
  const sources = [join(dir, 'src')]
  const built = join(dir, 'built.js')
  mkdirSync(join(dir, 'src', 'log'), { recursive: true })
  mkdirSync(join(dir, 'src', 'dist'))
  const put = (path: string, second: number): void => {
    writeFileSync(path, '')
    utimesSync(path, second, second)
  }
  put(join(dir, 'src', 'log', 'a.ts'), 1000)
  expect(isStale({ sources, built })).toBe(true)
  put(built, 2000)
  expect(isStale({ sources, built })).toBe(false)
  put(join(dir, 'src', 'dist', 'a.ts'), 3000)
  put(join(dir, 'src', 'notes.txt'), 3000)
  expect(isStale({ sources, built })).toBe(false)
  put(join(dir, 'src', 'log', 'a.ts'), 3000)
  expect(isStale({ sources, built })).toBe(true)
})
