/** Reads of streams over HTTP, from files and from memory. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { expect, onTestFinished, test, vi } from 'vitest'
import { DurlogError } from '../../src/errors.js'
import { handlerOf } from '../../src/http/handler.js'
import { type StreamsHandler, streamsHandler } from '../../src/http/index.js'
import { native } from '../../src/native/native.js'
import { readBody } from '../../src/streams/files/body-source.js'
import { FolderFiles } from '../../src/streams/files/folder-files.js'
import { Body } from '../../src/streams/port/body.js'
import { defaultMeta } from '../../src/streams/port/meta.js'
import { portOf, type ServedPort, type StreamView } from '../../src/streams/port/port.js'
import { StreamIdentities } from '../../src/streams/port/stream-identities.js'
import type { StreamState } from '../../src/streams/state/state.js'
import { StreamTable } from '../../src/streams/state/table.js'
import { nextTurn } from '../../src/timers.js'
import { offsetAt, seqOf } from '../fixtures/http.js'
import { localPort, scratchStreams } from '../fixtures/streams.js'

const KIBIBYTE = 1 << 10

/** Reads a stream from its beginning to its end. Returns the bodies. */
async function bodiesOf({ fetch }: StreamsHandler, name: string): Promise<Buffer[]> {
  const bodies: Buffer[] = []
  for (let offset = '-1'; ; ) {
    const answer = await fetch(new Request(`http://host.example/${name}?offset=${offset}`))
    expect(answer.status).toBe(200)
    bodies.push(Buffer.from(await answer.arrayBuffer()))
    const next = answer.headers.get('stream-next-offset') as string
    expect(next).not.toBe(offset)
    offset = next
    if (answer.headers.get('stream-up-to-date') === 'true') return bodies
  }
}

const TEXTS = ['', 'a', '"\\\b\f\n\r\t\u0000', 'é€😀', '\ud83d', '\u2028', 'x'.repeat(9 * KIBIBYTE)]
const textOf = (at: number): string => `${at}:${TEXTS[at % TEXTS.length]}`.slice(at % 11 === 0 ? 4 : 0)

test.each([
  ['one process', true, {}],
  ['one process, with retention', true, { retention: { maxRecords: 1_000_000, maxBytes: '64k' } }],
  ['several processes', false, {}],
] as const)('every record is in one of the answers (%s)', async (_, exclusive, options) => {
  const { streams } = await scratchStreams({ exclusive } as object)
  for (const encoding of ['json', 'utf8', 'buffer'] as const)
    await streams.stream(encoding).create({ encoding, ...options })
  const texts = Array.from({ length: 100 }, (_, at) => textOf(at))
  for (const [at, text] of texts.entries()) {
    void streams.stream('json').append([text])
    void streams.stream('utf8').append(text)
    void streams.stream('buffer').append(Buffer.from(text))
    if (at % 33 === 30) await streams.checkpoint()
  }
  await streams.stream('json').append('last')
  const expected = Buffer.concat(texts.map((text) => Buffer.from(text)))
  for (const chunkBytes of [1, 2000, 20_000, 1 << 20]) {
    const handler = streamsHandler(streams, { chunkBytes })
    const kept = async (name: string): Promise<number> => (await streams.stream(name).info())?.firstSeq as number
    const values = (await bodiesOf(handler, 'json')).flatMap((body) => JSON.parse(body.toString()))
    expect(values).toEqual([...texts.map((text) => [text]), 'last'].slice(await kept('json')))
    for (const name of ['utf8', 'buffer']) {
      const removed = Buffer.concat(texts.slice(0, await kept(name)).map((text) => Buffer.from(text)))
      expect(Buffer.concat(await bodiesOf(handler, name)).equals(expected.subarray(removed.length))).toBe(true)
    }
  }
})

test.each([true, false])(
  'a read returns no records that the view of the stream does not have (exclusive: %s)',
  async (exclusive) => {
    const { streams } = await scratchStreams({ exclusive } as object)
    const access = portOf(streams)
    await streams.stream('s').append(0)
    const view = { ...((await access.find('s')) as StreamView) }
    await streams.stream('s').append(1)
    for (const _ of ['from memory', 'from the file']) {
      const body = new Body('json', 100)
      expect(await access.read(view, 0, body)).toMatchObject({ next: 1 })
      expect(body.finish().toString()).toBe('[0]')
      await streams.checkpoint()
    }
  },
)

test('an answer has at most chunkBytes, unless its only record is longer', async () => {
  const { streams } = await scratchStreams()
  await streams.stream('s').create({ encoding: 'buffer' })
  for (const length of [600, 600, 3000, 10, 600, 0, 500]) await streams.stream('s').append(Buffer.alloc(length, 'x'))
  const lengths = async () =>
    (await bodiesOf(streamsHandler(streams, { chunkBytes: 1000 }), 's')).map(({ length }) => length)
  expect(await lengths()).toEqual([600, 600, 3000, 610, 500])
  await streams.checkpoint()
  expect(await lengths()).toEqual([600, 600, 3000, 610, 500])
})

