/** Folders that one process owns and folders that processes share: each public call has the same result in both. */
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { DurlogError } from '../../src/index.js'
import { openStreams, type Streams } from '../../src/streams/index.js'
import { scratchDir } from '../fixtures/scratch.js'
import { all } from '../fixtures/streams.js'

type Call = (streams: Streams<unknown>) => unknown
/** A value that the types do not allow. */
const wrong = (value: unknown): never => value as never
const cyclic: { self?: unknown } = {}
cyclic.self = cyclic

/** Opens the cursor `name` for `use`. */
async function withCursor(
  streams: Streams<unknown>,
  name: string,
  use: (cursor: Awaited<ReturnType<Streams<unknown>['cursor']>>) => unknown,
): Promise<unknown> {
  await using cursor = await streams.cursor(name)
  return await use(cursor)
}

const CALLS: Record<string, Call> = {
  'append a value': (s) => s.stream('a').append({ v: 1 }),
  'append undefined': (s) => s.stream('a').append(undefined),
  'append bytes to JSON': (s) => s.stream('a').append(Buffer.from('x')),
  'append a cycle': (s) => s.stream('a').append(cyclic),
  'append too much': (s) => s.stream('a').append('x'.repeat(9 << 20)),
  'append at another seq': (s) => s.stream('a').append(1, { expectedSeq: 7 }),
  'append without creating': (s) => s.stream('missing').append(1, { create: false }),
  'append bytes without creating': (s) => s.stream('missing').append(Buffer.from('x'), { create: false }),
  'append with an unknown option': (s) => s.stream('a').append(1, wrong({ x: 1 })),
  'append at a level without a destination': (s) => s.stream('a').append(1, { durability: 'replicated' }),
  'append many at a level without a destination': (s) => s.stream('a').appendAll([1, 2], { durability: 'replicated' }),
  'a batch at a level without a destination': (s) =>
    s.appendBatch([{ stream: 'a', value: 1, durability: 'replicated' }]),
  'append a mixture that no stream takes': (s) => s.stream('a').appendAll([1, Buffer.from('x')]),
  'append a mixture of values and texts': (s) => s.stream('a').appendAll([1, 'x', null, Number.NaN, { a: [] }]),
  'append JSON': (s) => s.stream('a').appendJson('[1,"x",null]'),
  'append an end without a value': (s) => s.stream('e').create({ end: true }),
  'append with a timestamp': (s) => s.stream('a').append(1, { timestamp: 1000 }),
  'append as a producer': (s) => s.stream('p').append(1, { producer: { id: 'p', epoch: 0, seq: 0 } }),
  'append as the same producer again': (s) => s.stream('p').append(1, { producer: { id: 'p', epoch: 0, seq: 0 } }),
  'append after a gap of a producer': (s) => s.stream('p').append(1, { producer: { id: 'p', epoch: 0, seq: 5 } }),
  'append of a fenced producer': async (s) => {
    await s.stream('p').append(1, { producer: { id: 'p', epoch: 2, seq: 0 } })
    return s.stream('p').append(1, { producer: { id: 'p', epoch: 1, seq: 0 } })
  },
  'append with a writerSeq': (s) => s.stream('w').append(1, { writerSeq: 'b' }),
  'append with a lower writerSeq': (s) => s.stream('w').append(1, { writerSeq: 'a' }),
  'append and end': (s) => s.stream('ends').append(1, { end: true }),
  'append after the end': (s) => s.stream('ends').append(1),
  'append many': (s) => s.stream('a').appendAll([1, 2, 3]),
  'append many, and end': (s) => s.stream('many').appendAll([1, 2], { end: true, expectedSeq: 0 }),
  'append none': (s) => s.stream('a').appendAll([]),
  'append many with a hole': (s) => s.stream('a').appendAll([1, undefined]),
  'append many at another seq': (s) => s.stream('a').appendAll([1], { expectedSeq: 90 }),
  'a batch': (s) =>
    s.appendBatch([
      { stream: 'a', value: 1 },
      { stream: 'b', value: 2 },
    ]),
  'an empty batch': (s) => s.appendBatch([]),
  'a batch without a value': (s) => s.appendBatch([wrong({ stream: 'a' })]),
  'a batch with a wrong seq': (s) =>
    s.appendBatch([
      { stream: 'a', value: 1 },
      { stream: 'b', value: 1, expectedSeq: 4 },
    ]),
  'create with values': (s) => s.stream('made').create({ values: [1, 2], end: true, contentType: 'application/x' }),
  'create again': (s) => s.stream('made').create({ contentType: 'application/x' }),
  'create with another encoding': (s) => s.stream('made').create({ encoding: 'buffer' }),
  'create with a wrong option': (s) => s.stream('made').create(wrong({ x: 1 })),
  'create with bytes in JSON': (s) => s.stream('cv').create({ values: [1, Buffer.from('a')] }),
  'fork a missing stream': (s) => s.stream('f').create({ fork: { stream: 'missing', seq: 0, bytes: 0 } }),
  'fork beyond the end': (s) => s.stream('f').create({ fork: { stream: 'a', seq: 99 } }),
  fork: (s) => s.stream('f').create({ fork: { stream: 'a' } }),
  'read the fork': (s) => all(s.stream('f').read()),
  read: (s) => all(s.stream('a').read()),
  'read backwards': (s) => all(s.stream('a').read({ from: -2 })),
  'read a range': (s) => all(s.stream('a').read({ from: 1, to: 3 })),
  'read until a time': (s) => all(s.stream('a').read({ until: '1999-01-01T00:00:00Z' })),
  'read synced records': (s) => all(s.stream('a').read({ durableOnly: true })),
  'read in batches': (s) => all(s.stream('a').read().batches(2)),
  'read as a stream': (s) => s.stream('a').read().readable().toArray(),
  'read beyond the end': (s) => all(s.stream('a').read({ from: 1e6 })),
  'read a missing stream': (s) => all(s.stream('missing').read()),
  'read with an aborted signal': (s) => all(s.stream('a').read({ signal: AbortSignal.abort(new Error('why')) })),
  'read with a wrong option': (s) => s.stream('a').read(wrong({ x: 1 })),
  'read all': (s) => all(s.readAll()),
  'read all backwards': (s) => all(s.readAll({ from: -2 })),
  'read all of a range': (s) => all(s.readAll({ from: 1, to: 3 })),
  'read all from a wrong position': (s) => all(s.readAll({ from: wrong({ uuid: 'u', generation: 0, seq: 'x' }) })),
  'read all from a position of another log': (s) =>
    all(s.readAll({ from: { uuid: 'u', generation: 0, seq: 0, checksum: 1 } })),
  'read all from the position of a record': async (s) => {
    const record = (await all(s.readAll()))[2]
    return [record?.logPosition.seq, await all(s.readAll({ from: record?.logPosition }))]
  },
  'read all beyond the end': (s) => all(s.readAll({ from: 1e6 })),
  info: (s) => s.stream('a').info(),
  'info of a fork': (s) => s.stream('f').info(),
  'info of a missing stream': (s) => s.stream('missing').info(),
  list: async (s) => (await all(s.list())).map(({ name }) => name),
  'list with a prefix': async (s) => (await all(s.list({ prefix: 'm' }))).map(({ name }) => name),
  'list with a wrong prefix': (s) => s.list(wrong({ prefix: 5 })),
  'list with half a character': (s) => s.list({ prefix: '\ud800' }),
  end: (s) => s.stream('b').end(),
  'end again': (s) => s.stream('b').end(),
  'end a missing stream': (s) => s.stream('missing').end(),
  'end with a wrong option': (s) => s.stream('b').end(wrong({ x: 1 })),
  delete: (s) => s.stream('b').delete(),
  'delete a missing stream': (s) => s.stream('missing').delete(),
  'delete a source, then append': async (s) => [await s.stream('a').delete(), await s.stream('a').append(1)],
  'a bad name': (s) => s.stream(''),
  commit: (s) => withCursor(s, 'c', async (c) => [c.name, await c.commit(3), c.position]),
  'commit a lower position': (s) => withCursor(s, 'c', async (c) => [await c.commit(1), c.position]),
  'read a cursor': (s) => withCursor(s, 'c', (c) => all(c.read({ to: 6 }))),
  'read a cursor with a wrong option': (s) => withCursor(s, 'c', (c) => c.read(wrong({ from: 1 }))),
  'read a closed cursor': (s) => withCursor(s, 'c', async (c) => [await c.close(), await all(c.read())]),
  'commit to a closed cursor': (s) => withCursor(s, 'c', async (c) => [await c.close(), await c.commit(0)]),
  'commit a negative position': (s) => withCursor(s, 'c', (c) => c.commit(-1)),
  'commit a position that is far': (s) => withCursor(s, 'c', (c) => c.commit(1e9)),
  'commit with a wrong durability': (s) => withCursor(s, 'c', (c) => c.commit(0, wrong({ durability: 'x' }))),
  'open a cursor twice': (s) => withCursor(s, 'c', () => s.cursor('c')),
  'open a cursor with a bad name': (s) => s.cursor(''),
  'open a cursor with a wrong option': (s) => s.cursor('d', wrong({ nope: 1 })),
  'remove an open cursor': (s) => withCursor(s, 'c', () => s.removeCursor('c')),
  'remove a cursor': (s) => s.removeCursor('c'),
  'remove a missing cursor': (s) => s.removeCursor('missing'),
  'remove a cursor with a bad name': (s) => s.removeCursor('a/b'),
  checkpoint: (s) => s.checkpoint(),
  'read from files': (s) => all(s.stream('many').read()),
  changes: (s) => s.changes,
  'close while all streams are followed': async (s) => {
    await s.stream('a').append(1)
    const reader = s.readAll({ follow: true, from: -1 })
    await reader.next()
    const waiting = reader.next()
    const outcome = waiting.then(
      () => 'a record',
      (error: DurlogError) => error.code,
    )
    await s.close()
    return outcome
  },
  'append after the close': (s) => s.stream('a').append(1),
  'batch after the close': (s) => s.appendBatch([{ stream: 'a', value: 1 }]),
  'create after the close': (s) => s.stream('n').create(),
  'end after the close': (s) => s.stream('a').end(),
  'delete after the close': (s) => s.stream('a').delete(),
  'info after the close': (s) => s.stream('a').info(),
  'read after the close': (s) => all(s.stream('a').read()),
  'read all after the close': (s) => all(s.readAll()),
  'list after the close': (s) => all(s.list()),
  'open a cursor after the close': (s) => s.cursor('q'),
  'remove a cursor after the close': (s) => s.removeCursor('q'),
  'checkpoint after the close': (s) => s.checkpoint(),
  'close again': (s) => s.close(),
}

