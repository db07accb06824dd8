import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { Log } from '../src/index.js'
import { recordCrc } from '../src/ship/record-crc.js'
import { missingServer } from './fixtures/nats.mjs'
import { codeOf, openUntilDone, scratchLog } from './fixtures/scratch.js'
import {
  type Admin,
  admin,
  makeStream,
  publishOther,
  STREAM,
  SUBJECT,
  server,
  shipper,
  stopCode,
  stored,
  textsOf,
} from './fixtures/ship.js'

if (missingServer !== '') process.stdout.write(`skipped: ${missingServer}\n`)

const names = (count: number, from = 0): string[] => Array.from({ length: count }, (_, i) => `record ${from + i}`)

async function appendNames(log: Log, count: number): Promise<void> {
  await Promise.all(names(count, log.nextSeq).map((name) => log.append(name)))
}

/** A server with the stream, a log, and a connection to inspect the stream. */
async function stage(config: Parameters<typeof makeStream>[1] = {}): Promise<{
  nats: Awaited<ReturnType<typeof server>>
  look: Admin
  log: Log
}> {
  const nats = await server()
  const look = await admin(nats)
  await makeStream(look, config)
  return { nats, look, log: await scratchLog() }
}

describe.skipIf(missingServer !== '')('a shipped log', () => {
  test.each([
    ['in atomic batches', { allow_atomic: true }],
    ['single messages, many at a time', { allow_atomic: false }],
  ])('is in the stream once and in order, %s', async (_how, config) => {
    const { nats, look, log } = await stage(config)
    await appendNames(log, 2500)
    const shipping = shipper(log, nats)
    await shipping.idle()
    await appendNames(log, 3)
    await shipping.idle()
    // On a slow machine a session may end before it gets the acknowledgements of stored records: `records` omits those.
    expect(shipping.stats()).toMatchObject({ shippedSeq: 2502, inFlight: 0, state: 'shipping' })
    expect(shipping.stats().lag.records).toBe(0)
    const messages = await stored(look)
    expect(textsOf(messages)).toEqual(names(2503))
    const { data, timestamp } = await log.get(7)
    expect(messages[7]?.headers).toMatchObject({
      'Nats-Msg-Id': `${log.uuid}:7`,
      'Durlog-Uuid': log.uuid,
      'Durlog-Seq': '7',
      'Durlog-Generation': '0',
      'Durlog-Timestamp': String(timestamp),
      'Durlog-Crc': recordCrc(log.uuid, 7, timestamp, data).toString(16).padStart(8, '0'),
    })
  })

  test('by a shipper that creates the stream', async () => {
    const nats = await server()
    const look = await admin(nats)
    const log = await scratchLog()
    await appendNames(log, 10)
    await shipper(log, nats).idle()
    expect(textsOf(await stored(look))).toEqual(names(10))
    const { config } = await look.manager.streams.info(STREAM)
    expect(config).toMatchObject({ subjects: [SUBJECT], storage: 'file', num_replicas: 1, allow_atomic: true })
  })

  test('is shipped by a read-only log while another one writes', async () => {
    const { nats, look, log } = await stage()
    await appendNames(log, 10)
    const reading = await openUntilDone(log.dir, { readOnly: true })
    const shipping = shipper(reading, nats)
    await shipping.idle()
    await appendNames(log, 10)
    await shipping.idle()
    expect(textsOf(await stored(look))).toEqual(names(20))
  })

  test('has only synced records in the stream', async () => {
    const { nats, look } = await stage()
    const log = await scratchLog({ strategy: 'mmap' })
    await appendNames(log, 5)
    const reading = await openUntilDone(log.dir, { readOnly: true })
    const shipping = shipper(reading, nats)
    log.write('in memory only')
    await shipping.idle()
    // Closing exchanges messages with the server, so any shipped record would have arrived.
    await shipping.close()
    expect(textsOf(await stored(look))).toEqual(names(5))
    await log.sync()
    await shipper(reading, nats).idle()
    expect(textsOf(await stored(look))).toEqual([...names(5), 'in memory only'])
  })

  test("continues after the destination's last record, at any position of its cursor", async () => {
    const { nats, look, log } = await stage()
    await appendNames(log, 10)
    await using first = shipper(log, nats)
    await first.idle()
    await first.close()
    const [cursor] = await log.cursors()
    expect(cursor).toMatchObject({ name: 'ship', position: 10, state: 'ready' })
    await appendNames(log, 10)
    for (const name of ['unknown-before', 'ship']) await shipper(log, nats, { cursor: name }).idle()
    expect(textsOf(await stored(look))).toEqual(names(20))
  })

  test('is stored once if two shippers ship it at the same time', async () => {
    const { nats, look, log } = await stage()
    const pair = ['one', 'two'].map((cursor) => shipper(log, nats, { cursor, maxInFlight: 7 }))
    for (let i = 0; i < 20; i++) await appendNames(log, 25)
    await Promise.all(pair.map((shipping) => shipping.idle()))
    expect(textsOf(await stored(look))).toEqual(names(500))
  })

  test.each([true, false])('shares its stream with other subjects (atomic batches: %s)', async (allow_atomic) => {
    const { nats, look, log } = await stage({ allow_atomic })
    const other = await scratchLog()
    const publishing = new AbortController()
    const others = (async () => {
      while (!publishing.signal.aborted) await publishOther(look, 'orders.other')
    })()
    const both = [shipper(log, nats, { maxInFlight: 20 }), shipper(other, nats, { subject: 'orders.us-1' })]
    for (let i = 0; i < 20; i++) await Promise.all([appendNames(log, 30), appendNames(other, 20)])
    await Promise.all(both.map((shipping) => shipping.idle()))
    publishing.abort()
    await others
    expect(textsOf(await stored(look))).toEqual(names(600))
    expect(textsOf(await stored(look, 'orders.us-1'))).toEqual(names(400))
  })

  test('is split into several messages if a record is longer than a message may be', async () => {
    const nats = await server('max_payload: 8192')
    const look = await admin(nats)
    await makeStream(look)
    const log = await scratchLog()
    const long = 'x'.repeat(20_000)
    await log.appendBatch(['before', long, 'after'])
    await shipper(log, nats).idle()
    const messages = await stored(look)
    expect(textsOf(messages).join('')).toBe(`before${long}after`)
    expect(messages.map(({ headers }) => headers['Durlog-Part'])).toEqual([
      undefined,
      '0/20000',
      '7168/20000',
      '14336/20000',
      undefined,
    ])
  })

  test('stops at a record that is too long for a message if it may not be split', async () => {
    const nats = await server('max_payload: 8192')
    const log = await scratchLog()
    await log.appendBatch(['before', 'x'.repeat(20_000)])
    const shipping = shipper(log, nats, { oversized: 'refuse', maxInFlight: 1 })
    expect(await stopCode(shipping)).toBe('ERR_DURLOG_RECORD_TOO_LARGE')
    expect(shipping.stats()).toMatchObject({ state: 'stopped', shippedSeq: 0 })
    expect(await codeOf(shipping.idle())).toBe('ERR_DURLOG_RECORD_TOO_LARGE')
  })

  test('is trimmed after records were acknowledged, and never before', async () => {
    const { nats, look } = await stage()
    const log = await scratchLog({ segmentBytes: 64 * 1024 })
    const record = Buffer.alloc(1000, 'x')
    const append = (count: number): Promise<unknown> => log.appendBatch(Array.from({ length: count }, () => record))
    for (let i = 0; i < 6; i++) await append(50)
    const shipping = shipper(log, nats, { keepAfterAck: { maxBytes: 0 } })
    await shipping.idle()
    await expect.poll(async () => append(1).then(() => log.firstSeq)).toBeGreaterThan(200)
    await shipping.idle()
    expect(await stored(look)).toHaveLength(log.nextSeq)
    await nats.kill()
    const held = log.nextSeq
    for (let i = 0; i < 6; i++) await append(50)
    await wait(1500)
    expect(log.firstSeq).toBeLessThanOrEqual(held)
  })
})

