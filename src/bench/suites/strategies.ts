/** Every strategy on every preallocation at every level, with the raw system calls beside them. */
import { join } from 'node:path'
import { type Log, open } from '../../index.js'
import type { Durability, Preallocation, Strategy } from '../../types.js'
import { Baseline, type BaselineFile, type BaselineMethod, baselinesSupported, isUnsupported } from '../baselines.js'
import { formatSize } from '../format.js'
import { keepInFlight, nextTurn } from '../load.js'
import { recommend } from '../recommendation.js'
import type { Figure, Row, TableResult } from '../report.js'
import { type Contender, takeTurns } from '../rounds.js'
import { makePayload, withScratch } from '../scratch.js'
import type { Summary } from '../stats.js'
import type { Suite, SuiteContext } from '../suite.js'

const MIB = 2 ** 20

interface Config {
  strategy: Strategy
  preallocate: Preallocation
}

interface RawCall {
  label: string
  method: BaselineMethod
  file: BaselineFile
}

/** What one level is measured by and compared with; the first raw call is what ratios are over. */
interface LevelPlan {
  level: Durability
  durability: string
  rawCalls: RawCall[]
}

interface Extent {
  configs: Config[]
  sizes: Record<Durability, number[]>
  rounds: number
  sliceMs: number
  segmentBytes: number
}

const IN_FLIGHT = 1024
const WRITES_PER_CALL = 500

const LEVELS: readonly LevelPlan[] = [
  {
    level: 'sync',
    durability: 'on the device: survives a power cut if the drive honours flushes',
    rawCalls: [
      { label: 'O_DIRECT+O_DSYNC', method: 'direct-dsync', file: 'zero' },
      { label: 'pwrite+fdatasync', method: 'pwrite-fdatasync', file: 'zero' },
      { label: 'pwrite+fdatasync', method: 'pwrite-fdatasync', file: 'fallocate' },
      { label: 'pwrite+fdatasync', method: 'pwrite-fdatasync', file: 'none' },
      { label: 'mmap+msync', method: 'mmap-msync', file: 'fallocate' },
    ],
  },
  {
    level: 'full',
    durability: 'on the device, metadata included: the strongest there is',
    rawCalls: [
      { label: 'pwrite+fsync', method: 'pwrite-fsync', file: 'zero' },
      { label: 'pwrite+fsync', method: 'pwrite-fsync', file: 'none' },
    ],
  },
  {
    level: 'async',
    durability: 'in the page cache, writeback started: survives kill -9, not a power cut',
    rawCalls: [{ label: 'pwrite+sync_file_range', method: 'pwrite-range', file: 'zero' }],
  },
  {
    level: 'memory',
    durability: 'in the page cache: survives kill -9, not a power cut',
    rawCalls: [
      { label: 'write(2) O_APPEND', method: 'write-append', file: 'none' },
      { label: 'mmap, populated ahead', method: 'mmap-populated', file: 'fallocate' },
      { label: 'mmap, faulting', method: 'mmap', file: 'fallocate' },
    ],
  },
]

const QUICK: Extent = {
  configs: configsOf(['fallocate', 'zero'], ['none', 'fallocate', 'zero'], ['none', 'fallocate', 'zero']),
  sizes: { sync: [256, 4096], full: [256], async: [256], memory: [128] },
  rounds: 3,
  sliceMs: 50,
  segmentBytes: 32 * MIB,
}

const FULL: Extent = {
  configs: configsOf(
    ['fallocate', 'zero-range', 'zero', 'recycle'],
    ['none', 'sparse', 'fallocate', 'keep-size', 'zero-range', 'zero', 'recycle'],
    ['none', 'sparse', 'fallocate', 'keep-size', 'zero-range', 'zero', 'recycle'],
  ),
  sizes: {
    sync: [256, 1024, 4096, 65536, MIB],
    full: [256, 4096, 65536],
    async: [256, 4096, 65536],
    memory: [128, 4095],
  },
  rounds: 5,
  sliceMs: 200,
  segmentBytes: 64 * MIB,
}

