/** Several processes append small records as fast as possible: the table of the mmlog article. */
import { join } from 'node:path'
import { open } from 'durlog'
import {
  type BaselineFile,
  type BaselineMethod,
  baselinesSupported,
  prepareFile,
  verifyRecords,
} from '../harness/baselines.js'
import { Crew } from '../harness/crew.js'
import type { AppendJob } from '../harness/crew-member.js'
import { requireWhole } from '../harness/read-back.js'
import { withScratch } from '../harness/scratch.js'
import { median } from '../harness/stats.js'
import type { Suite, SuiteContext } from '../harness/suite.js'
import { fioOf } from '../report/fio.js'
import { formatSize } from '../report/format.js'
import type { Row, TableResult } from '../report/report.js'

const MIB = 2 ** 20
const PROCESSES = 4
const BLOCK_BYTES = 4096
/** The size of the header in which a mapped file of several processes keeps its append point. */
const SHARED_HEADER_BYTES = 4096

interface Method {
  label: string
  /** The raw method; undefined for durlog. */
  raw?: { method: BaselineMethod; file: BaselineFile; padded?: boolean; mapped?: boolean }
  inFlight: number
  /** Whether all processes write one log. */
  shared?: boolean
  /**
   * Whether the process collects records in its own memory and writes a full buffer of them: kill -9 loses the buffer,
   * and the buffers of several processes tear each other's records.
   */
  buffered?: boolean
  /** Whether several processes overwrite each other's records on some file systems: XFS with O_APPEND and O_DIRECT. */
  overwrites?: boolean
}

const METHODS: readonly Method[] = [
  { label: 'durlog write, a log for each process', inFlight: 0 },
  { label: 'durlog append at memory, 1024 in flight', inFlight: 1024 },
  { label: 'durlog write, one log for all', inFlight: 0, shared: true },
  { label: 'durlog append at memory, 1024 in flight, one log for all', inFlight: 1024, shared: true },
  { label: 'C++ write + O_APPEND', raw: { method: 'write-append', file: 'none' }, inFlight: 0 },
  { label: 'C++ writev + O_APPEND', raw: { method: 'writev-append', file: 'none' }, inFlight: 0 },
  { label: 'C++ FILE stream, fflush each', raw: { method: 'stdio-flush', file: 'none' }, inFlight: 0 },
  { label: 'C++ mmap, fetch_add, faulting', raw: { method: 'mmap', file: 'fallocate', mapped: true }, inFlight: 0 },
  {
    label: 'C++ mmap, fetch_add, populated ahead',
    raw: { method: 'mmap-populated', file: 'fallocate', mapped: true },
    inFlight: 0,
  },
  { label: 'C++ Linux AIO, 32 at a time', raw: { method: 'aio-append', file: 'none' }, inFlight: 0 },
  {
    label: 'C++ O_DIRECT, padded to 4 KiB',
    raw: { method: 'direct-append', file: 'none', padded: true },
    inFlight: 0,
    overwrites: true,
  },
  { label: 'C++ FILE stream, its own buffer', raw: { method: 'stdio', file: 'none' }, inFlight: 0, buffered: true },
]

interface Load {
  operations: number
  recordBytes: number
}

const QUICK: readonly Load[] = [
  { operations: 20_000, recordBytes: 128 },
  { operations: 20_000, recordBytes: 1 },
  { operations: 5_000, recordBytes: 4095 },
]
const FULL: readonly Load[] = [
  { operations: 100_000, recordBytes: 128 },
  { operations: 100_000, recordBytes: 1 },
  { operations: 10_000, recordBytes: 4095 },
]

function fileBytesOf({ operations, recordBytes }: Load): number {
  const bytes = SHARED_HEADER_BYTES + PROCESSES * operations * recordBytes
  return Math.ceil(bytes / MIB) * MIB
}

async function runRaw(crew: Crew, folder: string, raw: NonNullable<Method['raw']>, load: Load) {
  const path = join(folder, 'shared')
  const fileBytes = fileBytesOf(load)
  await prepareFile(path, raw.file, fileBytes)
  const jobs = Array.from({ length: PROCESSES }, (_, writer): AppendJob => {
    const { method, file: preallocate } = raw
    const spec = {
      path,
      method,
      preallocate,
      recordBytes: load.recordBytes,
      fileBytes,
      syncEvery: 0,
      writer,
      shared: true,
    }
    return { ...load, spec, inFlight: 0 }
  })
  const run = await crew.run(jobs)
  const { records, damaged } = await verifyRecords({
    path,
    start: raw.mapped ? SHARED_HEADER_BYTES : 0,
    stride: raw.padded ? Math.ceil(load.recordBytes / BLOCK_BYTES) * BLOCK_BYTES : load.recordBytes,
    recordBytes: load.recordBytes,
  })
  return { ...run, records, damaged }
}

async function runDurlog(crew: Crew, folder: string, inFlight: number, load: Load) {
  const dirs = Array.from({ length: PROCESSES }, (_, i) => join(folder, `log-${i}`))
  const run = await crew.run(dirs.map((dir): AppendJob => ({ ...load, dir, inFlight })))
  let records = 0
  let damaged = 0
  for (const dir of dirs) {
    const log = await open(dir)
    for await (const { seq, data } of log.read()) {
      const whole = data.length === load.recordBytes && (data.length < 4 || data.readUInt32LE() === seq)
      if (whole) records += 1
      else damaged += 1
    }
    await log.close()
  }
  return { ...run, records, damaged }
}

