/** Serves streams over HTTP: checks the rights of a request, then performs it. */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { DurlogError } from '../errors.js'
import { portOf, type ServedPort } from '../streams/port/port.js'
import type { Streams } from '../streams/port/types.js'
import { PacedWork } from '../support/paced-work.js'
import { Turns } from '../support/turns.js'
import { clearInterval, clock, setInterval } from '../timers.js'
import { ActiveRequests } from './active-requests.js'
import { append } from './append.js'
import { BodyMemory } from './body-memory.js'
import { Buffered } from './buffered.js'
import { create } from './create.js'
import { EVENT_BYTES } from './events.js'
import type { ClientLimits, Exchange, HeaderList } from './exchange.js'
import { checkHost, isOriginOf } from './host.js'
import { badRequest, busy, HttpError, toHttpError, withoutScope } from './http-error.js'
import { inOrder } from './in-order.js'
import { list } from './list.js'
import { Live } from './live.js'
import { Metrics } from './metrics.js'
import { NodeExchange } from './node-exchange.js'
import { resolveHandlerOptions } from './options.js'
import { head, read, remove } from './read.js'
import { ALL, allowed, authorize, need } from './rights.js'
import { type HttpCall, reply, type Service } from './service.js'
import { checkEncoded, splitTarget, streamOfPath } from './target.js'
import type { HandlerOptions, RequestReport, Rights, StreamsHandler } from './types.js'
import { WebExchange } from './web-exchange.js'

const METHODS = 'GET, POST, PUT, DELETE, HEAD, OPTIONS'
const SECURITY: HeaderList = ['x-content-type-options', 'nosniff', 'cross-origin-resource-policy', 'cross-origin']
/** The path of the list of streams, after the prefix. */
const LIST_PATH = '__ds/streams'
/** The methods that store something. */
const WRITES: readonly string[] = ['POST', 'PUT', 'DELETE']
const PREFLIGHT: HeaderList = [
  'access-control-allow-methods',
  METHODS,
  'access-control-allow-headers',
  'authorization, content-type, if-none-match, producer-epoch, producer-id, producer-seq, stream-closed, stream-expires-at, stream-fork-offset, stream-fork-sub-offset, stream-forked-from, stream-seq, stream-ttl, x-request-id, last-event-id',
  'access-control-max-age',
  '86400',
]
const EXPOSED =
  'content-type, etag, location, producer-epoch, producer-expected-seq, producer-received-seq, producer-seq, retry-after, stream-closed, stream-cursor, stream-expires-at, stream-next-offset, stream-sse-data-encoding, stream-ttl, stream-up-to-date, x-request-id'
/**
 * After an append fails with one of these codes, no append succeeds until the folder is opened again by this or another
 * process.
 */
const FINAL_CODES: readonly string[] = [
  'ERR_DURLOG_SYNC_FAILED',
  'ERR_DURLOG_FILE_CHANGED',
  'ERR_DURLOG_LATCHED',
  'ERR_DURLOG_CLOSED',
  'ERR_DURLOG_LOCKED',
  'ERR_DURLOG_FENCED',
]

/**
 * The number of chunks that are read at the same time for requests and for subscribers that catch up. Each takes file
 * descriptors, and memory up to that of an answer.
 */
const READS = 8
/** The time for which clients may send requests and read answers after `close`. */
export const CLOSE_MS = 4000

interface Operation {
  right: keyof Rights
  perform(service: Service, call: HttpCall): void | Promise<void>
}
/** The operations by method. A Map, because a client can send any text as its method. */
const OPERATIONS: ReadonlyMap<string, Operation> = new Map([
  ['POST', { right: 'write', perform: append }],
  ['GET', { right: 'read', perform: read }],
  ['HEAD', { right: 'read', perform: head }],
  ['PUT', { right: 'create', perform: create }],
  ['DELETE', { right: 'delete', perform: remove }],
])
const LIST: Operation = { right: 'list', perform: list }

/** Returns a handler of `streams`, which must stay open while it is used. Throws ERR_DURLOG_INVALID_ARGUMENT. */
export function streamsHandler(streams: Streams<never> | Streams<unknown>, options?: HandlerOptions): StreamsHandler {
  return handlerOf(portOf(streams), options)
}

/** What answers the requests of a server, also new ones on open connections while it ends. */
export interface ServerHandler extends Pick<StreamsHandler, 'metrics' | 'close'> {
  (request: IncomingMessage, response: ServerResponse): void
  /** What `/healthz` reports; undefined if there is no problem. Without paths of this machine. */
  problem(): Promise<string | undefined>
  /** As `close`, but answers new requests. */
  drain(): Promise<void>
}

