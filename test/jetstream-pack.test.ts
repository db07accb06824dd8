/** Packed messages: several records in one message of a stream. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { MsgHdrs } from '@nats-io/transport-node'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { decodeFrames, encodeFrames } from '../src/frames.js'
import type { Log } from '../src/index.js'
import { AckTimeout } from '../src/jetstream/ack-timeout.js'
import { Assembler } from '../src/jetstream/assembler.js'
import { FlowControl } from '../src/jetstream/flow-control.js'
import { type RestoreOptions, restore, type ShipOptions, ship } from '../src/jetstream/index.js'
import { Header, parseMessage, type StoredPart } from '../src/jetstream/message.js'
import { Publisher } from '../src/jetstream/publisher.js'
import { Unanswered } from '../src/jetstream/refusals.js'
import { ShipConflict } from '../src/ship/conflict.js'
import { missingServer, type NatsServer, startServer } from './fixtures/nats.mjs'
import { codeOf, openUntilDone, records, scratchDir, scratchLog } from './fixtures/scratch.js'
import { type Admin, type Stored, stored } from './fixtures/ship.js'

if (missingServer !== '') process.stdout.write(`skipped: ${missingServer}\n`)

const UUID = '00010203-0405-0607-0809-0a0b0c0d0e0f'
const TIME = 1_700_000_000_000

/** CRC-32C by its definition. */
function crc32c(bytes: Uint8Array): number {
  let crc = 0xffff_ffff
  for (const byte of bytes) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0x82f6_3b78 : 0)
  }
  return (crc ^ 0xffff_ffff) >>> 0
}

test('frames are those of docs/FORMAT.md with a salt of zero', () => {
  const frame = encodeFrames(UUID, [{ seq: 7, data: Buffer.from('durlog'), timestamp: TIME + 250 }], TIME)
  const covered = Buffer.from(frame.subarray(0, 30))
  covered.writeUInt32LE(0, 4)
  const prefix = Buffer.concat([Buffer.from(UUID.replaceAll('-', ''), 'hex'), Buffer.alloc(8)])
  const checksum = Buffer.alloc(4)
  checksum.writeUInt32LE(crc32c(Buffer.concat([prefix, covered])))
  const zeros = '00'.repeat(4)
  expect(frame.toString('hex')).toBe(
    `06000040${checksum.toString('hex')}0700000000000000${zeros}fa0000006475726c6f670000`,
  )
})

test('frames with any other byte, in another place or of another log are not decoded', () => {
  const made = ['a', 'bcdefghi', 'j'].map((text, i) => ({ seq: 5 + i, data: Buffer.from(text), timestamp: TIME + i }))
  const frames = encodeFrames(UUID, made, TIME)
  const place = { first: 5, last: 7, baseMs: TIME }
  expect(decodeFrames(UUID, frames, place)).toEqual(made)
  const isPadding = (at: number): boolean => (at > 24 && at < 32) || at > 88
  const unnoticed = [...frames.keys()].filter((at) => {
    const changed = Buffer.from(frames)
    changed[at] = (changed[at] as number) ^ 1
    return !isPadding(at) && decodeFrames(UUID, changed, place) !== undefined
  })
  expect(unnoticed).toEqual([])
  for (let end = 0; end < frames.length; end++)
    expect(decodeFrames(UUID, frames.subarray(0, end), place)).toBeUndefined()
  for (const other of [
    { ...place, first: 4 },
    { ...place, last: 6 },
    { ...place, last: 8 },
  ])
    expect(decodeFrames(UUID, frames, other)).toBeUndefined()
  expect(decodeFrames(UUID.replace('f', 'e'), frames, place)).toBeUndefined()
})

test('packed messages are shorter while they are not acknowledged in time, and alone if others publish', () => {
  const flow = new FlowControl(true)
  flow.facts = {
    subject: 's',
    dropsOld: false,
    maxDataBytes: 1,
    created: false,
    atomicBatches: true,
    replicated: false,
    lastSequence: 0,
    createdAt: '',
  }
  expect([flow.inBatches, flow.packBytes, flow.mayAdd(100)]).toEqual([false, 2 ** 20, true])
  for (let i = 0; i < 30; i++) flow.failed(new Unanswered('no answer'), 8)
  expect([flow.packBytes, flow.mayAdd(0), flow.mayAdd(1)]).toEqual([0, true, false])
  for (let i = 0; i < 20; i++) flow.stored(1)
  expect(flow.packBytes).toBe(2 ** 20)
  expect(flow.mayAdd(1)).toBe(true)
  // Another publisher of the stream.
  flow.failed(new ShipConflict('another message'), 1)
  for (let i = 0; i < 20; i++) flow.stored(1)
  expect([flow.mayAdd(0), flow.mayAdd(1), flow.mode]).toEqual([true, false, 'packed messages, one at a time'])
})

/** A subject of a server that stores a message only under its conditions, as nats-server does. */
class Subject {
  readonly messages: { id: string; headers: MsgHdrs; part: StoredPart; data: Uint8Array }[] = []