test.each([
  ['json', true],
  ['json', false],
  ['utf8', true],
  ['buffer', true],
  ['buffer', false],
] as const)(
  'a damaged record of a %s stream gets 500, and the records before and after it 200 (exclusive: %s)',
  async (encoding, exclusive) => {
    const { streams } = await scratchStreams({ exclusive } as object)
    const stream = streams.stream('s')
    await stream.create({ encoding })
    for (let i = 0; i < 40; i++) await stream.append(encoding === 'buffer' ? Buffer.from('0123456789') : '0123456789')
    await streams.checkpoint()
    const path = (await stream.info())?.path as string
    const bytes = readFileSync(path)
    // A newline within the record 20.
    bytes[Math.floor((20.7 * bytes.length) / 40)] = 0x0a
    writeFileSync(path, bytes)
    const errors: unknown[] = []
    const { fetch } = streamsHandler(streams, { onError: (error) => errors.push(error) })
    const get = (offset: string) => fetch(new Request(`http://host.example/s?offset=${offset}`))
    const before = await get('-1')
    const offset = before.headers.get('stream-next-offset')
    expect([before.status, seqOf(offset)]).toEqual([200, 20])
    const at = await get(offsetAt(offset, 20))
    expect(at.status).toBe(500)
    expect(errors).toMatchObject([{ code: 'ERR_DURLOG_STREAM_CHANGED', lostFirst: 20, path }])
    expect((await get(offsetAt(offset, 39))).status).toBe(200)
  },
)

test('a stream that is deleted during a read is not read, because its file may be that of a new stream', async () => {
  const { streams } = await scratchStreams()
  await streams.stream('s').append(1)
  await streams.checkpoint()
  const port = localPort(streams)
  const state = (await port.find('s')) as StreamState
  const reading = port.read(state, 0, new Body('json', 100))
  port.table.streams.delete('s')
  await expect(reading).rejects.toMatchObject({ code: 'ERR_DURLOG_NOT_FOUND' })
  port.table.streams.set('s', state)
})

test('a client of the owner that fails after it has read the file adds no records to the answer', async () => {
  const { streams } = await scratchStreams({ exclusive: false } as object)
  await streams.stream('s').append(1)
  await streams.checkpoint()
  const port = portOf(streams)
  const state = { ...((await port.find('s')) as StreamView) }
  vi.spyOn(port, 'find').mockRejectedValue(new DurlogError('ERR_DURLOG_STALLED', 'the owner does not answer'))
  onTestFinished(() => void vi.restoreAllMocks())
  const body = new Body('json', 100)
  await expect(port.read(state, 0, body)).rejects.toMatchObject({ code: 'ERR_DURLOG_STALLED' })
  expect(body.finish().toString()).toBe('[]')
})

test('a search for a time ends if retention removes the records that it searches', async () => {
  const view = { name: 's', softDeleted: false, meta: defaultMeta('json'), firstSeq: 0, visible: 10 }
  let reads = 0
  const access = {
    identities: new StreamIdentities('', 0),
    find: () => view,
    read: async (_: StreamView, from: number) => {
      if (++reads > 100) throw new Error('the search does not end')
      view.firstSeq = 8
      return { next: from + 1, timeMs: 1000 }
    },
  }
  const { fetch } = handlerOf(access as unknown as ServedPort)
  const answer = await fetch(new Request('http://host.example/__ds/streams?name=s&at=1'))
  expect(seqOf((await answer.json()).offset)).toBe(8)
})

test('searches for a time read at most eight records at the same time, because each may be long', async () => {
  const view = { name: 's', softDeleted: false, meta: defaultMeta('json'), firstSeq: 0, visible: 10 }
  let [reading, most] = [0, 0]
  const access = {
    identities: new StreamIdentities('', 0),
    find: () => view,
    read: async (_: StreamView, from: number) => {
      most = Math.max(most, ++reading)
      await nextTurn()
      reading--
      return { next: from + 1, timeMs: 1000 }
    },
  }
  const { fetch } = handlerOf(access as unknown as ServedPort)
  const ask = () => fetch(new Request('http://host.example/__ds/streams?name=s&at=1'))
  await Promise.all(Array.from({ length: 20 }, ask))
  expect(most).toBe(8)
})

