// npm run test:mutants: makes one change to src/ at a time, and reports the changes that no test notices.
// --count N (default 200), --seed N, --minutes N: a limit for the whole run, --only PREFIX: only files below it, such
// as src/ship, --list: only print the changes. --only src-native/segment changes the C++ core, whose tests are built
// again for each change.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { coreTestsOf, tryCoreMutants } from './core.mjs'
import { mutantsOf } from './operators.mjs'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** A mutant that makes a test run longer than this counts as noticed. */
const TEST_TIMEOUT_MS = 30_000
const MUTANT_TIMEOUT_MS = 240_000

/** For each folder: the quick tests, which need no server, and the tests that run only if all quick ones pass. */
const TESTS = [
  ['src/support/restore-folder.ts', ['jetstream-restore-folder'], ['jetstream-restore']],
  ['src/jetstream/restore', ['ship-void'], ['jetstream-restore', 'jetstream-failover', 'jetstream-refused']],
  ['src/jetstream/stream-seqs.ts', ['ship-void'], ['jetstream-restore', 'jetstream-refused']],
  ['src/jetstream/assembler.ts', ['ship-void'], ['jetstream-restore', 'jetstream-refused']],
  [
    'src/jetstream/',
    ['jetstream-flow-control'],
    ['jetstream', 'jetstream-refused', 'jetstream-truth', 'jetstream-failover'],
  ],
  ['src/ship/', ['ship-limits', 'ship-void'], ['jetstream-truth', 'jetstream', 'jetstream-failover']],
  ['src/cursor/', ['cursors'], ['ship-void']],
  [
    'src/log/',
    ['log', 'waiters', 'call-queue'],
    ['batch', 'rotate', 'trim', 'truncation', 'retention', 'streams', 'metrics'],
  ],
]
/** Files that contain only types, and files that only the published package loads. */
const NOT_MUTATED = ['types.ts', 'index.ts', 'peers.ts']

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '200' },
    seed: { type: 'string', default: '1' },
    minutes: { type: 'string', default: '60' },
    only: { type: 'string', default: '' },
    list: { type: 'boolean', default: false },
    // The next two are for the child process only.
    in: { type: 'string' },
    begin: { type: 'string', default: '0' },
  },
})

/** A pseudo-random number generator (mulberry32): the same seed gives the same order. */
function randomFrom(seed) {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}

const isCore = values.only.startsWith('src-native')

function testsOf(file) {
  return isCore ? coreTestsOf(file) : TESTS.find(([prefix]) => file.startsWith(prefix))?.slice(1)
}

function allMutants() {
  const [root, ending] = isCore ? ['src-native', '.cc'] : ['src', '.ts']
  const files = readdirSync(join(ROOT, root), { recursive: true, encoding: 'utf8' })
    .map((name) => join(root, name))
    .filter((file) => file.endsWith(ending) && !NOT_MUTATED.some((name) => file.endsWith(`/${name}`)))
    .filter((file) => file.startsWith(values.only) && testsOf(file) !== undefined)
  const random = randomFrom(Number(values.seed))
  return files
    .sort()
    .flatMap((file) => mutantsOf(file, readFileSync(join(ROOT, file), 'utf8')))
    .map((mutant) => ({ mutant, rank: random() }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ mutant }) => mutant)
    .slice(0, Number(values.count))
}

/** Copies the files that the tests need, so that the working tree is not changed. */
function copyTree(dir) {
  for (const name of ['src', 'test', 'scripts', 'bench', 'dist', 'docs', 'package.json', 'tsconfig.json'])
    cpSync(join(ROOT, name), join(dir, name), { recursive: true })
  for (const name of ['node_modules', 'build']) symlinkSync(join(ROOT, name), join(dir, name))
  const config = readFileSync(join(ROOT, 'vitest.config.ts'), 'utf8')
  // Only src/ is changed: nothing is built again.
  writeFileSync(join(dir, 'vitest.config.ts'), config.replace(/.*globalSetup.*\n/, ''))
}

/**
 * Tries mutants in order, starting with `begin`, in one instance of vitest. Sends each result to the parent process.
 */
