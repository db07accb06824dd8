/** The order of requests that a client sends on one connection without waiting for the responses (pipelining). */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { nextTick } from '../timers.js'

/**
 * A connection with more waiting requests is closed, because each takes memory before its client is limited in any way.
 */
const MAX_WAITING = 100

/** For each connection, the number of requests that wait. */
const waitingOn = new WeakMap<Duplex, number>()

/** The response that node:http sends on a connection now; undefined if there is none, and in other runtimes. */
function sendingOn(socket: Duplex): ServerResponse | undefined {
  return (socket as { _httpMessage?: ServerResponse | null })._httpMessage ?? undefined
}

/**
 * Calls `handle` after the responses to all earlier requests of the connection were sent, so that a request sees what
 * the earlier ones have changed, and nothing of the later ones (RFC 9112, 9.3.2). Does not call it if the connection
 * is closed before.
 */
export function inOrder({ socket }: IncomingMessage, response: ServerResponse, handle: () => void): void {
  if (response.socket !== null || sendingOn(socket) === undefined) {
    handle()
    return
  }
  const waiting = (waitingOn.get(socket) ?? 0) + 1
  waitingOn.set(socket, waiting)
  if (waiting > MAX_WAITING) {
    socket.destroy()
    return
  }
  response.once('socket', () => {
    waitingOn.set(socket, (waitingOn.get(socket) as number) - 1)
    // Later, because node:http has not finished passing the connection to this response.
    nextTick(() => {
      if (!response.destroyed) handle()
    })
  })
}

const STATUSES: Record<string, string> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: '413 Payload Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
}

/**
 * Answers a request that cannot be parsed or arrives too slowly, then closes the connection. Without an answer if an
 * earlier request has not got its own: the client would take this one for it, although the earlier request succeeds.
 */
export function refuseMalformed({ code = '' }: NodeJS.ErrnoException, socket: Duplex): void {
  const sending = sendingOn(socket)
  const isAlone = sending === undefined || (!sending.headersSent && !sending.req.complete)
  if (isAlone && socket.writable)
    socket.write(`HTTP/1.1 ${STATUSES[code] ?? '400 Bad Request'}\r\nConnection: close\r\n\r\n`)
  socket.destroy()
}
