/** Readers of one stream and of all streams: order, following, positions, cursors. */
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { codeOf } from '../fixtures/scratch.js'
import { all, localPort, scratchStreams, values } from '../fixtures/streams.js'

test('a record has the same time and position in memory, in the file and after opening again', async () => {
  const { streams, reopen } = await scratchStreams()
  for (let i = 0; i < 40; i++) await streams.stream(i % 2 === 0 ? 'even' : 'odd').append(i)
  const before = await all(streams.stream('odd').read())
  expect(before.map(({ position }) => position)).toEqual(Array.from({ length: 20 }, (_, at) => 2 * at + 1))
  await streams.checkpoint()
  expect(await all(streams.stream('odd').read())).toEqual(before)
  expect(await all((await reopen()).stream('odd').read())).toEqual(before)
})

test('reading begins at any seq, in the file, at its end and in memory', async () => {
  const { streams } = await scratchStreams()
  const stream = streams.stream('s')
  for (let i = 0; i < 50; i++) await stream.append(i)
  await streams.checkpoint()
  for (let i = 50; i < 60; i++) await stream.append(i)
  for (const from of [0, 1, 15, 16, 17, 47, 48, 49, 50, 51, 59, 60])
    expect(await values(stream.read({ from }))).toEqual(Array.from({ length: 60 - from }, (_, at) => from + at))
  expect(await codeOf(all(stream.read({ from: 61 })))).toBe('ERR_DURLOG_OUT_OF_RANGE')
})

test('a negative from begins with the last records, in memory, in the file and in a fork', async () => {
  const { streams } = await scratchStreams()
  const stream = streams.stream('s')
  for (let i = 0; i < 20; i++) await stream.append(i)
  await streams.checkpoint()
  for (let i = 20; i < 23; i++) await stream.append(i)
  expect(await values(stream.read({ from: -2 }))).toEqual([21, 22])
  expect(await values(stream.read({ from: -5 }))).toEqual([18, 19, 20, 21, 22])
  expect(await values(stream.read({ from: -1000 }))).toHaveLength(23)
  const fork = streams.stream('fork')
  await fork.create({ fork: { stream: 's', seq: 10 }, values: ['own'] })
  expect(await values(fork.read({ from: -3 }))).toEqual([8, 9, 'own'])
  expect(await codeOf(all(streams.stream('missing').read({ from: -3 })))).toBe('ERR_DURLOG_NOT_FOUND')
})

test('a follower with a negative from gets the last records, then each new one', async () => {
  const { streams } = await scratchStreams()
  const stream = streams.stream('s')
  for (let i = 0; i < 10; i++) await stream.append(i)
  const reader = stream.read({ from: -2, follow: true })
  expect((await reader.next()).value?.value).toBe(8)
  const later = values(reader)
  await stream.append(10)
  await stream.end()
  expect(await later).toEqual([9, 10])
})

test('a follower with a negative from that waits for its stream gets the first record', async () => {
  const { streams } = await scratchStreams()
  const reader = streams.stream('later').read({ from: -1, follow: true })
  const first = reader.next()
  await streams.stream('later').appendAll([1, 2, 3], { end: true })
  expect((await first).value?.value).toBe(1)
  expect(await values(reader)).toEqual([2, 3])
})

test('a stream longer than one read of its file is read completely', async () => {
  const { streams } = await scratchStreams()
  const stream = streams.stream('s')
  const long = 'y'.repeat(300_000)
  const given: unknown[] = Array.from({ length: 3000 }, (_, at) => at)
  given.splice(1000, 0, long, 'short', long)
  await Promise.all(given.map((value) => stream.append(value)))
  await streams.checkpoint()
  expect(await values(stream.read())).toEqual(given)
})

test('a stream whose index is longer than one read of it is read from any seq', async () => {
  const { streams } = await scratchStreams({ durability: 'memory' })
  const stream = streams.stream('s')
  const given = Array.from({ length: 20_000 }, (_, at) => (at % 999 === 0 ? 'y'.repeat(at) : at))
  await stream.appendAll(given)
  await streams.checkpoint()
  for (const from of [0, 1, 8191, 8192, 8193, 16_383, 16_384, 19_999])
    expect(await values(stream.read({ from }))).toEqual(given.slice(from))
})

