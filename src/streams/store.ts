/** An open folder of streams in the process (or thread) that owns it. */

import { EventEmitter } from 'node:events'
import { closedStreamsError, type DurlogError } from '../errors.js'
import type { CursorOptions } from '../index.js'
import { clearTimeout, queueMicrotask, setTimeout } from '../timers.js'
import { type AddressedGroup, provideAccess } from './access.js'
import { readBody } from './body-source.js'
import type { Settle } from './call.js'
import { type CheckpointContext, Checkpointer, dueBytes } from './checkpoint.js'
import { checkpointError, logChangedError } from './checkpoint-errors.js'
import type { DedupTable, RequestId } from './dedup-table.js'
import { Expiry } from './expiry.js'
import { checkStreamName } from './file-name.js'
import { groupItems, type StreamContext } from './items.js'
import type { OpenFolder } from './open-folder.js'
import { checkReadOptions, type ResolvedStreamsOptions, resolvePrefix } from './options.js'
import { OwnedAccess } from './owned-access.js'
import { type ReadAllContext, ReadAllCursor, readAll } from './read-all.js'
import { Sequencer } from './sequencer.js'
import { appendBatch, infoOf, NamedStream } from './stream.js'
import { StreamIdentities } from './stream-identities.js'
import type { StreamTable } from './table.js'
import { TimeSlice } from './time-slice.js'
import type {
  CommittedRecord,
  Stream,
  StreamAppendResult,
  StreamBatchItem,
  StreamChange,
  StreamEncoding,
  StreamInfo,
  Streams,
  StreamsCursor,
  StreamsEvents,
  StreamsReadOptions,
} from './types.js'

/** Appends wait if the records in memory take this many times `checkpointBytes`. */
const MAX_MEM_TABLE_CHECKPOINTS = 8
/** The pause before a checkpoint, as a multiple of the duration of the last one. No pause if `dueBytes` is reached. */
const PAUSE = 3

/** For trials of checkpoints: kill or stop a checkpoint at a given step. */
export type StepHooks = Pick<CheckpointContext, 'onStep' | 'stepLimit'>

export class StreamStore<V> extends EventEmitter<StreamsEvents> implements Streams<V> {
  readonly dir: string
  readonly changes: StreamChange[] = []
  readonly access: OwnedAccess
  readonly #folder: OpenFolder
  readonly #options: ResolvedStreamsOptions
  readonly #sequencer: Sequencer
  readonly #expiry: Expiry
  readonly #checkpointer: Checkpointer
  readonly #context: StreamContext
  readonly #all: ReadAllContext
  #running: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  /** The duration of the last checkpoint. */
  #durationMs = 0
  /** The error of the last checkpoint; undefined if it succeeded. */
  #failure: DurlogError | undefined
  #closing: Promise<void> | undefined
  /** Every append has settled. Checkpoints are no longer begun automatically. */
  #isDrained = false

