// Appends at the level memory, their effect on the delay of the event loop, and checksums.
import { join } from 'node:path'
import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { open } from 'durlog'
import { Baseline, measureChecksums } from '../dist/harness/baselines.js'
import { keepInFlight, writeInBursts } from '../dist/harness/load.js'
import { makePayload, withScratch } from '../dist/harness/scratch.js'
import { median, sum } from '../dist/harness/stats.js'
import { appendRate } from './commit.mjs'

const MIB = 1 << 20
const BURST = 1000
const FILE_BYTES = 512 * MIB
/** `share` is the part of the records that the baselines write. */
const WRITES = [
  { bytes: 128, count: 2_000_000, perSample: 1000, share: 1 / 4 },
  { bytes: 4095, count: 100_000, perSample: 100, share: 1 },
]
const APPENDED = { method: 'write-append', preallocate: 'none' }
/** Stores into a map that another thread populates 8 to 16 MiB ahead. */
const POPULATED = { method: 'mmap-populated', preallocate: 'fallocate' }

/** Measures the time for a record in a loop in C++, in nanoseconds. */
async function loopNs(folder, { method, preallocate }, { bytes, count, perSample, share }) {
  const baseline = await Baseline.open({
    path: join(folder, method),
    method,
    preallocate,
    recordBytes: bytes,
    fileBytes: FILE_BYTES,
    recordsPerSample: perSample,
    syncEvery: 0,
  })
  const samples = Math.floor((count * share) / perSample)
  const latencies = await baseline.run(samples)
  await baseline.close()
  return (sum(latencies) / samples) * 1000
}

/** Measures the time for a log.write in nanoseconds, including the turns of the event loop between bursts. */
async function writeNs(folder, { bytes, count }) {
  const log = await open(join(folder, 'log'))
  const payload = makePayload(bytes)
  const write = () => log.write(payload)
  const drain = () => log.drain()
  await writeInBursts(write, drain, count / 10, BURST)
  const { operations, elapsedUs } = await writeInBursts(write, drain, count, BURST)
  await log.close()
  return (elapsedUs / operations) * 1000
}

const write = {
  name: 'write',
  figures: [
    { id: 'write-128', title: 'write 128 B', unit: 'ns', max: 80, baseline: 'mmap, populated ahead' },
    {
      id: 'write-128-ratio',
      title: '  against write(2)',
      unit: 'ns',
      on: 'ratio',
      max: 1 / 3,
      baseline: 'O_APPEND',
    },
    {
      id: 'write-4095',
      title: 'write 4095 B',
      unit: 'ns',
      on: 'ratio',
      max: 1.3,
      baseline: 'mmap, populated ahead',
    },
    { id: 'write-4095-ratio', title: '  against write(2)', unit: 'ns', on: 'ratio', max: 1, baseline: 'O_APPEND' },
  ],
  async run({ dir }) {
    const figures = {}
    for (const size of WRITES) {
      // Each in a separate folder, which is removed afterwards: that frees the pages of its files.
      const value = await withScratch(dir, (folder) => writeNs(folder, size))
      const populated = await withScratch(dir, (folder) => loopNs(folder, POPULATED, size))
      const appended = await withScratch(dir, (folder) => loopNs(folder, APPENDED, size))
      figures[`write-${size.bytes}`] = { value, baseline: populated }
      figures[`write-${size.bytes}-ratio`] = { value, baseline: appended }
    }
    return figures
  },
}

const SUSTAINED = { bytes: 128, count: 500e6 / 128, perSample: 1000, share: 1 }
/**
 * The number of writes that are timed together: few enough to detect a wait, enough to make the cost of the clock
 * negligible.
 */
const TIMED_WRITES = 50

/**
 * Measures the mean time of SUSTAINED.count writes in nanoseconds, and the longest time for TIMED_WRITES of them in
 * milliseconds.
 */
async function writeSustained(folder) {
  const log = await open(join(folder, 'log'))
  const payload = makePayload(SUSTAINED.bytes)
  let longest = 0
  let burstStart = 0
  let untilClock = 0
  const write = () => {
    if (untilClock === 0) {
      untilClock = TIMED_WRITES
      burstStart = performance.now()
    }
    log.write(payload)
    untilClock -= 1
    if (untilClock === 0) longest = Math.max(longest, performance.now() - burstStart)
  }
  // The time of a group of TIMED_WRITES includes a wait for room that interrupts it.
  const { operations, elapsedUs } = await writeInBursts(write, () => log.drain(), SUSTAINED.count, BURST)
  await log.close()
  return { nanos: (elapsedUs / operations) * 1000, longest }
}

