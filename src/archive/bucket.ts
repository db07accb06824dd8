/** A bucket of an S3-compatible store. */
import { Buffer } from 'node:buffer'
import { DurlogError } from '../errors.js'
import { anySignal } from '../options/abort-signal.js'
import { parseWhole } from '../options/amounts.js'
import { isLasting } from '../ship/backoff.js'
import { timeoutSignal } from '../timers.js'
import type { ResolvedBucket } from './bucket-options.js'
import type { Metadata } from './piece.js'
import { send, type WireAnswer } from './piece-io.js'
import { PieceThread } from './piece-thread.js'
import { Signer, type UnsignedRequest } from './signer.js'
import { CHECK_ENDPOINT, ConditionFailed, StoreFailure, toStoreError } from './store-errors.js'
import { StoredFields } from './stored-fields.js'

/** A transfer that is slower than this times out. */
const SLOWEST_BYTES_PER_SECOND = 256 * 1024
/** No response that reports an error is longer. */
export const ERROR_BYTES = 65_536
/** A longer timeout would end at once. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1
const META = 'x-amz-meta-durlog-'

export interface StoredObject {
  body: Buffer
  etag: string
  /** As the store has sent it: see StoredFields. */
  metadata: Metadata
}

export interface ListedObject {
  key: string
  size: number
}

/** The longest list that is read: of an archive of 64 TiB, if segments have 64 MiB. Each entry takes memory. */
const LISTED_OBJECTS = 2 ** 20
/** After this many pages without a new entry, a list counts as endless. */
const PAGES_WITHOUT_ENTRY = 100

/** The condition under which a write takes effect. */
export type Condition = { ifAbsent: true } | { ifMatch: string }

interface PutOptions {
  sha256: string
  metadata?: Metadata
  condition?: Condition | undefined
  /** Ends the request, in addition to the signal of the bucket. It may still take effect. */
  signal?: AbortSignal | undefined
}

interface BucketRequest extends UnsignedRequest {
  method: 'GET' | 'PUT' | 'HEAD' | 'DELETE'
  body?: Uint8Array | PieceThread
  /** The expected length of the response's body, for the timeout. */
  bytes?: number
  /** The memory for the response's body. */
  into?: Buffer | undefined
  /** Ends the request, in addition to the signal of the bucket. */
  signal?: AbortSignal | undefined
}

export class Bucket {
  readonly #options: ResolvedBucket
  readonly #signer: Signer
  readonly #signal: AbortSignal | undefined

  /** Aborting `signal` ends every request. The keys that the methods take and return include the prefix. */
  constructor(options: ResolvedBucket, signal?: AbortSignal) {
    this.#options = options
    this.#signer = new Signer(options)
    this.#signal = signal
  }

  /** The URL of the bucket for requests. */
  get url(): string {
    return this.#options.url
  }

  get prefix(): string {
    return this.#options.prefix
  }

  /** Returns `s3://bucket/key`, for messages. */
  urlOf(key: string): string {
    return `s3://${this.#options.name}/${key}`
  }

  /**
   * Stores an object whose SHA-256 is `sha256`, and returns its ETag. Throws ConditionFailed if the condition does not
   * hold.
   */
  async put(
    key: string,
    body: Uint8Array | PieceThread,
    { sha256, metadata = {}, condition, signal }: PutOptions,
  ): Promise<string> {
    const headers: Record<string, string> = {}
    for (const [name, value] of Object.entries(metadata)) headers[`${META}${name}`] = value
    if (condition !== undefined && 'ifAbsent' in condition) headers['if-none-match'] = '*'
    if (condition !== undefined && 'ifMatch' in condition) headers['if-match'] = condition.ifMatch
    const { status, headers: answer } = await this.#call({ method: 'PUT', key, headers, body, sha256, signal })
    // A store answers `If-Match` for a key that does not exist with 404.
    if (status !== 404) return answer.etag ?? ''
    const message = `PUT ${this.urlOf(key)}: 404. ${CHECK_ENDPOINT}`
    throw condition !== undefined && 'ifMatch' in condition
      ? new ConditionFailed(message)
      : new StoreFailure(message, 404)
  }

