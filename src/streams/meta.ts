/** The options that a stream is created with. They never change. */
import type { StreamEncoding, StreamForkPoint, StreamLimits } from './types.js'

export interface StreamMeta {
  readonly encoding: StreamEncoding
  /** As the creator wrote it; undefined: that of the encoding. */
  readonly contentType: string | undefined
  /** Milliseconds without an append or a read after which the stream is deleted. */
  readonly ttlMs: number | undefined
  readonly expiresAtMs: number | undefined
  readonly fork: StreamForkPoint | undefined
  readonly retention: StreamLimits | undefined
}

const CONTENT_TYPES: Record<StreamEncoding, string> = {
  json: 'application/json',
  text: 'text/plain; charset=utf-8',
  bytes: 'application/octet-stream',
}

const DEFAULTS: Record<StreamEncoding, StreamMeta> = {
  json: plainMeta('json'),
  text: plainMeta('text'),
  bytes: plainMeta('bytes'),
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

/** Of a stream that an append makes. */
export function defaultMeta(encoding: StreamEncoding): StreamMeta {
  return DEFAULTS[encoding]
}

export function contentTypeOf({ contentType, encoding }: StreamMeta): string {
  return contentType ?? CONTENT_TYPES[encoding]
}

/** A media type without its parameters, in lower case. */
export function mediaType(contentType: string): string {
  const end = contentType.indexOf(';')
  return (end === -1 ? contentType : contentType.slice(0, end)).trim().toLowerCase()
}

/** Whether a stream that is created with `a` is the one that was created with `b`. */
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

/** As JSON, in the log and in the catalog. */
export interface StoredMeta {
  encoding: StreamEncoding
  contentType?: string | undefined
  ttlMs?: number | undefined
  expiresAtMs?: number | undefined
  fork?: StreamForkPoint | undefined
  retention?: StreamLimits | undefined
}

export function loadedMeta(stored: StoredMeta): StreamMeta {
  const { encoding, contentType, ttlMs, expiresAtMs, fork, retention } = stored
  const options = [contentType, ttlMs, expiresAtMs, fork, retention]
  return options.every((option) => option === undefined)
    ? defaultMeta(encoding)
    : { encoding, contentType, ttlMs, expiresAtMs, fork, retention }
}

/** Whether the stream expires at some time. */
export function expires({ ttlMs, expiresAtMs }: StreamMeta): boolean {
  return ttlMs !== undefined || expiresAtMs !== undefined
}

/**
 * Milliseconds until the stream expires if it was used last at `usedMs` of `performance.now()`; Infinity if never. The system's clock
 * may be set, so `ttlMs` does not depend on it.
 */
export function lifeOf({ ttlMs, expiresAtMs }: StreamMeta, usedMs: number): number {
  const idle = ttlMs === undefined ? Number.POSITIVE_INFINITY : ttlMs - (performance.now() - usedMs)
  return expiresAtMs === undefined ? idle : Math.min(idle, expiresAtMs - Date.now())
}
