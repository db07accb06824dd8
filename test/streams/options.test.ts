/**
 * Streams that are created with options: encodings, expiry, forks, groups of appends, and appends that end the stream.
 */
import { existsSync } from 'node:fs'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Streams } from '../../src/streams/index.js'
import { adjustableClock } from '../fixtures/fake-clock.js'
import { codeOf } from '../fixtures/scratch.js'
import { all, linesOf, scratchStreams, values } from '../fixtures/streams.js'

test('create creates a stream once; repeated with the same options it resolves to false, with others it is refused', async () => {
  const { streams, reopen } = await scratchStreams()
  const options = { contentType: 'application/json; charset=utf-8', ttlMs: 60_000 }
  expect(await streams.stream('s').create(options)).toBe(true)
  expect(await streams.stream('s').create({ ...options, contentType: 'Application/JSON' })).toBe(false)
  expect(await codeOf(streams.stream('s').create())).toBe('ERR_DURLOG_STREAM_EXISTS')
  const again = await reopen()
  expect(await again.stream('s').info()).toMatchObject({ ...options, encoding: 'json', nextSeq: 0, ended: false })
  expect(await again.stream('s').create(options)).toBe(false)
  await again.stream('s').append('first')
  expect(await values(again.stream('s').read())).toEqual(['first'])
})

