// Appends into the page cache, and how late they make the event loop.
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
const WRITES = [
  { bytes: 128, count: 2_000_000, perSample: 1000, maxNs: 80 },
  { bytes: 4095, count: 100_000, perSample: 100, maxNs: 1000 },
]

/** ns for each write(2) with O_APPEND. */
async function writeAppendNs(folder, { bytes, count, perSample }) {
  const baseline = await Baseline.open({
    path: join(folder, 'appended'),
    method: 'write-append',
    preallocate: 'none',
    recordBytes: bytes,
    fileBytes: 512 * MIB,
    recordsPerSample: perSample,
    syncEvery: 0,
  })
  const samples = count / 4 / perSample
  const latencies = await baseline.run(samples)
  await baseline.close()
  return (sum(latencies) / samples) * 1000
}

/** ns for each log.write, bursts and turns of the event loop included. */
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
  figures: WRITES.flatMap(({ bytes, maxNs }) => [
    { id: `write-${bytes}`, title: `write ${bytes} B`, unit: 'ns', max: maxNs },
    {
      id: `write-${bytes}-ratio`,
      title: `write ${bytes} B against write(2)`,
      unit: 'ns',
      on: 'ratio',
      max: bytes === 128 ? 1 / 3 : 1,
      baseline: 'O_APPEND',
    },
  ]),
  async run({ dir }) {
    const figures = {}
    for (const size of WRITES) {
      const [value, baseline] = await withScratch(dir, async (folder) => [
        await writeNs(folder, size),
        await writeAppendNs(folder, size),
      ])
      figures[`write-${size.bytes}`] = { value }
      figures[`write-${size.bytes}-ratio`] = { value, baseline }
    }
    return figures
  },
}

const PACED_BYTES = 128
const PACED_PER_SECOND = 100_000
const PACED_SECONDS = 10

/** Milliseconds that each of `count` writes took, made at `perSecond`. */
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

/** p99 in ms of how late a timer fires; the histogram holds the time between two fires. */
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

export const memoryGroups = [write, writeWorst, appendMemory, eventLoop, checksum]
