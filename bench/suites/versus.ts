/** Compares durlog with its alternatives at the same durability. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { open } from 'durlog'
import { Field } from '../harness/contenders.js'
import { keepInFlight } from '../harness/load.js'
import { isInstalled, type Peer, type PeerLog, peers } from '../harness/peers.js'
import { type Contender, takeTurns } from '../harness/rounds.js'
import { makePayload, withScratch } from '../harness/scratch.js'
import type { Suite, SuiteContext } from '../harness/suite.js'
import type { TableResult } from '../report/report.js'

const RECORD_BYTES = 256
const DEPTH = 1024
const QUICK = { rounds: 2, sliceMs: 150 }
const FULL = { rounds: 5, sliceMs: 1000 }

const durlog: Peer = {
  name: 'durlog',
  durableBy: 'append at sync',
  memoryBy: 'append at memory',
  async open(folder, durable) {
    const log = await open(join(folder, 'log'), { durability: durable ? 'sync' : 'memory' })
    return { append: (data) => log.append(data), close: () => log.close() }
  },
}

function contenderOf(log: PeerLog, depth: number, sliceMs: number): Contender {
  const payload = makePayload(RECORD_BYTES)
  const append = (): Promise<unknown> => log.append(payload)
  const bytesPerOperation = RECORD_BYTES
  if (depth === 1) return { bytesPerOperation, each: append }
  return { bytesPerOperation, batch: () => keepInFlight(append, depth, sliceMs) }
}

function tableOf(field: Field, durable: boolean, depth: number): TableResult {
  const alone = depth === 1
  return {
    title: `${durable ? 'durable' : 'not durable'}, ${alone ? 'one at a time' : `${depth} in flight`}, 256 B`,
    durability: durable ? 'on the device' : 'in the page cache: survives kill -9, not a power cut',
    labels: ['log', 'by'],
    figures: alone ? ['p50', 'p90', 'p99', 'p999', 'max', 'opsPerSecond'] : ['opsPerSecond', 'megabytesPerSecond'],
    ratioTo: alone ? "durlog's p50" : "durlog's ops/s",
    chart: alone ? 'latency' : 'throughput',
    rows: field.rows,
  }
}

async function measure(context: SuiteContext, contestants: readonly Peer[], durable: boolean, depth: number) {
  const extent = context.quick ? QUICK : FULL
  await withScratch(context.dir, async (folder) => {
    const field = new Field()
    try {
      for (const peer of contestants) {
        const log = await peer.open(await subfolder(folder, peer.name), durable)
        field.whenDone(() => log.close())
        const by = durable ? peer.durableBy : peer.memoryBy
        field.add({ labels: [peer.name, by] }, contenderOf(log, depth, extent.sliceMs))
      }
      const summaries = await takeTurns(field.contenders, { ...extent, onTurn: context.step })
      const own = summaries.get(field.rows[0] as (typeof field.rows)[0])
      for (const [row, summary] of summaries) {
        row.summary = summary
        if (own) row.ratio = depth === 1 ? summary.p50 / own.p50 : summary.opsPerSecond / own.opsPerSecond
      }
    } finally {
      await field.close()
    }
    await context.add(tableOf(field, durable, depth))
  })
}

async function subfolder(folder: string, name: string): Promise<string> {
  const path = join(folder, name.replaceAll(/\W+/g, '-'))
  await mkdir(path)
  return path
}

async function run(context: SuiteContext): Promise<string[]> {
  const contestants = [durlog, ...peers.filter(isInstalled)]
  const { rounds } = context.quick ? QUICK : FULL
  await context.plan('vs', contestants.length * (rounds + 1) * 4)
  for (const durable of [true, false]) {
    for (const depth of [1, DEPTH]) await measure(context, contestants, durable, depth)
  }
  const missing = peers.flatMap((peer) => (isInstalled(peer) ? [] : (peer.module ?? [])))
  if (missing.length === 0) return []
  return [
    `Not installed here, so not measured: ${missing.join(', ')}. In the current folder: npm install ${missing.join(' ')}.`,
  ]
}

export const versus: Suite = {
  name: 'vs',
  title: 'Comparison with alternatives',
  summary: 'lmdb, better-sqlite3, classic-level, sonic-boom, fs.promises, group commit in JS: where installed',
  run,
}
