/** The duration of opening, by the number of segments. The target open-killed measures it after a kill. */
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { type OpenOptions, open } from 'durlog'
import { makePayload, withScratch } from '../harness/scratch.js'
import { summarize } from '../harness/stats.js'
import type { Suite, SuiteContext } from '../harness/suite.js'
import { formatSize } from '../report/format.js'
import type { Row } from '../report/report.js'

export const SEGMENT_BYTES = 2 ** 20
const RECORD_BYTES = 16 * 1024
const QUICK = { segments: [2, 50, 200], opens: 10 }
const FULL = { segments: [2, 20, 200, 1000], opens: 40 }

/** Opens the log, and returns the time in microseconds. */
export async function timeOpen(dir: string, options: OpenOptions = {}): Promise<number> {
  const start = performance.now()
  const log = await open(dir, options)
  const us = (performance.now() - start) * 1000
  await log.close()
  return us
}

/** Makes a closed log with `segments` sealed segments and an active one. */
export async function makeSegments(dir: string, segments: number): Promise<void> {
  const log = await open(dir, { segmentBytes: SEGMENT_BYTES, durability: 'memory' })
  const payload = makePayload(RECORD_BYTES)
  while (log.stats().segments <= segments) await log.append(payload)
  for (let i = 0; i < 8; i += 1) await log.append(payload)
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
        list.push(await timeOpen(join(folder, String(count)), { segmentBytes: SEGMENT_BYTES }))
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

async function run(context: SuiteContext): Promise<string[]> {
  const { segments, opens } = context.quick ? QUICK : FULL
  await context.plan('recovery', segments.length + opens)
  await bySegments(context)
  return []
}

export const recovery: Suite = {
  name: 'recovery',
  title: 'Opening',
  summary: 'open time by the number of segments',
  run,
}
