// npm run trial -- NAME [options]: one long trial, repeatedly or for as long as the options say. Without a name it
// lists them. A trial prints its seed; --seed repeats it. The status is not 0 if a promise was broken.
import { spawnSync } from 'node:child_process'
import { argv, env, execPath, exit } from 'node:process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const VITEST = 'node_modules/vitest/vitest.mjs'

/**
 * A trial that is also a test, in short: `kills` or `requests`, and `seed`, are the variables that the test reads. A
 * trial with `environment` has no options.
 */
const TESTS = {
  kill: {
    what: 'kill -9 of a writer',
    args: ['test/crash/kill.test.ts'],
    kills: ['DURLOG_KILL_ROUNDS', 1000],
    seed: 'DURLOG_KILL_SEED',
  },
  shared: {
    what: 'kill -9 of one of several writers of a log',
    args: ['test/crash/shared-kill.test.ts'],
    kills: ['DURLOG_SHARED_KILLS', 2000],
    seed: 'DURLOG_SHARED_SEED',
  },
  streams: {
    what: 'kill -9 of processes that append to streams, make checkpoints or share a folder',
    args: ['test/streams/kill.test.ts', 'test/streams/sharing-kill.test.ts'],
    kills: ['DURLOG_STREAM_KILLS', 300],
    seed: 'DURLOG_STREAM_SEED',
  },
  pino: {
    what: 'kill -9 of a process that logs through durlog/pino',
    args: ['test/pino.test.ts', '-t', 'kill'],
    kills: ['DURLOG_PINO_KILLS', 50],
  },
  serve: {
    what: "kill -9 of an HTTP server of streams, with the protocol's official client",
    args: ['test/http/kill.test.ts'],
    kills: ['SERVE_KILLS', 200],
  },
  protocol: {
    what: 'random sequences of HTTP requests, judged by a model of the protocol',
    args: ['test/http/protocol-model.test.ts'],
    requests: ['DURLOG_PROTOCOL_SEQUENCES', 10_000],
    seed: 'DURLOG_PROTOCOL_SEED',
  },
  'archive-requests': {
    what: 'kill -9 of an archiver at each of its requests, and uploads that arrive late',
    args: ['test/archive/kills.test.ts'],
    kills: ['DURLOG_ARCHIVE_KILLS', 200],
  },
  variants: {
    what:
      'the variants of tests of which the check runs a selection: pages run twice, reports of failed writes, the files ' +
      'and the retention of streams with a client, and kills of a standby and of a former writer',
    args: [
      'test/document-pages.test.ts',
      'test/faults/consumed-error.test.ts',
      'test/streams/shared-api.test.ts',
      'test/replication/kills.test.ts',
    ],
    environment: { DURLOG_EVERY_VARIANT: '1' },
  },
  hostile: {
    what: 'hostile requests to durlog serve',
    args: ['test/http/hostile.test.ts'],
    requests: ['HOSTILE_REQUESTS', 200_000],
    seed: 'HOSTILE_SEED',
  },
}

/** The others have programs, which describe their options. */
const PROGRAMS = {
  outbox: { what: 'kill -9 of a producer with retention and of a consumer', program: 'test/outbox/run.mjs' },
  soak: { what: 'followers while the writer trims, truncates and is killed', program: 'test/soak/run.mjs' },
  ship: { what: 'shipping while servers, shipper and writer are killed', program: 'test/ship/run.mjs' },
  archive: {
    what: 'archiving while the writer, the archivers and the store are killed',
    program: 'test/archive/run.mjs',
  },
  'archive-checkpoints': {
    what: 'kill -9 of an archiver of streams while it archives checkpoints and removes old ones',
    program: 'test/archive/checkpoints-run.mjs',
  },
  'archive-histories': {
    what: 'archiving while the log is truncated, trimmed and reopened, with a store whose requests fail',
    program: 'test/archive/histories-run.mjs',
  },
  takeover: {
    what: 'takeovers while the machines of replicated streams are killed, stopped and separated',
    program: 'test/takeover/run.mjs',
  },
  'power-cut': { what: 'power cuts under real file systems (Linux, root)', program: 'test/powercut/run.mjs' },
  faults: {
    what: 'failing and late writes under real file systems (Linux, root)',
    program: 'test/powercut/faults.mjs',
  },
  'crash-points': {
    what: 'crash points on a simulated disk; --writers several: of several writers of a log',
    program: 'scripts/test-crash-points.mjs',
  },
  schedules: { what: 'every order of the steps of several writers (Linux)', program: 'scripts/test-schedules.mjs' },
}

function run(args, environment = {}) {
  const { status, error } = spawnSync(execPath, args, { cwd: ROOT, stdio: 'inherit', env: { ...env, ...environment } })
  if (error !== undefined) throw error
  return status ?? 1
}

function runTest({ args, kills, requests, seed: seedName, environment }, given) {
  if (environment !== undefined) return run([VITEST, 'run', ...args], environment)
  const unit = kills === undefined ? 'requests' : 'kills'
  const [countName, usual] = kills ?? requests
  const options = { [unit]: { type: 'string', default: String(usual) } }
  if (seedName !== undefined) options.seed = { type: 'string', default: '1' }
  const { values } = parseArgs({ args: given, options })
  return run([VITEST, 'run', ...args], { [countName]: values[unit], ...(seedName && { [seedName]: values.seed }) })
}

function usage() {
  const rows = Object.entries({ ...TESTS, ...PROGRAMS }).map(([name, { what }]) => `  ${name.padEnd(20)} ${what}`)
  return `usage: npm run trial -- NAME [--kills N | --requests N] [--seed N] [other options]\n${rows.join('\n')}`
}

const [name, ...given] = argv.slice(2)
if (Object.hasOwn(TESTS, name)) exit(runTest(TESTS[name], given))
if (Object.hasOwn(PROGRAMS, name)) exit(run([PROGRAMS[name].program, ...given]))
console.error(usage())
exit(name === undefined ? 0 : 2)
