/** The handle of one stream. */
import { DurlogError } from '../errors.js'
import type { StreamCodec } from './encoding.js'
import { EntryKind } from './entry.js'
import { checkReadOptions, resolveAppendOptions } from './options.js'
import { bareItem, type Item, type Sequencer } from './sequencer.js'
import { type ReadContext, readStream } from './stream-reader.js'
import type {
  Stream,
  StreamAppendOptions,
  StreamAppendResult,
  StreamInfo,
  StreamReadOptions,
  StreamRecord,
} from './types.js'

/** The longest record in bytes. */
export const RECORD_MAX_BYTES: number = 8 << 20

export interface StreamContext extends ReadContext {
  sequencer: Sequencer
}

export class NamedStream<V> implements Stream<V> {
  readonly name: string
  readonly #context: StreamContext

  /** `name` has been checked. */
  constructor(context: StreamContext, name: string) {
    this.#context = context
    this.name = name
  }

  append(value: V, options?: StreamAppendOptions): Promise<StreamAppendResult> {
    try {
      const item = appendItem(this.#context.codec, this.name, value, options)
      return this.#context.sequencer.submit([item]).then(onlyResult)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  read(options?: StreamReadOptions): AsyncGenerator<StreamRecord<V>, void, undefined> {
    return readStream<V>(this.#context, this.name, checkReadOptions(options))
  }

  async end(): Promise<void> {
    await this.#context.sequencer.submit([bareItem(EntryKind.end, this.name)])
  }

  async delete(): Promise<boolean> {
    try {
      await this.#context.sequencer.submit([bareItem(EntryKind.delete, this.name)])
      return true
    } catch (error) {
      if ((error as DurlogError).code === 'ERR_DURLOG_NOT_FOUND') return false
      throw error
    }
  }

  async info(): Promise<StreamInfo | undefined> {
    this.#context.checkOpen()
    return infoOf(this.#context, this.name)
  }
}

/** Throws ERR_DURLOG_INVALID_ARGUMENT or ERR_DURLOG_RECORD_TOO_LARGE. */
export function appendItem(codec: StreamCodec, stream: string, value: unknown, options: unknown): Item {
  const encoded = codec.encode(value)
  // A character takes at most 3 bytes of UTF-8.
  if (3 * encoded.length > RECORD_MAX_BYTES && Buffer.byteLength(encoded) > RECORD_MAX_BYTES)
    throw new DurlogError(
      'ERR_DURLOG_RECORD_TOO_LARGE',
      `a record has at most ${RECORD_MAX_BYTES} bytes; got ${Buffer.byteLength(encoded)}: split it`,
    )
  const { expectedSeq, producer } = resolveAppendOptions(options)
  return { kind: EntryKind.append, stream, value: encoded, expectedSeq, producer }
}

/** What readers may know of the stream; undefined before its first record is visible. */
export function infoOf({ table, files }: ReadContext, name: string): StreamInfo | undefined {
  const state = table().find(name)
  if (state === undefined || state.visible === state.disk.first) return undefined
  const { disk, visible, endVisible } = state
  return {
    name,
    firstSeq: disk.first,
    nextSeq: visible,
    ended: endVisible,
    fileBytes: disk.bytes,
    path: files.records(name),
  }
}

function onlyResult([result]: readonly StreamAppendResult[]): StreamAppendResult {
  return result as StreamAppendResult
}