export function handlerOf(access: ServedPort, options?: HandlerOptions): ServerHandler & StreamsHandler {
  const server = new Server(access, options)
  const handler = (request: IncomingMessage, response: ServerResponse, next?: () => void): void =>
    inOrder(request, response, () => server.handle(new NodeExchange(request, response, server.limits, next)))
  return Object.assign(handler, {
    fetch: (request: Request): Promise<Response> => {
      const exchange = new WebExchange(request, server.limits)
      server.handle(exchange)
      return exchange.response
    },
    isHealthy: () => server.problem === undefined,
    problem: async () => server.problem ?? (await server.readProblem()),
    metrics: () => server.metrics.text(),
    drain: () => server.drain(),
    close: () => server.close(),
  })
}

class Server {
  readonly metrics: Metrics
  readonly limits: ClientLimits
  readonly #service: Service
  /** The rights of each request if there is no `authorize`. */
  readonly #rights: Rights
  /** Whether answers depend on the origin of the request. */
  readonly #listsOrigins: boolean
  /** The last append failed because of the device. */
  #hasFailed = false
  /** The requests that have not been answered. */
  readonly #active = new ActiveRequests()
  #onIdle: (() => void) | undefined
  #draining: Promise<void> | undefined
  #isClosed = false

  constructor(access: ServedPort, given: HandlerOptions | undefined) {
    const options = resolveHandlerOptions(given)
    const headers = [...SECURITY]
    if (options.cors.includes('*'))
      headers.push('access-control-allow-origin', '*', 'access-control-expose-headers', EXPOSED)
    this.#listsOrigins = options.cors.length > 0 && !options.cors.includes('*')
    const work = new PacedWork()
    const live = new Live(access, options, work)
    this.limits = { slowReaderMs: options.slowReaderMs, buffered: new Buffered(options.maxBufferedBytes) }
    const memory = new BodyMemory(Math.max(options.chunkBytes, EVENT_BYTES))
    this.#service = { access, options, live, work, headers, reads: new Turns(READS), memory, limits: this.limits }
    this.#rights = allowed(options, ALL)
    this.metrics = new Metrics(access, live, this.limits.buffered)
  }

  handle(exchange: Exchange): void {
    const { options } = this.#service
    if (exchange.mayPass) {
      const { path } = splitTarget(exchange.target)
      if (!path.startsWith(exchange.base + options.prefix) && exchange.pass()) return
    }
    const startMs = clock.now()
    const requestId = options.onRequest === undefined ? undefined : requestIdOf(exchange)
    const service = this.#serviceFor(exchange, requestId)
    this.#active.add(exchange)
    exchange.onEnd(() => this.#ended(exchange, startMs, requestId))
    const fail = (error: unknown): void => this.#fail(service, exchange, error)
    try {
      this.#begin(service, exchange, fail)?.catch(fail)
    } catch (error) {
      fail(error)
    }
  }

  #ended(exchange: Exchange, startMs: number, requestId: string | undefined): void {
    const { method, target, status, dropped, isLive } = exchange
    this.limits.buffered.release(exchange)
    const durationMs = clock.now() - startMs
    if (!this.#active.delete(exchange)) return
    this.metrics.count(method, status, durationMs, dropped, isLive)
    // The status is 0 if the client has disconnected before the answer.
    if (this.#hasFailed && status >= 200 && status < 300 && WRITES.includes(method)) this.#hasFailed = false
    if (this.#active.size === 0) this.#onIdle?.()
    if (requestId !== undefined) void this.#report({ method, target, status, durationMs, requestId, dropped })
  }

  /** An error of the application's `onRequest` must not end the process. */
  async #report(report: RequestReport): Promise<void> {
    const { onRequest, onError } = this.#service.options
    try {
      await onRequest?.(report)
    } catch (error) {
      onError(error)
    }
  }

  get problem(): string | undefined {
    const { access, live } = this.#service
    try {
      access.checkOpen()
    } catch {
      return 'the streams are closed'
    }
    if (live.isClosing) return 'the server is ending'
    if (this.#hasFailed) return 'appends fail, because the device or the log has failed'
    const { code, errnoName } = access.checkpointFailure ?? {}
    return code && `checkpoints fail: ${code}${errnoName === undefined ? '' : ` (${errnoName})`}`
  }

  async readProblem(): Promise<string | undefined> {
    try {
      await this.#service.access.checkReadable?.()
      return undefined
    } catch (error) {
      return `the log cannot be read: ${(error as DurlogError).code}`
    }
  }

  /** As `drain`, and refuses new requests. */
  close(): Promise<void> {
    this.#isClosed = true
    return this.drain()
  }

  /** Ends live reads. Settles when every request has been answered. */
  drain(): Promise<void> {
    this.#draining ??= this.#drain()
    return this.#draining
  }

  async #drain(): Promise<void> {
    this.#service.live.close()
    if (this.#active.size === 0) return
    const timer = setInterval(() => this.#dropSlow(), Math.min(this.limits.slowReaderMs, CLOSE_MS))
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve
    })
    clearInterval(timer)
  }

  /** Drops the clients that have not sent their whole request, or not read their whole answer. */
  #dropSlow(): void {
    for (const exchange of this.#active.all)
      this.#service.work.run(() => {
        const { place, slowness } = exchange
        // It may have been answered meanwhile.
        if (place !== -1 && slowness !== undefined) exchange.drop(slowness)
      })
  }

