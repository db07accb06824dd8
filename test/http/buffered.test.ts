/** Clients that read or write slowly: docs/SERVE.md, "Limits". */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { type HandlerOptions, streamsHandler } from '../../src/http/index.js'
import { Turns } from '../../src/support/turns.js'
import { type Served, serveStreams } from '../fixtures/http.js'
import { scratchStreams } from '../fixtures/streams.js'

const MEBIBYTE = 1 << 20
const HEADERS = 'Host: x\r\nContent-Type: text/plain\r\n'

interface Watched extends Served {
  port: number
  /** The reasons for which clients were dropped. */
  drops: string[]
  buffered(): Promise<number>
}

/** Starts a server with the stream `s`, which has `records` records of 1 MiB. */
async function serve(records: number, options: HandlerOptions): Promise<Watched> {
  const drops: string[] = []
  const onRequest: HandlerOptions['onRequest'] = ({ dropped }) => {
    if (dropped !== undefined) drops.push(dropped)
  }
  const served = await serveStreams({ onRequest, chunkBytes: 8 * MEBIBYTE, ...options })
  onTestFinished(() => served.stop())
  const stream = served.streams.stream('s')
  await stream.create({ encoding: 'buffer', contentType: 'text/plain' })
  for (let i = 0; i < records; i++) await stream.append(Buffer.alloc(MEBIBYTE, 0x61))
  const { port } = served.server.address() as { port: number }
  const buffered = async () => Number(/^durlog_http_buffered_bytes (\d+)$/m.exec(await served.handler.metrics())?.[1])
  return { ...served, port, drops, buffered }
}

/** Sends `text` and reads nothing. */
function stuck(port: number, text: string | Buffer): Socket {
  const socket = connect(port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => {})
  socket.pause()
  socket.write(text)
  return socket
}

test('a client that does not read its response is dropped', async () => {
  const { port, drops } = await serve(8, { slowReaderMs: 50 })
  const socket = stuck(port, `GET /s HTTP/1.1\r\n${HEADERS}\r\n`)
  await expect.poll(() => drops).toEqual(['slow-reader'])
  socket.resume()
  await once(socket, 'close')
})

test('a client that reads its response late, but before slowReaderMs, keeps its connection', async () => {
  const { port, drops, buffered } = await serve(8, { slowReaderMs: 600_000 })
  const socket = stuck(port, `GET /s HTTP/1.1\r\n${HEADERS}\r\n`)
  await expect.poll(buffered).toBeGreaterThan(8 * MEBIBYTE - 1)
  let text = ''
  socket.on('data', (data) => {
    text = (text + data.toString('latin1')).slice(-2000)
  })
  socket.resume()
  await expect.poll(buffered).toBe(0)
  socket.write(`HEAD /s HTTP/1.1\r\n${HEADERS}\r\n`)
  await expect.poll(() => text).toMatch(/HTTP\/1\.1 200 OK\r\n.*\r\n\r\n$/s)
  expect(drops).toEqual([])
})

test('clients that do not read take a limited amount of memory, and other clients get responses', async () => {
  const { url, port, drops, buffered } = await serve(8, { maxBufferedBytes: 20 * MEBIBYTE, slowReaderMs: 600_000 })
  const sockets = Array.from({ length: 12 }, (_, at) =>
    stuck(port, `GET /s${at % 2 === 0 ? '?offset=-1&live=sse' : ''} HTTP/1.1\r\n${HEADERS}\r\n`),
  )
  await expect.poll(() => drops.length).toBeGreaterThan(1)
  expect(await buffered()).toBeLessThanOrEqual(20 * MEBIBYTE)
  expect((await (await fetch(`${url}/s`)).text()).length).toBe(8 * MEBIBYTE)
  expect(new Set(drops)).toEqual(new Set(['slow-reader']))
  for (const socket of sockets) socket.destroy()
  await expect.poll(buffered).toBe(0)
})

test('bodies that arrive slowly take a limited amount of memory, and other bodies are stored', async () => {
  const { url, port, drops, buffered, streams } = await serve(0, { maxBufferedBytes: 2 * MEBIBYTE })
  const body = Buffer.alloc(MEBIBYTE, 0x62)
  const begun = `POST /s HTTP/1.1\r\n${HEADERS}Content-Length: 8000000\r\n\r\n`
  const sockets = Array.from({ length: 4 }, () => stuck(port, Buffer.concat([Buffer.from(begun), body])))
  await expect.poll(() => drops.length).toBeGreaterThan(1)
  expect(await buffered()).toBeLessThanOrEqual(2 * MEBIBYTE)
  const sent = { method: 'POST', headers: { 'content-type': 'text/plain' }, body }
  expect((await fetch(`${url}/s`, sent)).status).toBe(204)
  expect(new Set(drops)).toEqual(new Set(['slow-writer']))
  expect((await fetch(`${url}/s`, { ...sent, body: Buffer.alloc(3 * MEBIBYTE) })).status).toBe(503)
  for (const socket of sockets) socket.destroy()
  await expect.poll(buffered).toBe(0)
  expect(await streams.stream('s').info()).toMatchObject({ nextSeq: 1 })
})

