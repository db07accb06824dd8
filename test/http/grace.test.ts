/** The time after `close` in which a server answers requests, with a simulated timer for it. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test, vi } from 'vitest'
import { serveStreams } from '../../src/http/index.js'
import { scratchStreams } from '../fixtures/streams.js'

const GRACE_MS = 500
const refresh = vi.hoisted(() => vi.fn())

vi.mock('../../src/timers.js', async (original) => {
  const real = await original<typeof import('../../src/timers.js')>()
  const setTimeout = (run: () => void, ms: number): unknown =>
    ms === GRACE_MS ? { refresh } : real.setTimeout(run, ms)
  return { ...real, setTimeout }
})

test('each request after close extends the grace, also one with Expect: 100-continue', async () => {
  const { streams } = await scratchStreams({ exclusive: true })
  await streams.stream('s').append(1)
  const server = await serveStreams(streams, { port: 0 })
  const sockets = [0, 1].map(() => connect(Number(new URL(server.url).port), '127.0.0.1'))
  for (const socket of sockets) {
    socket.write('GET /s HTTP/1.1\r\nhost: localhost\r\n\r\n')
    await once(socket, 'data')
  }
  const closed = server.close()
  for (const [at, head] of ['GET', 'POST'].entries()) {
    const extra =
      head === 'GET' ? '' : 'expect: 100-continue\r\ncontent-length: 1\r\ncontent-type: application/json\r\n'
    sockets[at]?.write(`${head} /s HTTP/1.1\r\nhost: localhost\r\n${extra}\r\n`)
    const [answer] = await once(sockets[at] as object as NodeJS.ReadableStream, 'data')
    if (head === 'POST') {
      expect(String(answer)).toMatch(/^HTTP\/1.1 100 /)
      sockets[at]?.write('2')
    }
    await once(sockets[at] as object as NodeJS.ReadableStream, 'end')
    expect(refresh).toHaveBeenCalledTimes(at + 1)
  }
  await closed
})
