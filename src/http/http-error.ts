/** The errors of requests, as HTTP statuses. */
import { DurlogError } from '../errors.js'
import type { HeaderList } from './exchange.js'

/** Thrown to answer a request with an error. */
export class HttpError extends Error {
  readonly status: number
  readonly code: string
  readonly headers: HeaderList

  constructor(status: number, code: string, message: string, headers: HeaderList = []) {
    super(message)
    this.status = status
    this.code = code
    this.headers = headers
  }
}

export function badRequest(message: string): HttpError {
  return new HttpError(400, 'bad-request', message)
}

export function notFound(): HttpError {
  return new HttpError(404, 'not-found', 'the stream does not exist')
}

export function gone(): HttpError {
  return new HttpError(410, 'gone', 'the stream was deleted and is kept for its forks')
}

export function conflict(message: string, headers: HeaderList = []): HttpError {
  return new HttpError(409, 'conflict', message, headers)
}

export function closedStream(nextOffset: string): HttpError {
  const headers = ['stream-closed', 'true', 'stream-next-offset', nextOffset]
  return new HttpError(409, 'stream-closed', 'the stream is closed', headers)
}

export function busy(message: string, seconds = 1): HttpError {
  return new HttpError(503, 'busy', message, ['retry-after', String(seconds)])
}

export function tooMany(message: string, seconds = 10): HttpError {
  return new HttpError(429, 'too-many', message, ['retry-after', String(seconds)])
}

/** The body is lost, so this is an error of the application. */
export function alreadyRead(): Error {
  return new Error(
    'the body of a request was read before the handler of durlog/http got it: install the handler before parsers of bodies',
  )
}

/** Returns the answer for an error of the streams. A message that may contain a path of this machine is replaced. */
export function toHttpError(error: unknown): HttpError {
  if (error instanceof HttpError) return error
  if (!(error instanceof DurlogError)) return internal()
  const { code, message, epoch } = error
  switch (code) {
    case 'ERR_DURLOG_NOT_FOUND':
      return notFound()
    case 'ERR_DURLOG_STREAM_DELETED':
      return gone()
    case 'ERR_DURLOG_STREAM_EXISTS':
    case 'ERR_DURLOG_SEQ_CONFLICT':
    // If the stream still existed, `append` would have said where it ends.
    case 'ERR_DURLOG_STREAM_ENDED':
      return conflict(message)
    case 'ERR_DURLOG_PRODUCER_FENCED':
      return new HttpError(403, 'stale-epoch', message, ['producer-epoch', String(epoch)])
    case 'ERR_DURLOG_INVALID_ARGUMENT':
    case 'ERR_DURLOG_OUT_OF_RANGE':
    case 'ERR_DURLOG_PRODUCER_GAP':
      return badRequest(message)
    case 'ERR_DURLOG_RECORD_TOO_LARGE':
    case 'ERR_DURLOG_BATCH_TOO_LARGE':
      return new HttpError(413, 'too-large', 'the body is too large for one append: split it')
    case 'ERR_DURLOG_NO_SPACE':
    case 'ERR_DURLOG_TOO_MANY_FILES':
    case 'ERR_DURLOG_OUT_OF_MEMORY':
    case 'ERR_DURLOG_BACKPRESSURE':
    case 'ERR_DURLOG_STALLED':
      return busy(
        'the server has too little disk space, memory or file descriptors, or is stalled: repeat the request later',
        5,
      )
    case 'ERR_DURLOG_SYNC_FAILED':
    case 'ERR_DURLOG_FILE_CHANGED':
    case 'ERR_DURLOG_LATCHED':
    case 'ERR_DURLOG_CLOSED':
    case 'ERR_DURLOG_LOCKED':
      return busy(
        'the streams are closed or their device has failed: repeat the request later; an append may be stored already',
        10,
      )
    case 'ERR_DURLOG_NOT_REPLICATED':
      return new HttpError(503, 'not-replicated', NOT_REPLICATED, ['retry-after', '1'])
    case 'ERR_DURLOG_FENCED':
      return new HttpError(503, 'fenced', FENCED, ['retry-after', '1'])
    default:
      return internal()
  }
}

const NOT_REPLICATED =
  'the destination of the streams has not acknowledged the append, which may be stored: repeat the request later'
const FENCED =
  'another server has taken over these streams: repeat the request there. An append that was sent before may be stored already'

/** The names of streams in messages for a client do not contain its tenant, as those in its requests. */
export function withoutScope(error: unknown, scope: string): unknown {
  if (scope === '') return error
  const { status, code, message, headers } = toHttpError(error)
  const own = message.replaceAll(`"${scope}`, '"')
  return own === message ? error : new HttpError(status, code, own, headers)
}

function internal(): HttpError {
  return new HttpError(
    500,
    'internal',
    'the server failed to answer the request: its operator finds the reason in its warnings',
  )
}