test('a stream of bytes in a JSON folder stores its bytes in a file of frames, also after opening again', async () => {
  const { streams, reopen } = await scratchStreams()
  const bytes = Buffer.from([0, 10, 255, 34])
  await streams.stream('b').create({ encoding: 'buffer', contentType: 'image/png', values: [bytes] })
  await streams.stream('b').append(bytes)
  await streams.stream('j').append({ a: 1 })
  expect(await codeOf(streams.stream('b').append('text'))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
  const committed = await all(streams.readAll())
  expect(committed.map(({ value }) => value)).toEqual([bytes, bytes, { a: 1 }])
  const again = await reopen()
  expect(await values(again.stream('b').read())).toEqual([bytes, bytes])
  expect((await again.stream('b').info())?.path).toMatch(/b\.frames$/)
  await again.stream('b').delete()
  await again.stream('b').append('now JSON')
  await again.checkpoint()
  const info = await again.stream('b').info()
  expect(linesOf(info?.path as string)).toEqual(['now JSON'])
  expect(existsSync(String(info?.path).replace('.jsonl', '.frames'))).toBe(false)
})

test('appendAll is atomic, and its producer numbers it as one append', async () => {
  const { streams, reopen } = await scratchStreams()
  const stream = streams.stream('s')
  const group = (seq: number) => ({ producer: { id: 'p', epoch: 0, seq } })
  expect(await stream.appendAll([1, 2, 3], group(0))).toEqual({ seq: 0, duplicate: false })
  expect(await stream.appendAll([4, 5], { ...group(1), end: true })).toEqual({ seq: 3, duplicate: false })
  const again = (await reopen()).stream('s')
  expect(await again.appendAll([1, 2, 3], group(0))).toEqual({ seq: 0, duplicate: true })
  expect(await again.appendAll([4, 5], { ...group(1), end: true })).toEqual({ seq: 3, duplicate: true })
  await expect(again.append(6, group(2))).rejects.toMatchObject({ code: 'ERR_DURLOG_STREAM_ENDED', nextSeq: 5 })
  expect(await values(again.read())).toEqual([1, 2, 3, 4, 5])
  expect(await again.info()).toMatchObject({ ended: true, nextSeq: 5 })
})

test('a repeated end of the same producer is a duplicate, and an end of another producer is refused', async () => {
  const { streams, reopen } = await scratchStreams()
  await streams.stream('s').append('x')
  const producer = { id: 'p', epoch: 3, seq: 0 }
  await streams.stream('s').end({ producer })
  const again = (await reopen()).stream('s')
  await again.end({ producer })
  await again.end()
  expect(await codeOf(again.end({ producer: { ...producer, id: 'other' } }))).toBe('ERR_DURLOG_STREAM_ENDED')
  await expect(again.append('y', { producer: { ...producer, epoch: 1 } })).rejects.toMatchObject({
    code: 'ERR_DURLOG_PRODUCER_FENCED',
    epoch: 3,
  })
})

test('each writerSeq must be greater than the earlier ones compared by bytes, also after a checkpoint', async () => {
  const { streams, reopen } = await scratchStreams()
  await streams.stream('s').append(1, { writerSeq: '09' })
  await streams.stream('s').append(2, { writerSeq: '10' })
  expect(await codeOf(streams.stream('s').append(3, { writerSeq: '10' }))).toBe('ERR_DURLOG_SEQ_CONFLICT')
  const again = (await reopen()).stream('s')
  expect(await codeOf(again.append(3, { writerSeq: '1' }))).toBe('ERR_DURLOG_SEQ_CONFLICT')
  await again.append(3, { writerSeq: '2' })
  expect(await values(again.read())).toEqual([1, 2, 3])
})

test('an append with create: false to a stream that does not exist is refused', async () => {
  const { streams } = await scratchStreams()
  expect(await codeOf(streams.stream('s').append(1, { create: false }))).toBe('ERR_DURLOG_NOT_FOUND')
  await streams.stream('s').create()
  await streams.stream('s').append(1, { create: false })
})

/**
 * Creates the streams `a` with 4 records, `b` as a fork of `a` at 2 with one more record, and `c` as a fork of `b` at
 * its end with another one.
 */
async function forked(streams: Streams<unknown>): Promise<void> {
  await streams.stream('a').appendAll([0, 1, 2, 3], { producer: { id: 'p', epoch: 0, seq: 0 }, end: true })
  await streams.stream('b').create({ fork: { stream: 'a', seq: 2 }, values: ['b2'] })
  await streams.stream('c').create({ fork: { stream: 'b' } })
  await streams.stream('c').append('c3', { producer: { id: 'p', epoch: 0, seq: 0 } })
}

test.each(['before', 'after'])('a fork begins with the records of its source, %s a checkpoint', async (when) => {
  const { streams, reopen } = await scratchStreams()
  await forked(streams)
  if (when === 'after') await streams.checkpoint()
  const read = async (of: Streams<unknown>) => values(of.stream('c').read())
  expect(await read(streams)).toEqual([0, 1, 'b2', 'c3'])
  expect((await all(streams.stream('c').read({ from: 1 }))).map(({ seq }) => seq)).toEqual([1, 2, 3])
  const again = await reopen()
  expect(await read(again)).toEqual([0, 1, 'b2', 'c3'])
  expect(await again.stream('c').info()).toMatchObject({ firstSeq: 0, nextSeq: 4, ended: false })
  expect(await again.stream('c').create({ fork: { stream: 'b' } })).toBe(false)
  expect(await codeOf(again.stream('c').create({ fork: { stream: 'b', seq: 1 } }))).toBe('ERR_DURLOG_STREAM_EXISTS')
})

test('a deleted stream with forks keeps its records and its name until its last fork is deleted', async () => {
  const { streams, reopen } = await scratchStreams()
  await forked(streams)
  const path = (await streams.stream('a').info())?.path as string
  await streams.stream('a').delete()
  await streams.stream('b').delete()
  for (const open of [async () => streams, reopen]) {
    const of = await open()
    expect(await of.stream('a').info()).toBeUndefined()
    expect(await of.stream('a').delete()).toBe(false)
    expect(await codeOf(of.stream('a').append('x'))).toBe('ERR_DURLOG_STREAM_DELETED')
    expect(await codeOf(of.stream('d').create({ fork: { stream: 'a' } }))).toBe('ERR_DURLOG_STREAM_DELETED')
    expect((await all(of.list())).map(({ name }) => name)).toEqual(['c'])
    expect(await values(of.stream('c').read())).toEqual([0, 1, 'b2', 'c3'])
  }
  const again = await reopen()
  expect(existsSync(path)).toBe(true)
  await again.stream('c').delete()
  await again.checkpoint()
  expect(existsSync(path)).toBe(false)
  expect(await again.stream('a').append('new')).toEqual({ seq: 0, duplicate: false })
})

test('a fork with fork.bytes has a copy of the first bytes of the record at fork.seq', async () => {
  const { streams, reopen } = await scratchStreams({ encoding: 'buffer' })
  const text = (value: string) => Buffer.from(value)
  await streams.stream('a').appendAll([text('one'), text('two')])
  const fork = { stream: 'a', seq: 1, bytes: 2 }
  await streams.stream('b').create({ fork, values: [text('!')] })
  expect(await codeOf(streams.stream('c').create({ fork: { ...fork, bytes: 4 } }))).toBe('ERR_DURLOG_OUT_OF_RANGE')
  expect(await codeOf(streams.stream('c').create({ fork: { ...fork, seq: 3 } }))).toBe('ERR_DURLOG_OUT_OF_RANGE')
  const again = await reopen()
  expect((await values(again.stream('b').read())).join('')).toBe('onetw!')
  expect(await again.stream('b').create({ fork })).toBe(false)
})

test('a fork with fork.bytes is refused if another stream has got the name of its source while the record was read', async () => {
  const { streams } = await scratchStreams({ encoding: 'buffer' })
  const text = (value: string) => Buffer.from(value)
  const source = streams.stream('a')
  await source.appendAll([text('one'), text('two')])
  const forked = codeOf(streams.stream('b').create({ fork: { stream: 'a', seq: 1, bytes: 2 } }))
  await Promise.all([source.delete(), source.appendAll([text('ONE'), text('TWO')])])
  expect(await forked).toBe('ERR_DURLOG_NOT_FOUND')
})

test('an expired stream is not found, and the next append to its name begins a new stream at seq 0', async () => {
  const { streams, reopen } = await scratchStreams()
  const stream = streams.stream('idle')
  await stream.create({ ttlMs: 0, values: [1] })
  expect(await stream.info()).toBeUndefined()
  expect(await codeOf(all(stream.read()))).toBe('ERR_DURLOG_NOT_FOUND')
  expect(await stream.append(2)).toEqual({ seq: 0, duplicate: false })
  expect(await values(stream.read())).toEqual([2])
  await streams.stream('dated').create({ expiresAt: new Date(Date.now() + 3_600_000) })
  await streams.stream('over').create({ expiresAt: new Date(1) })
  const again = await reopen()
  expect((await all(again.list())).map(({ name }) => name)).toEqual(['idle', 'dated'])
  expect(await again.stream('over').info()).toBeUndefined()
})

test('an append or a read restarts the time to live, and a stream with a waiting follower does not expire', async () => {
  const pass = adjustableClock('held')
  const { streams } = await scratchStreams()
  const stream = streams.stream('s')
  await stream.create({ ttlMs: 1000, values: [1] })
  pass(900)
  await stream.append(2)
  pass(900)
  expect(await values(stream.read())).toEqual([1, 2])
  pass(900)
  const end = new AbortController()
  const following = stream.read({ follow: true, signal: end.signal })
  expect(await values(following, 2)).toEqual([1, 2])
  const waiting = stream.read({ from: 2, follow: true, signal: end.signal }).next()
  await new Promise((resolve) => setImmediate(resolve))
  pass(5000)
  expect(await stream.info()).toMatchObject({ nextSeq: 2 })
  end.abort(new Error('stop'))
  await expect(waiting).rejects.toThrow('stop')
  pass(1000)
  expect(await stream.info()).toBeUndefined()
})

test('while appends wait for room, the deletion of an expired stream removes no record that is appended later', async () => {
  const pass = adjustableClock('held')
  // In a client, the calls would arrive after the clock has advanced.
  const { streams } = await scratchStreams({ checkpointBytes: 65_536, exclusive: true })
  const [replaced, used] = [streams.stream('replaced'), streams.stream('used')]
  for (const stream of [replaced, used]) await stream.create({ ttlMs: 1000, values: ['old'] })
  const filler = Array.from({ length: 60 }, () => streams.stream('filler').append('x'.repeat(10_000)))
  const last = used.append('in time')
  pass(2000)
  const appends = [replaced.append(1), replaced.append(2), used.append('late')]
  await Promise.all([...filler, last, ...appends])
  expect(await values(replaced.read())).toEqual([1, 2])
  expect(await values(used.read())).toEqual(['old', 'in time', 'late'])
})

test('a fork has the expiry of its source unless it has its own', async () => {
  const { streams } = await scratchStreams()
  await streams.stream('a').create({ ttlMs: 60_000, values: [1] })
  await streams.stream('b').create({ fork: { stream: 'a' } })
  await streams.stream('c').create({ fork: { stream: 'a' }, expiresAt: 2 ** 50 })
  expect(await streams.stream('b').info()).toMatchObject({ ttlMs: 60_000, expiresAt: undefined })
  expect(await streams.stream('c').info()).toMatchObject({ ttlMs: undefined, expiresAt: 2 ** 50 })
})

test('a change of the system clock does not change when a stream with a time to live expires', async () => {
  const pass = adjustableClock('held')
  vi.useFakeTimers({ toFake: ['Date'] })
  onTestFinished(() => void vi.useRealTimers())
  const { streams } = await scratchStreams()
  const stream = streams.stream('s')
  await stream.create({ ttlMs: 10_000, values: [1] })
  vi.setSystemTime(Date.now() + 86_400_000)
  expect(await stream.info()).toMatchObject({ nextSeq: 1 })
  vi.setSystemTime(Date.now() - 2 * 86_400_000)
  await stream.append(2)
  pass(10_000)
  expect(await stream.info()).toBeUndefined()
})

test.each([null, '', true, [], 5n, Symbol('s'), Number.NaN, new Date(Number.NaN), 2 ** 53 - 1])(
  'create refuses the time %s as expiresAt',
  async (expiresAt) => {
    const { streams } = await scratchStreams()
    const created = streams.stream('s').create({ expiresAt: expiresAt as Date })
    expect(await codeOf(created)).toBe('ERR_DURLOG_INVALID_ARGUMENT')
    expect(await streams.stream('s').info()).toBeUndefined()
  },
)

test('creating a fork again with the same options resolves to false, also after its source is deleted', async () => {
  const { streams } = await scratchStreams()
  await streams.stream('a').create({ ttlMs: 60_000, values: [1, 2] })
  const [whole, part] = [{ stream: 'a' }, { stream: 'a', seq: 1 }]
  expect(await streams.stream('b').create({ fork: whole })).toBe(true)
  expect(await streams.stream('c').create({ fork: part })).toBe(true)
  await streams.stream('a').delete()
  expect(await streams.stream('b').create({ fork: whole })).toBe(false)
  expect(await streams.stream('c').create({ fork: part })).toBe(false)
  expect(await codeOf(streams.stream('d').create({ fork: whole }))).toBe('ERR_DURLOG_STREAM_DELETED')
})

test('a chain of 12,000 forks can be read, and is removed when its last fork is deleted', async () => {
  const { streams } = await scratchStreams()
  await streams.stream('0').append('first')
  const count = 12_000
  const forks = Array.from({ length: count }, (_, i) =>
    streams.stream(`${i + 1}`).create({ fork: { stream: `${i}`, seq: 1 } }),
  )
  await Promise.all(forks)
  const last = streams.stream(`${count}`)
  expect(await last.info()).toMatchObject({ firstSeq: 0, nextSeq: 1 })
  expect(await values(last.read())).toEqual(['first'])
  await Promise.all(Array.from({ length: count }, (_, i) => streams.stream(`${i}`).delete()))
  expect(await last.delete()).toBe(true)
  expect(await all(streams.list())).toEqual([])
  expect(await streams.stream('0').append('again')).toEqual({ seq: 0, duplicate: false })
})

test('members of Object.prototype are not used as options of an append', async () => {
  const { streams } = await scratchStreams()
  Object.assign(Object.prototype, { end: true })
  onTestFinished(() => {
    delete (Object.prototype as { end?: boolean }).end
  })
  await streams.stream('s').append(1, { expectedSeq: 0 })
  expect(await streams.stream('s').append(2, { expectedSeq: 1 })).toEqual({ seq: 1, duplicate: false })
})

test.each([
  'text/plain\n',
  'text/pl\u0000ain',
  'text/plain; title=ä',
  'text/plain; a="\u007f"',
  'plain',
  '',
  ' text/plain',
  `text/${'x'.repeat(300)}`,
  5,
])('create refuses the content type %j, which no header can carry', async (contentType) => {
  const { streams } = await scratchStreams()
  const created = streams.stream('s').create({ contentType: contentType as string })
  expect(await codeOf(created)).toBe('ERR_DURLOG_INVALID_ARGUMENT')
  expect(await streams.stream('s').info()).toBeUndefined()
})
