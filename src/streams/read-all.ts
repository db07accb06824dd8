/** Iterates over the records of all streams in the order of their positions, by reading the main log. */
import type { DurableCursor, Log, LogReader } from '../index.js'
import type { CommitOptions } from '../types.js'
import type { StreamCodec } from './encoding.js'
import { decodeEntry, EntryKind } from './entry.js'
import { checkCursorReadOptions } from './options.js'
import { TimeSlice } from './time-slice.js'
import type { CommittedRecord, StreamEncoding, StreamsCursor, StreamsReadOptions } from './types.js'

export interface ReadAllContext {
  log: Log
  codecOf(encoding: StreamEncoding): StreamCodec
  /** Whether the entry at `position` does not count. */
  isVoid(position: number): boolean
  /** Throws ERR_DURLOG_CLOSED if the folder is closed. */
  checkOpen(): void
  /** Deliver only records that are synced. */
  durableOnly: boolean
}

export function readAll<V>(
  context: ReadAllContext,
  { from, follow, signal }: StreamsReadOptions,
): AsyncGenerator<CommittedRecord<V>, void, undefined> {
  return committed(context, () => context.log.read({ from, follow, signal, durableOnly: context.durableOnly }))
}

/** A cursor of the main log that delivers records of streams. */
export class ReadAllCursor<V> implements StreamsCursor<V> {
  readonly #context: ReadAllContext
  readonly #cursor: DurableCursor

  constructor(context: ReadAllContext, cursor: DurableCursor) {
    this.#context = context
    this.#cursor = cursor
  }

  get name(): string {
    return this.#cursor.name
  }

  get position(): number {
    return this.#cursor.position
  }

  read(options?: Omit<StreamsReadOptions, 'from'>): AsyncGenerator<CommittedRecord<V>, void, undefined> {
    const { follow, signal } = checkCursorReadOptions(options)
    const { durableOnly } = this.#context
    return committed(this.#context, () => this.#cursor.read({ follow, signal, durableOnly }))
  }

  async commit(position: number, options?: CommitOptions): Promise<void> {
    this.#context.checkOpen()
    return this.#cursor.commit(position, options)
  }

  close(): Promise<void> {
    return this.#cursor.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

async function* committed<V>(
  context: ReadAllContext,
  read: () => LogReader,
): AsyncGenerator<CommittedRecord<V>, void, undefined> {
  const slice = new TimeSlice()
  context.checkOpen()
  for await (const { seq: position, data } of read()) {
    if (slice.isOver()) await slice.nextTurn()
    const { kind, stream, seq, timeMs, encoding, bytes, valueAt } = decodeEntry(data, position)
    if (kind !== EntryKind.append || context.isVoid(position)) continue
    const value = context.codecOf(encoding).decode(bytes.subarray(valueAt)) as V
    yield { stream, seq, value, timestamp: timeMs, position }
  }
}
