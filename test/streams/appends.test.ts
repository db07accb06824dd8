/** Appends to streams: order, conditions, producers, batches, ends and deletions. */
import { expect, test } from 'vitest'
import { codeOf } from '../fixtures/scratch.js'
import { all, scratchStreams, values } from '../fixtures/streams.js'

test('an append settles at its own durability if that is stronger than the folder', async () => {
  const { streams } = await scratchStreams({ durability: 'memory' })
  const synced = (name: string) => all(streams.stream(name).read({ durableOnly: true }))
  await streams.stream('one').append(1, { durability: 'sync' })
  expect(await synced('one')).toHaveLength(1)
  await streams.stream('many').appendAll([1, 2], { durability: 'full', end: true })
  expect(await synced('many')).toHaveLength(2)
  await streams.appendBatch([
    { stream: 'first', value: 1, durability: 'sync' },
    { stream: 'second', value: 1, durability: 'memory' },
  ])
  expect([await synced('first'), await synced('second')]).toMatchObject([{ length: 1 }, { length: 1 }])
  const producer = { id: 'p', epoch: 0, seq: 0 }
  await streams.stream('again').append(1, { producer })
  expect(await streams.stream('again').append(1, { producer, durability: 'sync' })).toMatchObject({ duplicate: true })
  expect(await synced('again')).toHaveLength(1)
})

test('an append accepts each level, and refuses an unknown one', async () => {
  const { streams } = await scratchStreams()
  for (const durability of ['memory', 'async', 'sync', 'full'] as const)
    await streams.stream('s').append(durability, { durability })
  expect(await all(streams.stream('s').read({ durableOnly: true }))).toHaveLength(4)
  expect(await codeOf(streams.stream('s').append(1, { durability: 'none' as 'sync' }))).toBe(
    'ERR_DURLOG_INVALID_ARGUMENT',
  )
})

test('an append resolves to the seq of its record, and each stream numbers its records separately', async () => {
  const { streams } = await scratchStreams()
  const [a, b] = [streams.stream('a'), streams.stream('b')]
  const results = await Promise.all([a.append(1), b.append(2), a.append(3), b.append(4), a.append(5)])
  expect(results.map(({ seq }) => seq)).toEqual([0, 0, 1, 1, 2])
  expect(results.every(({ duplicate }) => !duplicate)).toBe(true)
  expect(await values(a.read())).toEqual([1, 3, 5])
  expect(await values(b.read())).toEqual([2, 4])
})

