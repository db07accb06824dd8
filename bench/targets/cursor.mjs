// Commits of named cursors, and the search for a time in a log of many segments.
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { open } from 'durlog'
import { withScratch } from '../dist/harness/scratch.js'
import { median } from '../dist/harness/stats.js'

const RECORDS = 2_000_000
const RECORD = Buffer.alloc(16, 1)
const SEGMENTS = 10_000
const LOOKUPS = 500
/** A record this much after a segment's base time begins the next segment. */
const SEGMENT_MS = 50 * 86_400_000

/** Measures the commits per second of a consumer that commits each record. */
async function commitsPerSecond(folder) {
  const log = await open(join(folder, 'log'))
  for (let seq = 0; seq < RECORDS; seq += 10_000) {
    log.writeBatch(Array.from({ length: 10_000 }, () => RECORD))
    await log.drain()
  }
  await log.sync()
  const cursor = await log.cursor('mailer')
  const start = performance.now()
  for (let seq = 0; seq < RECORDS; seq++) await cursor.commit(seq)
  const perSecond = RECORDS / ((performance.now() - start) / 1000)
  await log.close()
  return perSecond
}

async function seqAtMs(folder) {
  const log = await open(join(folder, 'log'), { segmentBytes: 65_536, preallocate: 'none', strategy: 'pwrite' })
  for (let i = 0; i < SEGMENTS; i++) await log.append('record', { durability: 'memory', timestamp: i * SEGMENT_MS })
  await log.sync()
  if (log.stats().segments < SEGMENTS) throw new Error(`the log has ${log.stats().segments} segments`)
  const times = []
  for (let i = 0; i < LOOKUPS; i++) {
    const wanted = (i * 7919) % SEGMENTS
    const start = performance.now()
    const seq = await log.seqAt(wanted * SEGMENT_MS)
    times.push(performance.now() - start)
    if (seq !== wanted) throw new Error(`seqAt found ${seq}, not ${wanted}`)
  }
  await log.close()
  return median(times)
}

export const cursorGroups = [
  {
    name: 'cursor',
    figures: [{ id: 'commit', title: "a cursor's commit at memory, each awaited", unit: '/s', min: 1_000_000 }],
    run: ({ dir }) => withScratch(dir, async (folder) => ({ commit: { value: await commitsPerSecond(folder) } })),
  },
  {
    name: 'seq-at',
    slow: true,
    figures: [{ id: 'seqAt', title: `seqAt in ${SEGMENTS} segments, p50`, unit: 'ms', max: 2 }],
    run: ({ dir }) => withScratch(dir, async (folder) => ({ seqAt: { value: await seqAtMs(folder) } })),
  },
]
