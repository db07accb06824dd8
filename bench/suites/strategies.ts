/** Every strategy with every preallocation at every level, compared with raw system calls. */
import { join } from 'node:path'
import type { Durability } from 'durlog'
import { type Log, open } from 'durlog'
import type { BaselineMethod } from '../harness/baselines.js'
import { Field } from '../harness/contenders.js'
import { keepInFlight, nextTurn } from '../harness/load.js'
import { type Contender, takeTurns } from '../harness/rounds.js'
import { makePayload, withScratch } from '../harness/scratch.js'
import type { Summary } from '../harness/stats.js'
import type { Suite, SuiteContext } from '../harness/suite.js'
import { type FioJob, fioOf } from '../report/fio.js'
import { formatSize } from '../report/format.js'
import type { Figure, Row, TableResult } from '../report/report.js'
import { recommend } from './recommendation.js'
import { type Config, type Extent, FULL, LEVELS, type LevelPlan, QUICK, type RawCall } from './strategies-plan.js'
import { judgeUses } from './uses.js'

const MIB = 2 ** 20
const IN_FLIGHT = 1024
const IN_FLIGHT_BYTES = 8 * MIB
const WRITES_PER_CALL = 1000
const RAW_WRITES_PER_SAMPLE = 100

/** A table that is being measured. */
interface Measuring {
  plan: LevelPlan
  extent: Extent
  bytes: number
  field: Field
  inFlight: Map<Row, Contender>
  logs: Map<Row, Log>
}

/** Makes a burst of `write`. Its time includes the turn of the event loop that the log needs afterwards. */
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

function oneAtATime(log: Log, level: Durability, payload: Buffer): Contender {
  const bytesPerOperation = payload.length
  const tidy = (): Promise<number> => log.trimBefore(log.nextSeq)
  if (level === 'memory') return { bytesPerOperation, batch: () => writeBurst(log, payload), tidy }
  return { bytesPerOperation, each: () => log.append(payload, { durability: level }), tidy }
}

async function addLog({ field, plan, extent, bytes, inFlight, logs }: Measuring, dir: string, config: Config) {
  const row = field.add({ labels: [config.strategy, config.preallocate] })
  try {
    const log = await open(dir, { ...config, segmentBytes: extent.segmentBytes })
    field.whenDone(() => log.close())
    const payload = makePayload(bytes)
    logs.set(row, log)
    const alone = oneAtATime(log, plan.level, payload)
    field.contenders.set(row, alone)
    if (plan.level === 'memory') return
    const append = (): Promise<number> => log.append(payload, { durability: plan.level })
    const depth = Math.max(1, Math.min(IN_FLIGHT, Math.floor(IN_FLIGHT_BYTES / bytes)))
    inFlight.set(row, {
      bytesPerOperation: bytes,
      batch: () => keepInFlight(append, depth, extent.sliceMs),
      tidy: alone.tidy,
    })
  } catch (error) {
    // If the file system does not support a strategy, its row contains the reason.
    row.note = (error as Error).message
  }
}

async function addRawCall({ field, plan, bytes }: Measuring, path: string, raw: RawCall): Promise<void> {
  const many = plan.level === 'memory'
  const spec = {
    path,
    method: raw.method,
    preallocate: raw.file,
    recordBytes: bytes,
    fileBytes: 64 * MIB,
    recordsPerSample: many ? RAW_WRITES_PER_SAMPLE : 1,
    syncEvery: many ? 0 : 1,
  }
  await field.addRaw([`C++ ${raw.label}`, raw.file], spec, many ? 50 : bytes >= MIB ? 4 : 16)
}

function columnsOf(level: Durability, quick: boolean): Figure[] {
  const figures: Figure[] = quick
    ? ['p50', 'p99']
    : ['p50', 'p90', 'p99', 'p999', 'max', 'mean', 'stddev', 'outlierShare']
  return level === 'memory' || !quick
    ? [...figures, 'opsPerSecond', 'megabytesPerSecond']
    : [...figures, 'opsPerSecond']
}

/**
 * Returns the figure that is compared: the median of durable appends, or the mean of appends at memory, in
 * microseconds.
 */
function costOf(level: Durability, summary: Summary): number {
  return level === 'memory' ? 1e6 / summary.opsPerSecond : summary.p50
}

