/** Signs requests for a store. */
import { DurlogError } from '../errors.js'
import { loadOptional } from '../support/optional-package.js'
import type { ResolvedBucket } from './bucket-options.js'
import type { WireAnswer, WireRequest } from './piece-io.js'
import { StoreFailure } from './store-errors.js'
import type { S3Credentials } from './types.js'

/** The SHA-256 of an empty body. */
const EMPTY_SHA256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'
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
  #library: Aws4 | undefined
  #skewMs = 0

  constructor(options: ResolvedBucket) {
    this.#options = options
  }

  async sign(
    { method, key, query = {}, headers = {}, sha256 = EMPTY_SHA256 }: UnsignedRequest,
    signal: AbortSignal,
  ): Promise<SignedRequest> {
    this.#library ??= await loadSigning()
    const { credentials, region } = this.#options
    const given = typeof credentials === 'function' ? await askFor(credentials, signal) : credentials
    const { accessKeyId, secretAccessKey, sessionToken } = Object(given) as S3Credentials
    if (typeof accessKeyId !== 'string' || typeof secretAccessKey !== 'string')
      throw new DurlogError(
        'ERR_DURLOG_DESTINATION_REFUSED',
        'credentials() must return { accessKeyId, secretAccessKey, sessionToken? }',
      )
    const url = new URL(this.#options.url)
    const skewMs = this.#skewMs
    const signed = this.#library.sign(
      {
        method,
        host: url.host,
        path: `${url.pathname}${key.split('/').map(encodeURIComponent).join('/')}?${new URLSearchParams(query)}`,
        headers: {
          ...headers,
          'x-amz-content-sha256': sha256,
          'x-amz-date': new Date(Date.now() + skewMs).toISOString().replace(/[:-]|\.\d+/g, ''),
        },
        service: 's3',
        region,
      },
      { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) },
    )
    return { method, url: `${url.origin}${signed.path}`, headers: signed.headers as Record<string, string>, skewMs }
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

type Aws4 = typeof import('aws4')

/** Rejects with ERR_DURLOG_UNSUPPORTED if the package is not installed. */
async function loadSigning(): Promise<Aws4> {
  const needs = 'durlog/archive needs the package aws4, which signs requests'
  const { default: library } = await loadOptional(needs, 'aws4', () => import('aws4'))
  return library
}
