// Shipping to JetStream, compared with the client's own conditional publish, to a server that syncs each write.
import { join } from 'node:path'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { open } from 'durlog'
import { ship } from 'durlog/jetstream'
import { missingServer, startServer } from '../../test/fixtures/nats.mjs'
import { makePayload, withScratch } from '../dist/harness/scratch.js'

const RECORD_BYTES = 256
const SINGLE_RECORDS = 10_000
const BATCHED_RECORDS = 60_000
const IN_FLIGHT = 256
const MAX_BATCH = 1000

const perSecond = (records, since) => (records * 1000) / (performance.now() - since)

/** Makes a log with `records` records. */
async function filledLog(dir, records) {
  const log = await open(join(dir, 'log'))
  const payload = makePayload(RECORD_BYTES)
  for (let i = 0; i < records; i += 1000) log.writeBatch(Array.from({ length: 1000 }, () => payload))
  await log.sync()
  return log
}

async function shipRate(dir, url, records, { atomic, maxInFlight }) {
  const nc = await connect({ servers: url })
  const manager = await jetstreamManager(nc)
  const stream = `SHIP${atomic ? 'A' : 'S'}${maxInFlight}`
  await manager.streams.add({ name: stream, subjects: [stream], allow_atomic: atomic })
  return withScratch(dir, async (folder) => {
    const log = await filledLog(folder, records)
    const started = performance.now()
    const shipper = ship(log, { servers: url, stream, subject: stream, maxInFlight })
    await shipper.idle()
    const rate = perSecond(records, started)
    await shipper.close()
    await log.close()
    await manager.streams.delete(stream)
    await nc.close()
    return rate
  })
}

/** Measures js.publish, with a condition on the sequence of the previous message in each call. */
async function clientRate(url, records) {
  const nc = await connect({ servers: url })
  const manager = await jetstreamManager(nc)
  await manager.streams.add({ name: 'CLIENT', subjects: ['client'] })
  const js = jetstream(nc)
  const payload = makePayload(RECORD_BYTES)
  const started = performance.now()
  let next = 0
  const lane = async () => {
    while (next < records) {
      const seq = next++
      await js.publish('client', payload, {
        msgID: `client:${seq}`,
        expect: { lastSubjectSequence: seq },
        timeout: 60_000,
      })
    }
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, lane))
  const rate = perSecond(records, started)
  await manager.streams.delete('CLIENT')
  await nc.close()
  return rate
}

const figure = (id, title, more = {}) => ({
  id,
  title,
  unit: 'records/s',
  baseline: 'js.publish',
  on: 'ratio',
  ...more,
})

const shipping = {
  name: 'ship',
  figures: [
    figure('ship-single', 'shipped as single messages, 256 B, 256 in flight', { min: 0.9 }),
    figure('ship-batch-256', 'shipped in atomic batches of up to 256'),
    figure('ship-batch-1000', 'shipped in atomic batches of up to 1000'),
  ],
  unavailable: async () => (missingServer === '' ? undefined : missingServer),
  async run({ dir }) {
    return withScratch(dir, async (folder) => {
      const server = await startServer(folder)
      try {
        const baseline = await clientRate(server.url, SINGLE_RECORDS)
        const rate = (records, how) => shipRate(dir, server.url, records, how)
        const single = await rate(SINGLE_RECORDS, { atomic: false, maxInFlight: IN_FLIGHT })
        const batch = await rate(BATCHED_RECORDS, { atomic: true, maxInFlight: IN_FLIGHT })
        const largest = await rate(BATCHED_RECORDS, { atomic: true, maxInFlight: MAX_BATCH })
        return {
          'ship-single': { value: single, baseline },
          'ship-batch-256': { value: batch, baseline },
          'ship-batch-1000': { value: largest, baseline },
        }
      } finally {
        await server.kill()
      }
    })
  },
}

export const shipGroups = [shipping]