test.each([
  ['too early', 0],
  ['within its line', 54],
  ['after the end of the file', 2 ** 48 - 1],
])('a record that begins %s according to the index is reported as changed', async (_, offset) => {
  const { streams, dir } = await scratchStreams()
  const stream = streams.stream('s')
  for (let i = 0; i < 40; i++) await stream.append(i)
  await streams.checkpoint()
  const index = await open(join(dir, 'index', 's'), 'r+')
  const end = Buffer.alloc(6)
  end.writeUIntLE(offset, 0, 6)
  await index.write(end, 0, 6, 20 * 18)
  await index.close()
  expect(await codeOf(all(stream.read({ from: 21 })))).toBe('ERR_DURLOG_STREAM_CHANGED')
})

test('a follower gets each record once and in order during checkpoints, and finishes when the stream ends', async () => {
  const { streams } = await scratchStreams()
  const stream = streams.stream('s')
  const followed = values(stream.read({ follow: true }))
  const fromTen = values(stream.read({ from: 10, follow: true }))
  for (let i = 0; i < 100; i++) {
    await stream.append(i)
    if (i % 20 === 7) await streams.checkpoint()
  }
  await stream.end()
  const expected = Array.from({ length: 100 }, (_, at) => at)
  expect(await followed).toEqual(expected)
  expect(await fromTen).toEqual(expected.slice(10))
})

test('a reader that begins after an append has settled reads it at once', async () => {
  const { streams } = await scratchStreams()
  const stream = streams.stream('s')
  for (let i = 0; i < 20; i++) {
    const { seq } = await stream.append(i)
    expect(await values(stream.read({ from: seq }))).toEqual([i])
  }
})

test('a reader whose signal is aborted delivers no further record', async () => {
  const { streams } = await scratchStreams()
  const stream = streams.stream('s')
  await stream.appendAll([1, 2, 3])
  const abort = new AbortController()
  const reason = new Error('enough')
  const reader = stream.read({ signal: abort.signal })
  expect((await reader.next()).value).toMatchObject({ value: 1 })
  abort.abort(reason)
  await expect(reader.next()).rejects.toBe(reason)
  expect(await reader.next()).toEqual({ done: true, value: undefined })
})

test('calls of next that do not wait for each other get the records in order, and none after return', async () => {
  const { streams } = await scratchStreams()
  const stream = streams.stream('s')
  await stream.appendAll([0, 1, 2])
  await streams.checkpoint()
  await stream.appendAll([3, 4])
  const reader = stream.read()
  const results = await Promise.all(Array.from({ length: 6 }, () => reader.next()))
  expect(results.map(({ value }) => value?.value)).toEqual([0, 1, 2, 3, 4, undefined])
  const second = stream.read()
  await second.next()
  expect(await second.return()).toEqual({ done: true, value: undefined })
  expect(await second.next()).toEqual({ done: true, value: undefined })
})

test('a follower throws the reason of its signal, or an error if the stream is deleted or the folder is closed', async () => {
  const { streams } = await scratchStreams()
  await streams.stream('a').append(1)
  await streams.stream('b').append(1)
  const abort = new AbortController()
  const reason = new Error('enough')
  const aborted = all(streams.stream('a').read({ follow: true, signal: abort.signal }))
  const missing = all(streams.stream('none').read({ follow: true, signal: abort.signal }))
  const deleted = codeOf(all(streams.stream('b').read({ from: 1, follow: true })))
  const closed = codeOf(all(streams.stream('a').read({ from: 1, follow: true })))
  await streams.stream('b').delete()
  expect(await deleted).toBe('ERR_DURLOG_NOT_FOUND')
  abort.abort(reason)
  await expect(aborted).rejects.toBe(reason)
  await expect(missing).rejects.toBe(reason)
  await streams.close()
  expect(await closed).toBe('ERR_DURLOG_CLOSED')
})

