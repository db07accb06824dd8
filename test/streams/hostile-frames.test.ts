/** The owner of a folder, with clients that send wrong bytes: it keeps working, and so does the folder. */
import { on, once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { LocalPort } from '../../src/streams/core/local-port.js'
import { openLocal } from '../../src/streams/core/open-store.js'
import { openStreams } from '../../src/streams/index.js'
import { encodeAll, encodeForAny, NO_VALUES } from '../../src/streams/port/encoding.js'
import { defaultMeta } from '../../src/streams/port/meta.js'
import { resolveAppendOptions, resolveStreamsOptions } from '../../src/streams/port/options.js'
import { ClientSession, type OwnerContext } from '../../src/streams/processes/client-session.js'
import { FrameMaker, FrameReader, FrameType, type MadeFrame } from '../../src/streams/processes/frames.js'
import { PROTOCOL, PROTOCOL_VERSION } from '../../src/streams/processes/messages.js'
import { type Submission, SubmitOp, submitFrame } from '../../src/streams/processes/submission.js'
import { scratchDir } from '../fixtures/scratch.js'
import { all } from '../fixtures/streams.js'
import { random } from '../http/hostile-requests.js'

const CONNECTIONS = 240
const AT_ONCE = 60
/** Few, because the owner closes the connection at the first one that is malformed. */
const FRAMES = 3
/** Values that replace a member of a request. */
const WRONG: readonly unknown[] = [
  null,
  -1,
  0.5,
  2 ** 53,
  1e300,
  '',
  'x',
  '\ud800',
  'a\nb',
  [],
  {},
  true,
  false,
  [[]],
  { length: 1e9 },
  'x'.repeat(5000),
]
const HEADER_BYTES = 11

interface Served {
  dir: string
  port: LocalPort
  server: Server
}

/** A folder with the stream `s`, and a server whose connections are sessions of its owner. */
async function served(): Promise<Served> {
  const dir = join(scratchDir(), 'streams')
  const port = await openLocal(dir, resolveStreamsOptions({ exclusive: true, durability: 'memory' }), {})
  const values = encodeAll([1, 'two', { three: 3 }])
  await port.create('s', { meta: defaultMeta('json'), forkAnywhere: false, encodingNamed: true, end: false }, values)
  await port.checkpoint()
  const context = {
    port: Promise.resolve(port),
    durability: 'memory',
    own: '',
    folder: 'f',
    onClient() {},
    onClosed() {},
  }
  const server = createServer((peer) => void new ClientSession(peer, context as unknown as OwnerContext))
  onTestFinished(() => void server.close())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { dir, port, server }
}

function bytesOf({ bytes, start, end }: MadeFrame): Buffer {
  return Buffer.from(bytes.subarray(start, end))
}

function json(type: FrameType, id: number, value?: unknown): Buffer {
  return bytesOf(new FrameMaker().json(type, id, value))
}

function submit(number: number, submission: Submission): Buffer {
  return bytesOf(submitFrame(new FrameMaker(), number, submission))
}

const HELLO = { protocol: PROTOCOL, version: PROTOCOL_VERSION, folder: 'f' }
const BOUNDS = { from: 0, to: 9, untilMs: undefined, follow: false, durableOnly: false }
const CONDITIONS = {
  expectedSeq: 0,
  producer: { id: 'p', epoch: 0, seq: 0 },
  writerSeq: 'w',
  timestamp: 5,
  durability: 'sync',
}
const CREATION = {
  meta: { ...defaultMeta('json'), ttlMs: 9e9, contentType: 'a/b' },
  forkAnywhere: false,
  encodingNamed: true,
  end: false,
}

const CALLS = [
  { op: 'find', stream: 's', isRead: true },
  { op: 'inherits', stream: 's', identity: '1', seq: 1 },
  { op: 'lastAppend', stream: 's', producer: 'p' },
  { op: 'body', stream: 's', created: 0, from: 0, to: 3, maxBytes: 1000, fromFile: false },
  { op: 'streams', prefix: '', after: '', count: 10 },
  { op: 'count', prefix: 's' },
  { op: 'stats' },
  { op: 'info', stream: 's' },
  { op: 'openCursor', name: 'c', options: { from: 0 } },
  { op: 'commit', name: 'c', position: 1, options: { durability: 'memory' } },
  { op: 'closeCursor', name: 'c' },
  { op: 'removeCursor', name: 'c' },
]
const READS = [
  { kind: 'stream', stream: 's', created: 0, ...BOUNDS, follow: true },
  { kind: 'stream', stream: 's', ...BOUNDS },
  { kind: 'all', ...BOUNDS, follow: true },
  { kind: 'list', prefix: '' },
  { kind: 'change', seen: { name: 's', created: 0, visible: 9, endVisible: false } },
]

/** Replaces a random member of `value`, at any depth. */
function wrong(value: unknown, next: () => number): unknown {
  const keys = typeof value === 'object' && value !== null ? Object.keys(value) : []
  if (keys.length === 0 || next() < 0.1) return WRONG[Math.floor(next() * WRONG.length)]
  const key = keys[Math.floor(next() * keys.length)] as string
  return { ...(value as object), [key]: wrong((value as Record<string, unknown>)[key], next) }
}

/** A frame that a client could send, or one with a wrong member. */
function frameOf(client: string, number: number, next: () => number): Buffer {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)] as T
  const or = (value: unknown): unknown => (next() < 0.7 ? wrong(value, next) : value)
  const own = `${client}-${number}`
  const stream = pick([own, own, own, 's', 'x'.repeat(Math.floor(next() * 2000) + 1)])
  const group = {
    stream,
    created: pick([undefined, 0, 7]),
    values: pick([encodeForAny({ a: 1 }), encodeAll([1, 2]), encodeForAny(Buffer.from('x')), NO_VALUES]),
    conditions: { ...resolveAppendOptions(undefined), ...(or(CONDITIONS) as object) },
  }
  const kinds = [
    () => json(FrameType.call, number, or(pick(CALLS))),
    () => json(FrameType.read, number, or(pick(READS))),
    () =>
      json(pick([FrameType.more, FrameType.endRead, FrameType.confirm, FrameType.ping]), Math.floor(next() * FRAMES)),
    () => json(FrameType.hello, 0, or({ ...HELLO, client })),
    () => json(Math.floor(next() * 256) as FrameType, number, or({})),
    () => submit(number, { op: SubmitOp.append, groups: [group] }),
    () => submit(number, { op: SubmitOp.batch, groups: [group, group] }),
    () =>
      submit(number, {
        op: SubmitOp.create,
        groups: [{ ...group, values: pick([NO_VALUES, group.values]) }],
        creation: or(CREATION) as never,
      }),
    () => submit(number, { op: SubmitOp.delete, groups: [group] }),
  ]
  const bytes = pick(kinds)()
  if (next() < 0.05)
    for (let flips = 1 + next() * 3; flips > 0; flips--)
      bytes[next() < 0.3 ? Math.floor(next() * HEADER_BYTES) : Math.floor(next() * bytes.length)] = next() * 256
  return next() < 0.02 ? bytes.subarray(0, Math.floor(next() * bytes.length)) : bytes
}