  /** Returns the answer. */
  store(lines: string, data: Uint8Array): object {
    const found = Object.fromEntries(lines.split('\r\n').map((line) => line.split(': ') as [string, string]))
    const last = this.messages.at(-1)
    const wanted = found[Header.expectedLast]
    const isNext =
      wanted === undefined ? found[Header.expectedLastId] === last?.id : Number(wanted) === this.messages.length
    if (!isNext) return { error: { err_code: 10_071, description: 'wrong last sequence' } }
    const headers = { get: (name: string) => found[name] ?? '', has: (name: string) => name in found } as MsgHdrs
    const part = parseMessage(headers, data.length) as StoredPart
    this.messages.push({ id: found[Header.messageId] as string, headers, part, data })
    return { seq: this.messages.length }
  }
}

/** A session that begins after the last message. Its messages reach the subject when `arrive` is called. */
function session(subject: Subject): { publisher: Publisher; arrive: (count: number, answers: boolean) => void } {
  const sent: { lines: string; data: Uint8Array; reply: string }[] = []
  let answer: (error: null, message: object) => void = () => {}
  const nc = {
    subscribe: (_subject: string, { callback }: { callback: typeof answer }) => {
      answer = callback
      return { unsubscribe: () => {} }
    },
    publish: (_subject: string, data: Uint8Array, { headers, reply }: { headers: MsgHdrs; reply: string }) => {
      const { encode } = headers as unknown as { encode: () => Uint8Array }
      sent.push({ lines: Buffer.from(encode.call(headers)).toString(), data, reply })
    },
    isClosed: () => false,
  }
  const flow = new FlowControl(true)
  const last = subject.messages.at(-1)?.part
  const publisher = new Publisher(
    { nc } as never,
    {
      stream: 's',
      subject: 's',
      shape: { maxBytes: 200, split: true, idSuffix: '' },
      ackTimeout: new AckTimeout(10_000),
      flow,
      inbox: 'inbox',
    },
    {
      lastSequence: subject.messages.length,
      streamSequence: undefined,
      begun: last === undefined || last.whole ? undefined : { seq: last.seq, offset: last.offset + last.partBytes },
    },
    () => {},
  )
  onTestFinished(() => publisher.stop())
  const arrive = (count: number, answers: boolean): void => {
    for (let i = 0; i < count; i++) {
      const next = sent.shift()
      if (next === undefined) return
      const result = subject.store(next.lines, next.data)
      if (answers) answer(null, { subject: next.reply, json: () => result })
    }
  }
  return { publisher, arrive }
}

test('each record is stored once in order, if a session ends after any message and the rest arrives at any later time', async () => {
  // The fourth record is longer than a message: it has three parts.
  const list = [30, 40, 60, 500, 20, 90, 10, 70, 80, 50, 200, 30].map((length, seq) => ({
    seq,
    data: Buffer.alloc(length, seq),
    timestamp: TIME + seq,
  }))
  const origin = { uuid: UUID, generation: 0 }
  const publish = (publisher: Publisher, from: number, step: number): void => {
    for (let at = from; at < list.length; at += step)
      publisher.publish(list.slice(at, at + step), origin).catch(() => {})
  }
  const wanted = list.map(({ seq, data }) => `${seq} ${data.length}`).join()
  const wrong: object[] = []
  let orders = 0
  for (const step of [1, 4])
    for (let stored = 0; stored < 11; stored++)
      for (const unanswered of [0, 1, 3])
        for (const later of [0, 1, 50]) {
          const subject = new Subject()
          const first = session(subject)
          publish(first.publisher, 0, step)
          first.arrive(stored, true)
          first.arrive(unanswered, false)
          const second = session(subject)
          const last = subject.messages.at(-1)?.part
          publish(second.publisher, last === undefined ? 0 : last.whole ? last.seq + 1 : last.seq, (step % 4) + 1)
          second.arrive(later, true)
          first.arrive(100, false)
          second.arrive(100, true)
          if (second.publisher.failed) {
            const third = session(subject)
            const end = subject.messages.at(-1)?.part as StoredPart
            publish(third.publisher, end.whole ? end.seq + 1 : end.seq, 5)
            third.arrive(100, true)
          }
          const assembler = new Assembler(UUID, 0)
          const found = subject.messages.flatMap(({ headers, data }) => assembler.add(headers, data, 1))
          if (found.map(({ seq, data }) => `${seq} ${data.length}`).join() !== wanted)
            wrong.push({ step, stored, unanswered, later })
          orders++
        }
  expect(wrong).toEqual([])
  expect(orders).toBe(2 * 11 * 3 * 3)
})

