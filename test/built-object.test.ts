/** The programs with the core's tests link objects of the addon's build only if these are up to date. */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { scratchDir } from './fixtures/scratch.js'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const BATCH = 'build/batches/base.cc'
const OBJECT = 'build/Release/obj.target/durlog_core/build/batches/base.o'
const OLD = 1000
const NEW = 2000
/** Sets the time of each file in turn, asks, and sets it back. */
const SCRIPT = `
  import { utimesSync } from 'node:fs'
  import { builtObject } from './scripts/native-program.mjs'
  const ask = (name) => {
    utimesSync(name, ${NEW}, ${NEW})
    const object = builtObject('${BATCH}')
    utimesSync(name, ${OLD}, ${OLD})
    return [name, object ?? 'none']
  }
  const names = JSON.parse(process.argv[1])
  for (const name of names) utimesSync(name, ${OLD}, ${OLD})
  const answers = names.map(ask)
  utimesSync('${OBJECT}', ${NEW}, ${NEW})
  process.env.CXX = 'clang++'
  console.log(JSON.stringify([...answers, ['CXX', builtObject('${BATCH}') ?? 'none']]))`

test.skipIf(process.platform === 'win32')('an object that is older than a file it was made from is not linked', () => {
  const dir = scratchDir()
  for (const name of ['src-native', 'binding.gyp']) cpSync(join(ROOT, name), join(dir, name), { recursive: true })
  symlinkSync(join(ROOT, 'scripts'), join(dir, 'scripts'))
  for (const name of [BATCH, OBJECT]) mkdirSync(dirname(join(dir, name)), { recursive: true })
  writeFileSync(join(dir, BATCH), '#include "../../src-native/base/status.cc"\n')
  writeFileSync(join(dir, OBJECT), '')
  const { CXX: _, ...env } = process.env
  const sources = [BATCH, 'binding.gyp', 'src-native/base/status.h', 'src-native/base/status.cc']
  const names = JSON.stringify([OBJECT, ...sources])
  const printed = execFileSync(process.execPath, ['--input-type=module', '-e', SCRIPT, names], { cwd: dir, env })
  expect(JSON.parse(printed.toString())).toEqual([
    [OBJECT, OBJECT],
    ...sources.map((name) => [name, 'none']),
    ['CXX', 'none'],
  ])
})
