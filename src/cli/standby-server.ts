/** The server of a standby: it answers each request with 503 and the code `standby`, until the standby takes over. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { TlsOptions } from '../http/index.js'
import type { LeaseView } from '../index.js'

const MESSAGE = 'another server serves these streams: repeat the request there'
const BODY = JSON.stringify({ error: { code: 'standby', message: MESSAGE } })

export class StandbyServer implements AsyncDisposable {
  readonly url: string
  readonly #server: ReturnType<typeof createServer>

  private constructor(server: ReturnType<typeof createServer>, scheme: string) {
    this.#server = server
    const { address, family, port } = server.address() as AddressInfo
    this.url = `${scheme}://${family === 'IPv6' ? `[${address}]` : address}:${port}`
  }

  /** Rejects with the error of `listen`. `lease` returns the lease as the standby has seen it last. */
  static async start(
    { host, port, tls }: { host: string; port: number; tls: TlsOptions | undefined },
    lease: () => LeaseView | undefined,
  ): Promise<StandbyServer> {
    const answer = (request: IncomingMessage, response: ServerResponse): void => {
      const isMetrics = request.url === '/metrics'
      const body = isMetrics ? metricsOf(lease()) : request.url === '/healthz' ? `standby: ${MESSAGE}\n` : BODY
      const type = body === BODY ? 'application/json' : 'text/plain; version=0.0.4; charset=utf-8'
      response.writeHead(isMetrics ? 200 : 503, {
        'content-type': type,
        'content-length': Buffer.byteLength(body),
        'cache-control': 'no-store',
        'retry-after': '1',
        connection: 'close',
      })
      response.end(request.method === 'HEAD' ? undefined : body)
    }
    const server = tls === undefined ? createServer(answer) : createTlsServer(tls, answer)
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve))
    return new StandbyServer(server, tls === undefined ? 'http' : 'https')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve))
    this.#server.closeAllConnections()
    await closed
  }
}

function metricsOf(lease: LeaseView | undefined): string {
  const metrics: [name: string, help: string, value: number][] = [
    ['standby', '1 while this server stands by.', 1],
    ['replication_lease_held', '1 while this server holds the lease.', Number(lease?.isHeld === true)],
    ['replication_lease_age_seconds', 'Time since the lease was renewed.', (lease?.ageMs ?? 0) / 1000],
  ]
  return metrics
    .map(
      ([name, help, value]) => `# HELP durlog_${name} ${help}\n# TYPE durlog_${name} gauge\ndurlog_${name} ${value}\n`,
    )
    .join('')
}
