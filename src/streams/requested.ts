/** The calls that clients send to the owner. A request that is already stored is not stored again. */
import type { Group } from './access.js'
import { type CreationRequest, makeStream } from './creation.js'
import { checkStreamName } from './file-name.js'
import { appendItem, followingAppend, type StreamContext } from './items.js'
import { resolveBatch } from './options.js'
import { NamedStream } from './stream.js'
import type { Stream, StreamAppendResult, StreamBatchItem } from './types.js'

/** A group for the stream of this name that the entry at `created` created. */
export interface SentGroup extends Group {
  stream: string
  created: number
}

export class RequestedStreams<V> {
  readonly #context: StreamContext

  constructor(context: StreamContext, calls: Pick<StreamContext, 'append' | 'submit'>) {
    this.#context = { ...context, ...calls }
  }

  stream(name: string): Stream<V> {
    checkStreamName(name)
    return new NamedStream<V>(this.#context, name)
  }

  appendBatch(items: readonly StreamBatchItem<V>[]): Promise<StreamAppendResult[]> {
    return appendBatch(this.#context, items)
  }

  create(name: string, request: CreationRequest, values: readonly V[]): Promise<StreamAppendResult[]> {
    checkStreamName(name)
    return makeStream(this.#context, name, request, (creation) =>
      values.map((value) => followingAppend(creation, value)),
    )
  }
}

export async function appendBatch<V>(
  context: StreamContext,
  items: readonly StreamBatchItem<V>[],
): Promise<StreamAppendResult[]> {
  const appends = resolveBatch(items).map(({ stream, value, conditions }) => {
    context.removeExpired(stream)
    return appendItem(context, stream, value, conditions)
  })
  return context.submit(appends)
}
