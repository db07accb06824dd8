/** Closes a handler while clients have not sent their whole requests. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { serveStreams as serveListening, streamsHandler } from '../../src/http/index.js'
import { WebExchange } from '../../src/http/web-exchange.js'
import { adjustableClock } from '../fixtures/fake-clock.js'
import { serveStreams } from '../fixtures/http.js'
import { scratchStreams, values } from '../fixtures/streams.js'

const JSON_TYPE = { 'content-type': 'application/json' }

test('close drops a client that sends no body, and completes the other requests', async () => {
  let begun: () => void = () => {}
  const hasBegun = new Promise<void>((resolve) => {
    begun = resolve
  })
  let allow: () => void = () => {}
  const isAllowed = new Promise<void>((resolve) => {
    allow = resolve
  })
  const authorize = async ({ header }: { header(name: string): string | undefined }) => {
    if (header('authorization') === 'waits') {
      begun()
      await isAllowed
    }
    return { write: true }
  }
  const served = await serveStreams({ slowReaderMs: 1, authorize })
  onTestFinished(() => served.stop())
  const { url, streams, server, handler } = served
  await streams.stream('s').append(1)
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  const isDropped = new Promise((resolve) => socket.resume().on('close', resolve))
  const hasArrived = new Promise((resolve) => server.once('request', resolve))
  socket.write('POST /s HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 1\r\n\r\n')
  await hasArrived
  const other = fetch(`${url}/s`, { method: 'POST', headers: { ...JSON_TYPE, authorization: 'waits' }, body: '2' })
  await hasBegun
  const closed = handler.close()
  await isDropped
  allow()
  expect((await other).status).toBe(204)
  await closed
  expect(await handler.metrics()).toContain('durlog_http_dropped_total{reason="slow-writer"} 1')
  expect(await values(streams.stream('s').read())).toEqual([1, 2])
})

test('close refuses a fetch request whose body does not end', async () => {
  const { streams } = await scratchStreams({ exclusive: true })
  const handler = streamsHandler(streams, { slowReaderMs: 1 })
  await streams.stream('s').append(1)
  const options = { method: 'POST', headers: JSON_TYPE, body: new ReadableStream({}), duplex: 'half' } as RequestInit
  const answer = handler.fetch(new Request('http://x/s', options))
  await Promise.all([handler.close(), handler.close()])
  expect((await answer).status).toBe(408)
})

test('close drops many clients in several turns of the event loop', async () => {
  const { streams } = await scratchStreams({ exclusive: true })
  const handler = streamsHandler(streams, { slowReaderMs: 1 })
  await streams.stream('s').append(1)
  const ahead = adjustableClock('held')
  const turns: number[] = []
  let turn = 0
  const { drop } = WebExchange.prototype
  const spy = vi.spyOn(WebExchange.prototype, 'drop').mockImplementation(function (this: WebExchange, reason) {
    turns.push(turn)
    ahead(2)
    drop.call(this, reason)
  })
  onTestFinished(() => spy.mockRestore())
  const answers = Array.from({ length: 3 }, () => {
    const options = { method: 'POST', headers: JSON_TYPE, body: new ReadableStream({}), duplex: 'half' } as RequestInit
    return handler.fetch(new Request('http://x/s', options))
  })
  const closed = handler.close()
  for (; turns.length < 3; turn++) await nextTurn()
  expect(new Set(turns).size).toBe(3)
  for (const answer of answers) expect((await answer).status).toBe(408)
  await closed
})

/** Sends a request on an open connection. Returns the head of the answer. */
async function ask(socket: Socket, path = '/s'): Promise<string> {
  socket.write(`GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`)
  const [data] = await once(socket, 'data')
  return String(data).split('\r\n\r\n')[0] as string
}

test('after close a server answers the next request of each connection, with Connection: close', async () => {
  const { streams } = await scratchStreams({ exclusive: true })
  await streams.stream('s').append(1)
  const server = await serveListening(streams, { port: 0 })
  const port = Number(new URL(server.url).port)
  const sockets = await Promise.all(
    ['/s', '/healthz', '/__ds/streams'].map(async (path) => {
      const socket = connect(port, '127.0.0.1')
      expect(await ask(socket, path)).not.toMatch(/^connection: close$/im)
      return { socket, path }
    }),
  )
  const closed = server.close()
  for (const { socket, path } of sockets) {
    const ended = once(socket, 'end')
    expect([path, await ask(socket, path)]).toEqual([path, expect.stringMatching(/^connection: close$/im)])
    await ended
  }
  await closed
})
