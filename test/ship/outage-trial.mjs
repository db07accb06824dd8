/** Appends at a fixed rate, without a shipper and with one whose server is down; then how fast it catches up. */
import { join } from 'node:path'
import { open } from 'durlog'
import { ship } from 'durlog/jetstream'
import { startServer } from '../fixtures/nats.mjs'

const RATE = 20_000
const RECORD = Buffer.alloc(256, 'x')
const ROUNDS = 3

const percentile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]

/** Milliseconds that each append took, at `RATE` for `ms`. */
async function appendFor(log, ms) {
  const started = performance.now()
  const times = []
  const pending = new Set()
  let made = 0
  while (performance.now() - started < ms) {
    const due = Math.min((RATE * ms) / 1000, Math.floor(((performance.now() - started) * RATE) / 1000))
    for (; made < due; made++) {
      const begin = performance.now()
      const append = log.append(RECORD).then(() => {
        times.push(performance.now() - begin)
        pending.delete(append)
      })
      pending.add(append)
    }
    await new Promise((resolve) => setImmediate(resolve))
  }
  await Promise.all(pending)
  return times.sort((a, b) => a - b)
}

/** Interleaved, so that drift of the machine affects both. */
export async function runOutageTrial(dir, seconds) {
  const server = await startServer(dir)
  const log = await open(join(dir, 'log'))
  const place = { servers: server.url, stream: 'OUTAGE', subject: 'outage' }
  try {
    await log.append('first')
    const first = ship(log, place)
    await first.idle()
    await first.close()
    await server.kill()
    await appendFor(log, 2000)
    const alone = []
    const beside = []
    let memory = []
    for (let round = 0; round < ROUNDS; round++) {
      alone.push(percentile(await appendFor(log, (seconds * 1000) / ROUNDS), 0.99))
      const shipper = ship(log, place)
      const before = process.memoryUsage().rss
      beside.push(percentile(await appendFor(log, (seconds * 1000) / ROUNDS), 0.99))
      memory = [...memory, Math.round((process.memoryUsage().rss - before) / 2 ** 20)]
      await shipper.close()
    }
    const backlog = log.nextSeq
    await server.start()
    const started = performance.now()
    const shipper = ship(log, place)
    await shipper.idle()
    const caughtUp = Math.round((backlog * 1000) / (performance.now() - started))
    await shipper.close()
    const ratios = beside.map((value, i) => value / alone[i]).sort((a, b) => a - b)
    return {
      p99Alone: alone,
      p99BesideShipper: beside,
      medianRatio: ratios[1],
      memoryGrowthMiB: memory,
      backlog,
      caughtUpPerSecond: caughtUp,
    }
  } finally {
    await log.close()
    await server.kill()
  }
}