/** A client that the owner has welcomed: before that, it refuses every request. */
async function connected(server: Server, client: string): Promise<Socket> {
  const socket = connect((server.address() as { port: number }).port, '127.0.0.1')
  await once(socket, 'connect')
  socket.on('error', () => {})
  socket.write(json(FrameType.hello, 0, { ...HELLO, client }))
  const reader = new FrameReader()
  for await (const [chunk] of on(socket, 'data')) {
    const types: number[] = []
    reader.push(chunk, ({ type }) => types.push(type))
    if (types.includes(FrameType.welcome)) break
  }
  return socket
}

test('no frame of a client makes the owner or its folder unusable', async () => {
  const { dir, port, server } = await served()
  const client = async (seed: number): Promise<void> => {
    const next = random(seed)
    const id = seed.toString(16).padStart(16, '0')
    const socket = await connected(server, id)
    const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()))
    const answered = new Promise<void>((resolve) => {
      const reader = new FrameReader()
      socket.on('data', (chunk) => reader.push(chunk, ({ type }) => type === FrameType.pong && resolve()))
    })
    for (let number = 0; number < FRAMES; number++) socket.write(frameOf(id, number, next))
    socket.write(json(FrameType.ping, 0))
    await Promise.race([answered, closed])
    socket.destroy()
  }
  for (let first = 1; first <= CONNECTIONS; first += AT_ONCE)
    await Promise.all(Array.from({ length: AT_ONCE }, (_, at) => client(first + at)))
  const stored = await new Promise<unknown>((resolve) =>
    port.append(
      { stream: 'after', created: undefined, values: encodeForAny(1), conditions: resolveAppendOptions(undefined) },
      resolve,
    ),
  )
  expect(stored).toEqual({ seq: 0, duplicate: false })
  await port.checkpoint()
  await port.close()
  await using streams = await openStreams(dir, { exclusive: true })
  for (const { name, encoding, fork } of await all(streams.list())) {
    expect(name.length).toBeGreaterThan(0)
    expect([encoding, fork]).toEqual([expect.stringMatching(/json|utf8|buffer/), undefined])
  }
  expect(await all(streams.stream('after').read())).toHaveLength(1)
})

