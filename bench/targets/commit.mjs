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

/**
 * Measures appends of `bytes` at `durability` with `depth` in flight: the appends per second, and the processor time of
 * an append in nanoseconds, of all threads together.
 */
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
  { depth: 128, min: 450_000 },
  { depth: 1024, min: 1_100_000 },
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

export const FLOOR = 'O_DIRECT+O_DSYNC'
/** The same write, made by a second thread: `append` needs one too, because its caller must not wait for the device. */
const HANDED = `${FLOOR} on a second thread`
/** The same write to a file like a log's first segments, before any is recycled: each write also converts an extent. */
const UNWRITTEN = `${FLOOR} on fallocated`

const RAW = {
  floor: { method: 'direct-dsync', preallocate: 'zero' },
  handed: { method: 'direct-dsync-handed', preallocate: 'zero' },
  unwritten: { method: 'direct-dsync', preallocate: 'fallocate' },
}

/** Fills segments and trims them, so that the log recycles their files for its next segments. */
async function recycleSegments(log, payload) {
  let last = 0
  for (let bytes = 0; bytes < 200 * MIB; bytes += payload.length) last = await log.append(payload)
  await log.trimBefore(last)
  // Fill one more segment, because the spare that follows is still a new file.
  for (let bytes = 0; bytes < 70 * MIB; bytes += payload.length) last = await log.append(payload)
}

/** Measures raw writes, append and appendSync in turns of `perRound`. Returns the latencies of each. */
export async function inTurns(dir, bytes, rounds, perRound, { recycled = false } = {}) {
  return withScratch(dir, async (folder) => {
    const ways = {}
    for (const [name, { method, preallocate }] of Object.entries(RAW)) {
      const path = join(folder, name)
      const raw = await Baseline.open({ path, method, preallocate, recordBytes: bytes, fileBytes: 256 * MIB })
      ways[name] = { run: () => raw.run(perRound), close: () => raw.close() }
    }
    const log = await open(join(folder, 'log'), { durability: 'sync' })
    const payload = makePayload(bytes)
    if (recycled) await recycleSegments(log, payload)
    ways.append = { run: () => timeEach(() => log.append(payload), perRound), close: () => log.close() }
    ways.appendSync = { run: () => timeEachSync(() => log.appendSync(payload), perRound), close() {} }
    const parts = Object.fromEntries(Object.keys(ways).map((name) => [name, []]))
    for (let round = 0; round <= rounds; round += 1) {
      if (recycled) await log.trimBefore(log.nextSeq - 1)
      for (const [name, way] of Object.entries(ways)) {
        const latencies = await way.run()
        // The first round warms up.
        if (round > 0) parts[name].push(latencies)
      }
    }
    for (const way of Object.values(ways)) await way.close()
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
      max: 1.25,
      baseline: FLOOR,
    },
    { id: `append-1-${bytes}-handed`, title: '  against the floor on a second thread', unit: 'us', baseline: HANDED },
    {
      id: `append-sync-1-${bytes}`,
      title: `appendSync ${bytes} B, p50`,
      unit: 'us',
      on: 'ratio',
      max: 1.1,
      baseline: FLOOR,
    },
  ]),
  async run({ dir }) {
    const figures = {}
    for (const bytes of DEPTH_ONE_BYTES) {
      const { floor, handed, append, appendSync } = await inTurns(dir, bytes, ROUNDS, PER_ROUND)
      const baseline = median(floor)
      figures[`append-1-${bytes}`] = { value: median(append), baseline }
      figures[`append-1-${bytes}-handed`] = { value: median(append), baseline: median(handed) }
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
      baseline: FLOOR,
    },
    { id: 'commit-1mib-unwritten', title: '  against unwritten extents', unit: 'MB/s', baseline: UNWRITTEN },
    { id: 'commit-1mib-recycled', title: '  into recycled segments', unit: 'MB/s', baseline: FLOOR },
    {
      id: 'commit-1mib-2',
      title: 'append 1 MiB at sync, two in flight',
      unit: 'MB/s',
      on: 'ratio',
      min: 0.95,
      baseline: FLOOR,
    },
    { id: 'commit-1mib-2-unwritten', title: '  against unwritten extents', unit: 'MB/s', baseline: UNWRITTEN },
    { id: 'commit-1mib-p50', title: 'append 1 MiB at sync, p50', unit: 'us', baseline: FLOOR },
  ],
  async run({ dir }) {
    const { floor, unwritten, append } = await inTurns(dir, MIB, 8, 16)
    const rate = (latencies) => (latencies.length * MIB) / sum(latencies)
    const again = await inTurns(dir, MIB, 4, 16, { recycled: true })
    const { rate: commits } = await appendRate(dir, { bytes: MIB, depth: 2, durability: 'sync' })
    const one = rate(append)
    const two = (commits * MIB) / 1e6
    return {
      'commit-1mib': { value: one, baseline: rate(floor) },
      'commit-1mib-unwritten': { value: one, baseline: rate(unwritten) },
      'commit-1mib-recycled': { value: rate(again.append), baseline: rate(again.floor) },
      'commit-1mib-2': { value: two, baseline: rate(floor) },
      'commit-1mib-2-unwritten': { value: two, baseline: rate(unwritten) },
      'commit-1mib-p50': { value: median(append), baseline: median(floor) },
    }
  },
}

export const commitGroups = [inFlight, depthOne, bigCommits]
