/** The server of a standby: it answers each request with 503 and the code `standby`, until the standby takes over. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Buffered } from '../http/buffered.js'
import { handlerOf, type ServerHandler } from '../http/handler.js'
import type { ServerOptions, StreamsServer } from '../http/index.js'
import { MetricsText } from '../http/metrics.js'
import { NodeExchange } from '../http/node-exchange.js'
import { resolveServerOptions } from '../http/options.js'
import { startServer } from '../http/server.js'
import type { LeaseView } from '../index.js'
import type { Streams } from '../streams/index.js'
import { portOf } from '../streams/port/port.js'

const MESSAGE = 'another server serves these streams: repeat the request there'
const BODY = JSON.stringify({ error: { code: 'standby', message: MESSAGE } })
const HEADERS = ['content-type', 'application/json', 'cache-control', 'no-store', 'retry-after', '1']
const SLOW_READER_MS = 30_000

export interface StandbyServer extends StreamsServer {
  /** From now on, the server serves `streams`. */
  serve(streams: Streams<unknown>): void
}

/** Rejects with the error of `listen`. `lease` returns the lease as the standby has seen it last. */
export async function startStandby(options: ServerOptions, lease: () => LeaseView | undefined): Promise<StandbyServer> {
  const resolved = resolveServerOptions(options)
  const server = await startServer(standbyHandler(lease), resolved)
  return { ...server, serve: (streams) => server.use(handlerOf(portOf(streams), resolved.handlerOptions)) }
}

function standbyHandler(lease: () => LeaseView | undefined): ServerHandler {
  // No answer is long enough to be counted.
  const limits = { slowReaderMs: SLOW_READER_MS, buffered: new Buffered(0) }
  const answer = (request: IncomingMessage, response: ServerResponse): void =>
    // The next request of the client shall find the server that serves.
    new NodeExchange(request, response, limits).reply(503, [...HEADERS, 'connection', 'close'], BODY)
  return Object.assign(answer, {
    problem: async () => `standby: ${MESSAGE}`,
    metrics: async () => metricsOf(lease()),
    drain: async () => {},
    close: async () => {},
  })
}

function metricsOf(lease: LeaseView | undefined): string {
  const text = new MetricsText()
  text.gauge('standby', '1 while this server stands by.', 1)
  text.lease(lease ?? { isHeld: false, ageMs: 0 })
  return text.toString()
}