test('a reader of a stream that is deleted and created again gets no record of the new stream', async () => {
  const { streams } = await scratchStreams()
  const stream = streams.stream('s')
  // More records than the owner reads ahead for a client.
  for (let i = 0; i < 8000; i++) void stream.append(`old ${i}`)
  await streams.checkpoint()
  const reader = stream.read()
  expect((await reader.next()).value?.value).toBe('old 0')
  await stream.delete()
  for (let i = 0; i < 5000; i++) void stream.append(`new ${i}`)
  await streams.checkpoint()
  const found: unknown[] = []
  const read = (async () => {
    for await (const { value } of reader) found.push(value)
  })()
  expect(await codeOf(read)).toBe('ERR_DURLOG_NOT_FOUND')
  expect(found.filter((value) => !(value as string).startsWith('old'))).toEqual([])
})

test('a reader without follow delivers only the records that exist when it begins', async () => {
  const { streams } = await scratchStreams()
  const stream = streams.stream('s')
  await stream.append(0)
  const found: unknown[] = []
  for await (const { value } of stream.read()) {
    found.push(value)
    await stream.append(found.length)
  }
  expect(found).toEqual([0])
})

test('readAll delivers the records of all streams in the order of their positions, also of batches and deleted streams', async () => {
  const { streams } = await scratchStreams()
  await streams.stream('a').append(1)
  await streams.appendBatch([
    { stream: 'b', value: 2 },
    { stream: 'a', value: 3 },
  ])
  await streams.stream('a').delete()
  await streams.stream('b').append(4)
  await streams.checkpoint()
  const records = await all(streams.readAll())
  expect(records.map(({ stream, seq, value }) => [stream, seq, value])).toEqual([
    ['a', 0, 1],
    ['b', 0, 2],
    ['a', 1, 3],
    ['b', 1, 4],
  ])
  const from = records[2]?.position as number
  expect((await all(streams.readAll({ from }))).map(({ value }) => value)).toEqual([3, 4])
  const followed = all(streams.readAll({ from, follow: true }), 3)
  await streams.stream('c').append(5)
  expect((await followed).map(({ value }) => value)).toEqual([3, 4, 5])
})

test('a cursor continues after its last commit, and the log keeps the records after it', async () => {
  const { streams, reopen } = await scratchStreams({ checkpointBytes: 2 ** 26 })
  const cursor = await streams.cursor('projector')
  const value = 'x'.repeat(1 << 20)
  for (let i = 0; i < 40; i++) await streams.stream(`s${i % 3}`).append(`${i} ${value}`)
  await streams.checkpoint()
  const first = await all(cursor.read(), 30)
  expect(first.map((record) => Number.parseInt(record.value as string, 10))).toEqual(
    Array.from({ length: 30 }, (_, i) => i),
  )
  await cursor.commit(first[29]?.position as number, { durability: 'sync' })
  await cursor.close()
  const again = await reopen()
  const continued = await again.cursor('projector')
  const rest = await all(continued.read())
  expect(rest.map((record) => Number.parseInt(record.value as string, 10))).toEqual(
    Array.from({ length: 10 }, (_, i) => 30 + i),
  )
  await continued.commit(rest[9]?.position as number)
  await continued.close()
})

test('list returns the streams whose names begin with the prefix, and info describes a stream', async () => {
  const { streams } = await scratchStreams()
  for (const name of ['user/1', 'user/2', 'other']) await streams.stream(name).append(name)
  await streams.stream('user/2').end()
  const found = await all(streams.list({ prefix: 'user/' }))
  expect(found.map(({ name, nextSeq, ended }) => [name, nextSeq, ended])).toEqual([
    ['user/1', 1, false],
    ['user/2', 1, true],
  ])
  expect(await all(streams.list())).toHaveLength(3)
  expect(await streams.stream('none').info()).toBeUndefined()
})

test('a list has the streams that exist when it begins, also if the caller creates a stream for each of them', async () => {
  const { streams } = await scratchStreams()
  for (let i = 0; i < 100; i++) await streams.stream(`s${i}`).append(i)
  const names: string[] = []
  for await (const { name } of streams.list()) {
    names.push(name)
    if (names.length > 100) break
    await streams.stream(`copy of ${name}`).append(1)
  }
  expect(names).toEqual(Array.from({ length: 100 }, (_, i) => `s${i}`))
})

test('read refuses wrong options when it is called', async () => {
  const { streams } = await scratchStreams()
  const cursor = await streams.cursor('c')
  onTestFinished(() => cursor.close())
  const wrong = { follow: 1 } as object
  for (const read of [() => streams.stream('s').read(wrong), () => streams.readAll(wrong), () => cursor.read(wrong)])
    expect(read).toThrow(expect.objectContaining({ code: 'ERR_DURLOG_INVALID_ARGUMENT' }))
})

