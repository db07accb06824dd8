/** A folder of streams that this process owns. */

import { EventEmitter } from 'node:events'
import { clearTimeout, setTimeout } from 'node:timers'
import { closedError, DurlogError, ofFileSystem } from '../errors.js'
import type { CursorOptions } from '../index.js'
import { provideAccess } from './access.js'
import { type AllContext, AllCursor, readAll } from './all-streams.js'
import type { Settle } from './call.js'
import { type CheckpointContext, Checkpointer, dueBytes } from './checkpoint.js'
import { codecOf as plainCodecOf } from './encoding.js'
import { Expiry } from './expiry.js'
import { checkStreamName } from './file-name.js'
import { groupItems, type StreamContext } from './items.js'
import type { Opened } from './opened.js'
import { checkReadOptions, type ResolvedStreamsOptions, resolvePrefix } from './options.js'
import { OwnedAccess } from './owned-access.js'
import { Pace } from './pace.js'
import { RecordSource } from './record-source.js'
import { appendBatch, RequestedStreams, type SentGroup } from './requested.js'
import type { RequestId, RequestTable } from './requests.js'
import { type Item, Sequencer } from './sequencer.js'
import { infoOf, NamedStream } from './stream.js'
import type { StreamTable } from './table.js'
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

/** Records in memory beyond which appends wait, as a multiple of `checkpointBytes`. */
const MAX_TAIL_CHECKPOINTS = 8
/** The pause before a checkpoint that few bytes wait for: so many times the duration of the last one. */
const PAUSE = 3
export const OWN_CURSOR = 'durlog-streams'

/** For trials of checkpoints. */
export type StepHooks = Pick<CheckpointContext, 'onStep' | 'stepLimit'>

export class StreamStore<V> extends EventEmitter<StreamsEvents> implements Streams<V> {
  readonly dir: string
  readonly changes: StreamChange[] = []
  readonly access: OwnedAccess
  readonly #opened: Opened
  readonly #options: ResolvedStreamsOptions
  readonly #sequencer: Sequencer
  readonly #expiry: Expiry
  readonly #checkpointer: Checkpointer
  readonly #context: StreamContext
  readonly #all: AllContext
  #running: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  /** Of the last checkpoint. */
  #durationMs = 0
  /** Why the last checkpoint failed. */
  #failure: DurlogError | undefined
  #closing: Promise<void> | undefined
  /** Every append has settled, and no checkpoint begins by itself any more. */
  #isDrained = false

