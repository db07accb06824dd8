/** An open folder of streams in a process that shares it. Every call is sent to the owner. */
import { EventEmitter } from 'node:events'
import type { CursorOptions } from '../../index.js'
import { checkCursorName } from '../../options/cursor-options.js'
import { queueMicrotask } from '../../timers.js'
import { provideAccess } from '../access.js'
import { checkStreamName } from '../file-name.js'
import { FolderFiles } from '../folder-files.js'
import { encodeForAny } from '../items.js'
import { checkReadOptions, optionsOf, type ResolvedStreamsOptions, resolveBatch, resolvePrefix } from '../options.js'
import type {
  CommittedRecord,
  StreamAppendResult,
  StreamBatchItem,
  StreamChange,
  StreamEncoding,
  StreamInfo,
  Streams,
  StreamsCursor,
  StreamsEvents,
  StreamsReadOptions,
} from '../types.js'
import { Link } from './link.js'
import { receivedError, SubmitOp } from './messages.js'
import { OwnerHost } from './owner-host.js'
import { RemoteAccess } from './remote-access.js'
import { RemoteCursors, readAll } from './remote-cursor.js'
import { type RemoteContext, RemoteStream, receivedInfo, receivedValue } from './remote-stream.js'

export class RemoteStreams<V> extends EventEmitter<StreamsEvents> implements Streams<V> {
  readonly dir: string
  readonly changes: StreamChange[] = []
  readonly #host: OwnerHost
  readonly #link: Link
  readonly #context: RemoteContext
  readonly #access: RemoteAccess
  readonly #cursors: RemoteCursors<V>
  #encoding: StreamEncoding
  #closing: Promise<void> | undefined

  /** With `anyLevel`, the owner may use any durability. */
  constructor(dir: string, options: ResolvedStreamsOptions, anyLevel = false) {
    super()
    this.dir = dir
    this.#encoding = options.encoding
    const { durability, checkpointBytes, checkpointMs, create } = options
    const encoding = options.encodingNamed ? options.encoding : undefined
    this.#host = new OwnerHost(dir, { encoding, durability, checkpointBytes, checkpointMs, create })
    this.#link = new Link({
      dir,
      host: this.#host,
      durability: anyLevel ? undefined : durability,
      encoding,
      onWelcome: (welcome) => {
        this.#encoding = welcome.encoding
        this.#host.joined(welcome.durability)
        this.#cursors.reopen()
        this.changes.splice(0, this.changes.length, ...(welcome.changes as StreamChange[]))
      },
      onEvent: ({ name, value }) => this.#onEvent(name as keyof StreamsEvents, value),
      onStalled: (pid) => queueMicrotask(() => this.emit('stalled', { pid })),
    })
    this.#cursors = new RemoteCursors(this.#link)
    this.#context = { link: this.#link, encoding: () => this.#encoding }
    this.#access = new RemoteAccess(this.#link, new FolderFiles(dir))
    provideAccess(this, this.#access)
  }

  /** Connects to the owner, or becomes the owner and makes a checkpoint of the records that the log held. */
  async open(waitMs: number): Promise<void> {
    try {
      await this.#link.connect(waitMs)
      if (this.#host.owns) await this.#link.call({ op: 'checkpoint' }).catch(() => {})
    } catch (error) {
      await this.#link.close().catch(() => {})
      throw error
    }
  }

  /** The process that owns the folder. */
  get ownerPid(): number {
    return this.#link.ownerPid
  }

  /** The encoding of the folder. */
  get encoding(): StreamEncoding {
    return this.#encoding
  }

  stream<T extends V = V>(name: string): RemoteStream<T> {
    checkStreamName(name)
    return new RemoteStream<T>(this.#context, name)
  }

  async appendBatch(items: readonly StreamBatchItem<V>[]): Promise<StreamAppendResult[]> {
    const appends = resolveBatch(items)
    const values = appends.map(({ value }) => encodeForAny(value))
    const options = appends.map(({ stream, conditions }) => ({ stream, ...optionsOf(conditions) }))
    return this.#link.submit(SubmitOp.batch, '', values, options)
  }

  async *list(options?: { prefix?: string | undefined }): AsyncGenerator<StreamInfo, void, undefined> {
    const prefix = resolvePrefix(options)
    for await (const { value } of this.#link.read({ kind: 'list', prefix }).records(undefined))
      yield receivedInfo(receivedValue(value))
  }

  readAll(options?: StreamsReadOptions): AsyncGenerator<CommittedRecord<V>, void, undefined> {
    return readAll(this.#link, checkReadOptions(options))
  }

  cursor(name: string, options?: CursorOptions): Promise<StreamsCursor<V>> {
    return this.#cursors.open(name, options)
  }

  async removeCursor(name: string): Promise<void> {
    checkCursorName(name)
    await this.#link.call({ op: 'removeCursor', name })
  }

  async checkpoint(): Promise<void> {
    await this.#link.call({ op: 'checkpoint' })
  }

  close(): Promise<void> {
    this.#closing ??= this.#link.close().finally(() => this.#access.close())
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #onEvent(name: keyof StreamsEvents, value: unknown): void {
    if (name === 'changed') this.changes.push(value as StreamChange)
    const argument = name === 'checkpointFailed' ? receivedError(value) : value
    // In a microtask: an error that a listener throws is an uncaught exception, not an error of the connection.
    queueMicrotask(() => this.emit(name, ...([argument] as StreamsEvents[typeof name])))
  }
}
