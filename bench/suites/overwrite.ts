/** The cost of allocation in a synced write: growing, preallocated, zeroed and written files. */
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { open } from 'durlog'
import { Baseline, type BaselineFile, baselinesSupported, isUnsupported } from '../harness/baselines.js'
import { timeEach } from '../harness/load.js'
import { makePayload, withScratch } from '../harness/scratch.js'
import { type LatenciesUs, median, mergeLatencies, sum, summarize } from '../harness/stats.js'
import type { Suite, SuiteContext } from '../harness/suite.js'
import { fioOf } from '../report/fio.js'
import { formatSize } from '../report/format.js'
import type { Row } from '../report/report.js'

const MIB = 2 ** 20
const STEP_BYTES = 4096

const FILES: readonly { label: string; file: BaselineFile }[] = [
  { label: 'growing file', file: 'none' },
  { label: 'overwritten file', file: 'data' },
  { label: 'fallocated file', file: 'fallocate' },
  { label: 'zero-filled file', file: 'zero' },
  { label: 'fallocated file, size kept', file: 'keep-size' },
]

interface Work {
  title: string
  totalBytes: number
  stepBytes: number
  /** The number of steps between two syncs; 0: one sync at the end. */
  syncEvery: number
}

const WORKS: readonly Work[] = [
  { title: '5 MiB in 4 KiB steps, fsync after each', totalBytes: 5 * MIB, stepBytes: STEP_BYTES, syncEvery: 1 },
  { title: '5 MiB at once, one fsync', totalBytes: 5 * MIB, stepBytes: 5 * MIB, syncEvery: 1 },
  { title: '5 MiB in 4 KiB steps, one fsync', totalBytes: 5 * MIB, stepBytes: STEP_BYTES, syncEvery: 0 },
]
const BIG: Work = {
  title: '10 GiB in 4 KiB steps, one fsync',
  totalBytes: 10 * 1024 * MIB,
  stepBytes: STEP_BYTES,
  syncEvery: 0,
}

interface Measured {
  row: Row
  totalsMs: number[]
  latencies: LatenciesUs[]
}

async function writeRaw(path: string, file: BaselineFile, work: Work): Promise<LatenciesUs> {
  const baseline = await Baseline.open({
    path,
    method: 'pwrite-fsync',
    preallocate: file,
    recordBytes: work.stepBytes,
    fileBytes: work.totalBytes,
    syncEvery: work.syncEvery,
  })
  const latencies = await baseline.run(work.totalBytes / work.stepBytes)
  await baseline.close()
  return latencies
}

/** Writes with durlog: `append` at full, or at memory with one `sync('full')` after all appends. */
async function writeLog(dir: string, work: Work): Promise<LatenciesUs> {
  const log = await open(dir)
  const payload = makePayload(work.stepBytes)
  const steps = work.totalBytes / work.stepBytes
  try {
    if (work.syncEvery === 1) return await timeEach(() => log.append(payload, { durability: 'full' }), steps)
    const latencies = await timeEach(() => log.append(payload, { durability: 'memory' }), steps)
    const beforeSync = performance.now()
    await log.sync('full')
    latencies[steps - 1] = (latencies[steps - 1] ?? 0) + (performance.now() - beforeSync) * 1000
    return latencies
  } finally {
    await log.close()
  }
}

async function measureOnce(context: SuiteContext, work: Work, measured: Measured, file: BaselineFile | undefined) {
  if (measured.row.note !== undefined) return
  await withScratch(context.dir, async (folder) => {
    try {
      const latencies = await (file ? writeRaw(join(folder, 'file'), file, work) : writeLog(join(folder, 'log'), work))
      measured.latencies.push(latencies)
      measured.totalsMs.push(sum(latencies) / 1000)
    } catch (error) {
      if (!isUnsupported(error)) throw error
      measured.row.note = (error as Error).message
    }
  })
  context.step()
}

async function measureWork(context: SuiteContext, work: Work, rounds: number): Promise<void> {
  const files = baselinesSupported() ? FILES : []
  const all = new Map<BaselineFile | undefined, Measured>()
  for (const { label, file } of files) {
    const spec = {
      preallocate: file,
      recordBytes: work.stepBytes,
      fileBytes: work.totalBytes,
      syncEvery: work.syncEvery,
    }
    const fio = fioOf({ method: 'pwrite-fsync', ...spec })
    all.set(file, { row: { labels: [`C++ ${label}`], baseline: true, fio }, totalsMs: [], latencies: [] })
  }
  all.set(undefined, { row: { labels: ['durlog'] }, totalsMs: [], latencies: [] })
  for (let round = 0; round < rounds; round += 1) {
    for (const [file, measured] of all) await measureOnce(context, work, measured, file)
  }
  const first = median(all.get('none')?.totalsMs ?? [])
  for (const { row, totalsMs, latencies } of all.values()) {
    if (totalsMs.length === 0) continue
    const totalMs = median(totalsMs)
    row.summary = summarize({ latencies: mergeLatencies(latencies), bytesPerOperation: work.stepBytes })
    row.extras = [totalMs, work.totalBytes / totalMs / 1000]
    row.ratio = totalMs / first
  }
  await context.add({
    title: work.title,
    durability: `full: on the device with its metadata, ${work.syncEvery === 0 ? 'at the end' : 'after each step'}`,
    labels: ['file'],
    figures: work.stepBytes === work.totalBytes || work.syncEvery === 0 ? [] : ['p50', 'p90', 'p99', 'max'],
    extras: ['total ms', 'MB/s'],
    ratioTo: 'the growing file',
    chart: 'throughput',
    rows: [...all.values()].map(({ row }) => row),
  })
}

async function run(context: SuiteContext): Promise<string[]> {
  const rounds = context.quick ? 1 : 5
  const works = context.big ? [...WORKS, BIG] : WORKS
  const turns = (FILES.length + 1) * (rounds * WORKS.length + (context.big ? 1 : 0))
  await context.plan('overwrite', turns)
  for (const work of works) await measureWork(context, work, work === BIG ? 1 : rounds)
  if (context.big) return []
  return [`With --big: ${formatSize(BIG.totalBytes)} in ${formatSize(BIG.stepBytes)} steps with one fsync as well.`]
}

export const overwrite: Suite = {
  name: 'overwrite',
  title: 'Overwriting and allocating',
  summary: '5 MiB into growing, preallocated, zeroed and written files; 10 GiB with --big',
  run,
}