const sustained = {
  name: 'write-sustained',
  figures: [
    {
      id: 'write-sustained',
      title: 'write 128 B, 500 MB without a pause',
      unit: 'ns',
      max: 120,
      baseline: 'mmap, populated ahead',
    },
    { id: 'write-sustained-longest', title: '  the longest wait in it', unit: 'ms', max: 2 },
  ],
  async run({ dir }) {
    const { nanos, longest } = await withScratch(dir, writeSustained)
    const loop = await withScratch(dir, (folder) => loopNs(folder, POPULATED, SUSTAINED))
    return {
      'write-sustained': { value: nanos, baseline: loop },
      'write-sustained-longest': { value: longest },
    }
  },
}

const PACED_BYTES = 128
const PACED_PER_SECOND = 100_000
const PACED_SECONDS = 10

/** Makes `count` writes at a rate of `perSecond`. Returns the time of each in milliseconds. */
function writePaced(log, payload, count, perSecond) {
  const latencies = new Float64Array(count)
  const start = performance.now()
  return new Promise((resolve, reject) => {
    let done = 0
    const turn = () => {
      const due = Math.min(count, Math.floor(((performance.now() - start) / 1000) * perSecond))
      try {
        for (; done < due; done += 1) {
          const before = performance.now()
          log.write(payload)
          latencies[done] = performance.now() - before
        }
      } catch (error) {
        return reject(error)
      }
      if (done < count) setImmediate(turn)
      else resolve(latencies)
    }
    turn()
  })
}

const writeWorst = {
  name: 'write-worst',
  slow: true,
  figures: [
    {
      id: 'write-worst',
      title: `the worst write of ${PACED_BYTES} B in ${PACED_SECONDS} s at ${PACED_PER_SECOND.toLocaleString('en-US')}/s`,
      unit: 'ms',
      max: 2,
      baseline: 'median',
    },
  ],
  async run({ dir }) {
    return withScratch(dir, async (folder) => {
      const log = await open(join(folder, 'log'), { durability: 'memory' })
      const count = PACED_SECONDS * PACED_PER_SECOND
      const latencies = await writePaced(log, makePayload(PACED_BYTES), count, PACED_PER_SECOND)
      await log.close()
      return {
        'write-worst': {
          value: latencies.reduce((worst, each) => Math.max(worst, each), 0),
          baseline: median([...latencies]),
        },
      }
    })
  },
}

const appendMemory = {
  name: 'append-memory',
  figures: [
    { id: 'memory-128', title: 'append 128 B at memory, 1024 in flight', unit: '/s', min: 3_000_000 },
    { id: 'memory-128-cpu', title: '  CPU of each, all threads', unit: 'ns' },
    { id: 'memory-256', title: 'append 256 B at memory, 1024 in flight', unit: '/s' },
  ],
  async run({ dir }) {
    const load = { depth: 1024, durability: 'memory' }
    const small = await appendRate(dir, { bytes: 128, ...load })
    const larger = await appendRate(dir, { bytes: 256, ...load })
    return {
      'memory-128': { value: small.rate },
      'memory-128-cpu': { value: small.cpuNs },
      'memory-256': { value: larger.rate },
    }
  },
}

const TIMER_MS = 1

/** Returns the p99 of the delay of a timer in milliseconds. The histogram holds the times between two timer events. */
async function delayP99(body) {
  const histogram = monitorEventLoopDelay({ resolution: TIMER_MS })
  histogram.enable()
  await body()
  histogram.disable()
  return histogram.percentile(99) / 1e6 - TIMER_MS
}

const eventLoop = {
  name: 'event-loop',
  figures: [
    {
      id: 'event-loop-p99',
      title: 'event loop delay p99, appending 256 B flat out at sync (1024)',
      unit: 'ms',
      max: 2,
      baseline: 'idle',
    },
  ],
  async run({ dir }) {
    return withScratch(dir, async (folder) => {
      const idle = await delayP99(() => sleep(500))
      const log = await open(join(folder, 'log'), { durability: 'sync' })
      const payload = makePayload(256)
      await keepInFlight(() => log.append(payload), 1024, 200)
      const value = await delayP99(() => keepInFlight(() => log.append(payload), 1024, 2000))
      await log.close()
      return { 'event-loop-p99': { value, baseline: idle } }
    })
  },
}

const checksum = {
  name: 'crc32c',
  figures: [4096, 65536].map((bytes) => ({
    id: `crc32c-${bytes}`,
    title: `CRC-32C of ${bytes} B`,
    unit: 'GB/s',
    min: 15,
    baseline: 'tables',
  })),
  async run() {
    const figures = {}
    for (const bytes of [4096, 65536]) {
      const speeds = await measureChecksums(bytes, 100)
      figures[`crc32c-${bytes}`] = {
        value: speeds[0].gigabytesPerSecond,
        baseline: speeds.at(-1).gigabytesPerSecond,
      }
    }
    return figures
  },
}

export const memoryGroups = [write, sustained, writeWorst, appendMemory, eventLoop, checksum]
