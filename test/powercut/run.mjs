// npm run trial -- power-cut: records each writer on each file system, cuts the power at every flush and between
// flushes, and prints the results. Exits with 1 if an acknowledged record was lost or a broken writer was not caught.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { binFolder, build, whyNoPackage } from './build.mjs'
import { printReport } from './report.mjs'
import { whyNotHere, whyNotOn } from './requirements.mjs'
import { writers } from './writers.mjs'

const here = dirname(fileURLToPath(import.meta.url))
const program = join(binFolder, 'powercut')
// A recording stays short, because a file system replays its whole journal on every disk: many recordings with
// different seeds find more than one long recording.
const betweenPerRecording = 120
const againPerRecording = 90
const brokenRecordingsLimit = 8

const { values: options } = parseArgs({
  options: {
    fs: { type: 'string', default: 'ext4,xfs,btrfs' },
    writer: { type: 'string', default: Object.keys(writers).join(',') },
    disks: { type: 'string', default: '2000' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    jobs: { type: 'string', default: String(Math.min(3, availableParallelism())) },
  },
})

const running = new Set()
let stopped = false
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    stopped = true
    for (const child of running) child.kill(signal)
  })
}

/** Makes one recording and its cuts. Returns the program's line of JSON. */
function record(fileSystem, pair, seed, settings) {
  // Even seeds use direct-io on the loop device and odd seeds do not: this changes how it orders and splits writes.
  const args = { fs: fileSystem, ...pair, seed, 'direct-io': seed % 2 === 0 ? 'on' : 'off', ...settings }
  const child = spawn(program, ['run', ...Object.entries(args).map(([name, value]) => `--${name}=${value}`)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, TMPDIR: scratch },
  })
  running.add(child)
  return new Promise((resolve, reject) => {
    let output = ''
    child.stdout.on('data', (chunk) => {
      output += chunk
    })
    child.on('error', reject)
    child.on('close', (code, signal) => {
      running.delete(child)
      if (code === 0 || code === 1) resolve({ ...JSON.parse(output), seed, pair, keep: settings.keep })
      else reject(new Error(`the rig ended with ${signal ?? code} on ${fileSystem}, seed ${seed}: ${pair.workload}`))
    })
  })
}

/** Tries the intact writer: makes recordings until enough disks have been rebuilt. */
async function tryWriter(fileSystem, name, writer) {
  const pair = { workload: writer.workload, verifier: writer.verifier }
  const recordings = []
  let disks = 0
  for (let seed = Number(options.seed); disks < Number(options.disks) && !stopped; ++seed) {
    const result = await record(fileSystem, pair, seed, {
      between: betweenPerRecording,
      again: againPerRecording,
      keep: join(here, 'failures', `${name}-${fileSystem}-${seed}`),
    })
    recordings.push(result)
    const { disks: count, violations, checkSeconds } = result
    const found = `${count} disks, ${violations.length} violations, ${Math.round(checkSeconds)} s`
    const what = writer.describe === undefined ? '' : ` (${writer.describe(seed)})`
    console.log(`${name} on ${fileSystem}, seed ${seed}${what}: ${found}`)
    disks += result.disks
    if (result.violations.length > 0) break
  }
  return recordings
}

/** Tries a broken writer until it is caught. Returns the number of disks that took, or null if it was not caught. */
async function tryBroken(fileSystem, pair) {
  let disks = 0
  for (let round = 0; round < brokenRecordingsLimit && !stopped; ++round) {
    const settings = { between: betweenPerRecording, again: againPerRecording, violations: 1 }
    const result = await record(fileSystem, pair, Number(options.seed) + round, settings)
    disks += result.disks
    if (result.violations.length > 0) return { disks, text: result.violations[0].text }
  }
  return null
}

async function tryOn(fileSystem, name) {
  const writer = writers[name]
  const refused = writer.fileSystems !== undefined && !writer.fileSystems.includes(fileSystem)
  const skipped = refused ? 'the writer refuses that file system' : whyNotOn(fileSystem)
  if (skipped !== null) return { fileSystem, name, skipped }
  const recordings = await tryWriter(fileSystem, name, writer)
  const broken = {}
  for (const [what, pair] of Object.entries(writer.broken)) {
    if (!stopped) broken[what] = await tryBroken(fileSystem, pair)
  }
  return { fileSystem, name, recordings, broken }
}

async function main() {
  const trials = options.writer
    .split(',')
    .flatMap((name) => options.fs.split(',').map((fileSystem) => ({ fileSystem, name })))
  const results = new Array(trials.length)
  console.log(`seed ${options.seed}`)
  let next = 0
  const worker = async () => {
    while (next < trials.length && !stopped) {
      const index = next++
      const { fileSystem, name } = trials[index]
      results[index] = await tryOn(fileSystem, name)
    }
  }
  // Waits for the end of all of them, so that nothing stays mounted, before it reports a failure.
  const ends = await Promise.allSettled(Array.from({ length: Number(options.jobs) }, worker))
  if (stopped) throw new Error('stopped by a signal')
  for (const end of ends) if (end.status === 'rejected') throw end.reason
  process.exitCode = printReport(results, program) ? 0 : 1
}

const reason = whyNotHere()
const unbuilt = whyNoPackage()
let scratch = ''
if (reason !== null) {
  console.log(`power-cut skipped: ${reason}`)
} else if (unbuilt !== null) {
  console.error(`power-cut: ${unbuilt}`)
  process.exitCode = 2
} else {
  await build()
  scratch = mkdtempSync(join(tmpdir(), 'powercut-'))
  try {
    await main()
  } catch (error) {
    console.error(`power-cut: ${error.message}`)
    process.exitCode = 2
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}
