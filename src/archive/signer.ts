/** Signs requests for a store with AWS Signature Version 4. */
import { createHash, createHmac } from 'node:crypto'
import { DurlogError } from '../errors.js'
import type { ResolvedBucket } from './bucket-options.js'
import type { WireAnswer, WireRequest } from './piece-io.js'
import { StoreFailure } from './store-errors.js'
import type { S3Credentials } from './types.js'

/** The SHA-256 of an empty body. */
const EMPTY_SHA256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'
const ALGORITHM = 'AWS4-HMAC-SHA256'
/** A smaller difference between the clocks is no reason for a refusal: S3 accepts up to 15 minutes. */
const SKEW_MS = 5 * 60_000

export interface UnsignedRequest {
  method: string
  key: string
  query?: Record<string, string>
  headers?: Record<string, string>
  sha256?: string
}

export interface SignedRequest extends WireRequest {
  /** The difference between the store's clock and the local one, as assumed for the signature. */
  skewMs: number
}

export class Signer {
  readonly #options: ResolvedBucket
  /** The URL of the bucket. */
  readonly #base: URL
  /** The last signing key, and what it was made of. */
  #key: { of: string; bytes: Buffer } = { of: '', bytes: Buffer.alloc(0) }
  #skewMs = 0

  constructor(options: ResolvedBucket) {
    this.#options = options
    const base = new URL(options.url)
    base.pathname = base.pathname.replace(/[!'()*]/g, percentEncoded)
    this.#base = base
  }

  async sign(
    { method, key, query = {}, headers = {}, sha256 = EMPTY_SHA256 }: UnsignedRequest,
    signal: AbortSignal,
  ): Promise<SignedRequest> {
    const { credentials, region } = this.#options
    const given = typeof credentials === 'function' ? await askFor(credentials, signal) : credentials
    const { accessKeyId, secretAccessKey, sessionToken } = Object(given) as S3Credentials
    if (typeof accessKeyId !== 'string' || typeof secretAccessKey !== 'string')
      throw new DurlogError(
        'ERR_DURLOG_DESTINATION_REFUSED',
        'credentials() must return { accessKeyId, secretAccessKey, sessionToken? }',
      )
    const { host, origin, pathname } = this.#base
    const path = `${pathname}${key.split('/').map(encoded).join('/')}`
    const search = Object.entries(query)
      .sort(byName)
      .map((pair) => pair.map(encoded).join('='))
      .join('&')
    const skewMs = this.#skewMs
    const time = new Date(Date.now() + skewMs).toISOString().replace(/[:-]|\.\d+/g, '')
    const sent: Record<string, string> = {
      ...headers,
      'x-amz-content-sha256': sha256,
      'x-amz-date': time,
      ...(sessionToken !== undefined && { 'x-amz-security-token': sessionToken }),
    }
    // A proxy may change `range`.
    const signed = Object.entries({ ...sent, host })
      .filter(([name]) => name !== 'range')
      .sort(byName)
    const names = signed.map(([name]) => name).join(';')
    const lines = signed.map(([name, value]) => `${name}:${value.trim().replace(/\s+/g, ' ')}\n`).join('')
    const scope = `${time.slice(0, 8)}/${region}/s3/aws4_request`
    const request = hashOf(`${method}\n${path}\n${search}\n${lines}\n${names}\n${sha256}`)
    const signature = hmac(this.#keyOf(secretAccessKey, scope), `${ALGORITHM}\n${time}\n${scope}\n${request}`)
    sent['authorization'] =
      `${ALGORITHM} Credential=${accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature.toString('hex')}`
    return { method, url: `${origin}${path}${search && `?${search}`}`, headers: sent, skewMs }
  }

  /** The signing key for the day, the region and the service in `scope`. */
  #keyOf(secret: string, scope: string): Buffer {
    const of = `${scope} ${secret}`
    if (this.#key.of !== of) this.#key = { of, bytes: scope.split('/').reduce(hmac, Buffer.from(`AWS4${secret}`)) }
    return this.#key.bytes
  }

  /**
   * Adopts the store's clock if the store may have refused `request` because its signature has another time. Returns
   * whether the request should be signed and sent again.
   */
  adoptsClock(request: SignedRequest, { status, headers }: WireAnswer): boolean {
    const skewMs = Date.parse(headers.date ?? '') - Date.now()
    // The code RequestTimeTooSkewed is not required: a response to HEAD has no body.
    if (status !== 403 || !(Math.abs(skewMs - request.skewMs) >= SKEW_MS)) return false
    this.#skewMs = skewMs
    return true
  }
}

/** Calls `credentials`, which may fail, or not settle before `signal` is aborted. */
async function askFor(
  credentials: () => S3Credentials | Promise<S3Credentials>,
  signal: AbortSignal,
): Promise<S3Credentials> {
  let abort: () => void = () => {}
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(new Error(`no result of credentials(): ${(signal.reason as Error).message}`))
    signal.addEventListener('abort', abort, { once: true })
    if (signal.aborted) abort()
  })
  try {
    return await Promise.race([credentials(), aborted])
  } catch (cause) {
    if (cause instanceof DurlogError) throw cause
    // Any error of the caller's function, also a TypeError, is a failed request.
    throw new StoreFailure(`credentials() failed: ${(cause as Error)?.message}`, undefined, { cause })
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}

function byName([a]: [string, string], [b]: [string, string]): number {
  return a < b ? -1 : 1
}

/** Encodes each character except the unreserved ones of RFC 3986. */
function encoded(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, percentEncoded)
}

function percentEncoded(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`
}