async function tryMutants(dir, mutants, begin) {
  const { createVitest } = await import('vitest/node')
  const options = { root: dir, watch: true, bail: 1, reporters: [{}], testTimeout: TEST_TIMEOUT_MS }
  const vitest = await createVitest('test', options)
  const checked = new Set()
  for (let i = begin; i < mutants.length; i++) {
    const groups = testsOf(mutants[i].file)
    if (!checked.has(groups.join()) && (await isNoticed(vitest, groups)))
      throw new Error(`${groups} fail without a change`)
    checked.add(groups.join())
    const { file, line, changed } = mutants[i]
    const path = join(dir, file)
    const original = readFileSync(join(ROOT, file), 'utf8')
    const lines = original.split('\n')
    lines[line] = changed
    writeFileSync(path, lines.join('\n'))
    vitest.invalidateFile(path)
    const noticed = await isNoticed(vitest, groups)
    writeFileSync(path, original)
    vitest.invalidateFile(path)
    process.send({ index: i, noticed })
  }
  await vitest.close()
}

async function isNoticed(vitest, groups) {
  for (const names of groups) {
    const specifications = await vitest.globTestSpecifications(names.map((name) => `/${name}.test.ts`))
    if (specifications.length === 0) throw new Error(`there are no tests ${names.join(', ')}`)
    const { testModules, unhandledErrors } = await vitest.runTestSpecifications(specifications, false)
    if (unhandledErrors.length > 0 || testModules.some((module) => !module.ok())) return true
  }
  return false
}

/** A mutant that hangs counts as noticed: its process group is killed, and a new process tries the next mutants. */
async function run(dir, mutants) {
  const end = performance.now() + Number(values.minutes) * 60_000
  const results = []
  while (results.length < mutants.length && performance.now() < end) {
    const args = [...process.argv.slice(2), '--in', dir, '--begin', String(results.length)]
    const child = fork(fileURLToPath(import.meta.url), args, {
      cwd: dir,
      detached: true,
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    const kill = () => process.kill(-child.pid, 'SIGKILL')
    const begun = results.length
    let timer = setTimeout(kill, MUTANT_TIMEOUT_MS)
    child.on('message', ({ noticed }) => {
      clearTimeout(timer)
      report(mutants[results.length], noticed)
      results.push(noticed)
      timer = setTimeout(kill, performance.now() < end ? MUTANT_TIMEOUT_MS : 0)
    })
    const [status, signal] = await once(child, 'close')
    clearTimeout(timer)
    if (status !== 0 && signal !== 'SIGKILL' && results.length === begun)
      throw new Error(`vitest ended with ${status ?? signal}`)
    if (results.length < mutants.length && performance.now() < end) {
      report(mutants[results.length], true)
      results.push(true)
    }
  }
  summarize(results)
}

/** Tries the mutants of the core. Mutants that do not compile are not counted. */
async function runCore(dir, mutants) {
  const end = performance.now() + Number(values.minutes) * 60_000
  const results = []
  await tryCoreMutants(ROOT, dir, mutants, end, (mutant, result) => {
    if (result === 'invalid') return
    results.push(result === 'noticed')
    report(mutant, result === 'noticed')
  })
  summarize(results)
}

function summarize(results) {
  const noticed = results.filter(Boolean).length
  console.log(`${noticed} of ${results.length} changes were noticed (seed ${values.seed})`)
}

function report({ file, line, operator, changed }, noticed) {
  console.log(`${noticed ? 'noticed ' : 'SURVIVED'} ${file}:${line + 1} ${operator}`)
  if (noticed) return
  const before = readFileSync(join(ROOT, file), 'utf8').split('\n')[line]
  console.log(`  - ${before.trim()}\n  + ${changed.trim()}`)
}

const mutants = allMutants()
if (values.list) {
  for (const { file, line, operator, changed } of mutants)
    console.log(`${file}:${line + 1} ${operator}: ${changed.trim()}`)
} else if (values.in !== undefined) {
  await tryMutants(values.in, mutants, Number(values.begin))
  process.exit(0)
} else {
  const dir = mkdtempSync(join(tmpdir(), 'durlog-mutants-'))
  try {
    if (isCore) await runCore(dir, mutants)
    else {
      copyTree(dir)
      await run(dir, mutants)
    }
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}