/** The raw call that a log in this mode makes for each append of this level. */
function likeLog(level: Durability, mode: string, preallocate: string, recordBytes: number): FioJob {
  const ways: Record<Durability, BaselineMethod> =
    mode === 'mmap'
      ? { memory: 'mmap', async: 'mmap-msync-async', sync: 'mmap-msync', full: 'mmap-msync' }
      : mode === 'direct'
        ? { memory: 'direct', async: 'direct', sync: 'direct-dsync', full: 'direct-dsync' }
        : { memory: 'pwrite', async: 'pwrite-range', sync: 'pwrite-fdatasync', full: 'pwrite-fsync' }
  return { method: ways[level], preallocate: preallocate === 'none' ? 'none' : 'zero', recordBytes }
}

async function takeAllTurns(measuring: Measuring, onTurn: () => void): Promise<void> {
  const { field, extent, plan, inFlight, logs } = measuring
  const { rounds, sliceMs } = extent
  const alone = await takeTurns(field.contenders, { rounds, sliceMs, onTurn })
  const modes = new Map([...logs].map(([row, log]) => [row, log.stats().mode]))
  const many = await takeTurns(inFlight, { rounds: 1, sliceMs, onTurn })
  const floor = alone.get(field.rows.find(({ baseline }) => baseline === true) as Row)
  for (const [row, summary] of alone) {
    row.summary = summary
    if (floor !== undefined) row.ratio = costOf(plan.level, summary) / costOf(plan.level, floor)
    const crowd = many.get(row)
    if (plan.level !== 'memory') row.extras = [crowd?.opsPerSecond ?? '', crowd?.megabytesPerSecond ?? '']
    const mode = modes.get(row)
    if (row.labels[0] === 'auto') row.note = mode ?? ''
    if (mode !== undefined) row.fio = fioOf(likeLog(plan.level, mode, row.labels[1] ?? '', measuring.bytes))
  }
}

async function measureTable(context: SuiteContext, extent: Extent, plan: LevelPlan, bytes: number) {
  return withScratch(context.dir, async (folder): Promise<TableResult> => {
    const field = new Field()
    const measuring: Measuring = { plan, extent, bytes, field, inFlight: new Map(), logs: new Map() }
    try {
      for (const [i, config] of extent.configs.entries()) await addLog(measuring, join(folder, `log-${i}`), config)
      for (const [i, raw] of plan.rawCalls.entries()) await addRawCall(measuring, join(folder, `raw-${i}`), raw)
      await takeAllTurns(measuring, context.step)
    } finally {
      await field.close()
    }
    return {
      title: `${plan.level}, records of ${formatSize(bytes)}`,
      durability: `${plan.level}: ${plan.durability}`,
      labels: ['strategy', 'prealloc'],
      figures: columnsOf(plan.level, context.quick),
      ...(plan.level !== 'memory' && { extras: [`ops/s, ${IN_FLIGHT} in flight`, `MB/s, ${IN_FLIGHT} in flight`] }),
      ratioTo: `C++ ${plan.rawCalls[0]?.label ?? ''}'s ${plan.level === 'memory' ? 'time' : 'p50'}`,
      chart: plan.level === 'memory' ? 'throughput' : 'latency',
      rows: field.rows,
    }
  })
}

function countTurns(extent: Extent): number {
  let turns = 0
  for (const { level, rawCalls } of LEVELS) {
    const alone = (extent.configs.length + rawCalls.length) * (extent.rounds + 1)
    const many = level === 'memory' ? 0 : extent.configs.length * 2
    turns += (alone + many) * extent.sizes[level].length
  }
  return turns
}

async function run(context: SuiteContext): Promise<string[]> {
  const extent = context.quick ? QUICK : FULL
  await context.plan('strategies', countTurns(extent))
  const tables: TableResult[] = []
  for (const plan of LEVELS) {
    for (const bytes of extent.sizes[plan.level]) {
      const table = await measureTable(context, extent, plan, bytes)
      tables.push(table)
      await context.add(table)
    }
  }
  const disturbances = await context.disturbances()
  return [...judgeUses(tables, disturbances.length > 0), ...recommend(tables, disturbances)]
}

export const strategies: Suite = {
  name: 'strategies',
  title: 'Strategies and preallocations',
  summary: 'strategies x preallocations x levels, compared with raw system calls; recommends one',
  run,
}
