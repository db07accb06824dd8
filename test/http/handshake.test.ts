/** The end of a server with HTTPS. Time passes only as the test says. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { connect as connectTcp } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { onTestFinished, test, vi } from 'vitest'
import { CLOSE_MS } from '../../src/http/handler.js'
import { serveStreams } from '../../src/http/index.js'
import { makePair, withoutOpenssl } from '../fixtures/certificate.js'
import { scratchDir } from '../fixtures/scratch.js'
import { scratchStreams } from '../fixtures/streams.js'

vi.mock('../../src/timers.js', async (actual) => (await import('../fixtures/global-timers.js')).globalTimers(actual))
// Without a limit, only `close` ends a handshake.
vi.mock('node:https', async (original) => {
  const https = await original<typeof import('node:https')>()
  return {
    ...https,
    createServer: (options: object, listener: RequestListener) =>
      https.createServer({ ...options, handshakeTimeout: 2 ** 31 - 1 }, listener),
  }
})

test.skipIf(withoutOpenssl)(
  `close drops a client that does not complete its TLS handshake, as it drops other slow clients ${withoutOpenssl}`,
  async () => {
    const files = makePair(scratchDir(), 'own')
    const [cert, key] = [readFileSync(files.cert), readFileSync(files.key)]
    const { streams } = await scratchStreams()
    const server = await serveStreams(streams, { port: 0, tls: { cert, key } })
    const port = Number(new URL(server.url).port)
    const silent = connectTcp(port, '127.0.0.1').resume()
    await once(silent, 'connect')
    // The server accepts connections in their order.
    const later = connectTls({ port, host: '127.0.0.1', ca: cert })
    await once(later, 'secureConnect')
    later.destroy()
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const ended = once(silent, 'close')
    const closed = server.close()
    await vi.advanceTimersByTimeAsync(CLOSE_MS)
    await Promise.all([closed, ended])
  },
)
