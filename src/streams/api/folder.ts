/** An open folder of streams: checks the options of calls, encodes values, and gives errors the stacks of the calls. */
import { EventEmitter } from 'node:events'
import process from 'node:process'
import { atCaller } from '../../caller-stack.js'
import { DurlogError } from '../../errors.js'
import type { CursorOptions, WaitOptions } from '../../index.js'
import { abortable, resolveWait } from '../../options/abort-signal.js'
import { checkCursorName, resolveCursorOptions } from '../../options/cursor-options.js'
import { BatchReader } from '../../reader/batch-reader.js'
import { queueMicrotask } from '../../timers.js'
import type { RecordReader } from '../../types.js'
import { encodeForAny } from '../port/encoding.js'
import { checkStreamName } from '../port/file-name.js'
import { resolveBatch, resolveListOptions, resolveReadAllOptions } from '../port/options.js'
import { type Batches, type PortCursor, providePort, type StreamsPort } from '../port/port.js'
import type {
  CommittedRecord,
  StreamAppendResult,
  StreamBatchItem,
  StreamChange,
  StreamEncoding,
  StreamInfo,
  StreamListOptions,
  Streams,
  StreamsCursor,
  StreamsEvents,
  StreamsReadOptions,
} from '../port/types.js'
import { AllCursor, untilClosed } from './cursor.js'
import { NamedStream } from './stream.js'

export class Folder<V> extends EventEmitter<StreamsEvents> implements Streams<V> {
  readonly dir: string
  readonly #port: StreamsPort
  /** The names of the cursors that are open, being opened or being closed. */
  readonly #cursors = new Set<string>()

  constructor(port: StreamsPort) {
    super()
    this.dir = port.dir
    this.#port = port
    // In a microtask: an error that a listener throws is an uncaught exception, not an error of a checkpoint or a
    // socket.
    port.onEvent = (name, ...args) => queueMicrotask(() => this.emit(name, ...(args as never)))
    providePort(this, port)
  }

  get changes(): readonly StreamChange[] {
    return this.#port.changes
  }

  /** The encoding of the folder. */
  get encoding(): StreamEncoding {
    return this.#port.encoding
  }

  /** The process that owns the folder. */
  get ownerPid(): number {
    return this.#port.ownerPid
  }

  stream<T extends V = V>(name: string): NamedStream<T> {
    checkStreamName(name)
    return new NamedStream<T>(this.#port, name)
  }

  async appendBatch(items: readonly StreamBatchItem<V>[], options?: WaitOptions): Promise<StreamAppendResult[]> {
    const signal = resolveWait('batch', options)
    const groups = resolveBatch(items).map(({ stream, value, conditions }) => {
      return { stream, created: undefined, values: encodeForAny(value), conditions }
    })
    return await atCaller(abortable(signal, () => this.#port.appendBatch(groups)))
  }

  list(options?: StreamListOptions): RecordReader<StreamInfo> {
    const { prefix, signal } = resolveListOptions(options)
    return new BatchReader((stop) => this.#port.infos(prefix, stop), signal)
  }

  readAll(options?: StreamsReadOptions): RecordReader<CommittedRecord<V>> {
    const { range, signal } = resolveReadAllOptions(options)
    const read = (stop: AbortSignal): Batches<CommittedRecord<V>> => {
      this.#port.checkOpen()
      return this.#port.readAll(range, stop) as Batches<CommittedRecord<V>>
    }
    return new BatchReader((stop) => untilClosed(read, range, stop), signal)
  }

  async cursor(name: string, options?: CursorOptions): Promise<StreamsCursor<V>> {
    checkCursorName(name)
    const { signal, ...given } = resolveCursorOptions(options)
    this.#port.checkOpen()
    if (this.#cursors.has(name))
      throw new DurlogError(
        'ERR_DURLOG_LOCKED',
        `the cursor "${name}" is already open in this process: close it first`,
        {
          ownerPid: process.pid,
        },
      )
    signal?.throwIfAborted()
    const onClosed = (): void => void this.#cursors.delete(name)
    const open = (): Promise<PortCursor> =>
      this.#port.cursor(name, given).catch((error) => {
        onClosed()
        throw error
      })
    const drop = (late: PortCursor): void => {
      late
        .close()
        .catch(() => {})
        .finally(onClosed)
    }
    this.#cursors.add(name)
    return new AllCursor<V>(this.#port, name, await atCaller(abortable(signal, open, drop)), onClosed)
  }

  async removeCursor(name: string): Promise<void> {
    checkCursorName(name)
    await atCaller(this.#port.removeCursor(name))
  }

  async checkpoint(options?: WaitOptions): Promise<void> {
    await atCaller(abortable(resolveWait('checkpoint', options), () => this.#port.checkpoint()))
  }

  close(): Promise<void> {
    return this.#port.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}