  /**
   * Reads an object, or `length` bytes of it from `offset`, into the memory `into` if that is given. Undefined if there
   * is no such object.
   */
  async get(
    key: string,
    range?: { offset: number; length: number; into?: Buffer; signal?: AbortSignal | undefined },
  ): Promise<StoredObject | undefined> {
    const headers: Record<string, string> =
      range === undefined ? {} : { range: `bytes=${range.offset}-${range.offset + range.length - 1}` }
    const response = await this.#call({
      method: 'GET',
      key,
      headers,
      bytes: range?.length ?? 2 ** 20,
      into: range?.into,
      signal: range?.signal,
    })
    if (response.status === 404) return undefined
    const { length } = response.body
    if (range !== undefined && length !== range.length)
      throw new StoreFailure(`${this.urlOf(key)}: a read of ${range.length} bytes got ${length}`, response.status)
    return toObject(response)
  }

  /** Reads an object of `bytes` bytes. */
  getWhole({ key, bytes }: { key: string; bytes: number }): Promise<StoredObject | undefined> {
    const into = Buffer.allocUnsafeSlow(Math.max(bytes, ERROR_BYTES))
    return this.get(key, { offset: 0, length: bytes, into })
  }

  /** Reads an object whose body is JSON, and converts it. Undefined if there is no such object. */
  async getJson<Value>(
    key: string,
    convert: (fields: StoredFields) => Value,
  ): Promise<{ value: Value; etag: string } | undefined> {
    const object = await this.get(key)
    if (object === undefined) return undefined
    const { body, etag } = object
    const url = this.urlOf(key)
    if (etag === '') throw new StoreFailure(`${url}: the response has no ETag`)
    return { value: convert(this.fieldsIn(key, body)), etag }
  }

  /** The fields of the JSON in `body`, a part of an object. Throws StoreFailure if it is not JSON. */
  fieldsIn(key: string, body: Buffer): StoredFields {
    const url = this.urlOf(key)
    return new StoredFields(url, parseJson(url, body))
  }

  /** Reads the metadata of an object. Undefined if there is no such object. */
  async head(key: string): Promise<Metadata | undefined> {
    const response = await this.#call({ method: 'HEAD', key })
    return response.status === 404 ? undefined : toObject(response).metadata
  }

  async delete(key: string): Promise<void> {
    await this.#call({ method: 'DELETE', key })
  }

  /**
   * Lists the objects whose key begins with `prefix`, in the order of their keys. With `from`, leaves out keys that are
   * much lower than this one, if the store supports that.
   */
  async list(prefix: string, from?: string): Promise<ListedObject[]> {
    const sizes = new Map<string, number>()
    // A list begins after a key. A key without its last digit is lower than the key.
    for await (const xml of this.#pages(
      prefix,
      from === undefined ? {} : { 'start-after': from.slice(0, -1) },
      sizes,
    )) {
      for (const entry of elementsOf(xml, 'Contents')) {
        const key = textOf(entry, 'Key')
        const size = parseWhole(textOf(entry, 'Size') ?? '')
        if (key?.startsWith(prefix) !== true || size === undefined)
          throw new StoreFailure(`listing ${this.urlOf(prefix)}: the response has an entry without a key or a size`)
        sizes.set(key, size)
      }
    }
    // Sorts by code unit, as S3 does: not every store sorts, and a key may be on two pages.
    const found = Array.from(sizes, ([key, size]) => ({ key, size }))
    return found.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
  }

  /** Lists the names of the folders directly below `prefix`, which is empty or ends with a slash. */
  async folders(prefix: string): Promise<string[]> {
    const found = new Set<string>()
    for await (const xml of this.#pages(prefix, { delimiter: '/' }, found)) {
      for (const entry of elementsOf(xml, 'CommonPrefixes')) {
        const key = textOf(entry, 'Prefix')
        if (key !== undefined) found.add(key.slice(prefix.length, -1))
      }
    }
    return [...found].sort()
  }

  /** Yields the pages of a list. The caller adds their entries to `found`, which bounds the number of pages. */
  async *#pages(prefix: string, more: Record<string, string>, found: { size: number }): AsyncGenerator<string> {
    let emptyPages = 0
    for (let token: string | undefined; ; ) {
      const query: Record<string, string> = { 'list-type': '2', prefix, ...more }
      if (token !== undefined) query['continuation-token'] = token
      const { body } = await this.#call({ method: 'GET', key: '', query, bytes: 2 ** 20 })
      const xml = body.toString('utf8')
      // Not every proxy and store sends the length of a response, so a connection that was lost may look like the end
      // of the list.
      if (!xml.includes('</ListBucketResult>'))
        throw new StoreFailure(`listing ${this.urlOf(prefix)}: the response is incomplete, or no list of objects`, 200)
      const before = found.size
      yield xml
      emptyPages = found.size === before ? emptyPages + 1 : 0
      if (found.size > LISTED_OBJECTS || emptyPages > PAGES_WITHOUT_ENTRY)
        throw new DurlogError(
          'ERR_DURLOG_DESTINATION_REFUSED',
          `listing ${this.urlOf(prefix)}: the list does not end, or has more than ${LISTED_OBJECTS} entries`,
        )
      if (textOf(xml, 'IsTruncated') !== 'true') return
      const next = textOf(xml, 'NextContinuationToken')
      if (next === undefined || next === token)
        throw new StoreFailure(
          `listing ${this.urlOf(prefix)}: the response is truncated, but does not name the next page`,
        )
      token = next
    }
  }

  /** Sends a request. Returns the response if it is a success, or 404 for a key; throws otherwise. */
  async #call(call: BucketRequest): Promise<WireAnswer> {
    const { method, key, body, bytes = 0, into } = call
    const request = `${method} ${this.urlOf(key)}`
    const ms = this.#options.timeoutMs + ((bytes + (body?.length ?? 0)) * 1000) / SLOWEST_BYTES_PER_SECOND
    const timeout = timeoutSignal(Math.min(Math.ceil(ms), LONGEST_TIMEOUT_MS))
    const { signal, forget } = anySignal([timeout, this.#signal, call.signal])
    let response: WireAnswer
    try {
      for (let isRepeated = false; ; isRepeated = true) {
        const signed = await this.#signer.sign(call, signal)
        response = await (body instanceof PieceThread ? body.send(signed, signal) : send(signed, body, signal, into))
        // Repeated once, because the servers of a store may have different clocks.
        if (isRepeated || !this.#signer.adoptsClock(signed, response)) break
      }
    } catch (error) {
      this.#signal?.throwIfAborted()
      if (error instanceof DurlogError || isLasting(error)) throw error
      // If Node fails to connect to any of several addresses, its error has a code but no message.
      const { message, code } = error as NodeJS.ErrnoException
      throw new StoreFailure(`${request}: ${message || code}`, undefined, { cause: error })
    } finally {
      forget()
    }
    const { status, headers, body: answer } = response
    const isSuccess = status >= 200 && status < 300
    if (isSuccess && method !== 'PUT') return response
    const xml = answer.toString('utf8')
    const code = textOf(xml, 'Code') ?? ''
    // Some stores and proxies report an error of a write in the body of a response with status 200.
    if (isSuccess && code === '') return response
    if (status === 404 && code !== 'NoSuchBucket' && key !== '') return response
    throw toStoreError(
      {
        status,
        code,
        message: textOf(xml, 'Message') ?? '',
        request,
        isConditional: Object.keys(call.headers ?? {}).some((name) => name.startsWith('if-')),
        region: headers['x-amz-bucket-region'] as string | undefined,
        location: headers.location,
        retryAfter: headers['retry-after'],
        timeMs: Date.parse(headers.date ?? ''),
      },
      typeof this.#options.credentials === 'function',
    )
  }
}

function parseJson(url: string, body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch (cause) {
    const { message } = cause as Error
    throw new StoreFailure(`${url} is incomplete or damaged: ${message}`, undefined, { cause })
  }
}

function toObject({ headers, body }: WireAnswer): StoredObject {
  const metadata: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (name.startsWith(META)) metadata[name.slice(META.length)] = value as string
  }
  return { body, etag: headers.etag ?? '', metadata }
}

