/** Turns the answers of a store into errors: final ones are DurlogErrors, all others may be tried again. */
import { DurlogError, type DurlogErrorCode } from '../errors.js'

/** The condition of a write does not hold: `If-None-Match` of a name that exists, or `If-Match` of another version. */
export class ConditionFailed extends Error {}

/** A failure that another try may not meet. */
export class StoreFailure extends Error {
  /** Of the answer; undefined without one. */
  readonly status: number | undefined

  constructor(message: string, status?: number, options?: ErrorOptions) {
    super(message, options)
    this.status = status
  }
}

/** The error of a call that is not tried again. */
export function withoutRetry(error: unknown): unknown {
  if (!(error instanceof StoreFailure)) return error
  return new DurlogError('ERR_DURLOG_DESTINATION_UNREACHABLE', error.message, { cause: error })
}

/** Codes of S3 that mean an outdated token, which a function may replace. */
const EXPIRED = ['ExpiredToken', 'TokenRefreshRequired']

export interface Refusal {
  status: number
  /** Of the error in the body; '' without one. */
  code: string
  message: string
  /** Such as "PUT s3://bucket/key". */
  request: string
  /** The region that the store names instead. */
  region: string | undefined
}

/** The text of the first element `name` in `xml`. */
export function textOf(xml: string, name: string): string | undefined {
  const text = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1]
  return text?.replace(
    /&(amp|lt|gt|quot|apos|#\d+|#x[0-9a-fA-F]+);/g,
    (whole, entity: string) => characterOf(entity) ?? whole,
  )
}

function characterOf(entity: string): string | undefined {
  const named = ({ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" } as Record<string, string>)[entity]
  if (named !== undefined) return named
  const number = entity.startsWith('#x') ? Number.parseInt(entity.slice(2), 16) : Number(entity.slice(1))
  return Number.isInteger(number) && number <= 0x10ffff ? String.fromCodePoint(number) : undefined
}

export function refusalError(refusal: Refusal, renewable: boolean): Error {
  const { status, code, message, request } = refusal
  const text = `${request}: ${status}${code === '' ? '' : ` ${code}`}${message === '' ? '' : `: ${message}`}`
  if (status === 412) return new ConditionFailed(text)
  if (renewable && EXPIRED.includes(code)) return new StoreFailure(text, status)
  const final = finalCode(refusal)
  return final === undefined ? new StoreFailure(text, status) : new DurlogError(final, `${text}${remedyOf(refusal)}`)
}

function finalCode({ status, code }: Refusal): DurlogErrorCode | undefined {
  if (code === 'NoSuchBucket') return 'ERR_DURLOG_DESTINATION_MISSING'
  // 409: another write of the same name is in progress. 408 and 429: later. 404 of a write: a list or a proxy that lags.
  if (status === 408 || status === 409 || status === 425 || status === 429 || status === 404) return undefined
  if (code === 'RequestTimeout' || code === 'SlowDown') return undefined
  if (status === 501 || (status >= 300 && status < 500)) return 'ERR_DURLOG_DESTINATION_REFUSED'
  return undefined
}

function remedyOf({ status, code, region }: Refusal): string {
  if (code === 'NoSuchBucket') return '. Create the bucket, or correct its name'
  if (region !== undefined && (status === 301 || status === 307 || status === 400)) return `. Use the region ${region}`
  if (status === 403) return '. Check the credentials, their permissions and the clock'
  if (status === 501) return '. The store does not support a request that the archive needs; run "durlog doctor" on it'
  return ''
}
