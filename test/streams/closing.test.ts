/** Calls of a folder of streams after `close` was called, while earlier appends are being stored. */
import { expect, test } from 'vitest'
import type { StreamAppendResult, Streams } from '../../src/streams/index.js'
import { codeOf } from '../fixtures/scratch.js'
import { leave, localPort, scratchStreams } from '../fixtures/streams.js'

const PENDING = 5000

const CALLS: Record<string, (streams: Streams<unknown>) => unknown> = {
  append: (streams) => streams.stream('s').append(1),
  appendAll: (streams) => streams.stream('s').appendAll([1]),
  create: (streams) => streams.stream('new').create(),
  end: (streams) => streams.stream('s').end(),
  delete: (streams) => streams.stream('s').delete(),
  info: (streams) => streams.stream('s').info(),
  read: (streams) => streams.stream('s').read().next(),
  follow: (streams) => streams.stream('s').read({ follow: true }).next(),
  appendBatch: (streams) => streams.appendBatch([{ stream: 's', value: 1 }]),
  list: (streams) => streams.list().next(),
  readAll: (streams) => streams.readAll().next(),
  cursor: (streams) => streams.cursor('other'),
  removeCursor: (streams) => streams.removeCursor('other'),
  checkpoint: (streams) => streams.checkpoint(),
}

test.each([true, false])(
  'calls after close are refused at once; earlier appends are stored (exclusive: %s)',
  async (exclusive) => {
    const { streams, reopen } = await scratchStreams({ exclusive })
    const stream = streams.stream('s')
    await stream.append('first')
    const cursor = await streams.cursor('c')
    const pending = Array.from({ length: PENDING }, () => stream.append('pending'))
    let isClosed = false
    const closed = streams.close().finally(() => {
      isClosed = true
    })
    const codes = Object.entries(CALLS).map(async ([name, call]) => [
      name,
      await codeOf(async () => call(streams)),
      isClosed,
    ])
    const cursorCalls = [cursor.commit(0), cursor.read().next()].map((call) => codeOf(call))
    const refused = await Promise.all(codes)
    expect(refused).toEqual(Object.keys(CALLS).map((name) => [name, 'ERR_DURLOG_CLOSED', false]))
    expect(await Promise.all(cursorCalls)).toEqual(['ERR_DURLOG_CLOSED', 'ERR_DURLOG_CLOSED'])
    await cursor.close()
    expect((await Promise.all(pending)).at(-1)).toEqual({ seq: PENDING, duplicate: false })
    await closed
    const again = await reopen()
    expect(await again.stream('s').info()).toMatchObject({ nextSeq: PENDING + 1 })
  },
)

test.each([true, false])(
  'close settles while the application continues to append (exclusive: %s)',
  async (exclusive) => {
    const { streams, reopen } = await scratchStreams({ exclusive })
    const stream = streams.stream('s')
    const stored: Promise<StreamAppendResult>[] = []
    let isClosed = false
    let refused = 0
    const appending = (async () => {
      while (!isClosed) {
        const append = stream.append(stored.length)
        if (refused === 0) stored.push(append)
        append.catch(() => refused++)
        await new Promise((resolve) => setImmediate(resolve))
      }
    })()
    await stream.append('first')
    await streams.close()
    isClosed = true
    await appending
    const results = await Promise.allSettled(stored)
    const acknowledged = results.filter(({ status }) => status === 'fulfilled').length
    const again = await reopen()
    expect(await again.stream('s').info()).toMatchObject({ nextSeq: acknowledged + 1 })
  },
)

test('a waiting reader ends when its folder is closed', async () => {
  const { streams } = await scratchStreams()
  await streams.stream('s').append(1)
  const reader = streams.stream('s').read({ from: 1, follow: true })
  const waiting = codeOf(reader.next())
  await streams.close()
  expect(await waiting).toBe('ERR_DURLOG_CLOSED')
})

test.each(['the cursor', 'the folder'])('a follower of a cursor ends when %s is closed', async (closed) => {
  for (const exclusive of [true, false]) {
    const { streams } = await scratchStreams({ exclusive })
    await streams.stream('s').append(1)
    const cursor = await streams.cursor('c')
    const reader = cursor.read({ follow: true })
    expect((await reader.next()).value).toMatchObject({ value: 1 })
    const waiting = reader.next()
    await (closed === 'the cursor' ? cursor : streams).close()
    expect([await waiting, await reader.next()]).toEqual([
      { done: true, value: undefined },
      { done: true, value: undefined },
    ])
  }
})

test.each([true, false])(
  'followers of all streams end when the folder is closed, as those of a log (exclusive: %s)',
  async (exclusive) => {
    const { streams } = await scratchStreams({ exclusive })
    await streams.stream('s').append(1)
    const cursor = await streams.cursor('c')
    const follow = { follow: true }
    const readers = [streams.readAll(follow), streams.readAll({ ...follow, to: 9 }), cursor.read(follow)]
    for (const reader of readers) expect((await reader.next()).value).toMatchObject({ value: 1 })
    const pending = readers.map((reader) => reader.next())
    await streams.close()
    for (const { done } of await Promise.all(pending)) expect(done).toBe(true)
    expect(await codeOf(streams.readAll({ follow: true }).next())).toBe('ERR_DURLOG_CLOSED')
  },
)

test('a reader of a cursor fails if records that it has delivered are cut from the main log', async () => {
  const { streams } = await scratchStreams()
  for (const value of [1, 2, 3]) await streams.stream('s').append(value)
  const cursor = await streams.cursor('c')
  const reader = cursor.read({ follow: true })
  for (const value of [1, 2, 3]) expect((await reader.next()).value).toMatchObject({ value })
  await localPort(streams).folder.log.truncateAfter(1)
  expect(await codeOf(reader.next())).toBe('ERR_DURLOG_CURSOR_CUT')
  // A checkpoint would miss the records.
  await leave(streams)
})
