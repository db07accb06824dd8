/** The parts of a handler that its operations share. */
import type { StreamsAccess, StreamView } from '../streams/access.js'
import type { Turns } from '../turns.js'
import type { ClientLimits, Exchange, HeaderList } from './exchange.js'
import type { Live } from './live.js'
import { seqOfOffset } from './offset.js'
import type { ResolvedHandlerOptions } from './options.js'
import { badRequest, gone, notFound } from './refusal.js'
import type { Rights } from './types.js'

export interface Service {
  access: StreamsAccess
  options: ResolvedHandlerOptions
  live: Live
  /** Reads of chunks for single clients. */
  reads: Turns
  limits: ClientLimits
  /** Headers of every answer to the request. */
  headers: HeaderList
}

/** One request. */
export interface Call {
  readonly exchange: Exchange
  readonly path: string
  readonly query: string
  rights: Rights
  /** The beginning of the names of the tenant's streams. */
  scope: string
  /** The stream's name, with its tenant. */
  name: string
  /** Answers the request with an error. */
  readonly fail: (error: unknown) => void
}

/** Throws a Refusal of 404, or of 410 if the stream is kept for its forks. */
export function existing(found: StreamView | undefined): StreamView {
  if (found === undefined) throw notFound()
  if (found.gone) throw gone()
  return found
}

export function reply(
  { headers, live }: Service,
  { exchange }: Pick<Call, 'exchange'>,
  status: number,
  own: HeaderList,
  body?: Buffer | string,
): void {
  for (const header of headers) own.push(header)
  if (live.isClosing) own.push('connection', 'close')
  exchange.reply(status, own, body)
}

/** Throws a Refusal of 400. */
export function seqOf(offset: string): number {
  const seq = seqOfOffset(offset)
  if (seq === undefined) throw badRequest('the offset is malformed: use one that this server has returned')
  return seq
}

/** Only `true`, in any case, counts. */
export function isTrue(value: string | undefined): boolean {
  return value !== undefined && value.toLowerCase() === 'true'
}
