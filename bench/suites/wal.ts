/** Ways to flush a write-ahead log, and round trips to a server that responds after the append. */

import { once } from 'node:events'
import { Agent, createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Durability } from 'durlog'
import { open } from 'durlog'
import { Baseline, type BaselineFile, type BaselineMethod, baselinesSupported } from '../harness/baselines.js'
import { Field, rawContender } from '../harness/contenders.js'
import { type Contender, takeTurns } from '../harness/rounds.js'
import { makePayload, withScratch } from '../harness/scratch.js'
import type { Suite, SuiteContext } from '../harness/suite.js'
import { fioOf } from '../report/fio.js'
import type { Row, TableResult } from '../report/report.js'

const MIB = 2 ** 20
const RECORD_BYTES = 256
const SAMPLES_PER_CALL = 16
const QUICK = { rounds: 3, sliceMs: 100 }
const FULL = { rounds: 5, sliceMs: 1000 }

interface Way {
  label: string
  durable: boolean
  raw?: { method: BaselineMethod; file: BaselineFile }
  level?: Durability
}

const WAYS: readonly Way[] = [
  { label: 'growing file, fdatasync', durable: true, raw: { method: 'pwrite-fdatasync', file: 'none' } },
  { label: 'fallocated file, fdatasync', durable: true, raw: { method: 'pwrite-fdatasync', file: 'fallocate' } },
  { label: 'zero-filled file, fdatasync', durable: true, raw: { method: 'pwrite-fdatasync', file: 'zero' } },
  { label: 'zero-filled file, O_DIRECT+O_DSYNC', durable: true, raw: { method: 'direct-dsync', file: 'zero' } },
  { label: 'map of a zero-filled file, msync', durable: true, raw: { method: 'mmap-msync', file: 'zero' } },
  { label: 'durlog append at sync', durable: true, level: 'sync' },
  { label: 'map of a zero-filled file, MS_ASYNC', durable: false, raw: { method: 'mmap-msync-async', file: 'zero' } },
  { label: 'durlog append at async', durable: false, level: 'async' },
  { label: 'durlog append at memory', durable: false, level: 'memory' },
]

interface Opened {
  way: Way
  /** Makes one append in the way of a server: asynchronously, from JavaScript. */
  append: () => Promise<unknown>
  /** Measures only the append: in C++ for raw calls, with `append` for durlog. */
  alone: Contender
}

async function openWay(field: Field, folder: string, way: Way, index: number): Promise<Opened> {
  if (way.raw) {
    const spec = {
      path: join(folder, `raw-${index}`),
      method: way.raw.method,
      preallocate: way.raw.file,
      recordBytes: RECORD_BYTES,
      fileBytes: 64 * MIB,
    }
    const baseline = await Baseline.open(spec)
    field.whenDone(() => baseline.close())
    return { way, append: () => baseline.run(1), alone: rawContender(baseline, spec, SAMPLES_PER_CALL) }
  }
  const log = await open(join(folder, `log-${index}`), { durability: way.level })
  field.whenDone(() => log.close())
  const payload = makePayload(RECORD_BYTES)
  const append = (): Promise<number> => log.append(payload)
  return { way, append, alone: { bytesPerOperation: RECORD_BYTES, each: append } }
}

/** Starts a minimal server, which responds to each POST once its append is acknowledged. */
async function startServer(append: () => Promise<unknown>): Promise<Server> {
  const server = createServer((message, response) => {
    message.resume().on('end', () => {
      append().then(
        () => response.end('ok'),
        (error: Error) => response.writeHead(500).end(error.message),
      )
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

/** Sends one POST over a persistent connection. Resolves when the response has been read. */
function post(agent: Agent, port: number, body: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = request({ agent, port, host: '127.0.0.1', method: 'POST' }, (answer) => {
      answer.resume().on('end', () => (answer.statusCode === 200 ? resolve() : reject(new Error('refused'))))
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

async function roundTripContender(field: Field, opened: Opened): Promise<Contender> {
  const server = await startServer(opened.append)
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  field.whenDone(async () => {
    agent.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const body = makePayload(RECORD_BYTES)
  return { bytesPerOperation: RECORD_BYTES, each: () => post(agent, port, body) }
}

function tableOf(title: string, rows: Row[], durable: boolean): TableResult {
  return {
    title: `${title}, ${durable ? 'durable' : 'not durable'}`,
    durability: durable ? 'sync: on the device' : 'in the page cache: survives kill -9, not a power cut',
    labels: ['log'],
    figures: ['min', 'mean', 'p50', 'p90', 'p99', 'max', 'opsPerSecond'],
    ratioTo: durable ? "O_DIRECT+O_DSYNC's p50" : "MS_ASYNC's p50",
    chart: 'latency',
    rows,
  }
}

async function measureAll(
  context: SuiteContext,
  title: string,
  contenders: ReadonlyMap<Way, Contender>,
): Promise<void> {
  const extent = context.quick ? QUICK : FULL
  const summaries = await takeTurns(contenders, { ...extent, onTurn: context.step })
  for (const durable of [true, false]) {
    const measured = [...summaries].filter(([way]) => way.durable === durable)
    const floor = measured.find(([way]) => way.raw?.method === (durable ? 'direct-dsync' : 'mmap-msync-async'))
    const rows = measured.map(([way, summary]): Row => {
      const row: Row = { labels: [way.label], summary }
      if (way.raw) {
        row.baseline = true
        row.fio = fioOf({ method: way.raw.method, preallocate: way.raw.file, recordBytes: RECORD_BYTES })
      }
      if (floor) row.ratio = summary.p50 / floor[1].p50
      return row
    })
    await context.add(tableOf(title, rows, durable))
  }
}

const SURVIVES: readonly [string, string, string, string][] = [
  ['fdatasync, O_DSYNC, msync(MS_SYNC); durlog sync, full', 'survives', 'survives', 'survives if the drive flushes'],
  ['mmap + MS_ASYNC; durlog async', 'survives', 'may be lost', 'may be lost'],
  ['a store to a map, write(2); durlog memory', 'survives', 'may be lost', 'may be lost'],
  ["a stream's buffer in the process", 'lost', 'lost', 'lost'],
]

export const FAILURES: TableResult = {
  title: 'failures that the record survives',
  durability: 'once the call has returned or the promise has settled',
  labels: ['how'],
  figures: [],
  extras: ['kill -9', 'kernel panic', 'power cut'],
  ratioTo: '',
  rows: SURVIVES.map(([how, ...extras]) => ({ labels: [how], extras })),
}

async function run(context: SuiteContext): Promise<string[]> {
  const ways = WAYS.filter(({ raw }) => raw === undefined || baselinesSupported())
  const { rounds } = context.quick ? QUICK : FULL
  await context.plan('wal', ways.length * (rounds + 1) * 2)
  await withScratch(context.dir, async (folder) => {
    const field = new Field()
    try {
      const opened: Opened[] = []
      for (const [i, way] of ways.entries()) opened.push(await openWay(field, folder, way, i))
      await measureAll(context, 'flush', new Map(opened.map(({ way, alone }) => [way, alone])))
      const trips = new Map<Way, Contender>()
      for (const each of opened) trips.set(each.way, await roundTripContender(field, each))
      await measureAll(context, 'HTTP round trip, answered after the append', trips)
    } finally {
      await field.close()
    }
  })
  await context.add(FAILURES)
  return []
}

export const wal: Suite = {
  name: 'wal',
  title: 'Ways to flush a write-ahead log',
  summary: 'flush latency of each way, and round trips of an HTTP server that responds after the append',
  run,
}