  constructor(opened: Opened, options: ResolvedStreamsOptions, hooks: StepHooks) {
    super()
    const { log, files, table, position, codecOf } = opened
    this.dir = files.dir
    this.#opened = opened
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
        maxTailBytes: MAX_TAIL_CHECKPOINTS * options.checkpointBytes,
        reload: () => this.#reload(),
        onAppended: () => this.#onAppended(),
        noRoom: () => this.#failure,
      },
      table,
    )
    const sequencer = this.#sequencer
    this.#expiry = new Expiry(sequencer, () => this.checkpointSoon())
    this.#context = {
      files,
      codec: plainCodecOf(options.encoding),
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
      appendThen: (item, settle) => sequencer.appendThen(item, settle),
      records: (codecOf) => new RecordSource(files, () => sequencer.table, codecOf),
    })
    provideAccess(this, this.access)
    this.#all = {
      log,
      codecOf,
      isVoid: (at) => sequencer.table.voids.has(at),
      durableOnly: options.durability === 'sync' || options.durability === 'full',
    }
  }

  stream(name: string): Stream<V> {
    checkStreamName(name)
    return new NamedStream<V>(this.#context, name)
  }

  appendBatch(items: readonly StreamBatchItem<V>[]): Promise<StreamAppendResult[]> {
    return appendBatch(this.#context, items)
  }

  /** What another process requests. */
  requested(request: RequestId): RequestedStreams<V> {
    const submit = (items: readonly Item[]): Promise<StreamAppendResult[]> => this.#sequencer.submit(items, request)
    return new RequestedStreams<V>(this.#context, submit)
  }

  /** As a call of `requested`: appends encoded values to one stream. */
  appendGroup(request: RequestId, name: string, group: SentGroup, settle: Settle<StreamAppendResult[]>): void {
    this.#expiry.removeIfExpired(name)
    this.#sequencer.submitThen(groupItems(name, group.encoding, group, group.created), request, settle)
  }

  get encoding(): StreamEncoding {
    return this.#options.encoding
  }

  /** The position of the entry that made the stream; tells it from another stream of the same name. */
  createdAt(name: string): number | undefined {
    return this.#sequencer.table.find(name)?.created
  }

  /** The requests of other processes. */
  get requests(): RequestTable {
    return this.#sequencer.table.requests
  }

  async *list(options?: { prefix?: string | undefined }): AsyncGenerator<StreamInfo, void, undefined> {
    const prefix = resolvePrefix(options)
    const pace = new Pace()
    for (const name of this.#sequencer.table.streams.keys()) {
      const turn = pace.step()
      if (turn !== undefined) await turn
      this.#checkOpen()
      const info = name.startsWith(prefix) ? infoOf(this.#context, name) : undefined
      if (info !== undefined) yield info
    }
  }

  readAll(options?: StreamsReadOptions): AsyncGenerator<CommittedRecord<V>, void, undefined> {
    return readAll<V>(this.#all, checkReadOptions(options))
  }

  async cursor(name: string, options?: CursorOptions): Promise<StreamsCursor<V>> {
    return new AllCursor<V>(this.#all, await this.#opened.log.cursor(name, options))
  }

  removeCursor(name: string): Promise<void> {
    return this.#opened.log.removeCursor(name)
  }

  /** Of a call in the meantime: the checkpoint after the one that is in progress. */
  async checkpoint(): Promise<void> {
    this.#checkOpen()
    await this.#running?.catch(() => {})
    await this.#run()
  }

  /** Begins a checkpoint of what the log holds, as if it had just been appended. */
  checkpointSoon(): void {
    if (this.#sequencer.table.dirty.size > 0) this.#onAppended()
  }

  /** Without `checkpoint`, the next process that opens the folder makes it. */
  close(checkpoint = true): Promise<void> {
    this.#closing ??= this.#close(checkpoint)
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #close(checkpoint: boolean): Promise<void> {
    this.#expiry.close()
    const { log, catalog, cursor } = this.#opened
    try {
      // Appends that wait for room need checkpoints.
      await this.#sequencer.close(closedError(this.dir))
      this.#isDrained = true
      clearTimeout(this.#timer)
      // After the one in progress, one that was called before may begin.
      while (this.#running !== undefined) await this.#running.catch(() => {})
      const isDirty = this.#sequencer.table.dirty.size > 0
      if (checkpoint && isDirty && this.#checkpointer.latched === undefined) await this.#run()
    } finally {
      this.#sequencer.table.wakeAll()
      this.#opened.storage.close()
      await cursor.close()
      await catalog.close().finally(() => log.close())
    }
  }

  #checkOpen(): void {
    if (this.#closing !== undefined) throw closedError(this.dir)
  }

  /** Begins a checkpoint now or later. */
  #onAppended(): void {
    if (this.#isDrained || this.#running !== undefined || this.#checkpointer.latched !== undefined) return
    const { checkpointBytes, checkpointMs } = this.#options
    const { tail, dirty } = this.#sequencer.table
    if (tail.bytes >= dueBytes(checkpointBytes, dirty.size) && this.#failure === undefined) this.#begin()
    else this.#timer ??= setTimeout(() => this.#begin(), Math.max(checkpointMs, PAUSE * this.#durationMs)).unref()
  }

  #begin(): void {
    if (this.#running !== undefined) return
    // The failure is an event.
    this.#run().catch(() => {})
  }

  /** An error of a listener is an uncaught exception, not one of the checkpoint. */
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
    const { log } = this.#opened
    const isCurrent = (): boolean =>
      !sequencer.isLoading && sequencer.rollbacks === rollbacks && log.nextSeq >= sequencer.position
    try {
      if (!isCurrent())
        throw new DurlogError(
          'ERR_DURLOG_IO',
          'a write of the main log has failed, and the streams are being loaded again: call checkpoint again',
        )
      const done = await this.#checkpointer.run(sequencer.table, sequencer.position, isCurrent)
      this.#failure = undefined
      this.#durationMs = done.durationMs
      this.#announce('checkpoint', done)
    } catch (cause) {
      const error = ofFileSystem(cause)
      this.#failure =
        error instanceof DurlogError ? error : new DurlogError('ERR_DURLOG_IO', 'a checkpoint failed', { cause })
      this.#announce('checkpointFailed', this.#failure)
      throw this.#failure
    }
  }

  /** After records were given back: no checkpoint may hold streams of the table that is replaced. */
  async #reload(): Promise<StreamTable> {
    await this.#running?.catch(() => {})
    return this.#opened.load()
  }
}
