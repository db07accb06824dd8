/** The options of a stream, which are fixed when it is created. */
import { invalidArgument } from '../../errors.js'
import { isWhole, shown } from '../../options/checks.js'
import { clock } from '../../timers.js'
import { isStreamName } from './file-name.js'
import type { StreamEncoding, StreamForkPoint, StreamLimits } from './types.js'

export interface StreamMeta {
  readonly encoding: StreamEncoding
  /** The text that the creator passed; undefined for the default of the encoding. */
  readonly contentType: string | undefined
  /** The stream is deleted after this many milliseconds without an append or a read. */
  readonly ttlMs: number | undefined
  /** The stream is deleted at this time, in milliseconds since 1970. */
  readonly expiresAtMs: number | undefined
  readonly fork: StreamForkPoint | undefined
  readonly retention: StreamLimits | undefined
}

const CONTENT_TYPES: Record<StreamEncoding, string> = {
  json: 'application/json',
  utf8: 'text/plain; charset=utf-8',
  buffer: 'application/octet-stream',
}

const DEFAULTS: Record<StreamEncoding, StreamMeta> = {
  json: plainMeta('json'),
  utf8: plainMeta('utf8'),
  buffer: plainMeta('buffer'),
}

function plainMeta(encoding: StreamEncoding): StreamMeta {
  return {
    encoding,
    contentType: undefined,
    ttlMs: undefined,
    expiresAtMs: undefined,
    fork: undefined,
    retention: undefined,
  }
}

/** The options of a stream that an append creates. */
export function defaultMeta(encoding: StreamEncoding): StreamMeta {
  return DEFAULTS[encoding]
}

export function contentTypeOf({ contentType, encoding }: StreamMeta): string {
  return contentType ?? CONTENT_TYPES[encoding]
}

const CONTENT_TYPE = /^[!#$%&'*+.^_`|~0-9a-z-]+\/[!#$%&'*+.^_`|~0-9a-z-]+[\t ]*(;[\t\x20-\x7e]*)?$/i
const CONTENT_TYPE_MAX_BYTES = 256

/** Checks the content type of a stream, which HTTP sends as a header. Throws ERR_DURLOG_INVALID_ARGUMENT. */
export function checkContentType(name: string, value: unknown): asserts value is string {
  if (!isContentType(value))
    throw invalidArgument(
      `${name} must be a media type such as application/json, of at most ${CONTENT_TYPE_MAX_BYTES} characters; got ${shown(value)}`,
    )
}

export function isContentType(value: unknown): value is string {
  return typeof value === 'string' && value.length <= CONTENT_TYPE_MAX_BYTES && CONTENT_TYPE.test(value)
}

/** The media type without its parameters, in lower case. */
export function mediaType(contentType: string): string {
  const end = contentType.indexOf(';')
  return (end === -1 ? contentType : contentType.slice(0, end)).trim().toLowerCase()
}

/** Whether the options are the same, so that creating a stream again is a duplicate. */
export function sameMeta(a: StreamMeta, b: StreamMeta): boolean {
  return (
    a.encoding === b.encoding &&
    mediaType(contentTypeOf(a)) === mediaType(contentTypeOf(b)) &&
    a.ttlMs === b.ttlMs &&
    a.expiresAtMs === b.expiresAtMs &&
    a.fork?.stream === b.fork?.stream &&
    a.fork?.seq === b.fork?.seq &&
    a.fork?.bytes === b.fork?.bytes &&
    a.retention?.maxRecords === b.retention?.maxRecords &&
    a.retention?.maxBytes === b.retention?.maxBytes &&
    a.retention?.maxAgeMs === b.retention?.maxAgeMs
  )
}

/** The options as JSON in the log and in the catalog. Members without a value are missing. */
export interface StoredMeta {
  encoding: StreamEncoding
  contentType?: string | undefined
  ttlMs?: number | undefined
  expiresAtMs?: number | undefined
  fork?: StreamForkPoint | undefined
  retention?: StreamLimits | undefined
}

/** Whether `value` is a StoredMeta. Another program, or another version of durlog, may have written it. */
export function isStoredMeta(value: unknown): value is StoredMeta {
  if (typeof value !== 'object' || value === null) return false
  const { encoding, contentType, ttlMs, expiresAtMs, fork, retention } = value as Record<keyof StoredMeta, unknown>
  const { stream, seq, bytes } = Object(fork) as Record<keyof StreamForkPoint, unknown>
  return (
    typeof encoding === 'string' &&
    Object.hasOwn(DEFAULTS, encoding) &&
    (contentType === undefined || typeof contentType === 'string') &&
    isAmount(ttlMs) &&
    isAmount(expiresAtMs) &&
    (fork === undefined || (isStreamName(stream) && isWhole(seq) && isWhole(bytes))) &&
    (retention === undefined || Object.values(Object(retention)).every(isAmount))
  )
}

/**
 * Whether `value` is missing, or a whole number. An amount may be greater than the integers that a number represents
 * exactly.
 */
function isAmount(value: unknown): boolean {
  return value === undefined || (Number.isInteger(value) && (value as number) >= 0)
}

export function loadedMeta(stored: StoredMeta): StreamMeta {
  const { encoding, contentType, ttlMs, expiresAtMs, fork, retention } = stored
  const options = [contentType, ttlMs, expiresAtMs, fork, retention]
  return options.every((option) => option === undefined)
    ? defaultMeta(encoding)
    : { encoding, contentType, ttlMs, expiresAtMs, fork, retention }
}

/** Whether the stream can expire. */
export function expires({ ttlMs, expiresAtMs }: StreamMeta): boolean {
  return ttlMs !== undefined || expiresAtMs !== undefined
}

/**
 * Milliseconds until a stream expires that was last used at `usedMs` by `clock.now()`; Infinity if it never
 * expires. The monotonic clock is used because changes of the system's clock must not affect `ttlMs`.
 */
export function lifeOf({ ttlMs, expiresAtMs }: StreamMeta, usedMs: number): number {
  const idle = ttlMs === undefined ? Number.POSITIVE_INFINITY : ttlMs - (clock.now() - usedMs)
  return expiresAtMs === undefined ? idle : Math.min(idle, expiresAtMs - Date.now())
}
