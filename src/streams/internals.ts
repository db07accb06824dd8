/** Lets `durlog/http` work on open streams without decoding values. */
import { invalidArgument } from '../errors.js'
import type { Item, Settle } from './call.js'
import type { StreamCodec } from './encoding.js'
import type { StreamContext } from './items.js'
import type { StreamState } from './state.js'
import type { StreamAppendResult, StreamEncoding, StreamRecord, Streams } from './types.js'

/** Where records are read. */
export interface Records<V> {
  /** Some visible records of `state` from `from` on, `maxBytes` if no more will be read; none if there is none, now or ever. */
  next(state: StreamState, from: number, maxBytes?: number): Promise<StreamRecord<V>[]>
  close(): Promise<void>
}

export interface OwnerContext extends StreamContext {
  records<V>(codecOf: (encoding: StreamEncoding) => StreamCodec): Records<V>
  /** As `append`, with a function in place of a promise. */
  appendThen(item: Item, settle: Settle<StreamAppendResult>): void
}

const contexts = new WeakMap<object, OwnerContext>()

export function provideInternals(streams: object, context: OwnerContext): void {
  contexts.set(streams, context)
}

/** Throws ERR_DURLOG_INVALID_ARGUMENT unless `streams` was opened with `exclusive`. */
export function internalsOf(streams: Streams<never> | Streams<unknown>): OwnerContext {
  const context = contexts.get(Object(streams))
  if (context === undefined)
    throw invalidArgument('streams must be what openStreams resolved to, with the option exclusive')
  return context
}
