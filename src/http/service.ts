/** The parts of a handler that its operations share. */
import type { ServedPort, StreamView } from '../streams/port/port.js'
import type { PacedWork } from '../support/paced-work.js'
import type { Turns } from '../support/turns.js'
import type { BodyMemory } from './body-memory.js'
import type { ClientLimits, Exchange, HeaderList } from './exchange.js'
import { badRequest, gone, HttpError, notFound } from './http-error.js'
import type { Live } from './live.js'
import { ANY_STREAM, parseOffset } from './offset.js'
import type { ResolvedHandlerOptions } from './options.js'
import type { Rights } from './types.js'

export interface Service {
  access: ServedPort
  options: ResolvedHandlerOptions
  live: Live
  /** For work that one event begins for many clients. */
  work: PacedWork
  /** Limits the concurrent reads of chunks for requests and for subscribers that catch up. */
  reads: Turns
  /** The memory of these reads. */
  memory: BodyMemory
  limits: ClientLimits
  /** The headers of every answer to the request. */
  headers: HeaderList
}

/** A request, and what its path and its rights mean. */
export interface HttpCall {
  readonly exchange: Exchange
  readonly path: string
  /** The path before the names of streams. */
  readonly prefix: string
  readonly query: string
  rights: Rights
  /** The full name of the stream, with its tenant. */
  name: string
  /** Answers the request with an error. */
  fail: (error: unknown) => void
}

/**
 * Returns `found`. Throws an HttpError with status 404 if it is undefined, and with 410 if the stream is kept for its
 * forks.
 */
export function existing(found: StreamView | undefined): StreamView {
  if (found === undefined) throw notFound()
  if (found.softDeleted) throw gone()
  return found
}

export function reply(
  { headers, live }: Service,
  { exchange }: Pick<HttpCall, 'exchange'>,
  status: number,
  own: HeaderList,
  body?: Buffer | string,
  sent?: () => void,
): void {
  for (const header of headers) own.push(header)
  if (live.isClosing) own.push('connection', 'close')
  exchange.reply(status, own, body, sent)
}

/**
 * Returns the seq of an offset in `stream`. Throws an HttpError: with status 400 if it is malformed, and with 410 if it
 * belongs to other data.
 */
export async function seqOf({ access }: Service, stream: StreamView, offset: string): Promise<number> {
  const parsed = parseOffset(offset)
  if (parsed === undefined) throw badRequest('the offset is malformed: use one that this server has returned')
  const { identity, seq } = parsed
  const isFirst = identity === ANY_STREAM && seq === 0
  if (!isFirst && identity !== access.identities.of(stream.created)) {
    const inherited = stream.meta.fork !== undefined && (await access.inherits(stream.name, identity, seq))
    if (!inherited) throw replaced()
  }
  // The record before it was lost, for example by a power cut at a durability below sync.
  if (seq > stream.visible) throw replaced()
  return seq
}

export function replaced(): HttpError {
  return new HttpError(
    410,
    'gone',
    'the offset belongs to data that was deleted or replaced since: read from offset=-1',
  )
}

/**
 * Throws an HttpError if the body of the request is compressed: its bytes would be stored as they are, without their
 * coding, which the readers need.
 */
export function refuseCoding(exchange: Exchange): void {
  const coding = exchange.header('content-encoding')
  if (coding !== undefined && coding.toLowerCase() !== 'identity')
    throw new HttpError(
      415,
      'unsupported-coding',
      'the body must not be compressed: send it without Content-Encoding',
      ['accept-encoding', 'identity'],
    )
}

/** Whether a header has the value `true`, in upper or lower case. */
export function isTrue(value: string | undefined): boolean {
  return value !== undefined && value.toLowerCase() === 'true'
}