describe.skipIf(missingServer !== '')('a shipper', () => {
  test('continues when its server was killed and started again', async () => {
    const { nats, look, log } = await stage()
    const shipping = shipper(log, nats)
    for (let i = 0; i < 5; i++) {
      await appendNames(log, 100)
      const killed = nats.kill()
      await appendNames(log, 100)
      await killed
      const retried = once(shipping, 'retry')
      await appendNames(log, 100)
      await retried
      await nats.start()
      await shipping.idle()
    }
    expect(shipping.stats().reconnects).toBeGreaterThanOrEqual(1)
    expect(textsOf(await stored(look))).toEqual(names(1500))
  })

  test('waits for a server that has not started, and reports each try', async () => {
    const { nats, look, log } = await stage()
    await nats.stop()
    await appendNames(log, 3)
    const shipping = shipper(log, nats)
    const [retry] = await once(shipping, 'retry')
    expect(retry).toMatchObject({ attempt: 1 })
    expect(shipping.stats()).toMatchObject({ state: 'waiting', shippedSeq: -1, lag: { records: 3 } })
    await nats.start()
    await shipping.idle()
    expect(textsOf(await stored(look))).toEqual(names(3))
  })

  test('is not idle before its server has answered, at any position of its cursor', async () => {
    const { nats, log } = await stage()
    await appendNames(log, 3)
    await using first = shipper(log, nats)
    await first.idle()
    await first.close()
    await nats.stop()
    const shipping = shipper(log, nats)
    await once(shipping, 'retry')
    const idle = shipping.idle().then(() => 'idle')
    expect(await Promise.race([idle, once(shipping, 'retry').then(() => 'not yet')])).toBe('not yet')
    await nats.start()
    expect(await idle).toBe('idle')
  })

  test('gives up after retryForMs', async () => {
    const { nats, log } = await stage()
    await nats.stop()
    const shipping = shipper(log, nats, { retryForMs: 200 })
    expect(await stopCode(shipping)).toBe('ERR_DURLOG_DESTINATION_UNREACHABLE')
  })

  test('reports once that it lags', async () => {
    const { nats, log } = await stage()
    await nats.stop()
    const shipping = shipper(log, nats, { laggingMs: 50 })
    await appendNames(log, 4)
    const [lag] = await once(shipping, 'lagging')
    expect(lag).toMatchObject({ records: 4 })
  })

  test('is closed by its signal, and closes neither the log nor the given connection', async () => {
    const { look, nats, log } = await stage()
    const ending = new AbortController()
    const options = { connection: look.nc, servers: undefined, signal: ending.signal }
    const shipping = shipper(log, nats, options)
    await appendNames(log, 3)
    await shipping.idle()
    ending.abort()
    await shipping.close()
    expect(await codeOf(shipping.idle())).toBe('ERR_DURLOG_CLOSED')
    await appendNames(log, 3)
    expect(textsOf(await stored(look))).toEqual(names(3))
  })

  test('is the only shipper that uses its cursor', async () => {
    const { nats, log } = await stage()
    await appendNames(log, 1)
    const first = shipper(log, nats)
    await first.idle()
    expect(await stopCode(shipper(log, nats))).toBe('ERR_DURLOG_LOCKED')
  })

  test('stops when its log is closed', async () => {
    const { nats, log } = await stage()
    await appendNames(log, 1)
    const shipping = shipper(log, nats)
    await shipping.idle()
    const code = stopCode(shipping)
    await log.close()
    expect(await code).toBe('ERR_DURLOG_CLOSED')
  })

  test.each([
    [{}, 'stream must be'],
    [{ stream: 'a.b' }, 'stream must be'],
    [{ stream: 'S', subject: 'a.*' }, 'subject must be'],
    [{ stream: 'S', maxInFlight: 0 }, 'maxInFlight must be'],
    [{ stream: 'S', color: 1 }, 'there is no "color"'],
    [{ stream: 'S', keepAfterAck: {} }, 'keepAfterAck must have'],
    [{ stream: 'S', servers: [] }, 'servers must be'],
  ])('refuses %j', async (options, message) => {
    const { ship } = await import('../src/jetstream/index.js')
    const log = await scratchLog()
    expect(() => ship(log, options as never)).toThrow(message)
  })

  test.each(['nats://user:s3cr/et@host:4222', 'user:s3cret@host:99999'])(
    'does not repeat the password of the address %s',
    async (servers) => {
      const { ship } = await import('../src/jetstream/index.js')
      const log = await scratchLog()
      expect(() => ship(log, { stream: 'S', servers })).toThrow(/^(?!.*s3cr)servers must be .*…@host/)
    },
  )
})
