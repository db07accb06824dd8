/** The duration of opening, by the number of segments and by the unsynced bytes that a killed writer has left. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import { type Log, open } from 'durlog'
import { formatBytes } from '#terminal/output.js'
import { makePayload, withScratch } from '../harness/scratch.js'
import { summarize } from '../harness/stats.js'
import type { Suite, SuiteContext } from '../harness/suite.js'
import { formatSize } from '../report/format.js'
import type { Row } from '../report/report.js'

const MIB = 2 ** 20
const SEGMENT_BYTES = MIB
const RECORD_BYTES = 1024
const BIG_RECORD_BYTES = 16 * 1024
/** `tails` are numbers of unsynced bytes. They must stay below the limit after which the core syncs by itself. */
const QUICK = { segments: [2, 50, 200], tails: [0, MIB, 16 * MIB], opens: 10, tailOpens: 2 }
const FULL = { segments: [2, 20, 200, 1000], tails: [0, MIB, 8 * MIB, 32 * MIB, 56 * MIB], opens: 40, tailOpens: 6 }

async function timeOpen(dir: string, segmentBytes?: number): Promise<{ us: number; log: Log }> {
  const start = performance.now()
  const log = await open(dir, segmentBytes === undefined ? {} : { segmentBytes })
  return { us: (performance.now() - start) * 1000, log }
}

async function makeSegments(dir: string, segments: number): Promise<void> {
  const log = await open(dir, { segmentBytes: SEGMENT_BYTES, durability: 'memory' })
  const payload = makePayload(BIG_RECORD_BYTES)
  const perSegment = Math.floor(SEGMENT_BYTES / BIG_RECORD_BYTES)
  while (log.stats().segments <= segments) {
    for (let i = 0; i < perSegment; i += 1) await log.append(payload)
  }
  await log.close()
}

async function bySegments(context: SuiteContext): Promise<void> {
  const { segments, opens } = context.quick ? QUICK : FULL
  await withScratch(context.dir, async (folder) => {
    const times = new Map<number, number[]>()
    for (const count of segments) {
      await makeSegments(join(folder, String(count)), count)
      times.set(count, [])
      context.step()
    }
    for (let i = 0; i < opens; i += 1) {
      for (const [count, list] of times) {
        const { us, log } = await timeOpen(join(folder, String(count)), SEGMENT_BYTES)
        list.push(us)
        await log.close()
      }
      context.step()
    }
    const rows = [...times].map(([count, list]): Row => {
      const summary = summarize({ latencies: Float64Array.from(list), bytesPerOperation: 0 })
      return { labels: [String(count)], summary }
    })
    const first = rows[0]?.summary?.p50 ?? Number.NaN
    for (const row of rows) row.ratio = (row.summary?.p50 ?? Number.NaN) / first
    await context.add({
      title: `open, by the number of sealed segments of ${formatSize(SEGMENT_BYTES)}`,
      durability: 'closed cleanly',
      labels: ['segments'],
      figures: ['min', 'p50', 'p90', 'max'],
      ratioTo: `${segments[0]} segments`,
      rows,
    })
  })
}

/** Starts a child that writes `bytes` at `memory` and kills itself before they are synced. */
async function leaveTail(dir: string, bytes: number): Promise<void> {
  const path = fileURLToPath(new URL('./recovery-child.js', import.meta.url))
  const child = fork(path, [dir, String(bytes), String(RECORD_BYTES)], { stdio: 'inherit' })
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null]
  if (signal !== 'SIGKILL') throw new Error(`the writer must be killed by SIGKILL, but ended with ${code ?? signal}`)
}

async function byTail(context: SuiteContext): Promise<void> {
  const { tails, tailOpens } = context.quick ? QUICK : FULL
  const rows: Row[] = []
  for (const bytes of tails) {
    const latencies: number[] = []
    let scanned = 0
    let state = ''
    let records = 0
    for (let i = 0; i < tailOpens; i += 1) {
      await withScratch(context.dir, async (folder) => {
        await leaveTail(join(folder, 'log'), bytes)
        const { us, log } = await timeOpen(join(folder, 'log'))
        latencies.push(us)
        scanned = log.recovery.scannedBytes
        state = log.recovery.state
        records = log.nextSeq - log.firstSeq
        await log.close()
      })
      context.step()
    }
    const summary = summarize({ latencies: Float64Array.from(latencies), bytesPerOperation: scanned })
    rows.push({ labels: [formatSize(bytes)], summary, extras: [formatBytes(scanned), state, String(records)] })
  }
  await context.add({
    title: 'open after kill -9, by the bytes that were in memory only',
    durability: 'open syncs what it keeps before it resolves',
    labels: ['unsynced'],
    figures: ['min', 'p50', 'max'],
    extras: ['scanned', 'found', 'records kept'],
    ratioTo: '',
    rows,
  })
}

async function run(context: SuiteContext): Promise<string[]> {
  const { segments, opens, tails, tailOpens } = context.quick ? QUICK : FULL
  await context.plan('recovery', segments.length + opens + tails.length * tailOpens)
  await bySegments(context)
  await byTail(context)
  return []
}

export const recovery: Suite = {
  name: 'recovery',
  title: 'Opening and recovery',
  summary: 'open time by the number of segments, and by the unsynced tail that a killed writer has left',
  run,
}
