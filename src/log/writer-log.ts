/** A log opened for writing: checks arguments and emits events; WritePipeline does the rest. */
import { EventEmitter } from 'node:events'
import type { Readable } from 'node:stream'
import { atCaller } from '../caller-stack.js'
import { LogCursors } from '../cursor/log-cursors.js'
import { invalidArgument, outcomeOfCall } from '../errors.js'
import { Counter, type NativeLog, type NativeSharedLog } from '../native/native.js'
import {
  type AppendCall,
  checkSeq,
  collectBatch,
  levelCode,
  resolveAppendOptions,
  resolveAppendSyncOptions,
  resolveWritableOptions,
} from '../options/call-options.js'
import { shown } from '../options/checks.js'
import type { ResolvedOptions } from '../options/open-options.js'
import { FolderSource } from '../reader/folder-source.js'
import { LogReads } from '../reader/log-reads.js'
import { WriterSource } from '../reader/writer-source.js'
import type {
  AppendOptions,
  AppendSyncOptions,
  BatchRange,
  CursorOptions,
  CursorSummary,
  Durability,
  DurableCursor,
  EnsureCursorOptions,
  Log,
  LogEvents,
  LogPosition,
  LogReader,
  LogRecord,
  LogRecovery,
  LogStats,
  LogWritable,
  Payload,
  ReadableOptions,
  ReadOptions,
  WritableOptions,
} from '../types.js'
import { appendInOrder, type Reached } from './append-in-order.js'
import { type CommitMessage, publish } from './channels.js'
import { DiskUse } from './disk-use.js'
import { FileChanges } from './file-changes.js'
import { toRecovery } from './recovery-report.js'
import type { Resolve } from './waiters.js'
import { makeWritable } from './writable.js'
import { WritePipeline } from './write-pipeline.js'

export class WriterLog extends EventEmitter<LogEvents> implements Log<unknown> {
  readonly dir: string
  readonly uuid: string
  readonly readOnly = false
  readonly recovery: LogRecovery

  readonly #native: NativeLog
  readonly #counters: Float64Array
  readonly #options: ResolvedOptions
  readonly #pipeline: WritePipeline
  /** The options of an append that gives none. */
  readonly #appendCall: AppendCall
  /** The core's log if it is shared: other writers append records too. */
  readonly #shared: NativeSharedLog | undefined
  readonly #source: WriterSource | FolderSource
  readonly #reads: LogReads
  readonly #cursors: LogCursors
  readonly #changes: FileChanges
  readonly #diskUse: DiskUse
  /** The counts in the last message to subscribers. */
  #told = { commits: 0, records: 0, bytes: 0 }
  /** The exclusive seq up to which `synced` has been emitted. */
  #announcedSyncedEnd: number
  #closing: Promise<void> | undefined
  #generation: number

