/** The destination decides: a shipper continues, or refuses to, if the log and the destination differ. */

import { once } from 'node:events'
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { frames, inspect, type Log, type ReadableLog } from '../src/index.js'
import { restore } from '../src/jetstream/index.js'
import { type StartFacts, whereToStart } from '../src/ship/start.js'
import { missingServer } from './fixtures/nats.mjs'
import { openUntilDone, scratchDir, scratchLog } from './fixtures/scratch.js'
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

async function stage(
  config: Parameters<typeof makeStream>[1] = {},
  more = '',
): Promise<{
  nats: Awaited<ReturnType<typeof server>>
  look: Admin
}> {
  const nats = await server(more)
  const look = await admin(nats)
  await makeStream(look, config)
  return { nats, look }
}

/** Ships all of `log` and closes the shipper. */
async function shipAll(log: ReadableLog, nats: Awaited<ReturnType<typeof server>>): Promise<void> {
  await using shipping = shipper(log, nats)
  await shipping.idle()
}

/** A log of records 0 to 299, in segments small enough that a trim removes some. */
async function manySegments(): Promise<Log> {
  const log = await scratchLog({ segmentBytes: 64 * 1024 })
  for (let i = 0; i < 300; i++) log.write(`record ${i} `.padEnd(1000, '.'))
  await log.sync()
  return log
}

describe('shipping continues', () => {
  const uuid = 'a'
  const last = { uuid, seq: 9, timestamp: 1, crc: 7, whole: true }
  const facts: StartFacts = {
    uuid,
    first: 0,
    next: 20,
    last,
    crc: 7,
    position: 10,
    cutAt: Number.POSITIVE_INFINITY,
    dropsOld: false,
  }
  test.each<[string, Partial<StartFacts>, number, number]>([
    ['after the last record of the destination', {}, 10, 10],
    ['with the last record, if the destination has only parts of it', { last: { ...last, whole: false } }, 9, 9],
    ['after the last record, at any position of the cursor', { position: 15 }, 10, 10],
    ['with the oldest record, if the destination is empty', { last: undefined, first: 0, position: 10 }, 0, 0],
    ['after a gap, if the destination is empty and shipped records were trimmed', { last: undefined, first: 4 }, 4, 0],
    ['with the oldest record, if it was trimmed before the cursor', { last: undefined, first: 4, position: 4 }, 4, 4],
    ['at the cursor, if the destination is empty and drops old records', { last: undefined, dropsOld: true }, 10, 10],
    ['after the last record, if the log begins there', { first: 10, crc: undefined }, 10, 10],
    ['after a gap, if the log begins later', { first: 13, crc: undefined }, 13, 10],
    ['after a gap, if nothing was shipped before the trim', { last: undefined, first: 13, position: 2 }, 13, 2],
    ['after a gap, if nothing is left to read', { first: 20, crc: undefined }, 20, 10],
  ])('%s', (_where, given, seq, lostFrom) => {
    expect(whereToStart({ ...facts, ...given })).toEqual({ seq, lostFrom })
  })

  test.each<[string, Partial<StartFacts>, string]>([
    ['of another log', { last: { ...last, uuid: 'b' } }, 'ERR_DURLOG_DESTINATION_OTHER'],
    ['of another content', { crc: 8 }, 'ERR_DURLOG_DESTINATION_OTHER'],
    ['that was cut from the log', { cutAt: 9 }, 'ERR_DURLOG_DESTINATION_OTHER'],
    ['after the end of the log', { next: 9 }, 'ERR_DURLOG_DESTINATION_AHEAD'],
  ])('nowhere, if the last record of the destination is %s', (_what, given, code) => {
    expect(() => whereToStart({ ...facts, ...given })).toThrow(expect.objectContaining({ code }))
  })
})

