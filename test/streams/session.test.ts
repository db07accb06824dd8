/** The owner's side of a connection, with a client that sends more than the owner takes. */
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openLocal } from '../../src/streams/core/open-store.js'
import { EncodedValue, encodeAll } from '../../src/streams/port/encoding.js'
import { defaultMeta } from '../../src/streams/port/meta.js'
import { resolveAppendOptions, resolveStreamsOptions } from '../../src/streams/port/options.js'
import { addChange } from '../../src/streams/port/port.js'
import type { StreamChange } from '../../src/streams/port/types.js'
import { ClientSession, type OwnerContext } from '../../src/streams/processes/client-session.js'
import { FrameMaker, FrameReader, FrameType, FrameWriter, jsonOf } from '../../src/streams/processes/frames.js'
import { PROTOCOL, PROTOCOL_VERSION } from '../../src/streams/processes/messages.js'
import { ReadPump } from '../../src/streams/processes/read-pump.js'
import { SubmitOp, submitFrame } from '../../src/streams/processes/submission.js'
import { adjustableClock } from '../fixtures/fake-clock.js'
import { scratchDir } from '../fixtures/scratch.js'

/** A port that stores nothing: its appends never settle. */
const PORT = { encoding: 'json', changes: [], identities: { uuid: 'u', generation: 0 }, append() {} }

interface Connected {
  session: ClientSession
  socket: Socket
  /** The owner's side of the connection. */
  peer: Socket
  writer: FrameWriter
  /** Resolves when a frame of this type arrives. */
  next(type: FrameType): Promise<unknown>
}

/** A client that has been welcomed by a session. */
async function connected(port: object = PORT): Promise<Connected> {
  const context = {
    port: Promise.resolve(port),
    durability: 'sync',
    own: '',
    folder: '1:1',
    onClient() {},
    onClosed() {},
  }
  const server = createServer()
  const accepted = once(server, 'connection') as Promise<[Socket]>
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket = connect((server.address() as { port: number }).port, '127.0.0.1')
  const [peer] = await accepted
  const session = new ClientSession(peer, context as unknown as OwnerContext)
  onTestFinished(() => {
    socket.destroy()
    server.close()
  })
  const reader = new FrameReader()
  const waiting = new Map<number, (value: unknown) => void>()
  socket.on('data', (chunk) => reader.push(chunk, (frame) => waiting.get(frame.type)?.(jsonOf(frame))))
  const next = (type: FrameType) => new Promise<unknown>((resolve) => waiting.set(type, resolve))
  const writer = new FrameWriter(socket, new FrameMaker())
  const hello = { protocol: PROTOCOL, version: PROTOCOL_VERSION, client: '0123456789abcdef', folder: '1:1' }
  const welcome = Promise.race([next(FrameType.welcome), next(FrameType.unwelcome)])
  writer.json(FrameType.hello, 0, hello)
  expect(await welcome).toMatchObject({ encoding: 'json' })
  return { session, socket, peer, writer, next }
}

const VALUE = new EncodedValue('utf8', JSON.stringify('x'.repeat(8_000_000)))
const submission = (number: number, value = VALUE) =>
  submitFrame(new FrameMaker(), number, {
    op: SubmitOp.append,
    groups: [{ stream: 's', created: undefined, values: value, conditions: resolveAppendOptions(undefined) }],
  })

test('a client is welcomed, however many files of streams other programs have changed', async () => {
  const changes: StreamChange[] = []
  // In a message, a control character takes 6 bytes.
  const longest = { stream: '\x01'.repeat(1024), original: `${'\x01'.repeat(4000)}`, lostFirst: 0, lostLast: 1 }
  for (let at = 0; at < 3000; at++) addChange(changes, { ...longest, lostLast: at })
  await connected({ ...PORT, changes })
  expect(changes.length).toBe(256)
  expect(changes.at(-1)?.lostLast).toBe(2999)
})

test('the owner sends heartbeats to a client whose requests in progress are too many to read more', async () => {
  const { writer, next } = await connected()
  for (let number = 0; number < 5; number++) writer.send(submission(number))
  writer.json(FrameType.ping, 0)
  for (let beats = 0; beats < 3; beats++) await next(FrameType.pong)
})

test('requests that have used the time of a turn of the event loop stop the reading until the next turn', async () => {
  const ahead = adjustableClock('running')
  const { peer, writer } = await connected({ ...PORT, append: () => ahead(2) })
  for (let number = 0; number < 2; number++) {
    const arrived = once(peer, 'data')
    writer.send(submission(number, new EncodedValue('json', '1')))
    writer.flush()
    await arrived
    expect(peer.isPaused()).toBe(true)
  }
})

