/** The server of a standby: it answers each request with 503 and the code `standby`, until the standby takes over. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https'
import type { TlsOptions } from '../http/index.js'
import { listen } from '../http/listen.js'
import { MetricsText } from '../http/metrics.js'
import type { LeaseView } from '../index.js'

const MESSAGE = 'another server serves these streams: repeat the request there'
const BODY = JSON.stringify({ error: { code: 'standby', message: MESSAGE } })

export class StandbyServer implements AsyncDisposable {
  readonly url: string
  readonly #server: Server

  private constructor(server: Server, url: string) {
    this.#server = server
    this.url = url
  }

  /** Rejects with the error of `listen`. `lease` returns the lease as the standby has seen it last. */
  static async start(
    address: { host: string; port: number; tls: TlsOptions | undefined },
    lease: () => LeaseView | undefined,
  ): Promise<StandbyServer> {
    const answer = (request: IncomingMessage, response: ServerResponse): void => {
      const isMetrics = request.url === '/metrics'
      const body = isMetrics ? metricsOf(lease()) : request.url === '/healthz' ? `standby: ${MESSAGE}\n` : BODY
      const type = body === BODY ? 'application/json' : 'text/plain; version=0.0.4; charset=utf-8'
      const status = isMetrics ? 200 : 503
      response.writeHead(status, {
        'content-type': type,
        'content-length': Buffer.byteLength(body),
        'cache-control': 'no-store',
        'retry-after': '1',
        connection: 'close',
      })
      // A client that is still sending might not receive an answer if the connection is closed before.
      request.resume().on('end', () => response.end(request.method === 'HEAD' ? undefined : body))
    }
    const { tls } = address
    const server = tls === undefined ? createServer(answer) : createTlsServer(tls, answer)
    return new StandbyServer(server, await listen(server, address))
  }

  /** Uses another certificate for new connections. Only for a server that was started with one. */
  setTls(tls: TlsOptions): void {
    ;(this.#server as TlsServer).setSecureContext(tls)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve))
    this.#server.closeAllConnections()
    await closed
  }
}

function metricsOf(lease: LeaseView | undefined): string {
  const text = new MetricsText()
  text.gauge('standby', '1 while this server stands by.', 1)
  text.lease(lease ?? { isHeld: false, ageMs: 0 })
  return text.toString()
}
