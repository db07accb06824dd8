/** An Exchange for a request of `node:http`. */
import { type IncomingMessage, ServerResponse } from 'node:http'
import type { TLSSocket } from 'node:tls'
import { clearTimeout, setImmediate, setTimeout } from '../timers.js'
import { type BodySink, type ClientLimits, EMPTY, type Exchange, type HeaderList } from './exchange.js'
import { hostOf } from './host.js'
import { alreadyRead, busy, HttpError } from './http-error.js'
import { ReceivedBody } from './received-body.js'
import type { DropReason } from './types.js'

/** How many bytes of a refused body are read, and for how long. */
const DISCARD_BYTES = 32 << 20
const DISCARD_MS = 5000

/**
 * The parts of a body that are taken in one turn of the event loop. The parts of a client may have one byte each, and
 * node:http reads up to 2 MiB in one turn unless the request is paused.
 */
const PARTS_IN_TURN = 512

/** The requests with `Expect: 100-continue` whose body is not wanted yet. */
const waiting = new WeakSet<IncomingMessage>()

/** Must be called for requests of the event `checkContinue`. For others, node:http has asked for the body. */
export function expectContinue(request: IncomingMessage): void {
  waiting.add(request)
}

export class NodeExchange implements Exchange, BodySink {
  readonly method: string
  readonly target: string
  readonly base: string
  dropped: DropReason | undefined
  scope = ''
  isLive = false
  held = 0
  place = -1
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #limits: ClientLimits
  readonly #next: (() => void) | undefined
  readonly #count = (): void => this.#limits.buffered.hold(this, this.unread, 'slow-reader')
  #readsBody = false

  /** Frameworks like Express pass `next`, which calls the next route. */
  constructor(request: IncomingMessage, response: ServerResponse, limits: ClientLimits, next?: () => void) {
    this.#limits = limits
    this.#request = request
    this.#response = response
    this.method = request.method ?? 'GET'
    this.base = baseOf(request)
    this.target = this.base + (request.url ?? '/')
    this.#next = next
  }

  get status(): number {
    return this.#response.headersSent ? this.#response.statusCode : 0
  }

  get slowness(): DropReason | undefined {
    if (this.#response.headersSent) return 'slow-reader'
    return this.#readsBody ? 'slow-writer' : undefined
  }

  get waitsToSend(): boolean {
    return waiting.has(this.#request)
  }

  get host(): string {
    return hostOf(this.#request)
  }

  get origin(): string {
    const { encrypted } = this.#request.socket as TLSSocket
    const { host } = this
    return /^[\w.:[\]-]+$/.test(host) ? `${encrypted === true ? 'https' : 'http'}://${host}` : ''
  }

  header(name: string): string | undefined {
    const value = this.#request.headers[name]
    return Array.isArray(value) ? value[0] : value
  }

  body(maxBytes: number, take: (body: Buffer) => void, fail: (error: unknown) => void): void {
    const request = this.#request
    const length = Number(request.headers['content-length'] ?? Number.NaN)
    if (length === 0) take(EMPTY)
    else if (length > maxBytes) fail(tooLarge(maxBytes))
    else if (request.readableDidRead || request.readableEnded) this.#hasBody() ? fail(alreadyRead()) : take(EMPTY)
    else if ((request.headers['transfer-encoding'] ?? 'chunked').toLowerCase() !== 'chunked') fail(unknownCoding())
    else this.#collect(length, maxBytes, take, fail)
  }

  /** Collects the body. `length` is its length, or NaN if the request does not have it. */
  #collect(length: number, maxBytes: number, take: (body: Buffer) => void, fail: (error: unknown) => void): void {
    const request = this.#request
    const { buffered } = this.#limits
    const body = new ReceivedBody(length)
    let isRefused = false
    this.#readsBody = true
    if (waiting.delete(request)) this.#response.writeContinue()
    const refuse = (refusal: HttpError): void => {
      isRefused = true
      this.#readsBody = false
      buffered.release(this)
      fail(refusal)
    }
    const finish = (): void => {
      if (isRefused) return
      this.#readsBody = false
      if (Number.isNaN(length)) buffered.hold(this, this.held)
      take(body.bytes)
    }
    this.#onPart((part) => {
      if (isRefused) return
      const bytes = body.length + part.length
      if (bytes > maxBytes) return refuse(tooLarge(maxBytes))
      buffered.hold(this, this.held + part.length, bytes === length ? undefined : 'slow-writer')
      if (!buffered.fits(this))
        return refuse(busy('other requests use all memory for bodies: repeat the request later'))
      body.add(part)
      if (bytes === length) finish()
    })
    if (Number.isNaN(length)) request.on('end', finish)
  }

