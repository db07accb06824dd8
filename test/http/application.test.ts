/** A handler in an application, which may make mistakes: see docs/SERVE.md, and the types of `durlog/http`. */
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import { type HandlerOptions, type Rights, streamsHandler } from '../../src/http/index.js'
import { serveStreams } from '../fixtures/http.js'
import { scratchStreams, values } from '../fixtures/streams.js'

const JSON_TYPE = { 'content-type': 'application/json' }
const READ_BEFORE = 'the body of a request was read before the handler'

async function handlerUntilDone(options?: HandlerOptions) {
  const { streams } = await scratchStreams({ exclusive: true })
  await streams.stream('s').append(1)
  return { streams, handler: streamsHandler(streams, options) }
}

test('a request whose body the application has read is answered with 500, and onError gets the reason', async () => {
  const errors: unknown[] = []
  const { streams, handler } = await handlerUntilDone({ onError: (error) => errors.push(error) })
  const server = createServer(async (request, response) => {
    await text(request)
    handler(request, response)
  })
  onTestFinished(() => void server.close())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/s`
  const body = () => new Blob(['2']).stream()
  for (const sent of [{ body: '2' }, { body: body(), duplex: 'half' }])
    expect((await fetch(url, { method: 'POST', headers: JSON_TYPE, ...sent } as object)).status).toBe(500)
  const used = new Request(url, { method: 'POST', headers: JSON_TYPE, body: '2' })
  await used.text()
  const locked = new Request(url, { method: 'POST', headers: JSON_TYPE, body: '2' })
  locked.body?.getReader()
  for (const request of [used, locked]) expect((await handler.fetch(request)).status).toBe(500)
  expect(errors.map(String)).toEqual(Array(4).fill(expect.stringContaining(READ_BEFORE)))
  expect((await fetch(url, { method: 'POST', headers: { 'stream-closed': 'true' } })).status).toBe(204)
  expect(await values(streams.stream('s').read())).toEqual([1])
})

test('a body that is compressed is refused, and stores nothing', async () => {
  const { url, streams, stop } = await serveStreams()
  onTestFinished(stop)
  await streams.stream('s').create({ encoding: 'buffer' })
  const send = (method: string, path: string, coding: string) =>
    fetch(url + path, { method, headers: { 'content-encoding': coding }, body: gzipSync('text') })
  const refused = await send('POST', '/s', 'gzip')
  expect([refused.status, refused.headers.get('accept-encoding')]).toEqual([415, 'identity'])
  expect((await send('PUT', '/new', 'br')).status).toBe(415)
  expect((await send('PUT', '/new', 'identity')).status).toBe(201)
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.end(
    'POST /s HTTP/1.1\r\nhost: x\r\ntransfer-encoding: gzip, chunked\r\nconnection: close\r\n\r\n1\r\nx\r\n0\r\n\r\n',
  )
  expect(await text(socket)).toContain('HTTP/1.1 501 ')
  expect(await values(streams.stream('s').read())).toEqual([])
})

test('a tenant that is not a text is refused with 500, because its text could be the name of another one', async () => {
  let tenant: unknown
  const { handler } = await handlerUntilDone({
    authorize: () => ({ read: true, tenant }) as Rights,
    onError: () => {},
  })
  for (tenant of [null, 7, true, ['s'], {}]) expect((await handler.fetch(new Request('http://x/s'))).status).toBe(500)
})

test('a fetch request that was aborted before its live read began does not stay open', async () => {
  const { handler } = await handlerUntilDone()
  const live = 'http://x/s?offset=now&live=sse'
  const before = await handler.fetch(new Request(live, { signal: AbortSignal.abort() }))
  const during = new AbortController()
  const answer = handler.fetch(new Request(live, { signal: during.signal }))
  during.abort()
  expect([await before.text(), await (await answer).text()]).toEqual(['', ''])
  expect(await handler.metrics()).toContain('durlog_http_live_requests 0')
})

test('a fetch request that is aborted ends its event stream and the read of its body', async () => {
  const { handler, streams } = await handlerUntilDone({ sseMs: 60_000, longPollMs: 60_000 })
  const client = new AbortController()
  const { signal } = client
  const asked = handler.fetch(new Request('http://x/s?offset=now&live=long-poll', { signal }))
  const events = await handler.fetch(new Request('http://x/s?offset=now&live=sse', { signal }))
  const reading = events.text()
  const body = new ReadableStream({ pull: () => new Promise<void>(() => {}) })
  const post = { method: 'POST', body, headers: { 'content-type': 'application/json' }, signal, duplex: 'half' }
  const sent = handler.fetch(new Request('http://x/s', post as RequestInit))
  client.abort()
  expect([(await asked).status, (await sent).status]).toEqual([204, 408])
  await reading
  expect(await handler.metrics()).toContain('durlog_http_live_requests 0')
  expect((await streams.stream('s').info())?.nextSeq).toBe(1)
})

test('a cache keeps no answer to a read from now on, and no answer for another user', async () => {
  const { streams, handler } = await handlerUntilDone({ authorize: () => ({ read: true }) })
  const next = handler.fetch(new Request('http://x/s?offset=now&live=long-poll'))
  await streams.stream('s').append(2)
  const { status, headers } = await next
  expect([status, headers.get('cache-control'), headers.get('etag')]).toEqual([200, 'no-store', null])
  const read = await handler.fetch(new Request('http://x/s?offset=-1'))
  expect(read.headers.get('cache-control')).toBe('private, no-cache')
  expect(read.headers.get('vary')).toBe('authorization, cookie')
})

test('an origin that no browser sends is refused, because it would allow nothing', async () => {
  const { streams } = await handlerUntilDone()
  for (const cors of ['*', 'null', 'https://app.example', 'http://localhost:5173', 'http://[::1]', 'tauri://localhost'])
    expect(() => streamsHandler(streams, { cors })).not.toThrow()
  const never = [
    '',
    'app.example',
    'https://app.example/',
    'https://App.example',
    'https://a.example:443',
    'https://a.example/x',
    './streams',
  ]
  for (const cors of never) expect(() => streamsHandler(streams, { cors: ['*', cors] })).toThrow('cors must be')
})

test('messages name the streams of a tenant as its requests do, without the tenant', async () => {
  const { streams, handler } = await handlerUntilDone({
    authorize: () => ({ read: true, create: true, write: true, tenant: 'secret-id' }),
  })
  await streams.stream('secret-id/s').append(1)
  const send = async (method: string, path: string, headers: Record<string, string>, body?: string) => {
    const answer = await handler.fetch(
      new Request(`http://x${path}`, { method, headers: { ...JSON_TYPE, ...headers }, body: body ?? null }),
    )
    return [answer.status, (await answer.json()).error.message]
  }
  expect(await send('PUT', '/s', { 'stream-ttl': '7' })).toEqual([
    409,
    'the stream "s" exists with other options: delete it, or choose another name',
  ])
  const producer = { 'producer-id': 'p', 'producer-epoch': '0' }
  const order = { 'stream-seq': 'b', ...producer }
  expect(
    (
      await handler.fetch(
        new Request('http://x/s', {
          method: 'POST',
          headers: { ...JSON_TYPE, ...order, 'producer-seq': '0' },
          body: '1',
        }),
      )
    ).status,
  ).toBe(200)
  const [status, message] = await send('POST', '/s', { ...order, 'producer-seq': '1' }, '2')
  expect([status, message.includes('"s"'), message.includes('secret-id')]).toEqual([409, true, false])
})
