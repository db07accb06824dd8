/** The core's tests link the core that the addon's build compiled only if it is up to date. */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { scratchDir } from './fixtures/scratch.js'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const ARCHIVE = 'build/Release/obj.target/durlog_core.a'
const SCRIPT = "import('./scripts/native-program.mjs').then(({ builtCore }) => console.log(builtCore()))"
const NOW = Date.now() / 1000
const LATER = NOW + 1000

test.skipIf(process.platform === 'win32')('an archive of the core that is older than a source is not linked', () => {
  const dir = scratchDir()
  for (const name of ['src-native', 'binding.gyp']) cpSync(join(ROOT, name), join(dir, name), { recursive: true })
  symlinkSync(join(ROOT, 'scripts'), join(dir, 'scripts'))
  const { CXX: _, ...env } = process.env
  const found = (more = {}): string =>
    execFileSync(process.execPath, ['-e', SCRIPT], { cwd: dir, env: { ...env, ...more }, encoding: 'utf8' }).trim()
  const put = (name: string, second: number): void => utimesSync(join(dir, name), second, second)

  expect(found()).toBe('undefined')
  mkdirSync(join(dir, 'build/Release/obj.target'), { recursive: true })
  writeFileSync(join(dir, ARCHIVE), '')
  put(ARCHIVE, NOW + 500)
  expect(found()).toBe(ARCHIVE)
  expect(found({ CXX: 'clang++' })).toBe('undefined')
  for (const name of ['binding.gyp', 'src-native/base/status.h', 'src-native/base/status.cc']) {
    put(name, LATER)
    expect(found(), name).toBe('undefined')
    put(name, NOW)
  }
  put('src-native/napi/addon.cc', LATER)
  expect(found()).toBe(ARCHIVE)
})
