/** A server of streams on a port: the handler with a page, metrics and limits on connections. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https'
import type { Socket } from 'node:net'
import { invalidArgument } from '../errors.js'
import { portOf, type ServedPort } from '../streams/port/port.js'
import type { Streams } from '../streams/port/types.js'
import { clearTimeout, clock, setImmediate, setTimeout } from '../timers.js'
import { CLOSE_MS, handlerOf, type ServerHandler } from './handler.js'
import { inOrder, refuseMalformed } from './in-order.js'
import { listen } from './listen.js'
import { expectContinue } from './node-exchange.js'
import { operationsOf } from './operations.js'
import { type ResolvedServerOptions, resolveServerOptions } from './options.js'
import { checkTls } from './tls.js'
import type { ServerOptions, StreamsServer, TlsOptions } from './types.js'

/** Longer than the 60 s for which proxies keep connections, so that the proxy closes them and not the server. */
const KEEP_ALIVE_MS = 65_000
/** The time limit for the headers of a request, and for a TLS handshake. */
const HEADERS_MS = 10_000
/** The time limit for receiving a request. */
const REQUEST_MS = 30_000
const HEADER_BYTES = 16_384
const CHECK_MS = 1000
/** After `close`, requests on open connections are answered until none has arrived for this time. */
const GRACE_MS = 500
const MAX_GRACE_MS = 3000

/**
 * Starts a server. Settles when it listens. Rejects with ERR_DURLOG_INVALID_ARGUMENT, or with the error of `listen`.
 */
export async function serveStreams(
  streams: Streams<never> | Streams<unknown>,
  options?: ServerOptions,
): Promise<StreamsServer> {
  return serve(portOf(streams), options)
}

export async function serve(access: ServedPort, options?: ServerOptions): Promise<StreamsServer> {
  const resolved = resolveServerOptions(options)
  return startServer(handlerOf(access, resolved.handlerOptions), resolved)
}

/** A server whose handler can be replaced while it runs. */
export interface ChangingServer extends StreamsServer {
  /** From now on, `handler` answers the requests. */
  use(handler: ServerHandler): void
}

export async function startServer(
  handler: ServerHandler,
  { host, port, tls, maxConnections, ui, handlerOptions }: ResolvedServerOptions,
): Promise<ChangingServer> {
  let current = handler
  const operations = operationsOf(() => current, handlerOptions, ui)
  let closing: Promise<void> | undefined
  const respond = (request: IncomingMessage, response: ServerResponse): void => {
    inOrder(request, response, () => {
      if (closing !== undefined) response.setHeader('connection', 'close')
      if (!operations(request, response)) current(request, response)
    })
  }
  const limits = {
    keepAliveTimeout: KEEP_ALIVE_MS,
    headersTimeout: HEADERS_MS,
    requestTimeout: REQUEST_MS,
    maxHeaderSize: HEADER_BYTES,
    connectionsCheckingInterval: CHECK_MS,
  }
  const server: Server =
    tls === undefined
      ? createServer(limits, respond)
      : createTlsServer({ ...limits, ...tls, handshakeTimeout: HEADERS_MS }, respond)
  server.maxConnections = maxConnections
  server.on('clientError', refuseMalformed)
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    expectContinue(request)
    respond(request, response)
  })
  // node:http does not know connections whose TLS handshake is incomplete.
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  const url = await listen(server, { host, port, tls })
  const close = (): Promise<void> => {
    closing ??= closeServer(server, sockets, current)
    return closing
  }
  return {
    url,
    use: (next: ServerHandler): void => {
      current = next
    },
    setTls: (renewed: TlsOptions): void => {
      if (tls === undefined) throw invalidArgument('setTls needs a server that was started with the option tls')
      ;(server as TlsServer).setSecureContext(checkTls(renewed))
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

async function closeServer(server: Server, sockets: ReadonlySet<Socket>, handler: ServerHandler): Promise<void> {
  const timer = setTimeout(() => {
    for (const socket of sockets) socket.destroy()
  }, CLOSE_MS)
  const drained = handler.drain()
  // The answers to the next requests close their connections. A connection that the server closed while the client was
  // sending would lose a request.
  if (sockets.size > 0) await lastRequest(server, sockets)
  void handler.close()
  const closed = new Promise((resolve) => server.close(resolve))
  await Promise.race([drained, closed])
  server.closeIdleConnections()
  await closed
  clearTimeout(timer)
}

/** Settles when no connection is left, or after `GRACE_MS` without a request, at the latest after `MAX_GRACE_MS`. */
function lastRequest(server: Server, sockets: ReadonlySet<Socket>): Promise<void> {
  const events = ['request', 'checkContinue']
  return new Promise((resolve) => {
    const endMs = clock.now() + MAX_GRACE_MS
    let requests = 0
    const onRequest = (): void => {
      requests++
      if (clock.now() < endMs) timer.refresh()
    }
    const finish = (): void => {
      clearTimeout(timer)
      for (const event of events) server.off(event, onRequest)
      resolve()
    }
    const timer = setTimeout(() => {
      const before = requests
      // If the event loop was busy, requests may have arrived that are read only now.
      setImmediate(() => {
        if (requests === before || clock.now() >= endMs) finish()
      })
    }, GRACE_MS)
    for (const event of events) server.on(event, onRequest)
    // Later, because the listener of the set must run first.
    for (const socket of sockets) socket.once('close', () => setImmediate(() => sockets.size > 0 || finish()))
  })
}
