/** Reading: a whole log, a single record, and the delay until a follower has a new record. */
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Log, open } from 'durlog'
import { RawRecords } from '../harness/raw-records.js'
import { requireWhole } from '../harness/read-back.js'
import { takeTurns } from '../harness/rounds.js'
import { makePayload, withScratch } from '../harness/scratch.js'
import { summarize } from '../harness/stats.js'
import type { Suite, SuiteContext } from '../harness/suite.js'
import { formatSize } from '../report/format.js'
import type { Row } from '../report/report.js'

const MIB = 2 ** 20
const QUICK = { totalBytes: 128 * MIB, sizes: [128, 1024, 65536], scans: 3, getMs: 300, follows: 50 }
const FULL = { totalBytes: 1024 * MIB, sizes: [128, 1024, 4096, 65536], scans: 5, getMs: 2000, follows: 500 }
const BATCH_RECORDS = 256
const GET_RECORD_BYTES = 1024
const GET_ROUNDS = 3
/** The pause between two appends, so that the follower waits for each of them. */
const FOLLOW_PAUSE_MS = 5

async function fill(log: Log, recordBytes: number, totalBytes: number): Promise<number> {
  const payload = makePayload(recordBytes)
  const batch = Math.max(1, Math.min(BATCH_RECORDS, Math.floor((4 * MIB) / recordBytes)))
  const list = Array.from({ length: batch }, () => payload)
  let records = 0
  for (; records * recordBytes < totalBytes; records += list.length)
    await log.appendBatch(list, { durability: 'memory' })
  await log.sync()
  return records
}

async function scanForAwait(log: Log): Promise<number> {
  let records = 0
  for await (const { data } of log.read()) records += data.length > 0 ? 1 : 0
  return records
}

async function scanBuffered(log: Log): Promise<number> {
  let records = 0
  const reader = log.read()
  for (;;) {
    const record = reader.nextBuffered() ?? (await reader.next()).value
    if (record === undefined) return records
    records += 1
  }
}

async function scanBatches(log: Log): Promise<number> {
  let records = 0
  for await (const batch of log.read().batches()) records += batch.length
  return records
}

async function scanSize(context: SuiteContext, recordBytes: number): Promise<Row[]> {
  const { totalBytes, scans } = context.quick ? QUICK : FULL
  return withScratch(context.dir, async (folder) => {
    const log = await open(join(folder, 'log'))
    const records = await fill(log, recordBytes, totalBytes)
    const ways = [
      { label: 'for await', scan: scanForAwait, us: [] as number[] },
      { label: 'nextBuffered', scan: scanBuffered, us: [] as number[] },
      { label: 'batches', scan: scanBatches, us: [] as number[] },
    ]
    for (let i = 0; i < scans; i += 1) {
      for (const way of ways) {
        const start = performance.now()
        const seen = await way.scan(log)
        way.us.push((performance.now() - start) * 1000)
        const whole = { planned: records, acknowledged: records, records: seen, damaged: 0 }
        requireWhole(`a scan by ${way.label}`, whole, folder)
      }
      context.step()
    }
    await log.close()
    return ways.map(({ label, us }): Row => {
      const each = Float64Array.from(us, (total) => total / records)
      return {
        labels: [formatSize(recordBytes), label],
        summary: summarize({ latencies: each, bytesPerOperation: recordBytes }),
      }
    })
  })
}

async function scans(context: SuiteContext): Promise<void> {
  const { sizes, totalBytes } = context.quick ? QUICK : FULL
  const rows: Row[] = []
  for (const recordBytes of sizes) rows.push(...(await scanSize(context, recordBytes)))
  await context.add({
    title: `scan of ${formatSize(totalBytes)} from the page cache`,
    durability: 'reading',
    labels: ['record', 'by'],
    figures: ['opsPerSecond', 'megabytesPerSecond'],
    ratioTo: '',
    chart: 'throughput',
    rows,
  })
}

/** Measures reads of single records, and of the same bytes with pread at a known offset. */
async function gets(context: SuiteContext, log: Log): Promise<Row[]> {
  const { getMs } = context.quick ? QUICK : FULL
  const count = log.nextSeq
  let at = 0
  const anywhere = <T>(read: (seq: number) => T) => {
    return (): T => {
      // A stride that is coprime with the count scatters the reads over the log.
      at = (at + 7_919) % count
      return read(at)
    }
  }
  const raw = new RawRecords(log.dir, count, () => GET_RECORD_BYTES)
  const bytesPerOperation = GET_RECORD_BYTES
  const ways = [
    { label: 'fs.read, anywhere in the log', sync: false, each: anywhere((seq) => raw.read(seq)) },
    { label: 'get, anywhere in the log', sync: false, each: anywhere((seq) => log.get(seq)) },
    { label: 'fs.readSync', sync: true, each: anywhere((seq) => raw.readSync(seq)) },
    { label: 'getSync', sync: true, each: anywhere((seq) => log.getSync(seq)) },
  ]
  const contenders = new Map(ways.map(({ label, sync, each }) => [label, { bytesPerOperation, sync, each }]))
  const summaries = await takeTurns(contenders, { rounds: GET_ROUNDS, sliceMs: getMs / GET_ROUNDS })
  raw.close()
  context.step()
  return ways.map(({ label, sync }): Row => {
    const summary = summaries.get(label)
    const base = summaries.get(sync ? 'fs.readSync' : 'fs.read, anywhere in the log')
    if (summary === undefined || base === undefined) return { labels: [label] }
    return { labels: [label], baseline: summary === base, summary, ratio: summary.p50 / base.p50 }
  })
}

/** Measures the time from an append's acknowledgement at `memory` until the follower has the record. */
async function follows(context: SuiteContext, log: Log): Promise<Row> {
  const { follows: count } = context.quick ? QUICK : FULL
  const payload = makePayload(GET_RECORD_BYTES)
  const acknowledged = new Map<number, number>()
  const delivered = new Map<number, number>()
  const end = log.nextSeq + count
  const reading = (async () => {
    for await (const { seq } of log.read({ from: log.nextSeq, to: end, follow: true }))
      delivered.set(seq, performance.now())
  })()
  for (let i = 0; i < count; i += 1) {
    await sleep(FOLLOW_PAUSE_MS)
    const seq = await log.append(payload, { durability: 'memory' })
    acknowledged.set(seq, performance.now())
  }
  await reading
  context.step()
  const latencies = [...delivered].map(([seq, at]) => Math.max(0, at - (acknowledged.get(seq) ?? at)) * 1000)
  return {
    labels: ['follow, after the append at memory is acknowledged'],
    summary: summarize({ latencies: Float64Array.from(latencies), bytesPerOperation: GET_RECORD_BYTES }),
  }
}

async function run(context: SuiteContext): Promise<string[]> {
  const extent = context.quick ? QUICK : FULL
  await context.plan('read', extent.sizes.length * extent.scans + 2)
  await scans(context)
  await withScratch(context.dir, async (folder) => {
    const log = await open(join(folder, 'log'))
    await fill(log, GET_RECORD_BYTES, extent.totalBytes / 4)
    const rows = [...(await gets(context, log)), await follows(context, log)]
    await log.close()
    await context.add({
      title: `one record of ${formatSize(GET_RECORD_BYTES)}`,
      durability: 'reading',
      labels: ['how'],
      figures: ['p50', 'p90', 'p99', 'max', 'mean'],
      ratioTo: "fs.read's p50, and fs.readSync's",
      rows,
    })
  })
  return []
}

export const read: Suite = {
  name: 'read',
  title: 'Reading',
  summary: 'scans by record size, single records, and the delay until a follower has a new record',
  run,
}