  /** Calls `take` with each part of the body, in several turns of the event loop if there are many. */
  #onPart(take: (part: Buffer) => void): void {
    const request = this.#request
    let parts = 0
    request.on('data', (part: Buffer) => {
      take(part)
      if (++parts % PARTS_IN_TURN !== 0) return
      request.pause()
      setImmediate(() => request.resume())
    })
  }

  get mayPass(): boolean {
    return this.#next !== undefined
  }

  pass(): boolean {
    if (this.#next === undefined || this.#response.headersSent || this.#request.readableDidRead) return false
    this.#next()
    return true
  }

  reply(status: number, headers: HeaderList, body?: Buffer | string, sent?: () => void): void {
    // A client that waits may send its body nevertheless, so the connection must not be used for a next request.
    if (this.waitsToSend) this.#send(status, [...headers, 'connection', 'close'], body)
    else if (this.#request.complete || !this.#hasBody()) this.#send(status, headers, body, sent)
    else this.#discardBody((ended) => this.#send(status, ended ? headers : [...headers, 'connection', 'close'], body))
  }

  #send(status: number, headers: HeaderList, body: Buffer | string | undefined, sent?: () => void): void {
    const response = this.#response
    if (response.headersSent || response.destroyed) return
    if (body !== undefined) headers.push('content-length', String(Buffer.byteLength(body)))
    response.writeHead(status, headers)
    if (sent !== undefined && !isWrapped(response)) response.once('finish', sent)
    response.end(this.method === 'HEAD' ? undefined : body)
    if (this.unread > 0) this.#awaitReader()
  }

  /**
   * Drops the client if it does not read the answer. The timeout of a socket starts again with each part that is read.
   */
  #awaitReader(): void {
    const response = this.#response
    this.#count()
    response.setTimeout(this.#limits.slowReaderMs, () => this.drop('slow-reader'))
    // Must run before node:http sets the timeout of the idle connection.
    response.prependOnceListener('finish', () => response.setTimeout(0))
  }

  #hasBody(): boolean {
    const { headers } = this.#request
    return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
  }

  /**
   * Reads the rest of the body, within limits, before `done` answers. A client that is still sending might not receive
   * an answer if the connection is closed after it.
   */
  #discardBody(done: (ended: boolean) => void): void {
    const request = this.#request
    let bytes = 0
    let isDone = false
    this.#readsBody = true
    const finish = (ended: boolean): void => {
      if (isDone) return
      isDone = true
      this.#readsBody = false
      clearTimeout(timer)
      done(ended)
    }
    const timer = setTimeout(() => finish(false), DISCARD_MS)
    this.#onPart((part) => {
      bytes += part.length
      if (bytes > DISCARD_BYTES) finish(false)
    })
    request.on('end', () => finish(true))
    request.on('close', () => finish(false))
  }

  open(status: number, headers: HeaderList): BodySink {
    this.#response.writeHead(status, headers)
    this.#response.flushHeaders()
    return this
  }

  onEnd(ended: () => void): void {
    if (this.#response.closed) ended()
    else this.#response.on('close', ended)
  }

  write(chunk: Buffer): void {
    const response = this.#response
    if (response.destroyed || response.writableEnded) return
    response.write(chunk, this.#count)
    this.#count()
  }

  get unread(): number {
    return this.#response.destroyed ? 0 : this.#response.writableLength
  }

  drained(): Promise<boolean> {
    const response = this.#response
    if (response.destroyed || response.writableEnded) return Promise.resolve(false)
    if (!response.writableNeedDrain) return Promise.resolve(true)
    return new Promise((resolve) => {
      const settle = (drained: boolean): void => {
        if (!response.writableEnded) response.setTimeout(0)
        response.off('drain', onDrain)
        response.off('timeout', onClose)
        response.off('close', onClose)
        resolve(drained)
      }
      const onDrain = (): void => settle(true)
      const onClose = (): void => settle(false)
      response.setTimeout(this.#limits.slowReaderMs)
      response.once('drain', onDrain)
      response.once('timeout', onClose)
      response.once('close', onClose)
    })
  }

  end(): void {
    this.#response.end()
    if (this.unread > 0) this.#awaitReader()
  }

  drop(reason: DropReason): void {
    this.dropped = reason
    this.#response.destroy()
  }
}

/**
 * The part of the path that a framework has removed from `url`: Express gives it as `baseUrl`, others only keep the
 * whole URL.
 */
function baseOf({
  url = '/',
  baseUrl,
  originalUrl,
}: IncomingMessage & { baseUrl?: unknown; originalUrl?: unknown }): string {
  if (typeof baseUrl === 'string') return baseUrl
  return typeof originalUrl === 'string' && originalUrl.endsWith(url) ? originalUrl.slice(0, -url.length) : ''
}

/** Whether a middleware gets the parts of the answer, which it may keep. */
function isWrapped({ write, end }: ServerResponse): boolean {
  return write !== ServerResponse.prototype.write || end !== ServerResponse.prototype.end
}

function unknownCoding(): HttpError {
  return new HttpError(501, 'unsupported-coding', 'the only supported Transfer-Encoding is chunked')
}

function tooLarge(maxBytes: number): HttpError {
  return new HttpError(413, 'too-large', `the body must have at most ${maxBytes} bytes: split it`)
}