  constructor(opened: OpenFolder, options: ResolvedStreamsOptions, hooks: StepHooks) {
    super()
    const { log, files, table, position, codecOf } = opened
    this.dir = files.dir
    this.#folder = opened
    this.#options = options
    const level = options.durability === 'full' ? 'full' : 'sync'
    const onChanged = (change: StreamChange): void => {
      this.changes.push(change)
      this.#announce('changed', change)
    }
    this.#checkpointer = new Checkpointer(
      { ...opened, level, encoding: options.encoding, onChanged, ...hooks },
      position,
    )
    this.#sequencer = new Sequencer(
      {
        log,
        durability: options.durability,
        maxMemTableBytes: MAX_MEM_TABLE_CHECKPOINTS * options.checkpointBytes,
        reload: () => this.#reload(),
        onAppended: () => this.#onAppended(),
        checkpointError: () => this.#failure,
      },
      table,
    )
    const sequencer = this.#sequencer
    opened.catalog.onFileChanged((error) => sequencer.refuse(error))
    this.#expiry = new Expiry(sequencer, () => this.checkpointSoon())
    this.#context = {
      files,
      encoding: options.encoding,
      codecOf,
      append: (item) => sequencer.append(item),
      submit: (items) => sequencer.submit(items),
      table: () => sequencer.table,
      find: (name) => this.#expiry.find(name),
      removeExpired: (name) => this.#expiry.removeIfExpired(name),
      checkOpen: () => this.#checkOpen(),
    }
    this.access = new OwnedAccess({
      ...this.#context,
      identities: new StreamIdentities(log.uuid, log.generation),
      groupThen: (items, settle) => sequencer.groupThen(items, undefined, settle),
      read: (state, from, to, body) => readBody(opened, sequencer.table.memTable, state, { from, to }, body),
    })
    provideAccess(this, this.access)
    this.#all = {
      log,
      codecOf,
      isVoid: (at) => sequencer.table.voids.has(at),
      checkOpen: () => this.#checkOpen(),
      durableOnly: options.durability === 'sync' || options.durability === 'full',
    }
  }

  stream<T extends V = V>(name: string): Stream<T> {
    checkStreamName(name)
    return new NamedStream<T>(this.#context, name)
  }

  appendBatch(items: readonly StreamBatchItem<V>[]): Promise<StreamAppendResult[]> {
    return appendBatch(this.#context, items)
  }

  /** The context of a client's call, which is stored with the client's `request`. */
  contextFor(request: RequestId): StreamContext {
    const sequencer = this.#sequencer
    return {
      ...this.#context,
      append: (item) => sequencer.append(item, request),
      submit: (items) => sequencer.submit(items, request),
    }
  }

  /** Appends encoded values to one stream, and stores the client's `request` with them. */
  appendGroup(request: RequestId, group: AddressedGroup, settle: Settle<StreamAppendResult>): void {
    const { stream, created } = group
    this.#expiry.removeIfExpired(stream)
    // If the stream does not exist, the group is refused or already stored, so its encoding does not matter.
    const encoding = this.#sequencer.table.find(stream)?.meta.encoding ?? this.#options.encoding
    this.#sequencer.groupThen(groupItems(stream, encoding, group, created), request, settle)
  }

  get encoding(): StreamEncoding {
    return this.#options.encoding
  }

  /** The position of the log entry that created the stream. It identifies the stream; a name can be used again. */
  createdAt(name: string): number | undefined {
    return this.#sequencer.table.find(name)?.created
  }

  /** The stored requests of clients. */
  get dedup(): DedupTable {
    return this.#sequencer.table.dedup
  }

  async *list(options?: { prefix?: string | undefined }): AsyncGenerator<StreamInfo, void, undefined> {
    const prefix = resolvePrefix(options)
    const slice = new TimeSlice()
    const { table, position: end } = this.#sequencer
    const deleted = table.deletions(prefix).filter((name) => table.find(name) === undefined)
    // A copy of the names, because a deletion removes its stream from the table before it has reached the level.
    for (const name of deleted.concat([...table.streams.names()])) {
      if (slice.isOver()) await slice.nextTurn()
      this.#checkOpen()
      if (!name.startsWith(prefix)) continue
      const info = infoOf(this.#context, name) ?? (await this.stream(name).info())
      if (info !== undefined && (this.createdAt(name) ?? end) < end) yield info
    }
  }

  readAll(options?: StreamsReadOptions): AsyncGenerator<CommittedRecord<V>, void, undefined> {
    return readAll<V>(this.#all, checkReadOptions(options))
  }

  async cursor(name: string, options?: CursorOptions): Promise<StreamsCursor<V>> {
    this.#checkOpen()
    return new ReadAllCursor<V>(this.#all, await this.#folder.log.cursor(name, options))
  }

  async removeCursor(name: string): Promise<void> {
    this.#checkOpen()
    return this.#folder.log.removeCursor(name)
  }

  /** If a checkpoint is in progress, waits for the next one: the current one may not include the latest appends. */
  async checkpoint(): Promise<void> {
    this.#checkOpen()
    await this.#running?.catch(() => {})
    await this.#run()
  }

  /** Schedules a checkpoint if streams have changed, as an append does. */
  checkpointSoon(): void {
    if (this.#sequencer.table.dirty.size > 0) this.#onAppended()
  }

  /** If `checkpoint` is false, the next process that opens the folder makes the checkpoint. */
  close(checkpoint = true): Promise<void> {
    this.#closing ??= this.#close(checkpoint)
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #close(checkpoint: boolean): Promise<void> {
    this.#expiry.close()
    const { log, catalog, cursor } = this.#folder
    try {
      // First, because checkpoints must still make room for the appends that wait for it.
      await this.#sequencer.close(closedStreamsError(this.dir))
      this.#isDrained = true
      clearTimeout(this.#timer)
      // When a checkpoint ends, a call of `checkpoint` that has waited for it may begin the next one.
      while (this.#running !== undefined) await this.#running.catch(() => {})
      const isDirty = this.#sequencer.table.dirty.size > 0
      if (checkpoint && isDirty && this.#checkpointer.latched === undefined) await this.#run()
    } finally {
      this.#sequencer.table.wakeAll()
      this.#folder.storage.close()
      await cursor.close()
      await catalog.close().finally(() => log.close())
    }
  }

  #checkOpen(): void {
    if (this.#closing !== undefined) throw closedStreamsError(this.dir)
  }

  /** Begins a checkpoint at once if enough bytes wait for it, otherwise after a pause. */
  #onAppended(): void {
    if (this.#isDrained || this.#running !== undefined || this.#checkpointer.latched !== undefined) return
    const { checkpointBytes, checkpointMs } = this.#options
    const { memTable, dirty } = this.#sequencer.table
    if (memTable.bytes >= dueBytes(checkpointBytes, dirty.size) && this.#failure === undefined) this.#begin()
    else this.#timer ??= setTimeout(() => this.#begin(), Math.max(checkpointMs, PAUSE * this.#durationMs)).unref()
  }

  #begin(): void {
    if (this.#running !== undefined) return
    // The failure is reported by the event `checkpointFailed`.
    this.#run().catch(() => {})
  }

  /**
   * Emits the event in a microtask: an error that a listener throws is an uncaught exception, not an error of the
   * checkpoint.
   */
  #announce<N extends keyof StreamsEvents>(name: N, ...args: StreamsEvents[N]): void {
    queueMicrotask(() => this.emit(name, ...(args as never)))
  }

  #run(): Promise<void> {
    this.#running ??= this.#checkpointOnce().finally(() => {
      this.#running = undefined
      this.checkpointSoon()
      this.#sequencer.drain()
    })
    return this.#running
  }

  async #checkpointOnce(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const sequencer = this.#sequencer
    const { rollbacks } = sequencer
    const checkCurrent = (): void => {
      if (!sequencer.refresh() || sequencer.rollbacks !== rollbacks) throw logChangedError(sequencer.writeFailure)
    }
    try {
      checkCurrent()
      const done = await this.#checkpointer.run(sequencer.table, sequencer.position, checkCurrent)
      this.#failure = undefined
      this.#durationMs = done.durationMs
      this.#announce('checkpoint', done)
    } catch (cause) {
      this.#failure = checkpointError(cause)
      this.#announce('checkpointFailed', this.#failure)
      throw this.#failure
    }
  }

  /**
   * Loads the table again after a failed write. A running checkpoint must end first, because it uses streams of the old
   * table.
   */
  async #reload(): Promise<StreamTable> {
    await this.#running?.catch(() => {})
    return this.#folder.load()
  }
}
