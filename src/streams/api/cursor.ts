/** A cursor of the folder's main log that delivers records of streams. */
import { atCaller } from '../../caller-stack.js'
import { DurlogError, isCode } from '../../errors.js'
import type { CommitOptions } from '../../index.js'
import { abortable, anySignal } from '../../options/abort-signal.js'
import { checkSeq } from '../../options/call-options.js'
import { resolveCommitOptions } from '../../options/cursor-options.js'
import { BatchReader } from '../../reader/batch-reader.js'
import type { RecordReader } from '../../types.js'
import { resolveCursorReadOptions } from '../port/options.js'
import type { Batches, PortCursor, ReadBounds, StreamsPort } from '../port/port.js'
import type { CommittedRecord, StreamsCursor, StreamsReadOptions } from '../port/types.js'

/**
 * Reads records of all streams. When the folder or the cursor is closed, followers end, as those of a log do, and other
 * readers fail. A call of `read` fails if it is closed already.
 */
export async function* untilClosed<T>(
  read: (signal: AbortSignal) => Batches<T>,
  { follow }: Pick<ReadBounds, 'follow'>,
  signal: AbortSignal,
): Batches<T> {
  const batches = read(signal)
  try {
    yield* batches
  } catch (error) {
    if (signal.aborted || !follow || !isCode(error, 'ERR_DURLOG_CLOSED')) throw error
  }
}

export class AllCursor<V> implements StreamsCursor<V> {
  readonly name: string
  readonly #port: StreamsPort
  readonly #cursor: PortCursor
  readonly #onClosed: () => void
  /** Ends its readers. */
  readonly #closed = new AbortController()
  #closing: Promise<void> | undefined

  constructor(port: StreamsPort, name: string, cursor: PortCursor, onClosed: () => void) {
    this.name = name
    this.#port = port
    this.#cursor = cursor
    this.#onClosed = onClosed
  }

  get position(): number {
    return this.#cursor.position
  }

  read(options?: Omit<StreamsReadOptions, 'from'>): RecordReader<CommittedRecord<V>> {
    const { range, signal } = resolveCursorReadOptions(options)
    return new BatchReader((stop) => untilClosed((until) => this.#read(range, until), range, stop), signal)
  }

  async *#read(range: ReadBounds, stop: AbortSignal): Batches<CommittedRecord<V>> {
    this.#checkOpen()
    const { signal, forget } = anySignal([stop, this.#closed.signal])
    try {
      yield* this.#cursor.read(range, signal) as Batches<CommittedRecord<V>>
    } finally {
      forget()
    }
  }

  async commit(position: number, options?: CommitOptions): Promise<void> {
    checkSeq('seq', position)
    const { durability, signal } = resolveCommitOptions(options)
    this.#checkOpen()
    await atCaller(abortable(signal, () => this.#cursor.commit(position, { durability })))
  }

  close(): Promise<void> {
    if (this.#closing === undefined) {
      this.#closing = this.#cursor.close().finally(this.#onClosed)
      this.#closed.abort(this.#closedError())
    }
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #checkOpen(): void {
    this.#port.checkOpen()
    if (this.#closing !== undefined) throw this.#closedError()
  }

  #closedError(): DurlogError {
    return new DurlogError('ERR_DURLOG_CLOSED', `the cursor "${this.name}" has been closed; open it again`)
  }
}