test('fetch returns 408 for a body that arrives slowly', async () => {
  const { streams } = await scratchStreams()
  const handler = streamsHandler(streams, { maxBufferedBytes: 1000 })
  const begun = new ReadableStream<Uint8Array>({ start: (controller) => controller.enqueue(new Uint8Array(600)) })
  const post = (body: ReadableStream<Uint8Array> | string) =>
    handler.fetch(
      new Request('http://host.example/s', {
        method: 'POST',
        headers: { 'content-type': 'text/plain' },
        body,
        duplex: 'half',
      } as RequestInit),
    )
  await streams.stream('s').create({ encoding: 'buffer', contentType: 'text/plain' })
  const slow = post(begun)
  await expect.poll(() => handler.metrics()).toContain('durlog_http_buffered_bytes 600')
  expect((await post('x'.repeat(600))).status).toBe(204)
  expect((await slow).status).toBe(408)
  expect(await handler.metrics()).toContain('durlog_http_buffered_bytes 0')
})

test('Turns runs jobs in the order of their calls, and at most the given number at a time', async () => {
  const turns = new Turns(2)
  const started: number[] = []
  const ends: (() => void)[] = []
  const jobs = [0, 1, 2, 3].map((job) =>
    turns.take(async () => {
      started.push(job)
      await new Promise<void>((resolve) => {
        ends[job] = resolve
      })
      if (job === 1) throw new Error('failed')
      return job
    }),
  )
  expect(started).toEqual([0, 1])
  ends[1]?.()
  await expect(jobs[1]).rejects.toThrow('failed')
  expect(started).toEqual([0, 1, 2])
  ends[2]?.()
  await jobs[2]
  for (const end of ends) end()
  expect(await Promise.all([jobs[0], jobs[2], jobs[3]].map(async (job) => job))).toEqual([0, 2, 3])
})

/** Opens an event stream at `target` and reads nothing after its first bytes. */
async function stuckEvents(port: number, target: string, headers = ''): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => {})
  socket.write(`GET ${target} HTTP/1.1\r\n${HEADERS}${headers}\r\n`)
  await once(socket, 'data')
  socket.pause()
  return socket
}

test.each([
  ['of one stream', () => '/s?offset=now&live=sse'],
  ['of one stream, with different cursors', () => '/s?offset=now&live=sse&cursor=99999999'],
  ['of many streams', (at: number) => `/s${at}?offset=now&live=sse`],
])('events %s that clients do not read take a limited amount of memory', async (_, targetOf) => {
  const { port, drops, buffered, streams } = await serve(0, { maxBufferedBytes: 4 * MEBIBYTE, slowReaderMs: 600_000 })
  const names = [...new Set(Array.from({ length: 4 }, (_, at) => targetOf(at).replace(/^\/|\?.*/g, '')))]
  for (const name of names) await streams.stream(name).create({ encoding: 'buffer', contentType: 'text/plain' })
  for (let at = 0; at < 4; at++) await stuckEvents(port, targetOf(at))
  for (const name of names) await streams.stream(name).append(Buffer.alloc(8 * MEBIBYTE, 0x61))
  await expect.poll(() => drops).toEqual(Array(4).fill('slow-reader'))
  expect(await buffered()).toBe(0)
})

test('events that a client reads are counted until it has read them, and it keeps its connection', async () => {
  const { port, drops, buffered, streams } = await serve(0, { slowReaderMs: 600_000 })
  const socket = await stuckEvents(port, '/s?offset=now&live=sse')
  await streams.stream('s').append(Buffer.alloc(8 * MEBIBYTE, 0x61))
  await expect.poll(buffered).toBeGreaterThan(MEBIBYTE)
  let text = ''
  socket.on('data', (data) => {
    text = (text + data.toString('latin1')).slice(-2000)
  })
  socket.resume()
  await expect.poll(buffered).toBe(0)
  await streams.stream('s').append(Buffer.from('later'))
  await expect.poll(() => text).toContain('data:later\n')
  expect(drops).toEqual([])
})

test('clients of the tenant that holds most memory are dropped first', async () => {
  const tenants = {
    authorize: ({ header }: { header(name: string): string | undefined }) => ({
      tenant: header('x-tenant'),
      read: true,
      list: true,
    }),
  }
  const options = { maxBufferedBytes: 30 * MEBIBYTE, slowReaderMs: 600_000 }
  const drops: string[] = []
  const onRequest: HandlerOptions['onRequest'] = ({ target, dropped }) => void (dropped && drops.push(target))
  const { port, streams, buffered } = await serve(0, { ...options, ...tenants, onRequest })
  for (const tenant of ['few', 'many'])
    for (let at = 0; at < 6; at++) {
      const stream = streams.stream(`${tenant}/${at}`)
      await stream.create({ encoding: 'buffer', contentType: 'text/plain' })
      await stream.append(Buffer.alloc(8 * MEBIBYTE, 0x61))
    }
  stuck(port, `GET /0 HTTP/1.1\r\n${HEADERS}X-Tenant: few\r\n\r\n`)
  await expect.poll(buffered).toBeGreaterThan(MEBIBYTE)
  for (let at = 1; at < 6; at++) await stuckEvents(port, `/${at}?offset=-1&live=sse`, 'X-Tenant: many\r\n')
  await expect.poll(() => drops.length).toBeGreaterThan(1)
  expect(drops).not.toContain('/0')
})
