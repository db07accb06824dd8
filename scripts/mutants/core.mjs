// Mutants of the C++ core: each mutant is compiled into the test programs of its folder, which are then run.
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { chdir } from 'node:process'
import { buildCoreTests } from '../core-tests.mjs'
import { UNOPTIMIZED } from '../native-program.mjs'

/**
 * For each folder of the core: the folders of test/core to run first, and the ones to run if all of those tests pass.
 */
const TESTS = [
  ['src-native/checksum/', ['checksum'], ['record', 'segment']],
  ['src-native/json/', ['json']],
  ['src-native/record/', ['record'], ['segment', 'recovery', 'inspect']],
  ['src-native/segment/', ['segment'], ['recovery', 'log', 'read']],
  ['src-native/recovery/', ['recovery'], ['log', 'inspect', 'shared']],
  ['src-native/live/', ['live'], ['log']],
  ['src-native/cursor/', ['cursor'], ['retention', 'log']],
  ['src-native/read/', ['read'], ['inspect', 'log', 'shared']],
  ['src-native/inspect/', ['inspect'], ['recovery']],
  ['src-native/retention/', ['retention'], ['log']],
  ['src-native/streams/', ['streams']],
  ['src-native/write/', ['write'], ['log', 'shared']],
  ['src-native/log/', ['log'], ['retention', 'live', 'read']],
  ['src-native/shared/', ['shared'], ['log']],
]
/** A mutant that makes a test run longer than this counts as noticed. */
const TEST_TIMEOUT_MS = 120_000

export function coreTestsOf(file) {
  return TESTS.find(([prefix]) => file.startsWith(prefix))?.slice(1)
}

/** Copies the sources to `dir`. The copy has its own build folder. */
export function copyCore(root, dir) {
  for (const name of ['src-native', 'test/core', 'scripts', 'package.json', 'binding.gyp'])
    cpSync(join(root, name), join(dir, name), { recursive: true })
  mkdirSync(join(dir, 'build'))
  symlinkSync(join(root, 'node_modules'), join(dir, 'node_modules'))
}

function passes(program) {
  return new Promise((resolve) => {
    const options = { timeout: TEST_TIMEOUT_MS, killSignal: 'SIGKILL', maxBuffer: 1 << 26 }
    execFile(program, ['--gtest_brief=1', '--gtest_fail_fast'], options, (error) => resolve(error === null))
  })
}

/**
 * Runs the tests on the current sources: 'noticed' if one fails, 'survived' if all pass, 'invalid' if a compilation
 * fails.
 */
async function judge(groups) {
  for (const folders of groups) {
    const program = await buildCoreTests(`build/mutant-${folders.join('-')}`, { folders, flags: [UNOPTIMIZED] }).catch(
      () => undefined,
    )
    if (program === undefined) return 'invalid'
    if (!(await passes(`./${program}`))) return 'noticed'
  }
  return 'survived'
}

/**
 * Tries `mutants` in order until the time `end` (ms, performance.now()), and calls `report` with each and its result.
 */
export async function tryCoreMutants(root, dir, mutants, end, report) {
  copyCore(root, dir)
  chdir(dir)
  const checked = new Set()
  for (const mutant of mutants) {
    if (performance.now() > end) return
    const groups = coreTestsOf(mutant.file)
    if (!checked.has(groups[0].join())) {
      const result = await judge([groups[0]])
      if (result !== 'survived') throw new Error(`the tests ${groups[0].join()} without a change: ${result}`)
      checked.add(groups[0].join())
    }
    const original = readFileSync(mutant.file, 'utf8')
    const lines = original.split('\n')
    lines[mutant.line] = mutant.changed
    writeFileSync(mutant.file, lines.join('\n'))
    report(mutant, await judge(groups))
    writeFileSync(mutant.file, original)
  }
}