/** Measures one log for all processes. Each record's number must be in the log once for each process. */
async function runShared(crew: Crew, folder: string, inFlight: number, load: Load) {
  const dir = join(folder, 'log')
  const run = await crew.run(
    Array.from({ length: PROCESSES }, (): AppendJob => ({ ...load, dir, inFlight, shared: true })),
  )
  const counts = new Uint8Array(load.operations)
  let records = 0
  let damaged = 0
  const log = await open(dir)
  for await (const { data } of log.read()) {
    const number = data.length < 4 ? 0 : data.readUInt32LE()
    const count = (counts[number] ?? PROCESSES) + 1
    const whole = data.length === load.recordBytes && (data.length < 4 || count <= PROCESSES)
    if (data.length >= 4) counts[number] = count
    if (whole) records += 1
    else damaged += 1
  }
  await log.close()
  return { ...run, records, damaged }
}

interface Outcome {
  method: Method
  totalsMs: number[]
  /** Whether a record was not read back as it was written. */
  isTorn: boolean
  note?: string
}

async function measureOnce(crew: Crew, dir: string, load: Load, outcome: Outcome): Promise<void> {
  const { method } = outcome
  await withScratch(dir, async (folder) => {
    try {
      const { ms, ...found } = await (method.raw
        ? runRaw(crew, folder, method.raw, load)
        : method.shared
          ? runShared(crew, folder, method.inFlight, load)
          : runDurlog(crew, folder, method.inFlight, load))
      const planned = PROCESSES * load.operations
      if (method.buffered || method.overwrites) outcome.isTorn ||= found.records !== planned || found.damaged > 0
      else requireWhole(method.label, { planned, ...found }, method.raw ? undefined : folder)
      outcome.totalsMs.push(ms)
    } catch (error) {
      if ((error as { unsupported?: boolean }).unsupported !== true) throw error
      outcome.note = (error as Error).message
    }
  })
}

/** Makes a run whose result is not used, so that V8 has compiled the JavaScript code before the measurement. */
function warmUp(crew: Crew, dir: string, load: Load, { method }: Outcome): Promise<void> {
  return measureOnce(crew, dir, load, { method, totalsMs: [], isTorn: false })
}

function toRow(outcome: Outcome, load: Load, baselineMs: number): Row {
  const row: Row = { labels: [outcome.method.label] }
  if (outcome.method.raw) {
    const { method, file: preallocate } = outcome.method.raw
    const fileBytes = load.operations * load.recordBytes
    row.baseline = true
    row.fio = fioOf({ method, preallocate, recordBytes: load.recordBytes, fileBytes, processes: PROCESSES })
  }
  if (outcome.totalsMs.length === 0) return { ...row, note: outcome.note ?? '' }
  const ms = median(outcome.totalsMs)
  const calls = PROCESSES * load.operations
  row.extras = [ms, (ms * 1000 * PROCESSES) / calls, (calls * load.recordBytes) / ms / 1e6]
  row.ratio = ms / baselineMs
  row.extras.push(outcome.isTorn ? 'torn' : 'all records')
  return row
}

function toTable(load: Load, outcomes: readonly Outcome[], buffered: boolean): TableResult {
  const write = outcomes.find(({ method }) => method.raw?.method === 'write-append')
  const baselineMs = median(write?.totalsMs ?? [])
  const chosen = outcomes.filter(({ method }) => (method.buffered ?? false) === buffered)
  const size = formatSize(load.recordBytes)
  return {
    title: `${PROCESSES} processes × ${load.operations.toLocaleString('en-US')} × ${size}${buffered ? ', buffered in the process' : ''}`,
    durability: buffered
      ? "in the process's own buffer: kill -9 loses it, and the buffers of several processes tear records"
      : 'in the page cache or beyond, never synced: survives kill -9',
    labels: ['method'],
    figures: [],
    extras: ['total ms', 'us a call', 'GB/s', 'read back'],
    ratioTo: buffered ? '' : "C++ write + O_APPEND's time",
    rows: chosen.map((outcome) => toRow(outcome, load, baselineMs)),
  }
}

async function run(context: SuiteContext): Promise<string[]> {
  const loads = context.quick ? QUICK : FULL
  const rounds = context.quick ? 1 : 5
  const methods = METHODS.filter(({ raw }) => raw === undefined || baselinesSupported())
  await context.plan('append', loads.length * rounds * methods.length)
  const crew = Crew.ofProcesses(PROCESSES)
  try {
    for (const load of loads) {
      const outcomes = methods.map((method): Outcome => ({ method, totalsMs: [], isTorn: false }))
      for (const outcome of outcomes) if (!outcome.method.raw) await warmUp(crew, context.dir, load, outcome)
      for (let round = 0; round < rounds; round += 1) {
        for (const outcome of outcomes) {
          await measureOnce(crew, context.dir, load, outcome)
          context.step()
        }
      }
      await context.add(toTable(load, outcomes, false))
      if (baselinesSupported()) await context.add(toTable(load, outcomes, true))
    }
  } finally {
    crew.dismiss()
  }
  return []
}

export const append: Suite = {
  name: 'append',
  title: 'Processes that append small records',
  summary: '4 processes x 1 B, 128 B and 4095 B: write, writev, FILE, mmap, AIO, O_DIRECT, durlog; read back',
  run,
}
