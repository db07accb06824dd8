/**
 * Appends at a fixed rate, without a shipper and with one whose servers are down. Then measures how fast the shipper
 * catches up, with and without concurrent appends, and the rate of the client and the servers without durlog in the
 * same run.
 */
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { open } from 'durlog'
import { ship } from 'durlog/jetstream'
import { startCluster, startServer } from '../fixtures/nats.mjs'
import { clientLimit } from './client-limit.mjs'

const RATE = 20_000
const RECORD = Buffer.alloc(256, 'x')
const ROUNDS = 3

const percentile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]

/** Milliseconds that each append took, at `RATE` for `ms` or until `ended`. */
async function appendFor(log, ms, ended = () => false) {
  const started = performance.now()
  const times = []
  const pending = new Set()
  let made = 0
  while (performance.now() - started < ms && !ended()) {
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

/** The longest time of a round of catching up, or of the client alone. */
const MEASURED_MS = 8000
const LIMIT_ROUNDS = 2

/** Runs `measure` while records are appended at `RATE`, if `loaded`. */
async function beside(log, loaded, measure) {
  if (!loaded) return measure()
  let ended = false
  const appending = appendFor(log, MEASURED_MS * 4, () => ended)
  try {
    return await measure()
  } finally {
    ended = true
    await appending
  }
}

/** Records per second that the client publishes into a separate stream. */
async function limitOf(urls, replicas, name) {
  const nc = await connect({ servers: urls })
  const manager = await jetstreamManager(nc, { checkAPI: false })
  const config = { name, subjects: [name], num_replicas: replicas, allow_atomic: true }
  await again(() => manager.streams.add(config))
  const rate = await clientLimit(nc, name, RECORD, MEASURED_MS)
  await again(() => manager.streams.delete(name))
  await nc.close()
  return rate
}

/** Acknowledged records per second of a shipper whose backlog is longer than the round. */
async function catchUp(log, place) {
  const shipper = ship(log, place)
  await new Promise((resolve) => shipper.once('shipped', resolve))
  const before = shipper.stats().records
  const started = performance.now()
  while (performance.now() - started < MEASURED_MS && shipper.stats().lag.records > 0) await wait(20)
  const rate = ((shipper.stats().records - before) * 1000) / (performance.now() - started)
  await shipper.close()
  return Math.round(rate)
}

/** The measurements alternate, so that drift of the machine affects all of them. */
async function measureCatchUp(log, place, replicas) {
  const rates = { limit: [], shipped: [], limitBesideAppends: [], shippedBesideAppends: [] }
  for (let round = 0; round < LIMIT_ROUNDS; round++) {
    for (const loaded of [false, true]) {
      const [limit, shipped] = loaded ? ['limitBesideAppends', 'shippedBesideAppends'] : ['limit', 'shipped']
      const name = `LIMIT${round}${loaded}`
      rates[limit].push(await beside(log, loaded, () => limitOf(place.servers, replicas, name)))
      rates[shipped].push(await beside(log, loaded, () => catchUp(log, place)))
    }
  }
  return rates
}

/** Interleaved, for the same reason. */
async function appendInOutage(log, place, seconds) {
  const [alone, besideShipper, memoryGrowthMiB] = [[], [], []]
  for (let round = 0; round < ROUNDS; round++) {
    alone.push(percentile(await appendFor(log, (seconds * 1000) / ROUNDS), 0.99))
    const shipper = ship(log, place)
    const before = process.memoryUsage().rss
    besideShipper.push(percentile(await appendFor(log, (seconds * 1000) / ROUNDS), 0.99))
    memoryGrowthMiB.push(Math.round((process.memoryUsage().rss - before) / 2 ** 20))
    await shipper.close()
  }
  const ratios = besideShipper.map((value, i) => value / alone[i]).sort((a, b) => a - b)
  return { p99Alone: alone, p99BesideShipper: besideShipper, medianRatio: ratios[1], memoryGrowthMiB }
}

async function again(action) {
  for (const end = performance.now() + 60_000; ; await wait(200)) {
    try {
      return await action()
    } catch (error) {
      if (performance.now() > end) throw error
    }
  }
}

export async function runOutageTrial(dir, seconds, replicas) {
  const servers = replicas === 1 ? [await startServer(dir)] : await startCluster(dir)
  const log = await open(join(dir, 'log'))
  const place = { servers: servers.map(({ url }) => url), stream: 'OUTAGE', subject: 'outage', replicas }
  try {
    await log.append('first')
    const first = ship(log, place)
    await first.idle()
    await first.close()
    await Promise.all(servers.map((server) => server.kill()))
    await appendFor(log, 2000)
    const appends = await appendInOutage(log, place, seconds)
    const backlog = log.nextSeq
    await Promise.all(servers.map((server) => server.start()))
    return { ...appends, backlog, perSecond: await measureCatchUp(log, place, replicas) }
  } finally {
    await log.close()
    await Promise.all(servers.map((server) => server.kill()))
  }
}