/** The outcome of `call`: its result, or its error with all members and the first frame of its stack. */
async function outcomeOf(call: Call, streams: Streams<unknown>): Promise<unknown> {
  try {
    return { result: await call(streams) }
  } catch (error) {
    const { name, message, stack = '' } = error as Error
    const frame = stack.split('\n').find((line) => line.startsWith('    at '))
    const members = error instanceof DurlogError ? { ...error, outcome: error.outcome } : {}
    return { name, message, members, frame: frame?.replace(/:\d+:\d+\)?$/, '') }
  }
}

async function outcomes(exclusive: boolean): Promise<Map<string, unknown>> {
  const dir = join(scratchDir(), 'streams')
  const streams = (await openStreams(dir, { exclusive, checkpointMs: 3_600_000 } as object)) as Streams<unknown>
  onTestFinished(() => streams.close())
  const found = new Map<string, unknown>()
  for (const [name, call] of Object.entries(CALLS)) {
    const outcome = JSON.stringify(await outcomeOf(call, streams), (key, value) =>
      (key === 'timestamp' || key === 'updatedAt') && value > 1e12 ? 'now' : value === undefined ? 'undefined' : value,
    )
    found.set(name, JSON.parse(outcome.replaceAll(dir, 'DIR')))
  }
  return found
}

test('every call has the same result, code, message, fields and first stack frame in both modes', async () => {
  const [owned, shared] = [await outcomes(true), await outcomes(false)]
  const differing = [...owned].filter(([name, outcome]) => JSON.stringify(outcome) !== JSON.stringify(shared.get(name)))
  expect(differing.map(([name, outcome]) => ({ name, owned: outcome, shared: shared.get(name) }))).toEqual([])
  expect(owned.size).toBeGreaterThan(90)
})

test('both modes have the same public methods', async () => {
  const members = async (exclusive: boolean): Promise<unknown[]> => {
    const streams = await openStreams(join(scratchDir(), 'streams'), { exclusive } as object)
    onTestFinished(() => streams.close())
    await using cursor = await streams.cursor('c')
    const parts = [streams, streams.stream('s'), cursor, streams.readAll(), streams.list(), streams.stream('s').read()]
    return parts.map((part) => Object.getPrototypeOf(part))
  }
  expect(await members(true)).toEqual(await members(false))
})
