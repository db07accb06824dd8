/** Serves streams over HTTP: checks the rights of a request, then performs it. */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { DurlogError } from '../errors.js'
import { internalsOf } from '../streams/internals.js'
import type { Streams } from '../streams/types.js'
import { append } from './append.js'
import { create } from './create.js'
import type { Exchange, HeaderList } from './exchange.js'
import { list, seek } from './list.js'
import { Live } from './live.js'
import { Metrics } from './metrics.js'
import { NodeExchange } from './node-exchange.js'
import { resolveHandlerOptions } from './options.js'
import { head, read, remove } from './read.js'
import { badRequest, Refusal, refusalOf } from './refusal.js'
import { type Call, reply, type Service } from './service.js'
import { parameters, splitTarget, streamOfPath } from './target.js'
import type { HandlerOptions, Rights, StreamsHandler } from './types.js'
import { WebExchange } from './web-exchange.js'

const ALL: Rights = { read: true, write: true, create: true, delete: true, list: true }
const READS: Rights = { read: true }
const METHODS = 'GET, POST, PUT, DELETE, HEAD, OPTIONS'
const SECURITY: HeaderList = ['x-content-type-options', 'nosniff', 'cross-origin-resource-policy', 'cross-origin']
const PREFLIGHT: HeaderList = [
  'access-control-allow-methods',
  METHODS,
  'access-control-allow-headers',
  'authorization, content-type, if-none-match, producer-epoch, producer-id, producer-seq, stream-closed, stream-expires-at, stream-fork-offset, stream-fork-sub-offset, stream-forked-from, stream-seq, stream-ttl, x-request-id',
  'access-control-max-age',
  '86400',
]
const EXPOSED =
  'content-type, etag, location, producer-epoch, producer-expected-seq, producer-received-seq, producer-seq, retry-after, stream-closed, stream-cursor, stream-expires-at, stream-next-offset, stream-sse-data-encoding, stream-ttl, stream-up-to-date, x-request-id'
/** After these errors of an append none succeeds until the folder is opened again. */
const FINAL_CODES: readonly string[] = ['ERR_DURLOG_SYNC_FAILED', 'ERR_DURLOG_LATCHED', 'ERR_DURLOG_CLOSED']
const TENANT = /^[^\s/]{1,256}$/u

/** A handler of `streams`, which must stay open as long as it is used. Throws ERR_DURLOG_INVALID_ARGUMENT. */
export function streamsHandler(streams: Streams<never> | Streams<unknown>, options?: HandlerOptions): StreamsHandler {
  const server = new Server(streams, options)
  const handler = (request: IncomingMessage, response: ServerResponse): void =>
    server.handle(new NodeExchange(request, response))
  return Object.assign(handler, {
    fetch: (request: Request): Promise<Response> => {
      const exchange = new WebExchange(request)
      server.handle(exchange)
      return exchange.response
    },
    isHealthy: () => server.isHealthy,
    metrics: () => server.metrics.text(),
    close: () => server.close(),
  })
}

class Server {
  readonly metrics: Metrics
  readonly #service: Service
  /** Whether answers depend on the origin of the request. */
  readonly #listsOrigins: boolean
  /** An append has failed because of the device. */
  #hasFailed = false
  /** Answers in progress. */
  #active = 0
  #onIdle: (() => void) | undefined

  constructor(streams: Streams<never> | Streams<unknown>, given: HandlerOptions | undefined) {
    const options = resolveHandlerOptions(given)
    const context = internalsOf(streams)
    const headers = [...SECURITY]
    if (options.cors.includes('*'))
      headers.push('access-control-allow-origin', '*', 'access-control-expose-headers', EXPOSED)
    this.#listsOrigins = options.cors.length > 0 && !options.cors.includes('*')
    const live = new Live(context, options)
    this.#service = { context, options, live, headers }
    this.metrics = new Metrics(context, live)
  }

