// The cost of opening and reading a log, and its memory.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import { open } from 'durlog'
import { makePayload, withScratch } from '../dist/harness/scratch.js'
import { median } from '../dist/harness/stats.js'

const MIB = 1 << 20
const GIB = 1 << 30
const FEW_SEGMENTS = 2
const MANY_SEGMENTS = 200
const SEGMENT_BYTES = MIB

/** A closed log of `segments` sealed segments and one more. */
async function makeSegments(dir, segments) {
  const log = await open(dir, { segmentBytes: SEGMENT_BYTES, durability: 'memory' })
  const payload = makePayload(16 * 1024)
  while (log.stats().segments <= segments) await log.append(payload)
  for (let i = 0; i < 8; i += 1) await log.append(payload)
  await log.close()
}

async function openMs(dir) {
  const start = performance.now()
  const log = await open(dir, { segmentBytes: SEGMENT_BYTES })
  const elapsed = performance.now() - start
  await log.close()
  return elapsed
}

const opening = {
  name: 'open',
  figures: [
    {
      id: 'open-200',
      title: `open ${MANY_SEGMENTS} sealed segments`,
      unit: 'ms',
      on: 'ratio',
      max: 1.2,
      baseline: `${FEW_SEGMENTS} segments`,
    },
  ],
  async run({ dir }) {
    return withScratch(dir, async (folder) => {
      const few = join(folder, 'few')
      const many = join(folder, 'many')
      await makeSegments(few, FEW_SEGMENTS)
      await makeSegments(many, MANY_SEGMENTS)
      const times = { few: [], many: [] }
      for (let i = 0; i < 15; i += 1) {
        times.few.push(await openMs(few))
        times.many.push(await openMs(many))
      }
      return { 'open-200': { value: median(times.many), baseline: median(times.few) } }
    })
  },
}

const READ_RECORD_BYTES = 1024
const READ_BYTES = GIB

const reading = {
  name: 'read',
  figures: [
    { id: 'read-for-await', title: 'read 1 GiB of 1 KiB records, for await', unit: 'GB/s', min: 1 },
    { id: 'read-buffered', title: 'read 1 GiB of 1 KiB records, nextBuffered', unit: 'GB/s' },
  ],
  async run({ dir }) {
    return withScratch(dir, async (folder) => {
      const log = await open(join(folder, 'log'), { durability: 'memory' })
      const payload = makePayload(READ_RECORD_BYTES)
      const count = READ_BYTES / READ_RECORD_BYTES
      let left = count
      while (left > 0) {
        const list = Array.from({ length: Math.min(256, left) }, () => payload)
        await log.appendBatch(list)
        left -= list.length
      }
      await log.sync()
      const value = { 'read-for-await': await rate(readForAwait), 'read-buffered': await rate(readBuffered) }
      await log.close()
      return value

      async function rate(read) {
        const start = performance.now()
        const bytes = await read(log)
        if (bytes !== READ_BYTES) throw new Error(`read ${bytes} of ${READ_BYTES} bytes`)
        return { value: bytes / (performance.now() - start) / 1e6 }
      }
    })
  },
}

async function readForAwait(log) {
  let bytes = 0
  for await (const { data } of log.read()) bytes += data.length
  return bytes
}

async function readBuffered(log) {
  let bytes = 0
  const reader = log.read()
  for (;;) {
    const record = reader.nextBuffered() ?? (await reader.next()).value
    if (record === undefined) return bytes
    bytes += record.data.length
  }
}

const LEVELS = ['memory', 'async', 'sync', 'full']
const RSS_BYTES = 4 * GIB
const RSS_RECORD_BYTES = 1024
const RSS_DEPTH = 1024

const resident = {
  name: 'rss',
  slow: true,
  figures: LEVELS.map((level) => ({
    id: `rss-${level}`,
    title: `peak resident memory, 4 GiB of 1 KiB appended at ${level}, 1024 in flight`,
    unit: 'MiB',
    max: 200,
    baseline: 'before',
  })),
  async run({ dir }) {
    const figures = {}
    for (const level of LEVELS) {
      figures[`rss-${level}`] = await withScratch(dir, async (folder) => {
        const child = fork(fileURLToPath(import.meta.url), [join(folder, 'log'), level])
        const [result] = await once(child, 'message')
        return result
      })
    }
    return figures
  },
}

/** The child: appends, and reports its own peak memory. */
async function appendAndTell(dir, durability) {
  const before = process.resourceUsage().maxRSS / 1024
  const log = await open(dir, { durability })
  const payload = makePayload(RSS_RECORD_BYTES)
  const total = RSS_BYTES / RSS_RECORD_BYTES
  let issued = 0
  const lane = async () => {
    while (issued < total) {
      issued += 1
      await log.append(payload)
    }
  }
  await Promise.all(Array.from({ length: RSS_DEPTH }, lane))
  await log.close()
  process.send({ value: process.resourceUsage().maxRSS / 1024, baseline: before })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await appendAndTell(process.argv[2], process.argv[3])

export const systemGroups = [opening, reading, resident]
