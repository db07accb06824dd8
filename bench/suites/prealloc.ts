/**
 * Random 4 KiB writes at queue depth 32 into files that were allocated in different ways: the qcow2 allocation
 * discussion.
 */
import { join } from 'node:path'
import { baselinesSupported, isUnsupported, type RandomWriteSpec, randomWrite } from '../harness/baselines.js'
import { withScratch } from '../harness/scratch.js'
import { summarize } from '../harness/stats.js'
import type { Suite, SuiteContext } from '../harness/suite.js'
import { fioOfRandom } from '../report/fio.js'
import { formatNumber } from '../report/format.js'
import type { Row, TableResult } from '../report/report.js'

const MIB = 2 ** 20
const DEPTH = 32
const BLOCK_BYTES = 4096
const HINT_BYTES = MIB

interface Layout {
  label: string
  preallocate: RandomWriteSpec['preallocate']
  cluster: RandomWriteSpec['cluster']
  hintBytes: number
}

const LAYOUTS: readonly Layout[] = [
  { label: 'fully written', preallocate: 'data', cluster: 'none', hintBytes: 0 },
  { label: 'sparse', preallocate: 'sparse', cluster: 'none', hintBytes: 0 },
  { label: 'sparse, extent size hint 1 MiB', preallocate: 'sparse', cluster: 'none', hintBytes: HINT_BYTES },
  { label: 'fallocated', preallocate: 'fallocate', cluster: 'none', hintBytes: 0 },
  { label: '64 KiB clusters zero-ranged', preallocate: 'sparse', cluster: 'zero-range', hintBytes: 0 },
  { label: '64 KiB clusters zero-ranged, hint', preallocate: 'sparse', cluster: 'zero-range', hintBytes: HINT_BYTES },
  { label: '64 KiB clusters zero-written', preallocate: 'sparse', cluster: 'zero', hintBytes: 0 },
]

interface Extent {
  engines: readonly RandomWriteSpec['engine'][]
  fileBytes: number
  millis: number
  intervalMillis: number
}
const QUICK: Extent = { engines: ['io_uring'], fileBytes: 64 * MIB, millis: 1000, intervalMillis: 250 }
const FULL: Extent = { engines: ['io_uring', 'threads'], fileBytes: 1024 * MIB, millis: 10_000, intervalMillis: 1000 }

async function measure(dir: string, extent: Extent, engine: RandomWriteSpec['engine'], layout: Layout) {
  const { preallocate, cluster } = layout
  const { fileBytes } = extent
  const fio =
    cluster === 'none' && layout.hintBytes === 0
      ? fioOfRandom({ preallocate, engine, depth: DEPTH, fileBytes })
      : undefined
  const row: Row = { labels: [layout.label], baseline: true, fio }
  try {
    const { writes, latencies } = await withScratch(dir, (folder) =>
      randomWrite({
        path: join(folder, 'file'),
        preallocate: layout.preallocate,
        cluster: layout.cluster,
        engine,
        fileBytes: extent.fileBytes,
        depth: DEPTH,
        extentHintBytes: layout.hintBytes,
        millis: extent.millis,
        intervalMillis: extent.intervalMillis,
        seed: 1,
      }),
    )
    const rates = Array.from(writes, (count) => (count * 1000) / extent.intervalMillis)
    const operations = writes.reduce((total, count) => total + count, 0)
    row.summary = summarize({
      latencies,
      bytesPerOperation: BLOCK_BYTES,
      operations,
      elapsedUs: extent.millis * 1000,
    })
    row.extras = [rates[0] ?? '', rates.at(-1) ?? '']
    return { row, rates }
  } catch (error) {
    if (!isUnsupported(error)) throw error
    row.note = (error as Error).message.split(',')[0] ?? ''
    return { row, rates: [] }
  }
}

async function measureEngine(context: SuiteContext, extent: Extent, engine: RandomWriteSpec['engine']) {
  const measured: Awaited<ReturnType<typeof measure>>[] = []
  for (const layout of LAYOUTS) {
    measured.push(await measure(context.dir, extent, engine, layout))
    context.step()
  }
  const best = measured[0]?.row.summary?.opsPerSecond ?? Number.NaN
  for (const { row } of measured) if (row.summary) row.ratio = row.summary.opsPerSecond / best
  const table: TableResult = {
    title: `random 4 KiB O_DIRECT writes, queue depth ${DEPTH}, ${engine}`,
    durability: 'past the page cache, not flushed',
    labels: ['file'],
    figures: ['opsPerSecond', 'megabytesPerSecond', 'p50', 'p90', 'p99', 'max', 'stddev'],
    extras: [`IOPS, first ${extent.intervalMillis} ms`, `IOPS, last ${extent.intervalMillis} ms`],
    ratioTo: "the fully written file's IOPS",
    chart: 'time',
    series: measured.map(({ rates }) => rates),
    intervalMs: extent.intervalMillis,
    rows: measured.map(({ row }) => row),
  }
  await context.add(table)
  return table
}

async function run(context: SuiteContext): Promise<string[]> {
  if (!baselinesSupported()) return ['This suite measures only raw system calls, which are supported only on Linux.']
  const extent = context.quick ? QUICK : FULL
  await context.plan('prealloc', LAYOUTS.length * extent.engines.length)
  const findings: string[] = []
  for (const engine of extent.engines) {
    const { rows } = await measureEngine(context, extent, engine)
    const sparse = rows.find(({ labels }) => labels[0] === 'sparse')
    if (sparse?.ratio) {
      findings.push(`${engine}: a sparse file takes ${formatNumber(sparse.ratio * 100)} % of a written one's writes.`)
    }
  }
  return findings
}

export const prealloc: Suite = {
  name: 'prealloc',
  title: 'Random writes and how the file was allocated',
  summary: 'random 4 KiB writes at queue depth 32 into sparse, fallocated, zeroed and written files',
  run,
}
