// Runs the tests for another system on this machine: under qemu or Wine, or with musl.
//
//   npm run test:on -- linux-arm64 [part of a file's name ...]
//   npm run test:windows             the same as test:on -- win32-x64
//
// The core's tests are cross-compiled. The addon is the binary in prebuilds/, which is rebuilt if its sources have
// changed. The plain runner runs each vitest file in a separate process. If this machine cannot run the system, the
// tests are skipped and the reason is printed. Prints a table in the format of docs/TESTING.md; fails if a test fails.
import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { argv, chdir, exit } from 'node:process'
import { fileURLToPath } from 'node:url'
import { buildCoreTests } from './core-tests.mjs'
import { hostOf, runOn } from './prebuilds/hosts.mjs'
import { isOfTheseSources } from './prebuilds/sources.mjs'
import { chooseTargets } from './prebuilds/targets.mjs'
import { installZig, zig } from './prebuilds/zig.mjs'
import { notFor, notOn, settingsOn } from './test-on-exceptions.mjs'

/** The timeouts of a test file and of the core's tests. Under emulation, each takes many times as long as natively. */
const TIMEOUT_MS = 1_800_000
const RUNNER = ['--import', './scripts/plain-runner/resolve.mjs', 'scripts/plain-runner/main.mjs']
const GTEST_RESULT = /^\[ {2}(?: {5}(OK)|(SKIPPED)|(FAILED) ) \] (\S+) \(\d+ ms\)/gm
const GYP_SYSTEMS = { linux: 'linux', win: 'windows' }

function coreTestsFor(target) {
  const system = GYP_SYSTEMS[target.system]
  const triple = ['-target', target.triple]
  return buildCoreTests(`build/core-tests-${target.name}.exe`, {
    flags: [...triple, '-fno-sanitize=undefined', ...(system === 'windows' ? ['-DNOMINMAX'] : [])],
    link: triple,
    system,
    processor: target.arch,
    compiler: { name: `zig ${target.triple}`, run: (args) => zig(['c++', ...args]) },
  })
}

const endedBy = (text) => ({ name: '(the process)', state: 'fail', note: text.slice(-4000) })

/** The results of the tests, as { name, state, note }. */
async function runCoreTests(target, host) {
  const program = await coreTestsFor(target)
  const { passed, text } = runOn({ ...host, command: host.emulator }, [resolve(program)], {}, TIMEOUT_MS)
  const tests = [...text.matchAll(GTEST_RESULT)].map(([, ok, skipped, , name]) => {
    const state = ok ? 'pass' : skipped ? 'skip' : 'fail'
    return { name, state, note: state === 'fail' ? text.slice(text.indexOf(name)).slice(0, 2000) : '' }
  })
  if (!passed && !tests.some(({ state }) => state === 'fail')) tests.push(endedBy(text))
  return tests
}

function runFile(target, host, file) {
  const binary = (host.path ?? ((path) => path))(resolve('prebuilds', target.name, 'durlog.node'))
  const env = { ...settingsOn(target), DURLOG_BINARY: binary, NODE_NO_WARNINGS: '1' }
  const { passed, text } = runOn(host, [...RUNNER, file], env, TIMEOUT_MS)
  const tests = text
    .split('\n')
    .filter((line) => line.startsWith('{"name":'))
    .map((line) => JSON.parse(line))
  if (!passed && !tests.some(({ state }) => state === 'fail')) tests.push(endedBy(text))
  return tests.map((test) => {
    const reason = notOn(target, file, test.name)
    return reason !== undefined && test.state === 'fail' ? { ...test, state: 'skip', note: reason } : test
  })
}

const count = (tests, state) => tests.filter((test) => test.state === state).length

function printRow(name, tests, seconds) {
  const notes = [...new Set(tests.filter(({ state, note }) => state === 'skip' && note).map(({ note }) => note))]
  const numbers = ['pass', 'skip', 'fail'].map((state) => count(tests, state))
  console.log(`| \`${name}\` | ${numbers.join(' | ')} | ${seconds} | ${notes.join('; ')} |`)
  for (const { name: test, note } of tests.filter(({ state }) => state === 'fail')) {
    console.error(`FAILED: ${test}\n${note}\n`)
  }
}

function prepare(target) {
  installZig()
  if (!isOfTheseSources(target)) {
    execFileSync(process.execPath, ['scripts/prebuilds/build.mjs', target.name], { stdio: 'inherit' })
  }
  execFileSync('npm', ['run', '-s', 'build:ts'], { stdio: 'inherit' })
}

async function main([name, ...parts]) {
  const [target] = chooseTargets([name])
  const host = hostOf(target)
  if (host.skip !== undefined) {
    console.log(`tests on ${name}: skipped, ${host.skip}`)
    return 0
  }
  prepare(target)
  const wanted = (file) => parts.length === 0 || parts.some((part) => file.includes(part))
  let failed = 0
  const run = async (file, action) => {
    const began = Date.now()
    const tests = await action()
    printRow(file, tests, Math.round((Date.now() - began) / 1000))
    failed += count(tests, 'fail')
  }
  console.log('| tests | passed | skipped | failed | s | skipped because |\n|---|---:|---:|---:|---:|---|')
  if (wanted('test/core')) await run('test/core', () => runCoreTests(target, host))
  const files = readdirSync('test', { recursive: true }).filter((path) => path.endsWith('.test.ts'))
  for (const file of files.sort().map((path) => `test/${path}`)) {
    if (!wanted(file)) continue
    const reason = notFor(target, file)
    if (reason === undefined) await run(file, () => runFile(target, host, file))
    else console.log(`| \`${file}\` | | all | | | ${reason} |`)
  }
  return failed === 0 ? 0 : 1
}

chdir(fileURLToPath(new URL('..', import.meta.url)))
exit(await main(argv.slice(2)))