/** Returns the contents of the elements `name` in `xml`, none of which holds another element of that name. */
function elementsOf(xml: string, name: string): string[] {
  const found: string[] = []
  for (const part of xml.split(`<${name}>`).slice(1)) {
    const end = part.indexOf(`</${name}>`)
    if (end !== -1) found.push(part.slice(0, end))
  }
  return found
}

/** Returns the text of the first element `name` in `xml`; undefined if it holds other elements. */
function textOf(xml: string, name: string): string | undefined {
  const begin = xml.indexOf(`<${name}>`) + name.length + 2
  const end = xml.indexOf('<', begin)
  if (begin < name.length + 2 || !xml.startsWith(`</${name}>`, end)) return undefined
  return xml
    .slice(begin, end)
    .replace(
      /&(amp|lt|gt|quot|apos|#\d{1,7}|#x[0-9a-fA-F]{1,6});/g,
      (whole, entity: string) => characterOf(entity) ?? whole,
    )
}

function characterOf(entity: string): string | undefined {
  const named = ({ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" } as Record<string, string>)[entity]
  if (named !== undefined) return named
  const number = entity.startsWith('#x') ? Number.parseInt(entity.slice(2), 16) : Number(entity.slice(1))
  return number <= 0x10ffff ? String.fromCodePoint(number) : undefined
}