describe.skipIf(missingServer !== '')('a destination', () => {
  test.each([true, false])(
    "that was purged gets the log's records again (atomic batches: %s)",
    async (allow_atomic) => {
      const { nats, look } = await stage({ allow_atomic })
      const log = await scratchLog()
      await appendNames(log, 30)
      const shipping = shipper(log, nats)
      await shipping.idle()
      await look.manager.streams.purge(STREAM)
      await appendNames(log, 10)
      await shipping.idle()
      // The server remembers the ids of removed messages.
      expect(textsOf(await stored(look))).toEqual(names(40))
    },
  )

  test('that was purged while no shipper ran is queried, at any position of the cursor', async () => {
    const { nats, look } = await stage()
    const log = await scratchLog()
    await appendNames(log, 10)
    await shipAll(log, nats)
    await look.manager.streams.purge(STREAM)
    await shipAll(log, nats)
    expect(textsOf(await stored(look))).toEqual(names(10))
  })

  test('that lost its tail gets it again', async () => {
    const { nats, look } = await stage()
    const log = await scratchLog()
    await appendNames(log, 20)
    await shipAll(log, nats)
    await nats.stop()
    const copy = join(scratchDir(), 'store')
    cpSync(nats.store, copy, { recursive: true })
    await nats.start()
    await appendNames(log, 20)
    const shipping = shipper(log, nats)
    await shipping.idle()
    // The server acknowledged without a sync and lost its power.
    await nats.kill()
    rmSync(nats.store, { recursive: true })
    cpSync(copy, nats.store, { recursive: true })
    await nats.start()
    await appendNames(log, 5)
    await shipping.idle()
    expect(textsOf(await stored(look))).toEqual(names(45))
  })

  test('that lost its tail in the middle of a split record gets the rest of it', async () => {
    const { nats, look } = await stage({}, 'max_payload: 8192')
    const log = await scratchLog()
    const long = 'x'.repeat(20_000)
    await log.appendBatch(['before', long, 'after'])
    await shipAll(log, nats)
    for (const seq of [5, 4]) await look.manager.streams.deleteMessage(STREAM, seq)
    await shipAll(log, nats)
    expect(textsOf(await stored(look)).join('')).toBe(`before${long}after`)
  })

  test('with a part of a record that the log has trimmed gets the next records complete', async () => {
    const { nats, look } = await stage({}, 'max_payload: 8192')
    const log = await scratchLog({ segmentBytes: 64 * 1024 })
    const long = 'x'.repeat(20_000)
    for (let i = 0; i < 10; i++) await log.append(`${i}${long}`)
    await shipAll(log, nats)
    const { state } = await look.manager.streams.info(STREAM)
    // The stream holds only the first part of the last record, which is then trimmed from the log.
    for (const back of [0, 1]) await look.manager.streams.deleteMessage(STREAM, state.last_seq - back)
    for (let i = 10; i < 20; i++) await log.append(`${i}${long}`)
    const begin = await log.trimBefore(15)
    expect(begin).toBeGreaterThan(9)
    await using shipping = shipper(log, nats, { skipGaps: true })
    await shipping.idle()
    const after = (await stored(look)).slice(-3 * (20 - begin))
    expect(textsOf(after).join('')).toBe(Array.from({ length: 20 - begin }, (_, i) => `${begin + i}${long}`).join(''))
  })

  test('that drops old records by itself does not get them again', async () => {
    const { nats, look } = await stage({ max_age: 3600e9 })
    const log = await scratchLog()
    await appendNames(log, 10)
    await shipAll(log, nats)
    await look.manager.streams.purge(STREAM)
    await appendNames(log, 2)
    await shipAll(log, nats)
    expect(textsOf(await stored(look))).toEqual(['record 10', 'record 11'])
  })

  test('that is ahead of the log stops the shipper, and is not changed', async () => {
    const { nats, look } = await stage()
    const log = await scratchLog()
    await appendNames(log, 10)
    await shipAll(log, nats)
    await log.truncateAfter(4)
    expect(await stopCode(shipper(log, nats))).toBe('ERR_DURLOG_DESTINATION_AHEAD')
    await log.appendBatch(names(3))
    expect(await stopCode(shipper(log, nats))).toBe('ERR_DURLOG_DESTINATION_AHEAD')
    expect(textsOf(await stored(look))).toEqual(names(10))
  })

  test('stops the shipper if its records were replaced in the log, while the shipper ran or before', async () => {
    const { nats, look } = await stage()
    const log = await scratchLog()
    await appendNames(log, 10)
    const shipping = shipper(log, nats)
    await shipping.idle()
    const code = stopCode(shipping)
    await log.truncateAfter(4)
    // The bytes and the count are the same: only the list of cuts or the times differ.
    await appendNames(log, 5)
    expect(['ERR_DURLOG_DESTINATION_OTHER', 'ERR_DURLOG_DESTINATION_AHEAD']).toContain(await code)
    for (const cursor of ['ship', 'new'])
      expect(await stopCode(shipper(log, nats, { cursor }))).toBe('ERR_DURLOG_DESTINATION_OTHER')
    expect(textsOf(await stored(look))).toEqual(names(10))
  })

  test('continues if the records that were cut from the log had not been shipped', async () => {
    const { nats, look } = await stage()
    const log = await scratchLog()
    await appendNames(log, 5)
    const shipping = shipper(log, nats)
    await shipping.idle()
    await nats.stop()
    await appendNames(log, 5)
    await once(shipping, 'retry')
    await log.truncateAfter(6)
    await log.append('another record 7')
    await nats.start()
    await shipping.idle()
    expect(textsOf(await stored(look))).toEqual([...names(7), 'another record 7'])
  })

  test('of another log stops the shipper', async () => {
    const { nats, look } = await stage()
    const log = await scratchLog()
    await appendNames(log, 3)
    await shipAll(log, nats)
    const other = await scratchLog()
    await other.append('other')
    expect(await stopCode(shipper(other, nats))).toBe('ERR_DURLOG_DESTINATION_OTHER')
    expect(textsOf(await stored(look))).toEqual(names(3))
  })

  test('with messages that durlog did not write stops the shipper', async () => {
    const { nats, look } = await stage()
    await publishOther(look, SUBJECT)
    const log = await scratchLog()
    await log.append('x')
    expect(await stopCode(shipper(log, nats))).toBe('ERR_DURLOG_DESTINATION_OTHER')
  })

  test('gets no records after a gap that a trim made, unless that is allowed', async () => {
    const { nats, look } = await stage()
    const log = await manySegments()
    await using first = shipper(log, nats)
    await first.idle()
    await first.close()
    for (let i = 300; i < 600; i++) log.write(`record ${i} `.padEnd(1000, '.'))
    await log.sync()
    const begin = await log.trimBefore(500)
    expect(begin).toBeGreaterThan(300)
    const stopped = shipper(log, nats)
    const [error] = await once(stopped, 'error')
    expect(error).toMatchObject({ code: 'ERR_DURLOG_DESTINATION_GAP', lostFirst: 300, lostLast: begin - 1 })
    const shipping = shipper(log, nats, { skipGaps: true, cursor: 'skipping' })
    const gap = once(shipping, 'gap')
    await shipping.idle()
    expect(await gap).toEqual([300, begin - 1])
    const messages = await stored(look)
    expect(messages).toHaveLength(300 + 600 - begin)
    expect(messages[300]?.headers).toMatchObject({ 'Durlog-Seq': String(begin), 'Durlog-Gap': '300' })
  })

  test('that was emptied is a gap if the log has trimmed shipped records', async () => {
    const { nats, look } = await stage()
    const log = await manySegments()
    await shipAll(log, nats)
    const begin = await log.trimBefore(200)
    expect(begin).toBeGreaterThan(0)
    await look.manager.streams.purge(STREAM)
    const stopping = shipper(log, nats)
    const [error] = await once(stopping, 'error')
    expect(error).toMatchObject({ code: 'ERR_DURLOG_DESTINATION_GAP', lostFirst: 0, lostLast: begin - 1 })
    await stopping.close()
    const shipping = shipper(log, nats, { skipGaps: true })
    await shipping.idle()
    expect((await stored(look))[0]?.headers).toMatchObject({ 'Durlog-Seq': String(begin), 'Durlog-Gap': '0' })
  })

  test('that is down for longer than retention keeps records gets a note of the gap, or stops the shipper', async () => {
    const { nats, look } = await stage()
    const log = await scratchLog({ segmentBytes: 64 * 1024, retention: { maxBytes: 512 * 1024 } })
    const append = async (count: number): Promise<void> => {
      for (let i = 0; i < count; i++)
        await log.append(`record ${log.nextSeq} `.padEnd(1000, '.'), { durability: 'memory' })
      await log.sync()
    }
    await append(20)
    const shippers = [
      shipper(log, nats),
      shipper(log, nats, { cursor: 'skipping', subject: 'orders.skipping', skipGaps: true }),
    ] as const
    await Promise.all(shippers.map((shipping) => shipping.idle()))
    await nats.stop()
    const code = stopCode(shippers[0])
    const gap = once(shippers[1], 'gap')
    while (log.firstSeq <= 20) await append(50)
    await nats.start()
    expect(await code).toBe('ERR_DURLOG_DESTINATION_GAP')
    expect(await gap).toMatchObject([20, expect.any(Number)])
    await shippers[1].idle()
    const seqs = (await stored(look, 'orders.skipping')).map(({ headers }) => Number(headers['Durlog-Seq']))
    expect(seqs.slice(0, 20)).toEqual(Array.from({ length: 20 }, (_, i) => i))
    expect(seqs.slice(20)).toEqual(
      Array.from({ length: seqs.length - 20 }, (_, i) => log.nextSeq - seqs.length + 20 + i),
    )
  })

  test('that was deleted stops the shipper, and is not created again', async () => {
    const { nats, look } = await stage()
    const log = await scratchLog()
    await appendNames(log, 3)
    const shipping = shipper(log, nats)
    await shipping.idle()
    const code = stopCode(shipping)
    await look.manager.streams.delete(STREAM)
    await appendNames(log, 3)
    expect(await code).toBe('ERR_DURLOG_DESTINATION_MISSING')
    expect(await stopCode(shipper(log, nats))).toBe('ERR_DURLOG_DESTINATION_MISSING')
  })

  test('that is full is retried until it has room', async () => {
    const { nats, look } = await stage({ max_msgs: 5, discard: 'new' as never })
    const log = await scratchLog()
    await appendNames(log, 8)
    const shipping = shipper(log, nats)
    const [retry] = await once(shipping, 'retry')
    expect(retry.error.message).toMatch(/maximum messages exceeded|incomplete/)
    const { config } = await look.manager.streams.info(STREAM)
    await look.manager.streams.update(STREAM, { ...config, max_msgs: 100 })
    await shipping.idle()
    expect(textsOf(await stored(look))).toEqual(names(8))
  })

  test('that does not take the subject stops the shipper', async () => {
    const { nats } = await stage()
    const log = await scratchLog()
    await log.append('x')
    const shipping = shipper(log, nats, { subject: 'elsewhere' })
    const [error] = await once(shipping, 'error')
    expect(error).toMatchObject({ code: 'ERR_DURLOG_DESTINATION_REFUSED' })
    expect(error.message).toContain('orders.>')
  })

  test.each([
    ['to publish', 'publish: { allow: ["$JS.API.>", "_INBOX.>"] }'],
    ['to ask', 'publish: { allow: ["orders.>"] }'],
    ['to hear the answers', 'publish: { allow: [">"] }, subscribe: { deny: ["_INBOX.>"] }'],
  ])('that gives no permission %s stops the shipper', async (_what, permissions) => {
    const users = `authorization { users: [
      { user: admin, password: admin },
      { user: ship, password: ship, permissions: { ${permissions} } }
    ] }`
    const nats = await server(users)
    const look = await admin(nats, { user: 'admin', pass: 'admin' })
    await makeStream(look)
    const log = await scratchLog()
    await log.append('x')
    const shipping = shipper(log, nats, { user: 'ship', pass: 'ship', timeoutMs: 1000 })
    expect(await stopCode(shipping)).toBe('ERR_DURLOG_DESTINATION_REFUSED')
  })

  test('needs no more permissions than docs/SHIPPING.md lists', async () => {
    const api = ['STREAM.INFO', 'STREAM.MSG.GET', 'STREAM.CREATE'].map((call) => `"$JS.API.${call}.${STREAM}"`)
    const forConsumers = ['CREATE', 'MSG.NEXT', 'INFO', 'DELETE'].map(
      (call) => `"$JS.API.CONSUMER.${call}.${STREAM}.>"`,
    )
    const publish = [`"${SUBJECT}"`, ...api, ...forConsumers].join(', ')
    const permissions = `{ publish: { allow: [${publish}] }, subscribe: { allow: ["_INBOX.>"] } }`
    const nats = await server(`authorization { users: [{ user: ship, password: ship, permissions: ${permissions} }] }`)
    const log = await scratchLog()
    await appendNames(log, 20)
    const user = { user: 'ship', pass: 'ship' }
    const shipping = shipper(log, nats, user)
    await shipping.idle()
    const dir = join(scratchDir(), 'restored')
    const report = await restore(dir, { ...user, servers: nats.url, stream: STREAM })
    expect(report).toMatchObject({ uuid: log.uuid, records: 20 })
  })

  test('that does not know the user stops the shipper', async () => {
    const nats = await server('authorization { user: a, password: b }')
    const log = await scratchLog()
    await log.append('x')
    const shipping = shipper(log, nats, { user: 'a', pass: 'wrong' })
    expect(await stopCode(shipping)).toBe('ERR_DURLOG_DESTINATION_REFUSED')
  })

  test.each(['as it was at first', 'lost'])(
    'has no gap and nothing twice after a power cut that took what was not synced, with the cursor %s',
    async (cursor) => {
      const { nats, look } = await stage()
      const log = await scratchLog({ strategy: 'mmap' })
      await appendNames(log, 10)
      const reading = await openUntilDone(log.dir, { readOnly: true })
      await shipAll(reading, nats)
      const copy = join(scratchDir(), 'log')
      cpSync(log.dir, copy, { recursive: true })
      for (let round = 0; round < 5; round++) {
        await appendNames(log, 10)
        await shipAll(reading, nats)
      }
      for (let i = 60; i < 80; i++) log.write(`in memory only ${i}`)
      await shipAll(reading, nats)
      // The device holds the synced records, and an arbitrary position.
      const [segment] = (await inspect(log.dir)).segments
      const bytes = readFileSync(join(log.dir, segment?.name as string))
      for await (const { seq, offset } of frames(log.dir, segment?.name as string))
        if (seq === 60) bytes.fill(0, offset)
      writeFileSync(join(copy, segment?.name as string), bytes)
      for (const name of cursor === 'lost' ? ['ship.cursor', 'live'] : ['live']) rmSync(join(copy, name))
      const after = await openUntilDone(copy)
      expect(after.nextSeq).toBe(60)
      await appendNames(after, 10)
      await shipAll(after, nats)
      expect(textsOf(await stored(look))).toEqual(names(70))
    },
  )

  test('gets the synced records of a writer that died, and no others', async () => {
    const { nats, look } = await stage()
    const log = await scratchLog()
    await appendNames(log, 5)
    const reading = await openUntilDone(log.dir, { readOnly: true })
    const shipping = shipper(reading, nats)
    await shipping.idle()
    await log.close()
    const next = await openUntilDone(log.dir)
    await appendNames(next, 5)
    await shipping.idle()
    expect(textsOf(await stored(look))).toEqual(names(10))
  })
})