  constructor(dir: string, native: NativeLog, generation: number, options: ResolvedOptions) {
    super()
    this.#generation = generation
    this.dir = dir
    this.uuid = native.uuid
    this.recovery = toRecovery(native.recovery)
    this.#native = native
    this.#counters = native.counters
    this.#options = options
    this.#diskUse = new DiskUse(dir)
    this.#appendCall = { level: options.level, timestamp: undefined, expectedSeq: undefined }
    this.#announcedSyncedEnd = this.#counter(Counter.syncedEnd)
    this.#shared = options.shared ? (native as NativeSharedLog) : undefined
    this.#source = this.#makeSource()
    this.#reads = new LogReads(this.#source, this.#shared === undefined, options.codec)
    this.#cursors = new LogCursors({
      source: this.#source,
      read: (options) => this.#reads.read(options),
      sync: (level) => this.sync(level),
    })
    this.#pipeline = new WritePipeline(dir, native, options, {
      onMoved: () => this.#onMoved(),
      onRotated: (firstSeq) => {
        this.#changes.onRotated()
        publish('rotate', this, () => ({ firstSeq }))
        this.emit('rotated', firstSeq)
      },
      onLatched: (error) => {
        publish('latched', this, () => ({ error }))
        this.emit('latched', error)
      },
      onStalled: (stall) => this.emit('stalled', stall),
    })
    const source = this.#source instanceof WriterSource ? this.#source : undefined
    const files = { dir, uuid: native.uuid, native, pipeline: this.#pipeline, source, reads: this.#reads }
    this.#changes = new FileChanges(
      {
        ...files,
        onCut: (nextSeq, records) => {
          if (records > 0) this.#generation++
          this.#diskUse.forget()
          this.#announcedSyncedEnd = Math.min(this.#announcedSyncedEnd, nextSeq)
        },
        onOverrun: (overrun) => process.nextTick(() => this.emit('overrun', overrun)),
        onTrimmed: (from) => publish('trim', this, () => ({ from, firstSeq: this.firstSeq })),
        onRetentionFailed: (error) => process.nextTick(() => this.emit('retentionFailed', error)),
      },
      options.retention,
    )
    publish('recovered', this, () => ({ recovery: this.recovery }))
  }

  /** A shared log is read like a log that another process writes. */
  #makeSource(): WriterSource | FolderSource {
    const { salvage } = this.#options
    if (this.#shared === undefined) return new WriterSource(this.dir, salvage, this.#counters)
    const [firstSeq, nextSeq] = [this.#counter(Counter.firstSeq), this.#counter(Counter.nextSeq)]
    const bounds = { firstSeq, nextSeq, syncedEnd: this.#counter(Counter.syncedEnd), uuid: this.uuid }
    return new FolderSource(this.dir, salvage, bounds)
  }

  get generation(): number {
    return this.#generation
  }

  isCurrent(position: LogPosition): Promise<boolean> {
    return this.#reads.isCurrent(this.uuid, position)
  }

  get firstSeq(): number {
    this.#look()
    return this.#counter(Counter.firstSeq)
  }

  get nextSeq(): number {
    this.#look()
    return this.#counter(Counter.nextSeq)
  }

  get syncedSeq(): number {
    this.#look()
    return this.#counter(Counter.syncedEnd) - 1
  }

  append(data: unknown, options?: AppendOptions): Promise<number> {
    let call = this.#appendCall
    let signal: AbortSignal | undefined
    try {
      if (options !== undefined) ({ call, signal } = resolveAppendOptions(options, call.level))
      signal?.throwIfAborted()
      return this.#pipeline.append(this.#encoded(data), call, signal)
    } catch (error) {
      return Promise.reject(outcomeOfCall(error))
    }
  }

  appendBatch(list: readonly unknown[], options?: AppendOptions): Promise<BatchRange> {
    try {
      const { call, signal } = resolveAppendOptions(options, this.#options.level)
      const records = this.#encodedBatch(list)
      signal?.throwIfAborted()
      return this.#pipeline.appendBatch(records, call, signal)
    } catch (error) {
      return Promise.reject(outcomeOfCall(error))
    }
  }

  write(data: unknown, options?: undefined): number {
    if (options !== undefined) throw invalidArgument(`write takes a record and no options; got ${shown(options)}`)
    return this.#pipeline.write(this.#encoded(data))
  }

  writeBatch(list: readonly unknown[], options?: undefined): BatchRange {
    if (options !== undefined) throw invalidArgument(`writeBatch takes records and no options; got ${shown(options)}`)
    const records = this.#options.codec === undefined ? (list as readonly Payload[]) : this.#encodedBatch(list)
    return this.#pipeline.writeBatch(records)
  }

  appendSync(data: unknown, options?: AppendSyncOptions): number {
    const { level, timestamp } = resolveAppendSyncOptions(options, this.#options.level)
    return this.#pipeline.appendSync(this.#encoded(data), level, timestamp)
  }

  /** As `RestoringLog.writeVoid`. */
  writeVoid(seqs: number, timestamp: number): void {
    this.#pipeline.writeVoid(seqs, timestamp)
  }

  /** As `OrderedLog.appendInOrder`. */
  appendInOrder(
    list: readonly Payload[],
    durability: Durability,
    timestamps?: readonly (number | undefined)[],
  ): Promise<Reached> {
    return appendInOrder(this.#pipeline, list, levelCode(durability), timestamps)
  }

  /** As `FramingLog.frame`. */
  frame(bytes: Uint8Array, start: number, end: number, durability: Durability, resolve: Resolve): boolean {
    return this.#pipeline.frameRange(bytes, start, end, levelCode(durability), resolve)
  }

  /** As `FramingLog.frameBatch`. */
  frameBatch(records: readonly Payload[], durability: Durability, resolve: Resolve): boolean {
    return this.#pipeline.frameBatch(records, levelCode(durability), resolve)
  }

  drain(): Promise<void> {
    return this.#pipeline.drain()
  }

  async sync(durability: Durability = 'sync'): Promise<number> {
    return await atCaller(this.#pipeline.sync(levelCode(durability)))
  }

  flushSync(durability: Durability = 'sync'): number {
    return this.#pipeline.flushSync(levelCode(durability))
  }

  read(options?: ReadOptions): LogReader {
    return this.#reads.read(options)
  }

  readable(options?: ReadableOptions): Readable {
    return this.#reads.readable(options)
  }

  get(seq: number): Promise<LogRecord> {
    return this.#reads.get(seq)
  }

  getSync(seq: number): LogRecord {
    return this.#reads.getSync(seq)
  }

  seqAt(time: Date | number): Promise<number> {
    return this.#reads.seqAt(time)
  }

  cursor(name: string, options?: CursorOptions): Promise<DurableCursor> {
    return this.#cursors.cursor(name, options)
  }

  ensureCursor(name: string, options?: EnsureCursorOptions): Promise<void> {
    return this.#cursors.ensureCursor(name, options)
  }

  cursors(): Promise<CursorSummary[]> {
    return this.#cursors.cursors()
  }

  removeCursor(name: string): Promise<void> {
    return this.#cursors.removeCursor(name)
  }

  writable(options?: WritableOptions): LogWritable {
    // A stream takes bytes and text without a codec.
    const codec = this.#options.codec?.objects ? this.#options.codec : undefined
    const { level, ...chunks } = resolveWritableOptions(options, this.#options.level, codec !== undefined)
    const { maxRecordBytes } = this.#options.native
    return makeWritable((list) => appendInOrder(this.#pipeline, list, level), { ...chunks, maxRecordBytes, codec })
  }

  async trimBefore(seq: number): Promise<number> {
    checkSeq('seq', seq)
    return await atCaller(this.#changes.trimBefore(seq))
  }

  applyRetention(): Promise<number> {
    return atCaller(this.#changes.applyRetention())
  }

  async truncateAfter(seq: number): Promise<number> {
    checkSeq('seq', seq, -1)
    return await atCaller(this.#changes.truncateAfter(seq))
  }

  rotate(): Promise<number> {
    return atCaller(this.#changes.rotate())
  }

  stats(): LogStats {
    const diskUse = this.#diskUse
    return {
      ...this.#native.stats(),
      ...this.#pipeline.pending(),
      ...this.#source.counts,
      cursors: this.#cursors.opened(),
      ...(this.#shared !== undefined && { shared: this.#shared.members() }),
      // A getter, so that a caller that reads another field in a loop does not pay for this one.
      get diskBytes(): number {
        return diskUse.bytes()
      },
    }
  }

  close(): Promise<void> {
    if (this.#closing === undefined) {
      const cursors = this.#cursors.close()
      const closed = this.#changes
        .close(() => this.#closeFiles())
        .finally(() => this.#source.end())
        .finally(() => cursors)
      this.#closing = atCaller(closed)
      this.#reads.refuse()
    }
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #encoded(value: unknown): Payload {
    const { codec } = this.#options
    return codec === undefined ? (value as Payload) : codec.encode(value)
  }

  #encodedBatch(list: readonly unknown[]): Payload[] {
    const values = collectBatch(list, this.#options.native)
    const { codec } = this.#options
    return codec === undefined ? values : values.map((value) => codec.encode(value))
  }

  /** Called by the core, through `open`: see `Native.open`. */
  onProgress(): void {
    this.#pipeline.onProgress()
  }

  /** Updates the counters of a shared log, which lack the work of other writers. */
  #look(): void {
    if (this.#closing === undefined) this.#shared?.look()
  }

  #counter(index: number): number {
    return this.#counters[index] as number
  }

  async #closeFiles(): Promise<void> {
    try {
      await this.#native.close()
    } catch (error) {
      throw outcomeOfCall(error)
    } finally {
      await this.#reads.close()
    }
  }

  /** Undefined if no commit has ended since the last message. */
  #commitsSince(): CommitMessage | undefined {
    if (this.#closing !== undefined) return undefined
    const { commits, committedRecords: records, committedBytes: bytes } = this.#native.stats()
    const told = this.#told
    if (commits === told.commits) return undefined
    this.#told = { commits, records, bytes }
    return {
      commits: commits - told.commits,
      records: records - told.records,
      bytes: bytes - told.bytes,
      nextSeq: this.nextSeq,
      syncedSeq: this.syncedSeq,
    }
  }

  #onMoved(): void {
    if (this.#source instanceof WriterSource) this.#source.wake()
    publish('commit', this, () => this.#commitsSince())
    const synced = this.#counter(Counter.syncedEnd)
    if (synced <= this.#announcedSyncedEnd) return
    this.#announcedSyncedEnd = synced
    this.emit('synced', synced - 1)
  }
}