function configsOf(mmap: Preallocation[], pwrite: Preallocation[], direct: Preallocation[]): Config[] {
  const all = (strategy: Strategy, list: Preallocation[]): Config[] =>
    list.map((preallocate) => ({ strategy, preallocate }))
  return [
    { strategy: 'auto', preallocate: 'auto' },
    ...all('mmap', mmap),
    ...all('pwrite', pwrite),
    ...all('direct', direct),
  ]
}

/** One table being measured: what is open, and the rows so far. */
interface Field {
  contenders: Map<number, Contender>
  inFlight: Map<number, Contender>
  rows: Row[]
  logs: Map<number, Log>
  closing: (() => Promise<unknown>)[]
}

/** Fills segments and lets them go, so that there is something to use again. */
async function leaveSegmentsBehind(log: Log, segmentBytes: number): Promise<void> {
  const payload = makePayload(256 * 1024)
  for (let bytes = 0; bytes < segmentBytes * 3; bytes += payload.length)
    await log.append(payload, { durability: 'memory' })
  await log.trimBefore(log.nextSeq)
}

function contenderOf(log: Log, level: Durability, bytes: number): Contender {
  const payload = makePayload(bytes)
  if (level !== 'memory') return { bytesPerOperation: bytes, each: () => log.append(payload, { durability: level }) }
  return { bytesPerOperation: bytes, batch: () => writeBurst(log, payload) }
}

/** A burst of `write`; the turn of the event loop after it, which lets the core do its housekeeping, is in the time. */
async function writeBurst(log: Log, payload: Buffer): Promise<{ operations: number }> {
  let operations = 0
  try {
    for (; operations < WRITES_PER_CALL; operations += 1) log.write(payload)
    await nextTurn()
  } catch (error) {
    if ((error as { code?: string }).code !== 'ERR_DURLOG_BACKPRESSURE') throw error
    await log.drain()
  }
  return { operations }
}

async function addLog(field: Field, dir: string, config: Config, plan: LevelPlan, bytes: number, extent: Extent) {
  const row: Row = { labels: [config.strategy, config.preallocate] }
  const index = field.rows.push(row) - 1
  try {
    const log = await open(dir, { ...config, segmentBytes: extent.segmentBytes })
    field.closing.push(() => log.close())
    if (config.preallocate === 'recycle') await leaveSegmentsBehind(log, extent.segmentBytes)
    field.logs.set(index, log)
    field.contenders.set(index, contenderOf(log, plan.level, bytes))
    if (plan.level === 'memory') return
    const payload = makePayload(bytes)
    const append = (): Promise<number> => log.append(payload, { durability: plan.level })
    const depth = Math.max(1, Math.min(IN_FLIGHT, Math.floor((8 * MIB) / bytes)))
    field.inFlight.set(index, {
      bytesPerOperation: bytes,
      batch: () => keepInFlight(append, depth, extent.sliceMs),
    })
  } catch (error) {
    row.note = (error as Error).message
  }
}

async function addRawCall(field: Field, path: string, raw: RawCall, level: Durability, bytes: number): Promise<void> {
  const row: Row = { labels: [`C++ ${raw.label}`, raw.file], baseline: true }
  const index = field.rows.push(row) - 1
  const perSample = level === 'memory' ? 100 : 1
  try {
    const baseline = await Baseline.open({
      path,
      method: raw.method,
      preallocate: raw.file,
      recordBytes: bytes,
      fileBytes: 64 * MIB,
      recordsPerSample: perSample,
      syncEvery: level === 'memory' ? 0 : 1,
    })
    field.closing.push(() => baseline.close())
    const samples = level === 'memory' ? 50 : bytes >= MIB ? 4 : 16
    const batch = async () => {
      const latencies = await baseline.run(samples)
      const elapsedUs = latencies.reduce((total, value) => total + value, 0) * perSample
      return { operations: samples * perSample, elapsedUs, latencies }
    }
    field.contenders.set(index, { bytesPerOperation: bytes, batch })
  } catch (error) {
    if (!isUnsupported(error)) throw error
    row.note = (error as Error).message
  }
}

