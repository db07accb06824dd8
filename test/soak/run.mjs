// npm run trial -- soak [--minutes 10] [--kills 30] [--seed 1] [--dir PATH]: docs/TESTING.md says what it shows.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { verify } from '../../dist/index.js'
import { runTrial } from './trial.mjs'

const FOLLOWERS = [
  { name: 'memory 1', durableOnly: false },
  { name: 'memory 2', durableOnly: false },
  { name: 'durable 1', durableOnly: true },
  { name: 'durable 2', durableOnly: true },
]
const MAX_WAIT_MS = 50
const MAX_SHOWN = 5
/** For what is there at the end and has not been delivered. */
const LAST_RECORDS_MS = 60_000

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    kills: { type: 'string', default: '30' },
    seed: { type: 'string', default: '1' },
    dir: { type: 'string' },
  },
})

function quantile(sorted, q) {
  return sorted.length === 0 ? 0 : sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))]
}

function row(follower, writer) {
  const waits = follower.waits(writer)
  const raw = waits.map((wait) => wait.raw).sort((a, b) => a - b)
  const net = waits.map((wait) => wait.net).sort((a, b) => a - b)
  const round = (ms) => Math.round(ms * 10) / 10
  return {
    follower: follower.name,
    'acks met': waits.length,
    'out of range': follower.refusals.length,
    'p50 ms': round(quantile(raw, 0.5)),
    'p99.9 ms': round(quantile(raw, 0.999)),
    'worst ms': round(raw.at(-1) ?? 0),
    'worst timer delay ms': round(follower.delays.reduce((most, { from, to }) => Math.max(most, to - from), 0)),
    'p99.9 less delays ms': round(quantile(net, 0.999)),
    'worst less delays ms': round(net.at(-1) ?? 0),
    [`over ${MAX_WAIT_MS} ms`]: net.filter((ms) => ms > MAX_WAIT_MS).length,
  }
}

const scratch = mkdtempSync(join(values.dir ?? tmpdir(), 'durlog-soak-'))
const dir = join(scratch, 'log')
const [minutes, kills, seed] = [values.minutes, values.kills, values.seed].map(Number)
const { writer, followers, problems, lives } = await runTrial({
  dir,
  seconds: minutes * 60,
  kills,
  seed,
  followers: FOLLOWERS,
  lastRecordsMs: LAST_RECORDS_MS,
})
const report = await verify(dir)
if (report.state !== 'clean') problems.push(`verify says ${report.state} of the closed log`)
for (const follower of followers) {
  const violations = [...follower.violations(writer), ...follower.hangs(writer)]
  for (const violation of violations.slice(0, MAX_SHOWN)) problems.push(`${follower.name}: ${violation}`)
  if (violations.length > MAX_SHOWN) problems.push(`${follower.name}: ${violations.length - MAX_SHOWN} more`)
}
process.stdout.write(
  `seed ${seed}: ${minutes} min, ${lives} lives of the writer, ${kills} kills, ${writer.end?.end ?? '?'} seqs, ` +
    `${writer.cuts.length} truncations, ${writer.trims.length} trims\n`,
)
console.table(followers.map((follower) => row(follower, writer)))
if (problems.length === 0) rmSync(scratch, { recursive: true, force: true })
else process.stdout.write(`${problems.map((problem) => `VIOLATION ${problem}\n`).join('')}the log is left in ${dir}\n`)
process.exitCode = problems.length === 0 ? 0 : 1