  /** Returns the service with the headers that depend on the request. Without such headers, all requests share one. */
  #serviceFor(exchange: Exchange, requestId: string | undefined): Service {
    const { options, headers } = this.#service
    if (!this.#listsOrigins && requestId === undefined) return this.#service
    const own = [...headers]
    if (this.#listsOrigins) {
      const origin = exchange.header('origin')
      own.push('vary', 'origin')
      if (origin !== undefined && options.cors.includes(origin))
        own.push('access-control-allow-origin', origin, 'access-control-expose-headers', EXPOSED)
      // Any site can send requests with the origin null.
      if (origin !== undefined && origin !== 'null' && options.cors.includes(origin))
        own.push('access-control-allow-credentials', 'true')
    }
    if (requestId !== undefined) own.push('x-request-id', requestId)
    return { ...this.#service, headers: own }
  }

  #begin(service: Service, exchange: Exchange, fail: (error: unknown) => void): void | Promise<void> {
    const { options } = service
    const { method } = exchange
    if (this.#isClosed) throw busy('the handler has been closed: repeat the request later')
    checkHost(exchange.host, options.hosts)
    checkEncoded(exchange.target)
    if (WRITES.includes(method)) checkSite(exchange, options.cors)
    // A browser also needs the origin, which the answer has only if it is allowed.
    if (method === 'OPTIONS') return reply(service, { exchange }, 204, ['allow', METHODS, ...PREFLIGHT])
    checkConditions(exchange)
    const { path, query } = splitTarget(exchange.target)
    const prefix = exchange.base + options.prefix
    const isList = path.endsWith(LIST_PATH) && path === prefix + LIST_PATH
    const name = isList ? '' : streamOfPath(path, prefix)
    const call: HttpCall = { exchange, path, prefix, query, rights: this.#rights, name, fail }
    const operation = isList ? LIST : OPERATIONS.get(method)
    if (options.authorize === undefined) return perform(operation, service, call)
    call.fail = (error) => fail(withoutScope(error, exchange.scope))
    return authorize(options, call)
      .then(() => perform(operation, service, call))
      .catch(call.fail)
  }

  #fail(service: Service, exchange: Exchange, error: unknown): void {
    const { status, code, message, headers } = toHttpError(error)
    // The application may have another route for it, whose answer is not one of this server.
    if (status === 404 && exchange.pass()) {
      this.#active.delete(exchange)
      if (this.#active.size === 0) this.#onIdle?.()
      return
    }
    const isFinal = FINAL_CODES.includes((Object(error) as DurlogError).code)
    const isNew = status === 500 || (isFinal && !this.#hasFailed)
    if (isFinal) this.#hasFailed = true
    const own = ['content-type', 'application/json', 'cache-control', 'no-store', ...headers]
    reply(service, { exchange }, status, own, JSON.stringify({ error: { code, message } }))
    // The last step, because it may throw.
    if (isNew) service.options.onError(error)
  }
}

/**
 * Throws an HttpError with status 403 if a page of another origin sent the request, and `cors` does not have its
 * origin. A browser sends some such requests, with its cookies, without asking the server first. Over HTTP it sends
 * only `Origin`.
 */
function checkSite(exchange: Exchange, cors: readonly string[]): void {
  const site = exchange.header('sec-fetch-site')
  const origin = exchange.header('origin')
  if (site === 'same-origin' || site === 'none') return
  if (site === undefined && (origin === undefined || isOriginOf(exchange.host, origin))) return
  if (origin !== undefined && cors.includes(origin)) return
  if (cors.includes('*') && exchange.header('cookie') === undefined) return
  throw new HttpError(
    403,
    'cross-site',
    'a web page of another origin sent the request: add its origin to cors (* does not allow cookies), or let the proxy pass the Host on',
  )
}

/**
 * Throws an HttpError with status 400 for a condition that would have to be checked in one step with the change
 * (RFC 9110, 13.1). 412 would mean that the condition is false.
 */
function checkConditions(exchange: Exchange): void {
  const isWrite = WRITES.includes(exchange.method)
  if (exchange.header('if-match') !== undefined || (isWrite && exchange.header('if-none-match') !== undefined))
    throw badRequest(
      'If-Match, and If-None-Match for a change, are not supported: use Stream-Seq, or Producer-Id with Producer-Epoch and Producer-Seq',
    )
}

function perform(operation: Operation | undefined, service: Service, call: HttpCall): void | Promise<void> {
  if (operation === undefined)
    throw new HttpError(405, 'method-not-allowed', `the method is not supported: use one of ${METHODS}`, [
      'allow',
      METHODS,
    ])
  need(call.rights[operation.right])
  return operation.perform(service, call)
}

function requestIdOf(exchange: Exchange): string {
  const given = exchange.header('x-request-id')
  return given !== undefined && /^[!-~]{1,128}$/.test(given) ? given : randomUUID()
}