function columnsOf(level: Durability, quick: boolean): Figure[] {
  const figures: Figure[] = quick ? ['p50', 'p99'] : ['p50', 'p90', 'p99', 'max', 'mean', 'stddev', 'outlierShare']
  return level === 'memory' ? [...figures, 'opsPerSecond', 'megabytesPerSecond'] : [...figures, 'opsPerSecond']
}

/** The figure that a level is about: the median durable append, or the mean into memory. */
function figureOf(level: Durability, summary: Summary): number {
  return level === 'memory' ? 1e6 / summary.opsPerSecond : summary.p50
}

function fillRows(field: Field, plan: LevelPlan, alone: Map<number, Summary>, many: Map<number, Summary>): void {
  const firstRaw = field.rows.findIndex(({ baseline }) => baseline === true)
  const floor = alone.get(firstRaw)
  for (const [index, row] of field.rows.entries()) {
    const summary = alone.get(index)
    if (summary === undefined) continue
    row.summary = summary
    if (floor !== undefined) row.ratio = figureOf(plan.level, summary) / figureOf(plan.level, floor)
    const crowd = many.get(index)
    if (plan.level !== 'memory') row.extras = [crowd?.opsPerSecond ?? '', crowd?.megabytesPerSecond ?? '']
    if (row.labels[0] === 'auto') row.note = field.logs.get(index)?.stats().mode ?? ''
  }
}

async function measureTable(
  context: SuiteContext,
  extent: Extent,
  plan: LevelPlan,
  bytes: number,
): Promise<TableResult> {
  return withScratch(context.dir, async (folder) => {
    const field: Field = { contenders: new Map(), inFlight: new Map(), rows: [], logs: new Map(), closing: [] }
    try {
      for (const [i, config] of extent.configs.entries()) {
        await addLog(field, join(folder, `log-${i}`), config, plan, bytes, extent)
      }
      if (baselinesSupported()) {
        for (const [i, raw] of plan.rawCalls.entries()) {
          await addRawCall(field, join(folder, `raw-${i}`), raw, plan.level, bytes)
        }
      }
      const { rounds, sliceMs } = extent
      const alone = await takeTurns(field.contenders, { rounds, sliceMs, onTurn: context.step })
      const many = await takeTurns(field.inFlight, { rounds: 1, sliceMs, onTurn: context.step })
      fillRows(field, plan, alone, many)
    } finally {
      for (const close of field.closing) await close()
    }
    return {
      title: `${plan.level}, records of ${formatSize(bytes)}`,
      durability: `${plan.level}: ${plan.durability}`,
      labels: ['strategy', 'preallocation'],
      figures: columnsOf(plan.level, context.quick),
      ...(plan.level !== 'memory' && { extras: [`ops/s, ${IN_FLIGHT} in flight`, `MB/s so`] }),
      ratioTo: plan.rawCalls[0]?.label ?? '',
      chart: plan.level === 'memory' ? 'throughput' : 'latency',
      rows: field.rows,
    }
  })
}

async function run(context: SuiteContext): Promise<string[]> {
  const extent = context.quick ? QUICK : FULL
  let turns = 0
  for (const { level, rawCalls } of LEVELS) {
    const alone = (extent.configs.length + rawCalls.length) * (extent.rounds + 1)
    const many = level === 'memory' ? 0 : extent.configs.length * 2
    turns += (alone + many) * extent.sizes[level].length
  }
  await context.plan('strategies', turns)
  const tables: TableResult[] = []
  for (const plan of LEVELS) {
    for (const bytes of extent.sizes[plan.level]) {
      const table = await measureTable(context, extent, plan, bytes)
      tables.push(table)
      await context.add(table)
    }
  }
  return recommend(tables)
}

export const strategies: Suite = {
  name: 'strategies',
  title: 'Strategies and preallocations',
  summary: 'strategies x preallocations x levels beside the raw system calls, and what to use here',
  run,
}
