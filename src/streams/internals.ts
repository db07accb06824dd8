/** Lets `durlog/http` work on open streams without decoding values. */
import { invalidArgument } from '../errors.js'
import type { StreamContext } from './items.js'
import type { Streams } from './types.js'

const contexts = new WeakMap<object, StreamContext>()

export function provideInternals(streams: object, context: StreamContext): void {
  contexts.set(streams, context)
}

/** Throws ERR_DURLOG_INVALID_ARGUMENT unless `streams` was opened with `exclusive`. */
export function internalsOf(streams: Streams<never> | Streams<unknown>): StreamContext {
  const context = contexts.get(Object(streams))
  if (context === undefined)
    throw invalidArgument('streams must be what openStreams resolved to, with the option exclusive')
  return context
}