test('a client can have thousands of readers that share a signal', async () => {
  const { streams } = await scratchStreams()
  const warnings: Error[] = []
  const warn = (warning: Error) => warnings.push(warning)
  process.on('warning', warn)
  onTestFinished(() => void process.off('warning', warn))
  const abort = new AbortController()
  const reason = new Error('enough')
  const readers = Array.from({ length: 5000 }, (_, i) =>
    streams.stream(`s${i % 5}`).read({ follow: true, signal: abort.signal }),
  )
  const firsts = readers.map((reader) => reader.next())
  for (let i = 0; i < 5; i++) await streams.stream(`s${i}`).append(i)
  for (const [i, first] of (await Promise.all(firsts)).entries()) expect(first.value?.value).toBe(i % 5)
  const seconds = readers.map((reader) => reader.next())
  abort.abort(reason)
  for (const { reason: found } of (await Promise.allSettled(seconds)) as PromiseRejectedResult[])
    expect(found).toBe(reason)
  await new Promise((resolve) => setImmediate(resolve))
  expect(warnings).toEqual([])
})

test('a cursor can be open only once, and refuses reads and commits after close', async () => {
  const { streams } = await scratchStreams()
  await streams.stream('s').append(1)
  const cursor = await streams.cursor('c')
  expect(await codeOf(streams.cursor('c'))).toBe('ERR_DURLOG_LOCKED')
  expect((await all(cursor.read())).map(({ value }) => value)).toEqual([1])
  await cursor.close()
  await cursor.close()
  expect(await codeOf(all(cursor.read()))).toBe('ERR_DURLOG_CLOSED')
  expect(await codeOf(cursor.commit(0))).toBe('ERR_DURLOG_CLOSED')
  const again = await streams.cursor('c')
  expect(again.position).toBe(0)
  await again.close()
})

test.each([
  ['a read of a cursor', { from: 1 }],
  ['a read of a cursor', null],
  ['a read of a cursor', { follow: 'yes' }],
])('%s refuses the options %j', async (_, options) => {
  const { streams } = await scratchStreams()
  const cursor = await streams.cursor('c')
  const read = async () => all(cursor.read(options as object))
  expect(await codeOf(read())).toBe('ERR_DURLOG_INVALID_ARGUMENT')
  expect(await codeOf(cursor.commit(5n as unknown as number))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
})

test.each([5, null, /x/, {}, 'x'.repeat(1025)])('list refuses the prefix %s', async (prefix) => {
  const { streams } = await scratchStreams()
  const list = async () => all(streams.list({ prefix } as object))
  expect(await codeOf(list())).toBe('ERR_DURLOG_INVALID_ARGUMENT')
})

test('a cursor that is created while a checkpoint trims the main log gets every record from its position on', async () => {
  const { streams } = await scratchStreams()
  for (let round = 0; round < 8; round++) {
    for (let at = 0; at < 4; at++) await streams.stream('s').append('x'.repeat(100_000))
    let isDone = false
    const checkpoint = streams.checkpoint().finally(() => {
      isDone = true
    })
    for (let at = 0; !isDone; at++) {
      const cursor = await streams.cursor(`c${at}`)
      for await (const { position } of cursor.read()) {
        expect(position).toBe(cursor.position)
        break
      }
      await cursor.close()
      await streams.removeCursor(`c${at}`)
    }
    await checkpoint
  }
})

test('a read that waits for its turn while its stream is deleted ends with ERR_DURLOG_NOT_FOUND', async () => {
  const { streams } = await scratchStreams({ exclusive: true })
  const stream = streams.stream('s')
  await stream.appendAll([1, 2, 3])
  const range = { from: 0, to: undefined, untilMs: undefined, follow: false, durableOnly: false }
  const { signal } = new AbortController()
  const reading = localPort(streams).readStream('s', range, true, signal, async (read) => {
    await stream.delete()
    await streams.checkpoint()
    return read()
  })
  expect(await codeOf(all(reading))).toBe('ERR_DURLOG_NOT_FOUND')
})