test('a request that is malformed closes the connection and stores nothing', async () => {
  const { port, server } = await served()
  const group = (members: object) => ({
    op: SubmitOp.append,
    groups: [
      {
        stream: 'new',
        created: undefined,
        values: encodeForAny(1),
        conditions: resolveAppendOptions(undefined),
        ...members,
      },
    ],
  })
  const conditions = (members: object) => group({ conditions: { ...resolveAppendOptions(undefined), ...members } })
  const creation = (meta: object) => ({
    ...group({ values: NO_VALUES }),
    op: SubmitOp.create,
    creation: { ...CREATION, meta: { ...defaultMeta('json'), ...meta } },
  })
  const submissions = [
    group({ stream: '' }),
    group({ stream: 'x'.repeat(1025) }),
    ...[{ id: 'p', epoch: 0.5, seq: 0 }, { id: '', epoch: 0, seq: 0 }, 'p'].map((producer) => conditions({ producer })),
    ...[-1, 0.5, 'x', null].map((timestamp) => conditions({ timestamp })),
    conditions({ writerSeq: 5 }),
    conditions({ durability: 'x' }),
    ...[{ encoding: 'x' }, { ttlMs: -1 }, { contentType: 'a\nb' }, { fork: {} }, { retention: { maxBytes: 'x' } }].map(
      creation,
    ),
    { ...group({ values: encodeAll([1, 2]) }), op: SubmitOp.batch },
    { ...group({}), op: SubmitOp.append, groups: [...group({}).groups, ...group({}).groups] },
  ]
  const frames = [
    ...submissions.map((submission) => submit(0, submission as Submission)),
    ...['x', 0.5, null, {}].map((from) => json(FrameType.read, 0, { kind: 'stream', stream: 's', ...BOUNDS, from })),
    ...['x', {}].map((from) => json(FrameType.read, 0, { kind: 'all', ...BOUNDS, from })),
    json(FrameType.read, 0, { kind: 'other' }),
    Buffer.concat([json(FrameType.call, 0, {}).subarray(0, HEADER_BYTES), Buffer.from('[}')]),
  ]
  const client = async (frame: Buffer, at: number): Promise<void> => {
    const socket = await connected(server, at.toString(16).padStart(16, '0'))
    const closed = once(socket.resume(), 'close')
    socket.write(frame)
    await closed
  }
  await Promise.all(frames.map(client))
  expect(port.find('new')).toBeUndefined()
  await port.close()
})