test.each([true, false])(
  'a search for a time continues if retention removes the record that it reads (exclusive: %s)',
  async (exclusive) => {
    const { streams } = await scratchStreams({ exclusive } as object)
    const stream = streams.stream('s')
    await stream.create({ retention: { maxRecords: 16 } })
    const appendMany = async (): Promise<void> => {
      await stream.appendAll(Array.from({ length: 100 }, (_, i) => i))
      // The second checkpoint removes the files that the first one has dropped.
      await streams.checkpoint()
      await stream.append('last')
      await streams.checkpoint()
    }
    await appendMany()
    const access = portOf(streams)
    let reads = 0
    const shrinking = new Proxy(access, {
      get: (target, key) => {
        const member: unknown = Reflect.get(target, key)
        if (typeof member !== 'function') return member
        if (key !== 'read') return member.bind(target)
        return async (...args: Parameters<ServedPort['read']>) => {
          if (reads++ === 1) await appendMany()
          return access.read(...args)
        }
      },
    })
    const answer = await handlerOf(shrinking).fetch(new Request('http://host.example/__ds/streams?name=s&at=1'))
    const { firstSeq } = (await stream.info()) as { firstSeq: number }
    expect(firstSeq).toBeGreaterThan(101)
    expect([answer.status, seqOf((await answer.json()).offset)]).toEqual([200, firstSeq])
  },
)

test('a read whose file retention removes reports that the records are not kept', async () => {
  const { dir, streams } = await scratchStreams()
  for (let i = 0; i < 40; i++) await streams.stream('s').append(i)
  await streams.checkpoint()
  const files = new FolderFiles(dir)
  const storage = await native.openStreamFiles(files.recordsFolder, files.indexFolder)
  onTestFinished(() => storage.close())
  const state = (await portOf(streams).find('s')) as StreamState
  rmSync((await streams.stream('s').info())?.path as string)
  const reading = readBody(
    { files, storage },
    new StreamTable().memTable,
    state,
    { from: 0, to: 40 },
    new Body('json', 100),
  )
  state.disk = { ...state.disk, first: 20 }
  await expect(reading).rejects.toMatchObject({ code: 'ERR_DURLOG_OUT_OF_RANGE' })
})

/** The connection of a client that reads nothing. */
class StuckSocket extends Duplex {
  /** The memory of the data that waits for the client. */
  memory: ArrayBufferLike[] = []

  override _read(): void {}

  override _writev(chunks: { chunk: Buffer }[]): void {
    this.memory.push(...chunks.map(({ chunk }) => chunk.buffer))
  }

  override _write(chunk: Buffer): void {
    this._writev([{ chunk }])
  }

  setTimeout(): this {
    return this
  }
}

test('answers to 1,000 clients that read nothing take at most twice the memory of maxBufferedBytes', async () => {
  const { streams } = await scratchStreams()
  const maxBufferedBytes = 8192 * KIBIBYTE
  await streams.stream('long').create({ encoding: 'buffer' })
  await streams.stream('short').create({ encoding: 'buffer' })
  for (let i = 0; i < 200; i++) await streams.stream('long').append(Buffer.alloc(KIBIBYTE, 'x'))
  await streams.stream('short').append(Buffer.alloc(5 * KIBIBYTE, 'x'))
  await streams.checkpoint()
  const drops: unknown[] = []
  const handler = streamsHandler(streams, {
    chunkBytes: 256 * KIBIBYTE,
    maxBufferedBytes,
    onRequest: ({ dropped }) => drops.push(dropped),
  })
  for (const [name, bytes] of [
    ['long', 200 * KIBIBYTE],
    ['short', 5 * KIBIBYTE],
  ] as const) {
    drops.length = 0
    const sockets = Array.from({ length: 1000 }, () => new StuckSocket({ decodeStrings: true }))
    for (const socket of sockets) {
      const request = new IncomingMessage(socket as unknown as Socket)
      Object.assign(request, { method: 'GET', url: `/${name}` })
      const response = new ServerResponse(request)
      response.assignSocket(socket as unknown as Socket)
      handler(request, response)
    }
    const kept = Math.min(1000, Math.floor(maxBufferedBytes / bytes))
    await expect
      .poll(() => sockets.filter(({ memory, destroyed }) => memory.length > 0 || destroyed))
      .toHaveLength(1000)
    const waiting = sockets.filter(({ destroyed }) => !destroyed)
    expect(waiting.length).toBe(kept)
    const memory = new Set(waiting.flatMap((socket) => socket.memory))
    const held = [...memory].reduce((sum, { byteLength }) => sum + byteLength, 0)
    expect(held).toBeGreaterThanOrEqual(kept * bytes)
    expect(held).toBeLessThanOrEqual(2 * maxBufferedBytes)
    for (const socket of sockets) socket.destroy()
    await expect.poll(() => handler.metrics()).toContain('durlog_http_buffered_bytes 0')
    expect(drops.filter((reason) => reason === 'slow-reader').length).toBe(1000 - kept)
  }
})
