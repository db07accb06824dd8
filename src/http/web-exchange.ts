/** An Exchange for a request of the Fetch API, for Hono, Next.js, Bun and Deno. */
import { clearTimeout, setTimeout } from '../timers.js'
import { type BodySink, type ClientLimits, EMPTY, type Exchange, type HeaderList } from './exchange.js'
import { alreadyRead, badRequest, busy, HttpError } from './http-error.js'
import { ReceivedBody } from './received-body.js'
import type { DropReason } from './types.js'

/** The statuses whose answers have no body. */
const NO_BODY = [101, 103, 204, 205, 304]
/** The number of bytes that the runtime buffers before a client reads them. */
const RUNTIME_BYTES = 1 << 16

export class WebExchange implements Exchange, BodySink {
  readonly method: string
  readonly target: string
  readonly host: string
  readonly origin: string
  readonly response: Promise<Response>
  readonly waitsToSend = false
  readonly base = ''
  readonly mayPass = false
  status = 0
  dropped: DropReason | undefined
  scope = ''
  isLive = false
  held = 0
  place = -1
  readonly #request: Request
  readonly #limits: ClientLimits
  #respond: (response: Response) => void = () => {}
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined
  #hasEnded = false
  #readsBody = false
  #onEnd: (() => void)[] = []
  #onDrain: ((drained: boolean) => void) | undefined

  constructor(request: Request, limits: ClientLimits) {
    this.#limits = limits
    this.#request = request
    this.method = request.method
    const { pathname, search, host, origin } = new URL(request.url)
    this.target = pathname + search
    this.host = host
    this.origin = origin
    this.response = new Promise((resolve) => {
      this.#respond = resolve
    })
    if (request.signal?.aborted === true) this.#ended()
    else request.signal?.addEventListener('abort', () => this.#disconnected(), { once: true })
  }

  get slowness(): DropReason | undefined {
    if (this.status !== 0) return 'slow-reader'
    return this.#readsBody ? 'slow-writer' : undefined
  }

  header(name: string): string | undefined {
    return this.#request.headers.get(name) ?? undefined
  }

  body(maxBytes: number, take: (body: Buffer) => void, fail: (error: unknown) => void): void {
    if (this.#request.bodyUsed || this.#request.body?.locked === true) fail(alreadyRead())
    else this.#read(maxBytes, take, fail)
  }

  #read(maxBytes: number, take: (body: Buffer) => void, fail: (error: unknown) => void): void {
    this.#collect(maxBytes)
      .catch((error) => {
        throw error instanceof HttpError ? error : badRequest(`the body cannot be read: ${(error as Error).message}`)
      })
      .then(take, fail)
  }

  async #collect(maxBytes: number): Promise<Buffer> {
    const { body } = this.#request
    const { buffered } = this.#limits
    if (body === null) return EMPTY
    const received = new ReceivedBody(Number.NaN)
    this.#readsBody = true
    const reader = body.getReader()
    // Ends a read that waits for the client.
    this.onEnd(() => void reader.cancel().catch(() => {}))
    for (;;) {
      const { done, value: part } = await reader.read()
      if (this.#hasEnded) throw new HttpError(408, 'gone', 'the client has disconnected, or sends too slowly')
      if (done) break
      const bytes = received.length + part.length
      if (bytes > maxBytes)
        throw new HttpError(413, 'too-large', `the body must have at most ${maxBytes} bytes: split it`)
      buffered.hold(this, bytes, 'slow-writer')
      if (!buffered.fits(this)) throw busy('other requests use all memory for bodies: repeat the request later')
      const view = Buffer.from(part.buffer, part.byteOffset, part.length)
      // `received` copies later parts itself. The memory of a part is the application's.
      received.add(received.length === 0 ? Buffer.from(view) : view)
    }
    this.#readsBody = false
    buffered.hold(this, this.held)
    return received.bytes
  }

  pass(): boolean {
    return false
  }

  reply(status: number, headers: HeaderList, body?: Buffer | string): void {
    if (this.status !== 0) return
    this.status = status
    const content = this.method === 'HEAD' || NO_BODY.includes(status) ? null : (body ?? null)
    this.#respond(
      new Response(content as Uint8Array<ArrayBuffer> | string | null, { status, headers: pairsOf(headers) }),
    )
    this.#ended()
  }

  open(status: number, headers: HeaderList): BodySink {
    this.status = status
    const stream = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller
        },
        pull: () => {
          this.#count()
          this.#onDrain?.(true)
        },
        cancel: () => this.#ended(),
      },
      new ByteLengthQueuingStrategy({ highWaterMark: RUNTIME_BYTES }),
    )
    this.#respond(new Response(stream, { status, headers: pairsOf(headers) }))
    if (this.#hasEnded) this.#controller?.close()
    return this
  }

  onEnd(ended: () => void): void {
    if (this.#hasEnded) ended()
    else this.#onEnd.push(ended)
  }

  write(chunk: Buffer): void {
    if (this.#hasEnded) return
    this.#controller?.enqueue(chunk)
    this.#count()
  }

  get unread(): number {
    return this.#hasEnded ? 0 : Math.max(0, RUNTIME_BYTES - (this.#controller?.desiredSize ?? RUNTIME_BYTES))
  }

  #count(): void {
    this.#limits.buffered.hold(this, this.unread, 'slow-reader')
  }

  drained(): Promise<boolean> {
    if (this.#hasEnded) return Promise.resolve(false)
    return new Promise((resolve) => {
      const settle = (drained: boolean): void => {
        clearTimeout(timer)
        this.#onDrain = undefined
        resolve(drained)
      }
      const timer = setTimeout(() => settle(false), this.#limits.slowReaderMs)
      this.#onDrain = settle
    })
  }

  end(): void {
    if (this.#hasEnded) return
    this.#controller?.close()
    this.#ended()
  }

  drop(reason: DropReason): void {
    if (this.#hasEnded) return
    this.dropped = reason
    if (this.status === 0) this.reply(408, [])
    this.#controller?.error(new Error(reason))
    this.#ended()
  }

  /** A layer of the application that reads the answer must not wait for more of it. */
  #disconnected(): void {
    if (this.#hasEnded) return
    this.#controller?.close()
    this.#ended()
  }

  #ended(): void {
    this.#hasEnded = true
    this.#onDrain?.(false)
    for (const ended of this.#onEnd.splice(0)) ended()
  }
}

function pairsOf(headers: HeaderList): [string, string][] {
  const pairs: [string, string][] = []
  for (let at = 0; at < headers.length; at += 2) pairs.push([headers[at] as string, headers[at + 1] as string])
  return pairs
}
