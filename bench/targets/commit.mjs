// Durable appends: many in flight, one at a time, and big ones.
import { join } from 'node:path'
import { open } from 'durlog'
import { Baseline } from '../dist/harness/baselines.js'
import { keepInFlight, timeEach, timeEachSync } from '../dist/harness/load.js'
import { makePayload, withScratch } from '../dist/harness/scratch.js'
import { median, mergeLatencies, sum } from '../dist/harness/stats.js'

const MIB = 1 << 20
const WARMUP_MS = 200
const LOAD_MS = 1000

/** Appends a second of `bytes` at `durability` with `depth` in flight, and CPU ns of each, all threads together. */
export async function appendRate(dir, { bytes, depth, durability, millis = LOAD_MS }) {
  return withScratch(dir, async (folder) => {
    const log = await open(join(folder, 'log'), { durability })
    const payload = makePayload(bytes)
    const append = () => log.append(payload)
    await keepInFlight(append, depth, WARMUP_MS)
    const before = process.cpuUsage()
    const { operations, elapsedUs } = await keepInFlight(append, depth, millis)
    const { user, system } = process.cpuUsage(before)
    await log.close()
    return { rate: (operations / elapsedUs) * 1e6, cpuNs: ((user + system) * 1000) / operations }
  })
}

const IN_FLIGHT = [
  { depth: 128, min: 400_000 },
  { depth: 1024, min: 1_000_000 },
  { depth: 8192, min: 1_300_000 },
]

const inFlight = {
  name: 'in-flight',
  figures: IN_FLIGHT.flatMap(({ depth, min }) => [
    { id: `sync-${depth}`, title: `append 256 B at sync, ${depth} in flight`, unit: '/s', min },
    { id: `sync-${depth}-cpu`, title: '  CPU of each, all threads', unit: 'ns' },
  ]),
  async run({ dir }) {
    const figures = {}
    for (const { depth } of IN_FLIGHT) {
      const { rate, cpuNs } = await appendRate(dir, { bytes: 256, depth, durability: 'sync' })
      figures[`sync-${depth}`] = { value: rate }
      figures[`sync-${depth}-cpu`] = { value: cpuNs }
    }
    return figures
  },
}

const DEPTH_ONE_BYTES = [256, 4096, 65536]
const ROUNDS = 12
const PER_ROUND = 50

/** Floor, append and appendSync in turns of `perRound`; the latencies of each. */
async function inTurns(dir, bytes, rounds, perRound) {
  return withScratch(dir, async (folder) => {
    const floor = await Baseline.open({
      path: join(folder, 'floor'),
      method: 'direct-dsync',
      preallocate: 'zero',
      recordBytes: bytes,
      fileBytes: 256 * MIB,
    })
    const log = await open(join(folder, 'log'), { durability: 'sync' })
    const payload = makePayload(bytes)
    const parts = { floor: [], append: [], appendSync: [] }
    for (let round = 0; round <= rounds; round += 1) {
      const measured = {
        floor: await floor.run(perRound),
        append: await timeEach(() => log.append(payload), perRound),
        appendSync: timeEachSync(() => log.appendSync(payload), perRound),
      }
      // The first round warms up.
      if (round > 0) for (const name of Object.keys(parts)) parts[name].push(measured[name])
    }
    await floor.close()
    await log.close()
    return Object.fromEntries(Object.entries(parts).map(([name, list]) => [name, mergeLatencies(list)]))
  })
}

const depthOne = {
  name: 'depth-1',
  figures: DEPTH_ONE_BYTES.flatMap((bytes) => [
    {
      id: `append-1-${bytes}`,
      title: `append ${bytes} B at sync, one at a time, p50`,
      unit: 'us',
      on: 'ratio',
      max: 1.2,
      baseline: 'O_DIRECT+O_DSYNC',
    },
    {
      id: `append-sync-1-${bytes}`,
      title: `appendSync ${bytes} B, p50`,
      unit: 'us',
      on: 'ratio',
      max: 1.1,
      baseline: 'O_DIRECT+O_DSYNC',
    },
  ]),
  async run({ dir }) {
    const figures = {}
    for (const bytes of DEPTH_ONE_BYTES) {
      const { floor, append, appendSync } = await inTurns(dir, bytes, ROUNDS, PER_ROUND)
      const baseline = median(floor)
      figures[`append-1-${bytes}`] = { value: median(append), baseline }
      figures[`append-sync-1-${bytes}`] = { value: median(appendSync), baseline }
    }
    return figures
  },
}

const bigCommits = {
  name: 'big-commits',
  figures: [
    {
      id: 'commit-1mib',
      title: 'append 1 MiB at sync, one at a time',
      unit: 'MB/s',
      on: 'ratio',
      min: 0.85,
      baseline: 'O_DIRECT+O_DSYNC',
    },
    {
      id: 'commit-1mib-2',
      title: 'append 1 MiB at sync, two in flight',
      unit: 'MB/s',
      on: 'ratio',
      min: 0.85,
      baseline: 'O_DIRECT+O_DSYNC',
    },
    { id: 'commit-1mib-p50', title: 'append 1 MiB at sync, p50', unit: 'us', baseline: 'O_DIRECT+O_DSYNC' },
  ],
  async run({ dir }) {
    const { floor, append } = await inTurns(dir, MIB, 8, 16)
    const rate = (latencies) => (latencies.length * MIB) / sum(latencies)
    const { rate: commits } = await appendRate(dir, { bytes: MIB, depth: 2, durability: 'sync' })
    return {
      'commit-1mib': { value: rate(append), baseline: rate(floor) },
      'commit-1mib-2': { value: (commits * MIB) / 1e6, baseline: rate(floor) },
      'commit-1mib-p50': { value: median(append), baseline: median(floor) },
    }
  },
}

export const commitGroups = [inFlight, depthOne, bigCommits]