describe.skipIf(missingServer !== '')('a packed stream', () => {
  let server: NatsServer
  let look: Admin
  let folder = ''
  let made = 0

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'durlog-nats-'))
    server = await startServer(folder, '')
    look = await connected()
  })
  afterAll(async () => {
    await server.kill()
    rmSync(folder, { recursive: true, force: true })
  })

  async function connected(): Promise<Admin> {
    const { connect } = await import('@nats-io/transport-node')
    const { jetstreamManager } = await import('@nats-io/jetstream')
    const nc = await connect({ servers: server.url })
    return { url: server.url, nc, manager: await jetstreamManager(nc) } as Admin
  }

  type Place = { servers: string; stream: string; subject: string }

  async function place(config: object = {}): Promise<Place> {
    const stream = `P${++made}`
    await look.manager.streams.add({ name: stream, subjects: [stream], allow_atomic: true, ...config } as never)
    return { servers: server.url, stream, subject: stream }
  }

  async function shipAll(log: Log, to: Place, options: Partial<ShipOptions> = {}): Promise<void> {
    const shipping = ship(log, { ...to, pack: true, ...options })
    onTestFinished(() => shipping.close())
    await shipping.idle()
    await shipping.close()
  }

  /** A log whose records `from` to below `to` have different lengths and times. */
  function fill(log: Log, to: number, length = 300): void {
    for (let seq = log.nextSeq; seq < to; seq++)
      log.appendSync(`${seq} ${'x'.repeat((seq * 7) % length)}`, { durability: 'memory', timestamp: TIME + 10 * seq })
  }

  async function contentOf(log: Pick<Log, 'read'>): Promise<string[]> {
    return (await records(log.read())).map(({ seq, data, timestamp }) => `${seq} ${timestamp} ${data}`)
  }

  async function restored(from: Place, options: Partial<RestoreOptions> = {}, dir = scratchDir()): Promise<string[]> {
    await restore(join(dir, 'log'), { ...from, ...options })
    return contentOf(await openUntilDone(join(dir, 'log'), { readOnly: true }))
  }

  const messagesOf = (at: Place): Promise<Stored[]> => stored(look, at.subject, at.stream)
  const rangeOf = ({ headers }: Stored): string => `${headers['Durlog-First'] ?? '-'} to ${headers['Durlog-Seq']}`

  test('holds many records in a message, and one that is alone as it is', async () => {
    const at = await place()
    const log = await scratchLog()
    fill(log, 1200)
    await shipAll(log, at)
    fill(log, 1201)
    await shipAll(log, at)
    const messages = await messagesOf(at)
    expect(messages.length).toBeLessThan(6)
    expect(messages.at(-1)).toMatchObject({ text: (await log.get(1200)).data.toString() })
    expect(rangeOf(messages.at(-1) as Stored)).toBe('- to 1200')
    // Another shipper of the same log continues with the other form.
    fill(log, 1210)
    await shipAll(log, at, { pack: false })
    fill(log, 1500)
    await shipAll(log, at)
    expect((await messagesOf(at)).length).toBeLessThan(24)
    expect(await restored(at)).toEqual(await contentOf(log))
  })

  test('is restored from, to and until records in the middle of messages, and continued there', async () => {
    const at = await place()
    const log = await scratchLog()
    fill(log, 1000)
    await shipAll(log, at)
    const all = await contentOf(log)
    expect(await restored(at, { from: 333 })).toEqual(all.slice(333))
    expect(await restored(at, { until: new Date(TIME + 5550) })).toEqual(all.slice(0, 555))
    const dir = scratchDir()
    const stop = new AbortController()
    // Ends as if killed after its first 1000 records: more were in the message.
    fill(log, 2100)
    await shipAll(log, at)
    const cut = restore(join(dir, 'log'), {
      ...at,
      signal: stop.signal,
      onProgress: () => stop.abort(new Error('cut')),
    })
    await expect(cut).rejects.toThrow('cut')
    expect(await restored(at, {}, dir)).toEqual(await contentOf(log))
  })

  test('has whole records before and after one that is longer than a message may be', async () => {
    const at = await place({ max_msg_size: 4096 })
    const log = await scratchLog()
    fill(log, 40)
    log.appendSync(Buffer.alloc(20_000, 'long'), { durability: 'memory' })
    log.appendSync(Buffer.alloc(3072, 'just fits alone'), { durability: 'memory' })
    for (let i = 0; i < 40; i++) log.appendSync('short', { durability: 'memory' })
    await shipAll(log, at)
    const ranges = (await messagesOf(at)).map(rangeOf)
    expect(ranges.filter((range) => range === '- to 40').length).toBe(Math.ceil(20_000 / 3072))
    expect(ranges).toContain('- to 41')
    expect(await restored(at)).toEqual(await contentOf(log))
    log.appendSync(Buffer.alloc(20_000, 'long'), { durability: 'memory' })
    await log.sync()
    const refusing = ship(log, { ...at, pack: true, oversized: 'refuse' })
    onTestFinished(() => refusing.close())
    refusing.on('error', () => {})
    expect(await codeOf(refusing.idle())).toBe('ERR_DURLOG_RECORD_TOO_LARGE')
  })

  test('that drops old messages by bytes begins with the first record of a message', async () => {
    const at = await place({ max_bytes: 100_000, discard: 'old', max_msg_size: 8192 })
    const log = await scratchLog()
    fill(log, 2000)
    await shipAll(log, at)
    const oldest = (await messagesOf(at))[0] as Stored
    const first = Number(oldest.headers['Durlog-First'])
    expect(first).toBeGreaterThan(0)
    expect(await restored(at)).toEqual((await contentOf(log)).slice(first))
  })
})