test('an append with expectedSeq gets that seq, or fails, stores nothing and reports the next seq', async () => {
  const { streams, reopen } = await scratchStreams()
  const stream = streams.stream('s')
  await stream.append('first', { expectedSeq: 0 })
  const late = stream.append('late', { expectedSeq: 0 })
  await expect(late).rejects.toMatchObject({ code: 'ERR_DURLOG_SEQ_CONFLICT', nextSeq: 1 })
  const both = await Promise.allSettled([
    stream.append('x', { expectedSeq: 1 }),
    stream.append('y', { expectedSeq: 1 }),
  ])
  expect(both.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
  expect(await values((await reopen()).stream('s').read())).toEqual(['first', 'x'])
})

test('after a refusal by expectedSeq the records before its nextSeq can be read', async () => {
  const { streams } = await scratchStreams()
  const stream = streams.stream('s')
  const won = stream.append('won', { expectedSeq: 0 })
  expect(await codeOf(stream.append('lost', { expectedSeq: 0 }))).toBe('ERR_DURLOG_SEQ_CONFLICT')
  expect(await values(stream.read())).toEqual(['won'])
  await won
})

test('a repeated append of a producer is stored once, and resolves to the seq of the stored record', async () => {
  const { streams, reopen } = await scratchStreams()
  const producer = (seq: number) => ({ producer: { id: 'p', epoch: 1, seq } })
  const stream = streams.stream('s')
  await stream.append('other')
  expect(await stream.append('a', producer(0))).toEqual({ seq: 1, duplicate: false })
  const twice = await Promise.all([stream.append('b', producer(1)), stream.append('b', producer(1))])
  expect(twice).toEqual([
    { seq: 2, duplicate: false },
    { seq: 2, duplicate: true },
  ])
  const again = (await reopen()).stream('s')
  expect(await again.append('a', producer(0))).toEqual({ seq: 1, duplicate: true })
  expect(await again.append('b', producer(1))).toEqual({ seq: 2, duplicate: true })
  expect(await again.append('c', producer(2))).toEqual({ seq: 3, duplicate: false })
  expect(await values(again.read())).toEqual(['other', 'a', 'b', 'c'])
})

test('a duplicate of an append before the last 16 of its producer has the seq -1', async () => {
  const { streams } = await scratchStreams()
  const stream = streams.stream('s')
  for (let seq = 0; seq < 17; seq++) await stream.append(seq, { producer: { id: 'p', epoch: 0, seq } })
  const retry = (seq: number) => stream.append(seq, { producer: { id: 'p', epoch: 0, seq } })
  expect(await retry(0)).toEqual({ seq: -1, duplicate: true })
  expect(await retry(1)).toEqual({ seq: 1, duplicate: true })
})

test('an append of a producer that skips a seq or has an earlier epoch is refused', async () => {
  const { streams, reopen } = await scratchStreams()
  const stream = streams.stream('s')
  const append = (epoch: number, seq: number) => stream.append('x', { producer: { id: 'p', epoch, seq } })
  await expect(append(1, 1)).rejects.toMatchObject({ code: 'ERR_DURLOG_PRODUCER_GAP', nextSeq: 0 })
  await append(1, 0)
  await expect(append(1, 2)).rejects.toMatchObject({ code: 'ERR_DURLOG_PRODUCER_GAP', nextSeq: 1 })
  await append(2, 0)
  expect(await codeOf(append(1, 1))).toBe('ERR_DURLOG_PRODUCER_FENCED')
  const again = (await reopen()).stream('s')
  expect(await codeOf(again.append('x', { producer: { id: 'p', epoch: 1, seq: 1 } }))).toBe(
    'ERR_DURLOG_PRODUCER_FENCED',
  )
  expect(await values(again.read())).toEqual(['x', 'x'])
})

test('a batch over several streams is stored completely, or not at all if one condition fails', async () => {
  const { streams, reopen } = await scratchStreams()
  const done = await streams.appendBatch([
    { stream: 'a', value: 1 },
    { stream: 'b', value: 2, expectedSeq: 0 },
    { stream: 'a', value: 3, expectedSeq: 1 },
  ])
  expect(done.map(({ seq }) => seq)).toEqual([0, 0, 1])
  const refused = streams.appendBatch([
    { stream: 'a', value: 4 },
    { stream: 'c', value: 5 },
    { stream: 'b', value: 6, expectedSeq: 7 },
  ])
  await expect(refused).rejects.toMatchObject({ code: 'ERR_DURLOG_SEQ_CONFLICT', nextSeq: 1 })
  const again = await reopen()
  expect(await values(again.stream('a').read())).toEqual([1, 3])
  expect(await values(again.stream('b').read())).toEqual([2])
  expect(await again.stream('c').info()).toBeUndefined()
})

test('a repeated batch of producers is stored once, and a batch that mixes stored and new appends is refused', async () => {
  const { streams } = await scratchStreams()
  const item = (stream: string, seq: number) => ({ stream, value: seq, producer: { id: 'p', epoch: 0, seq } })
  await streams.appendBatch([item('a', 0), item('b', 0), item('a', 1)])
  const retried = await streams.appendBatch([item('a', 0), item('b', 0), item('a', 1)])
  expect(retried).toEqual([
    { seq: 0, duplicate: true },
    { seq: 0, duplicate: true },
    { seq: 1, duplicate: true },
  ])
  expect(await codeOf(streams.appendBatch([item('a', 1), item('a', 2)]))).toBe('ERR_DURLOG_PRODUCER_GAP')
  expect(await values(streams.stream('a').read())).toEqual([0, 1])
})

test('a duplicate and a refused append settle when the records before them can be read', async () => {
  const { streams } = await scratchStreams({ durability: 'memory' })
  const stream = streams.stream('s')
  const producer = { id: 'p', epoch: 0, seq: 0 }
  void stream.append(1, { producer })
  expect(await stream.append(1, { producer })).toMatchObject({ seq: 0, duplicate: true })
  expect(await values(stream.read())).toEqual([1])
  void stream.append(2)
  expect(await codeOf(stream.append(3, { expectedSeq: 1 }))).toBe('ERR_DURLOG_SEQ_CONFLICT')
  expect(await values(stream.read())).toEqual([1, 2])
})

test('a stream that has ended refuses appends, also after opening again', async () => {
  const { streams, reopen } = await scratchStreams()
  const stream = streams.stream('s')
  expect(await codeOf(stream.end())).toBe('ERR_DURLOG_NOT_FOUND')
  await stream.append(1)
  await stream.end()
  await stream.end()
  expect(await codeOf(stream.append(2))).toBe('ERR_DURLOG_STREAM_ENDED')
  const again = (await reopen()).stream('s')
  expect(await codeOf(again.append(2))).toBe('ERR_DURLOG_STREAM_ENDED')
  expect(await again.info()).toMatchObject({ nextSeq: 1, ended: true })
})

test("a producer's last append is a duplicate if it is repeated after the end of the stream", async () => {
  const { streams } = await scratchStreams()
  const stream = streams.stream('s')
  await stream.append(1, { producer: { id: 'p', epoch: 0, seq: 0 } })
  await stream.end()
  expect(await stream.append(1, { producer: { id: 'p', epoch: 0, seq: 0 } })).toEqual({ seq: 0, duplicate: true })
})

test('a new stream with the name of a deleted one begins at seq 0 and has none of its records and producers', async () => {
  const { streams, reopen } = await scratchStreams()
  const stream = streams.stream('s')
  expect(await stream.delete()).toBe(false)
  await stream.append('old', { producer: { id: 'p', epoch: 0, seq: 0 } })
  await streams.checkpoint()
  expect(await stream.delete()).toBe(true)
  expect(await codeOf(all(stream.read()))).toBe('ERR_DURLOG_NOT_FOUND')
  expect(await stream.append('new', { producer: { id: 'p', epoch: 0, seq: 0 } })).toEqual({ seq: 0, duplicate: false })
  expect(await values(stream.read())).toEqual(['new'])
  const again = await reopen()
  expect(await values(again.stream('s').read())).toEqual(['new'])
  await again.stream('s').delete()
  expect(await (await reopen()).stream('s').info()).toBeUndefined()
})

test.each([
  [{ encoding: 'json' as const }, [null, 0, '', 'a\nb', { a: [1, { b: 'ü' }] }, [], true, '\ud800']],
  [{ encoding: 'utf8' as const }, ['', 'a\nb\r\n', ' {"', '\u2028']],
  [{ encoding: 'buffer' as const }, [Buffer.from([]), Buffer.from([0, 10, 255]), Buffer.alloc(100_000, 7)]],
])(
  'with the options %o, values read from memory, from the file and after opening again equal those appended',
  async (options, given) => {
    const { streams, reopen } = await scratchStreams(options)
    const stream = streams.stream('s')
    for (const value of given) await stream.append(value)
    expect(await values(stream.read())).toEqual(given)
    await streams.checkpoint()
    expect(await values(stream.read())).toEqual(given)
    expect(await values((await reopen()).stream('s').read())).toEqual(given)
  },
)

test.each([
  ['json', undefined],
  ['json', () => 1],
  ['json', 1n],
  ['json', Buffer.from('text')],
  ['json', new Uint8Array(2)],
  ['utf8', 1],
  ['utf8', new Date(0)],
  ['utf8', Object('text')],
  ['utf8', Buffer.from('"text"')],
  ['buffer', 'text'],
] as const)('a value that the encoding %s cannot express is refused: %s', async (encoding, value) => {
  const { streams } = await scratchStreams({ encoding })
  const stream = streams.stream('s')
  expect(await codeOf(stream.append(value))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
  expect(await codeOf(stream.appendAll([value]))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
  expect(await codeOf(stream.create({ values: [value] }))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
  expect(await codeOf(streams.appendBatch([{ stream: 's', value }]))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
  expect(await stream.info()).toBeUndefined()
})

test('a record that is too long is refused before anything is written', async () => {
  const { streams } = await scratchStreams({ encoding: 'buffer' })
  const append = (bytes: number) => streams.stream('s').append(Buffer.alloc(bytes))
  expect(await codeOf(append((8 << 20) + 1))).toBe('ERR_DURLOG_RECORD_TOO_LARGE')
  expect(await append(8 << 20)).toEqual({ seq: 0, duplicate: false })
})

test.each([
  [{ expectedSeq: -1 }],
  [{ expected: 1 }],
  [{ producer: { id: '', epoch: 0, seq: 0 } }],
  [{ producer: { id: 'p', seq: 0 } }],
  [{ producer: { id: '\ud800', epoch: 0, seq: 0 } }],
])('invalid append options are refused: %o', async (options) => {
  const { streams } = await scratchStreams()
  expect(await codeOf(streams.stream('s').append(1, options as never))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
})

test('appends wait for a checkpoint while eight times checkpointBytes are in memory, and all are stored', async () => {
  const { streams } = await scratchStreams({ checkpointBytes: 65_536 })
  const value = 'x'.repeat(10_000)
  const results = await Promise.all(Array.from({ length: 200 }, () => streams.stream('s').append(value)))
  expect(results.map(({ seq }) => seq)).toEqual(Array.from({ length: 200 }, (_, at) => at))
  expect((await values(streams.stream('s').read())).length).toBe(200)
})

test('an exclusive folder has one owner, and refuses calls after close', async () => {
  const { dir, streams } = await scratchStreams({ exclusive: true })
  const { openStreams } = await import('../../src/streams/index.js')
  for (const exclusive of [true, false])
    await expect(openStreams(dir, { exclusive })).rejects.toMatchObject({
      code: 'ERR_DURLOG_LOCKED',
      ownerPid: process.pid,
    })
  const pending = streams.stream('s').append(1)
  await streams.close()
  expect(await pending).toEqual({ seq: 0, duplicate: false })
  expect(await codeOf(streams.stream('s').append(1))).toBe('ERR_DURLOG_CLOSED')
  expect(await codeOf(all(streams.stream('s').read()))).toBe('ERR_DURLOG_CLOSED')
  const again = await openStreams(dir)
  expect(await values(again.stream('s').read())).toEqual([1])
  await again.close()
})

test('close stores every append that waits for room, even if that takes several checkpoints', async () => {
  const { streams, reopen } = await scratchStreams({ checkpointBytes: 65_536 })
  const appends = Array.from({ length: 40 }, (_, i) => streams.stream('s').append(`${i} ${'x'.repeat(50_000)}`))
  await streams.close()
  expect((await Promise.all(appends)).map(({ seq }) => seq)).toEqual(appends.map((_, i) => i))
  expect(await all((await reopen()).stream('s').read())).toHaveLength(40)
})

test('an append that is called after an unfinished create or delete is stored after it', async () => {
  const { streams } = await scratchStreams()
  const stream = streams.stream('s')
  const created = stream.create({ encoding: 'buffer' })
  const first = stream.append(Buffer.from([1]))
  expect(await created).toBe(true)
  expect(await first).toEqual({ seq: 0, duplicate: false })
  const deleted = stream.delete()
  const second = stream.append({ value: 2 })
  expect(await deleted).toBe(true)
  expect(await second).toEqual({ seq: 0, duplicate: false })
  expect(await values(stream.read())).toEqual([{ value: 2 }])
})

test('calls that wait for room are decided by the earlier calls: encodings, values and forks', async () => {
  const { streams } = await scratchStreams({ checkpointBytes: 65_536 })
  const [text, fork] = [streams.stream('text'), streams.stream('fork')]
  const value = { at: 1 }
  const fills = Array.from({ length: 3 }, () => streams.stream('fill').append('x'.repeat(400_000)))
  const results = Promise.all([
    text.create({ encoding: 'utf8', ttlMs: 60_000 }),
    text.append('a'),
    streams.appendBatch([{ stream: 'text', value: 'b' }]),
    fork.create({ fork: { stream: 'text' } }),
    text.delete(),
    fork.delete(),
    text.append('c'),
    text.append(value),
  ])
  value.at = 2
  await Promise.all(fills)
  expect(await results).toMatchObject([true, { seq: 0 }, [{ seq: 1 }], true, true, true, { seq: 0 }, { seq: 1 }])
  expect((await text.info())?.encoding).toBe('json')
  expect(await values(text.read())).toEqual(['c', { at: 1 }])
})

test('a fork that waits for room has the records and the options of its source at its turn', async () => {
  const { streams } = await scratchStreams({ checkpointBytes: 65_536 })
  const [source, fork] = [streams.stream('source'), streams.stream('fork')]
  const fills = Array.from({ length: 3 }, () => streams.stream('fill').append('x'.repeat(400_000)))
  const calls = [
    source.create({ encoding: 'utf8', ttlMs: 60_000, values: ['a'] }),
    fork.create({ fork: { stream: 'source' } }),
    fork.append('b'),
  ]
  await Promise.all([...fills, ...calls])
  expect(await fork.info()).toMatchObject({ encoding: 'utf8', ttlMs: 60_000, fork: { seq: 1 } })
  expect(await values(fork.read())).toEqual(['a', 'b'])
})

test('an append to a deleted stream whose name is in use is refused as such, whatever its value is', async () => {
  const { streams } = await scratchStreams()
  const stream = streams.stream('s')
  await stream.create({ encoding: 'utf8' })
  await streams.stream('fork').create({ fork: { stream: 's' } })
  await stream.delete()
  expect(await codeOf(stream.append({}))).toBe('ERR_DURLOG_STREAM_DELETED')
  expect(await codeOf(stream.appendAll([{}, 'x']))).toBe('ERR_DURLOG_STREAM_DELETED')
})

test('values of one append that no stream takes together are refused at the call', async () => {
  const { streams } = await scratchStreams()
  for (const values of [
    [{}, Buffer.from('x')],
    ['x', Buffer.from('x')],
  ])
    expect(await codeOf(streams.stream('s').appendAll(values))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
  const mixed = ['text', { a: 1 }, null, Number.NaN]
  expect(await streams.stream('s').appendAll(mixed)).toEqual({ seq: 0, duplicate: false })
  expect(await values(streams.stream('s').read())).toEqual(['text', { a: 1 }, null, null])
})

test('sparse arrays of values or batch items are refused', async () => {
  const { streams } = await scratchStreams()
  // biome-ignore lint/suspicious/noSparseArray: the test needs a sparse array
  const holes = [1, , 3]
  expect(await codeOf(streams.stream('s').appendAll(holes))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
  expect(await codeOf(streams.appendBatch(new Array(2)))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
  expect(await all(streams.list())).toEqual([])
})

test('a getter of the options of a call may make other calls', async () => {
  const { streams } = await scratchStreams()
  const stream = streams.stream('s')
  const inner: Promise<unknown>[] = []
  const options = {
    get create() {
      inner.push(stream.append('inner'), stream.info())
      return true
    },
  }
  await Promise.all([stream.append('outer', options), stream.appendAll(['outer'], options)])
  await Promise.all(inner)
  const found = await values(stream.read())
  expect(found.toSorted()).toEqual([...new Array(inner.length / 2).fill('inner'), 'outer', 'outer'])
})

test('conditions that are getters of a class count', async () => {
  const { streams } = await scratchStreams()
  const stream = streams.stream('s')
  class Expects {
    get expectedSeq(): number {
      return 5
    }
  }
  class Numbered {
    readonly id = 'p'
    readonly epoch = 0
    #seq = 0
    get seq(): number {
      return this.#seq++
    }
  }
  expect(await codeOf(stream.append(1, new Expects()))).toBe('ERR_DURLOG_SEQ_CONFLICT')
  expect(await codeOf(stream.appendAll([1], new Expects()))).toBe('ERR_DURLOG_SEQ_CONFLICT')
  const producer = new Numbered()
  expect(await stream.append(1, { producer })).toEqual({ seq: 0, duplicate: false })
  expect(await streams.appendBatch([{ stream: 's', value: 2, producer }])).toEqual([{ seq: 1, duplicate: false }])
  await stream.end({ producer })
  expect(await stream.info()).toMatchObject({ nextSeq: 2, ended: true })
})
