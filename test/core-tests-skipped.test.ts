/** The core's tests on a machine without GoogleTest. */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { scratchDir } from './fixtures/scratch.js'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** Hides an installed GoogleTest from the script. */
const HIDE = `
const fs = require('node:fs')
const { existsSync } = fs
fs.existsSync = (path) => !String(path).includes('googletest') && existsSync(path)
require('node:module').syncBuiltinESMExports()
`

test.skipIf(process.platform === 'win32').each([
  ['are skipped with the reason and the remedy', {}, 0, 'core tests: SKIPPED, none ran: '],
  ['fail if CI requires them', { DURLOG_REQUIRE_CORE_TESTS: '1' }, 1, 'core tests: FAILED: '],
])('without GoogleTest the tests of the core %s', (_what, required, status, begin) => {
  const dir = scratchDir()
  const preload = join(dir, 'hide.cjs')
  writeFileSync(preload, HIDE)
  // No apt-get on the path, and nothing downloaded before.
  const env = { ...required, PATH: dir, HOME: dir, DURLOG_CACHE: dir }
  const args = ['--require', preload, 'scripts/test-core.mjs']
  const run = spawnSync(process.execPath, args, { cwd: ROOT, env, encoding: 'utf8' })
  expect(run.stdout).toMatch(new RegExp(`^${begin}GoogleTest is not installed`))
  expect(run.stdout).toContain('install libgtest-dev')
  expect(run.status).toBe(status)
})