  handle(exchange: Exchange): void {
    const { options } = this.#service
    const startMs = performance.now()
    const requestId = options.onRequest === undefined ? undefined : requestIdOf(exchange)
    const service = this.#serviceFor(exchange, requestId)
    this.#active++
    exchange.onEnd(() => {
      this.#active--
      this.metrics.count(exchange.method, exchange.status, performance.now() - startMs, exchange.dropped)
      if (this.#active === 0) this.#onIdle?.()
      if (requestId === undefined) return
      const { method, target, status, dropped } = exchange
      options.onRequest?.({ method, target, status, durationMs: performance.now() - startMs, requestId, dropped })
    })
    this.#perform(service, exchange).catch((error: unknown) => {
      const { code } = Object(error) as DurlogError
      if (FINAL_CODES.includes(code)) this.#hasFailed = true
      refuse(service, exchange, refusalOf(error))
    })
  }

  get isHealthy(): boolean {
    return !this.#hasFailed && !this.#service.live.isClosing
  }

  /** Ends live reads; settles when every request has been answered. */
  async close(): Promise<void> {
    this.#service.live.close()
    if (this.#active === 0) return
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve
    })
  }

  /** With the headers that depend on the request; one for all requests if there are none. */
  #serviceFor(exchange: Exchange, requestId: string | undefined): Service {
    const { live, headers } = this.#service
    if (!this.#listsOrigins && requestId === undefined && !live.isClosing) return this.#service
    const own = [...headers]
    if (this.#listsOrigins) {
      const origin = exchange.header('origin')
      own.push('vary', 'origin')
      if (origin !== undefined && this.#service.options.cors.includes(origin))
        own.push('access-control-allow-origin', origin, 'access-control-expose-headers', EXPOSED)
    }
    if (requestId !== undefined) own.push('x-request-id', requestId)
    if (live.isClosing) own.push('connection', 'close')
    return { ...this.#service, headers: own }
  }

  async #perform(service: Service, exchange: Exchange): Promise<void> {
    const { options } = service
    const { method } = exchange
    if (method === 'OPTIONS') return reply(service, { exchange }, 204, options.cors.length > 0 ? [...PREFLIGHT] : [])
    const { path, query } = splitTarget(exchange.target)
    const isList = path === `${options.prefix}__ds/streams`
    const stream = isList ? '' : streamOfPath(path, options.prefix)
    const rights = options.authorize === undefined ? ALL : await this.#rights(exchange, stream)
    const allowed = options.readOnly ? { ...READS, read: rights.read, tenant: rights.tenant } : rights
    const scope = scopeOf(rights)
    const name = checkLength(scope + stream)
    const source = (from: string): string | Promise<string> => this.#source(exchange, from, rights)
    if (isList) {
      need(rights.list)
      const asked = { exchange, scope, query }
      return parameters(query, 'at').length > 0 ? seek(service, asked) : list(service, asked)
    }
    const call: Call = { exchange, name, path, query, scope, source }
    switch (method) {
      case 'POST':
        need(allowed.write)
        return append(service, call)
      case 'GET':
        need(allowed.read)
        return read(service, call)
      case 'HEAD':
        need(allowed.read)
        return head(service, call)
      case 'PUT':
        need(allowed.create)
        return create(service, call)
      case 'DELETE':
        need(allowed.delete)
        return remove(service, call)
      default:
        throw new Refusal(405, 'method-not-allowed', `the methods are ${METHODS}`, ['allow', METHODS])
    }
  }

  async #rights(exchange: Exchange, stream: string): Promise<Rights> {
    const { method, target } = exchange
    const header = (name: string): string | undefined => exchange.header(name)
    const rights = await this.#service.options.authorize?.({ method, target, stream, header })
    if (typeof rights === 'object' && rights !== null) return rights
    throw new Refusal(401, 'unauthorized', 'the request has no valid credentials', ['www-authenticate', 'Bearer'])
  }

  /** The name of the stream at the path `from`, which the request must be allowed to read, in the same tenant. */
  async #source(exchange: Exchange, from: string, own: Rights): Promise<string> {
    const { options } = this.#service
    const { path } = splitTarget(from)
    const stream = streamOfPath(path, options.prefix)
    if (options.authorize === undefined) return stream
    const header = (name: string): string | undefined => exchange.header(name)
    const rights = await options.authorize({ method: 'GET', target: path, stream, header })
    need(rights?.read === true && rights.tenant === own.tenant)
    return checkLength(scopeOf(own) + stream)
  }
}

function scopeOf({ tenant }: Rights): string {
  if (tenant === undefined) return ''
  if (!TENANT.test(tenant)) throw new Error('a tenant is a text of 1 to 256 characters without spaces and slashes')
  return `${tenant}/`
}

function checkLength(name: string): string {
  if (Buffer.byteLength(name) > 1024) throw badRequest('the name of a stream has 1 to 1024 bytes of UTF-8')
  return name
}

/** The same answer whether or not the stream exists. */
function need(right: boolean | undefined): void {
  if (right !== true) throw new Refusal(403, 'forbidden', 'the request has no right to do this')
}

function refuse(service: Service, exchange: Exchange, { status, code, message, headers }: Refusal): void {
  const own = ['content-type', 'application/json', 'cache-control', 'no-store', ...headers]
  reply(service, { exchange }, status, own, JSON.stringify({ error: { code, message } }))
}

function requestIdOf(exchange: Exchange): string {
  const given = exchange.header('x-request-id')
  return given !== undefined && /^[!-~]{1,128}$/.test(given) ? given : randomUUID()
}
