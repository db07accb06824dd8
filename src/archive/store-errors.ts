/**
 * Converts the error responses of a store to errors. A DurlogError is final; after any other error the request may be
 * repeated.
 */
import { DurlogError, type DurlogErrorCode } from '../errors.js'

/**
 * The condition of a write does not hold: `If-None-Match` for a name that exists, or `If-Match` for another version.
 */
export class ConditionFailed extends Error {}

/** A failure that may not happen again if the request is repeated. */
export class StoreFailure extends Error {
  /** The HTTP status; undefined if there was no response. */
  readonly status: number | undefined
  /** The pause that the store demands before the request is repeated; undefined if it demands none. */
  readonly retryAfterMs: number | undefined

  constructor(message: string, status?: number, options: ErrorOptions & { retryAfterMs?: number | undefined } = {}) {
    super(message, options)
    this.status = status
    this.retryAfterMs = options.retryAfterMs
  }
}

/** Converts the failure of a request that will not be repeated. */
export function withoutRetry(error: unknown): unknown {
  if (!(error instanceof StoreFailure)) return error
  return new DurlogError('ERR_DURLOG_DESTINATION_UNREACHABLE', error.message, { cause: error })
}

/** S3's codes for an outdated token, which a `credentials` function may replace. */
const EXPIRED = ['ExpiredToken', 'TokenRefreshRequired']

export interface ErrorResponse {
  status: number
  /** The code of the error in the response's body; '' if there is none. */
  code: string
  message: string
  /** The request, such as "PUT s3://bucket/key". */
  request: string
  /** Whether the request was a write with a condition. */
  isConditional: boolean
  /** The bucket's region, if the store reported it. */
  region: string | undefined
  /** The header Location of a redirect. */
  location: string | undefined
  /** The header Retry-After: seconds or a time. */
  retryAfter: string | undefined
  /** The time of the store's clock, in milliseconds since 1970. */
  timeMs: number
}

/** A store has no such error for a write or a list in a bucket that exists. */
export const CHECK_ENDPOINT = 'Check that the endpoint is the URL of an S3 store'

export function toStoreError(response: ErrorResponse, renewable: boolean): Error {
  const { status, code, message, request, isConditional } = response
  const text = `${request}: ${status}${code === '' ? '' : ` ${code}`}${message === '' ? '' : `: ${message}`}`
  if (status === 412 && isConditional) return new ConditionFailed(text)
  if (renewable && EXPIRED.includes(code)) return new StoreFailure(text, status)
  const final = finalCode(response)
  return final === undefined
    ? new StoreFailure(status === 404 ? withRemedy(text, CHECK_ENDPOINT) : text, status, {
        retryAfterMs: retryAfterOf(response),
      })
    : new DurlogError(final, withRemedy(text, remedyOf(response)))
}

function retryAfterOf({ retryAfter = '', timeMs }: ErrorResponse): number | undefined {
  const ms = /^\d+$/.test(retryAfter) ? Number(retryAfter) * 1000 : Date.parse(retryAfter) - timeMs
  return Number.isNaN(ms) ? undefined : ms
}

function finalCode({ status, code }: ErrorResponse): DurlogErrorCode | undefined {
  if (code === 'NoSuchBucket') return 'ERR_DURLOG_DESTINATION_MISSING'
  // 409: another write of the same name is in progress. 408, 425 and 429: the store asks the client to repeat the
  // request later. 404 for a write or a list: the bucket exists, but the view of a proxy or of the store is outdated.
  if (status === 408 || status === 409 || status === 425 || status === 429 || status === 404) return undefined
  if (code === 'RequestTimeout' || code === 'SlowDown') return undefined
  if (status === 501 || (status >= 300 && status < 500)) return 'ERR_DURLOG_DESTINATION_REFUSED'
  return undefined
}

/** The texts of most stores end with a full stop. */
function withRemedy(text: string, remedy: string): string {
  return remedy === '' ? text : `${text.replace(/\.$/, '')}. ${remedy}`
}

function remedyOf({ status, code, region, location }: ErrorResponse): string {
  if (code === 'NoSuchBucket') return 'Create the bucket, or correct its name'
  if (region !== undefined && (status === 301 || status === 307 || status === 400)) return `Use the region ${region}`
  if (location !== undefined) return `The store redirects to ${location}: correct the endpoint or the region`
  if (status === 403) return 'Check the credentials, their permissions and the clock'
  if (status === 501)
    return 'The store does not support a request that the archive needs; run "durlog doctor" with its URL'
  return ''
}
