/** Durable POSTs over HTTP: durlog's server, a server without storage, and other servers of the same protocol. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Field } from '../harness/contenders.js'
import { type HttpServer, httpServers, isAvailable, RunningServer } from '../harness/http-servers.js'
import { type Contender, takeTurns } from '../harness/rounds.js'
import { withScratch } from '../harness/scratch.js'
import type { Suite, SuiteContext } from '../harness/suite.js'
import { isWrkInstalled, prepareWrk } from '../harness/wrk.js'
import type { Row } from '../report/report.js'

const CONNECTIONS = 64
const MESSAGES = 100
const QUICK = { rounds: 2, sliceMs: 1000 }
const FULL = { rounds: 5, sliceMs: 3000 }
/** The number of streams that are created at the same time. */
const CREATED_AT_ONCE = 32

interface Workload {
  title: string
  streams: number
  contentType: string
  body: string
  messages: number
  takesPart(server: HttpServer): boolean
}

const RECORD = { contentType: 'application/octet-stream', body: 'x'.repeat(256), messages: 1, takesPart: () => true }
const ARRAY = Array.from({ length: MESSAGES }, (_, at) => ({ n: at, text: 'hello, world' }))

const WORKLOADS: readonly Workload[] = [
  { ...RECORD, title: 'POST of 256 B, 1 stream', streams: 1 },
  { ...RECORD, title: 'POST of 256 B, 1,000 streams', streams: 1000 },
  {
    title: `POST of ${MESSAGES} JSON messages, 1 stream`,
    streams: 1,
    contentType: 'application/json',
    body: JSON.stringify(ARRAY),
    messages: MESSAGES,
    // A log would store the array as one record.
    takesPart: ({ hasStreams, name }) => hasStreams || name === 'bare node:http',
  },
]

async function createStreams(port: number, paths: readonly string[], contentType: string): Promise<void> {
  const waiting = paths.values()
  const create = async (): Promise<void> => {
    for (const path of waiting) {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
        method: 'PUT',
        headers: { 'content-type': contentType },
      })
      await answer.arrayBuffer()
      if (answer.status !== 201) throw new Error(`PUT ${path} failed with status ${answer.status}`)
    }
  }
  await Promise.all(Array.from({ length: CREATED_AT_ONCE }, create))
}

/** The sums over the turns of one server. */
interface Load {
  requests: number
  failed: number
  processorUs: number
}

async function addServer(field: Field, folder: string, server: HttpServer, workload: Workload, seconds: number) {
  const { contentType, body } = workload
  const own = join(folder, server.name.replaceAll(/\W+/g, '-'))
  await mkdir(own)
  const running = await RunningServer.start(server, own)
  field.whenDone(() => running.stop())
  const paths = Array.from({ length: workload.streams }, (_, at) => `/bench/s${at}`)
  if (server.hasStreams) await createStreams(running.port, paths, contentType)
  const wrk = await prepareWrk(own, { port: running.port, paths, contentType, body, connections: CONNECTIONS })
  const load: Load = { requests: 0, failed: 0, processorUs: 0 }
  const batch: Contender['batch'] = async () => {
    const before = running.processorUs()
    const { requests, elapsedUs, failed } = await wrk(seconds)
    load.requests += requests
    load.failed += failed
    load.processorUs += running.processorUs() - before
    return { operations: requests - failed, elapsedUs }
  }
  const row = field.add({ labels: [server.name, server.answers] }, { bytesPerOperation: body.length, batch })
  return { row, load }
}

function fill(row: Row, load: Load, bare: Row, messages: number): void {
  const { requests, failed, processorUs } = load
  const rate = row.summary?.opsPerSecond ?? Number.NaN
  row.extras = [(processorUs / requests).toFixed(1), Math.round(rate * messages).toLocaleString('en')]
  row.ratio = rate / (bare.summary?.opsPerSecond ?? Number.NaN)
  if (failed > 0) row.note = `${failed} of ${requests} requests failed`
}

async function measure(context: SuiteContext, servers: readonly HttpServer[], workload: Workload): Promise<void> {
  const extent = context.quick ? QUICK : FULL
  await withScratch(context.dir, async (folder) => {
    const field = new Field()
    try {
      const added: Awaited<ReturnType<typeof addServer>>[] = []
      for (const server of servers.filter(workload.takesPart))
        added.push(await addServer(field, folder, server, workload, extent.sliceMs / 1000))
      const summaries = await takeTurns(field.contenders, { ...extent, onTurn: context.step })
      for (const [row, summary] of summaries) row.summary = summary
      for (const { row, load } of added) fill(row, load, field.rows[0] as Row, workload.messages)
    } finally {
      await field.close()
    }
    await context.add({
      title: `${workload.title}, ${CONNECTIONS} connections`,
      durability: 'on the device before the answer, unless the row says otherwise',
      labels: ['server', 'answers'],
      figures: ['opsPerSecond'],
      extras: ['processor us per request', 'messages/s'],
      ratioTo: "bare node:http's requests/s",
      chart: 'throughput',
      rows: field.rows,
    })
  })
}

async function run(context: SuiteContext): Promise<string[]> {
  if (!isWrkInstalled()) return ['Not measured: the load generator wrk is not installed (apt-get install wrk).']
  const servers = httpServers.filter(isAvailable)
  const { rounds } = context.quick ? QUICK : FULL
  const turns = WORKLOADS.map(({ takesPart }) => servers.filter(takesPart).length * (rounds + 1))
  await context.plan(
    'http',
    turns.reduce((sum, count) => sum + count, 0),
  )
  for (const workload of WORKLOADS) await measure(context, servers, workload)
  return httpServers
    .filter((server) => !isAvailable(server))
    .map(({ name, needs }) => `Not installed here, so not measured: ${name}. In the repo: ${needs?.by}.`)
}

export const http: Suite = {
  name: 'http',
  title: 'Durable POSTs over HTTP',
  summary: 'durlog serve, bare node:http, and other servers of Durable Streams: where installed; needs wrk',
  run,
}