test('the owner sends heartbeats to a client that is sending a long request', async () => {
  const { socket, next } = await connected()
  const { bytes, start, end } = submission(0)
  socket.write(bytes.subarray(start, end - 1))
  for (let beats = 0; beats < 3; beats++) await next(FrameType.pong)
})

test('the owner sends heartbeats to a client while it closes the folder', async () => {
  const { session, writer, next } = await connected()
  session.stop()
  writer.json(FrameType.ping, 0)
  for (let beats = 0; beats < 3; beats++) await next(FrameType.pong)
})

test('a client that does not read gets a limited number of answers in advance', async () => {
  let reads = 0
  const state = { name: 's', firstSeq: 0, visible: 9, disk: { next: 0 }, meta: { encoding: 'json' } }
  const read = () => {
    reads++
    return new Promise(() => {})
  }
  const { writer, next } = await connected({ ...PORT, state: () => state, read })
  const body = { op: 'body', stream: 's', created: 0, from: 0, to: 9, maxBytes: 1 << 20, fromFile: true }
  for (let number = 0; number < 500; number++) writer.json(FrameType.call, number, body)
  // Heartbeats, which the owner sends while it takes no requests.
  for (let beats = 0; beats < 3; beats++) await next(FrameType.pong)
  expect(reads).toBeGreaterThan(10)
  expect(reads).toBeLessThan(40)
})

test.each(['stream', 'all'])(
  'a client that does not read gets few records in advance, from however many readers: %s',
  async (kind) => {
    const readers = 200
    const options = resolveStreamsOptions({ exclusive: true, durability: 'memory' })
    const port = await openLocal(join(scratchDir(), 'streams'), options, {})
    onTestFinished(() => port.close())
    const creation = { meta: defaultMeta('json'), forkAnywhere: false, encodingNamed: true, end: false }
    await port.create('s', creation, encodeAll(Array.from({ length: 8 }, () => 'x'.repeat(250_000))))
    const { socket, peer, writer } = await connected(port)
    socket.pause()
    const request = { kind, ...(kind === 'stream' && { stream: 's' }), follow: false, durableOnly: false }
    for (let id = 0; id < readers; id++) writer.json(FrameType.read, id, request)
    await expect.poll(() => peer.writableLength).toBeGreaterThan(30 << 20)
    // Nothing of this depends on another program, so turns of the event loop are enough.
    for (let turn = 0; turn < 300; turn++) await new Promise((resolve) => setImmediate(resolve))
    expect(peer.writableLength).toBeLessThan(48 << 20)
    let ended = 0
    const reader = new FrameReader()
    const all = new Promise<void>((resolve) => {
      socket.on('data', (chunk) =>
        reader.push(chunk, ({ type, id }) => {
          if (type === FrameType.records) writer.json(FrameType.more, id)
          else if (type === FrameType.readEnded && ++ended === readers) resolve()
        }),
      )
    })
    socket.resume()
    await all
  },
)

test('events that a client does not read take limited memory, and the latest are sent when it reads', async () => {
  const { session, socket, peer } = await connected()
  socket.pause()
  for (let at = 0; at < 60_000; at++) session.event('changed', { at, original: 'x'.repeat(1000) })
  expect(peer.writableLength).toBeLessThan(33 << 20)
  const reader = new FrameReader()
  const latest = new Promise<void>((resolve) => {
    socket.on('data', (chunk) =>
      reader.push(chunk, (frame) => {
        if (frame.type !== FrameType.event) return
        const { value } = jsonOf(frame) as { value: { at: number } }
        if (value.at === 59_999) resolve()
      }),
    )
  })
  socket.resume()
  await latest
})

test('a reader gets a limited number of frames, however many it asks for', async () => {
  let sent = 0
  const writer = { maker: new FrameMaker(), send: () => sent++, json() {} }
  const value = new EncodedValue('buffer', Buffer.alloc(1 << 18))
  const batches = (async function* () {
    for (let seq = 0; seq < 20; seq++) yield [{ seq, timestamp: 0, position: seq, value }]
  })()
  const pump = new ReadPump({
    id: 0,
    batches,
    created: () => 0,
    isFull: () => false,
    writer: writer as unknown as FrameWriter,
  })
  for (let more = 0; more < 100; more++) pump.more()
  const run = pump.run()
  // Nothing of this depends on another program, so turns of the event loop are enough.
  for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve))
  expect(sent).toBe(4)
  pump.end()
  await run
})
