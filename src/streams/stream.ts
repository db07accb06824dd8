/** The handle of one stream in the process that owns the folder. */
import { createStream } from './creation.js'
import { codecOf } from './encoding.js'
import { EntryKind } from './entry.js'
import { appendItem, bareItem, following, followingAppend, type StreamContext } from './items.js'
import { contentTypeOf } from './meta.js'
import { checkReadOptions, checkValues, resolveAppendOptions, resolveBatch, resolveEndOptions } from './options.js'
import { changeOf, type ReadContext, readStream } from './stream-reader.js'
import type {
  Stream,
  StreamAppendOptions,
  StreamAppendResult,
  StreamBatchItem,
  StreamCreateOptions,
  StreamEndOptions,
  StreamInfo,
  StreamReadOptions,
  StreamRecord,
} from './types.js'

export class NamedStream<V> implements Stream<V> {
  readonly name: string
  readonly #context: StreamContext

  /** `name` must have been checked. */
  constructor(context: StreamContext, name: string) {
    this.#context = context
    this.name = name
  }

  async create(options?: StreamCreateOptions<V>): Promise<boolean> {
    const results = await createStream(this.#context, this.name, options)
    return !(results[0] as StreamAppendResult).duplicate
  }

  append(value: V, options?: StreamAppendOptions): Promise<StreamAppendResult> {
    try {
      const conditions = resolveAppendOptions(options)
      this.#context.removeExpired(this.name)
      const item = appendItem(this.#context, this.name, value, conditions)
      if (conditions.end) return this.#context.submit([item, following(EntryKind.end, item)]).then(firstResult)
      return this.#context.append(item)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  async appendAll(values: readonly V[], options?: StreamAppendOptions): Promise<StreamAppendResult> {
    checkValues(values)
    const conditions = resolveAppendOptions(options)
    this.#context.removeExpired(this.name)
    const first = appendItem(this.#context, this.name, values[0], conditions)
    const items = [first]
    for (const value of values.slice(1)) items.push(followingAppend(first, value))
    if (conditions.end) items.push(following(EntryKind.end, first))
    return this.#context.submit(items).then(firstResult)
  }

  read(options?: StreamReadOptions): AsyncGenerator<StreamRecord<V>, void, undefined> {
    return readStream<V>(this.#context, this.name, checkReadOptions(options))
  }

  async end(options?: StreamEndOptions): Promise<void> {
    const { producer } = resolveEndOptions(options)
    this.#context.removeExpired(this.name)
    await this.#context.submit([{ ...bareItem(EntryKind.end, this.name), producer }])
  }

  async delete(): Promise<boolean> {
    this.#context.removeExpired(this.name)
    const results = await this.#context.submit([bareItem(EntryKind.delete, this.name)])
    return !(results[0] as StreamAppendResult).duplicate
  }

  async info(): Promise<StreamInfo | undefined> {
    const { checkOpen, table } = this.#context
    for (;;) {
      checkOpen()
      const info = infoOf(this.#context, this.name)
      if (info !== undefined || !table().isDeleting(this.name)) return info
      await changeOf(table(), this.name)
    }
  }
}

/** Appends the items of a batch, which may belong to several streams. */
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

/** Describes the stream as readers may see it; undefined if its first record or its creation is not visible yet. */
export function infoOf({ find, files }: ReadContext, name: string): StreamInfo | undefined {
  const state = find(name)
  if (state === undefined) return undefined
  const { disk, visible, endVisible, firstSeq, meta } = state
  return {
    name,
    firstSeq,
    nextSeq: visible,
    ended: endVisible,
    encoding: meta.encoding,
    contentType: contentTypeOf(meta),
    ttlMs: meta.ttlMs,
    expiresAt: meta.expiresAtMs,
    fork: meta.fork,
    retention: meta.retention,
    fileBytes: (disk.older ?? []).reduce((sum, { bytes }) => sum + bytes, disk.bytes),
    path: files.records(state.fileName(disk.first), codecOf(meta.encoding)),
  }
}

function firstResult([result]: readonly StreamAppendResult[]): StreamAppendResult {
  return result as StreamAppendResult
}
