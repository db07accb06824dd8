/** The public object of a log that is open for writing: checks arguments and delegates. */
import { atCaller } from '../caller-stack.js'
import { invalidArgument, isCode, outcomeOfCall, outOfRange } from '../errors.js'
import { LEVELS } from '../native/levels.js'
import { Counter, type NativeLog, type NativeRecovery, type NativeSharedLog } from '../native/log.js'
import { abortable, resolveWait } from '../options/abort-signal.js'
import {
  type AppendCall,
  levelCode,
  resolveAppendOptions,
  resolveAppendSyncOptions,
  resolveReached,
} from '../options/call-options.js'
import { shown } from '../options/checks.js'
import type { ResolvedOptions } from '../options/open-options.js'
import { FolderSource } from '../reader/folder-source.js'
import { LogReads } from '../reader/log-reads.js'
import { WriterSource } from '../reader/writer-source.js'
import type {
  AppendDurability,
  AppendOptions,
  AppendSyncOptions,
  BatchRange,
  Durability,
  Log,
  LogRecovery,
  LogStats,
  LogWritable,
  Payload,
  WaitOptions,
  WritableOptions,
} from '../types.js'
import { Announcer } from './announcer.js'
import type { WritePipeline } from './append/write-pipeline.js'
import { DiskUse } from './disk-use.js'
import { LogFace } from './log-face.js'
import { FileChanges } from './maintenance/file-changes.js'
import type { TrimBounds } from './maintenance/trim-request.js'
import { RecordEncoder } from './record-encoder.js'
import { ReplicatedSource } from './replicated-source.js'
import { Replication } from './replication.js'
import { makeWritable } from './writable.js'

/** The parts of a log that is open for writing. */
export interface WriterParts {
  dir: string
  native: NativeLog | NativeSharedLog
  pipeline: WritePipeline
  options: ResolvedOptions
}

export class WriterLog extends LogFace implements Log<unknown> {
  readonly readOnly = false
  readonly recovery: LogRecovery

  readonly #native: NativeLog | NativeSharedLog
  readonly #options: ResolvedOptions
  readonly #encoder: RecordEncoder
  readonly #pipeline: WritePipeline
  /** The options of an append that is called without options. */
  readonly #appendCall: AppendCall
  readonly #source: WriterSource | FolderSource
  readonly #reads: LogReads
  readonly #changes: FileChanges
  readonly #announcer: Announcer
  readonly #diskUse: DiskUse
  #replication: Replication | undefined
  #closing: Promise<void> | undefined
  #generation: number

  constructor({ dir, native, pipeline, options }: WriterParts) {
    const unshared = native.shared ? undefined : { native, source: new WriterSource(dir, options.salvage, native) }
    // A shared log is read like a log that another process writes.
    const source = unshared?.source ?? FolderSource.ofWriter(dir, options.salvage, native)
    const reads = new LogReads(source, unshared !== undefined, options.codec)
    super({ source, reads, sync: async (level) => pipeline.sync(levelCode(level)) })
    this.recovery = toRecovery(native.recovery)
    this.#generation = native.generation
    this.#native = native
    this.#pipeline = pipeline
    this.#options = options
    this.#encoder = new RecordEncoder(options)
    this.#appendCall = { level: options.level, timestamp: undefined, expectedSeq: undefined }
    this.#diskUse = new DiskUse(dir)
    const announcer = new Announcer(this, native)
    this.#announcer = announcer
    this.#source = source
    this.#reads = reads
    // First: a destination that cannot start must leave no timer.
    if (options.replicate !== undefined) this.#replicate(options)
    const onCut = (nextSeq: number, records: number): void => {
      if (records > 0) this.#generation++
      this.#diskUse.forget()
      announcer.onCut(nextSeq)
      this.#replication?.onCut(nextSeq)
    }
    const parts = { dir, uuid: native.uuid, native, unshared, pipeline, reads, onCut }
    this.#changes = new FileChanges(parts, announcer, options.retention)
    pipeline.listen({
      onReadable: () => unshared?.source.wake(),
      onMoved: () => {
        unshared?.source.wake()
        announcer.onMoved()
      },
      onRotated: (firstSeq) => {
        this.#changes.onRotated()
        announcer.onRotated(firstSeq)
      },
      onLatched: (error) => announcer.onLatched(error),
      onStalled: (stall) => announcer.onStalled(stall),
    })
    announcer.onOpened()
  }

  /** Begins to copy the records to the destination of the option `replicate`, if the log has it. */
  static replicate(log: WriterLog): void {
    log.#replication?.begin()
  }

  #replicate(options: ResolvedOptions): void {
    const announcer = this.#announcer
    const keepsLocal = options.replicate?.keepsLocal ?? false
    const replication = new Replication(this, options, {
      onReplicated: () => source.wake(),
      onStalled: (stall) => announcer.onReplicationStalled(stall),
      onFailed: (error) => {
        if (error.code === 'ERR_DURLOG_FENCED' && !keepsLocal) this.#pipeline.refuseAppends(error)
        announcer.onReplicationFailed(error)
      },
    })
    const source = new ReplicatedSource(this.#source, replication)
    this.#reads.replicatedBy(source)
    this.#replication = replication
  }

  get generation(): number {
    return this.#generation
  }

  get firstSeq(): number {
    return this.#counter(Counter.firstSeq)
  }

  get nextSeq(): number {
    return this.#counter(Counter.nextSeq)
  }

  get syncedSeq(): number {
    return this.#counter(Counter.syncedEnd) - 1
  }

  append(data: unknown, options?: AppendOptions): Promise<number> {
    let call = this.#appendCall
    let signal: AbortSignal | undefined
    let replicated = false
    try {
      if (options !== undefined) ({ call, signal, replicated } = resolveAppendOptions(options, call.level))
      const record = this.#encoder.encode(data)
      signal?.throwIfAborted()
      if (!replicated) return this.#append(record, call, signal)
      const make = ([own]: readonly Payload[]): Promise<number> => this.#append(own as Payload, call, signal)
      return WriterLog.replicationOf(this).append([record], make, (seq) => seq, signal)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  #append(record: Payload, call: AppendCall, signal: AbortSignal | undefined): Promise<number> {
    if (call.expectedSeq === undefined) return this.#pipeline.append(record, call, signal)
    return decided(this.#pipeline, () => this.#pipeline.append(record, call, signal))
  }

  appendBatch(list: readonly unknown[], options?: AppendOptions): Promise<BatchRange> {
    try {
      const { call, signal, replicated } = resolveAppendOptions(options, this.#options.level)
      const records = this.#encoder.encodeBatch(list)
      signal?.throwIfAborted()
      if (!replicated) return this.#appendBatch(records, call, signal)
      const make = (own: readonly Payload[]): Promise<BatchRange> => this.#appendBatch(own, call, signal)
      return WriterLog.replicationOf(this).append(records, make, ({ last }) => last, signal)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  #appendBatch(records: readonly Payload[], call: AppendCall, signal: AbortSignal | undefined): Promise<BatchRange> {
    if (call.expectedSeq === undefined) return this.#pipeline.appendBatch(records, call, signal)
    return decided(this.#pipeline, () => this.#pipeline.appendBatch(records, call, signal))
  }

  write(data: unknown, options?: undefined): number {
    if (options !== undefined) throw invalidArgument(`write takes a record and no options; got ${shown(options)}`)
    return this.#pipeline.write(this.#encoder.encode(data))
  }

  writeBatch(list: readonly unknown[], options?: undefined): BatchRange {
    if (options !== undefined) throw invalidArgument(`writeBatch takes records and no options; got ${shown(options)}`)
    const records = this.#options.codec === undefined ? (list as readonly Payload[]) : this.#encoder.encodeBatch(list)
    return this.#pipeline.writeBatch(records)
  }

  appendSync(data: unknown, options?: AppendSyncOptions): number {
    const { level, timestamp } = resolveAppendSyncOptions(options, this.#options.level)
    return this.#pipeline.appendSync(this.#encoder.encode(data), level, timestamp)
  }

  drain(options?: WaitOptions): Promise<void> {
    return waiting('drain', options, () => this.#pipeline.drain())
  }

  sync(durability: Durability = 'sync', options?: WaitOptions): Promise<number> {
    return waiting('sync', options, async () => this.#pipeline.sync(levelCode(durability)))
  }

  async reached(seq: number, durability?: AppendDurability, options?: WaitOptions): Promise<void> {
    const { level, signal, replicated } = resolveReached(seq, durability, options)
    const replication = replicated ? WriterLog.replicationOf(this) : undefined
    if (seq >= this.nextSeq) throw outOfRange(`the log has no record ${seq} yet; its next seq is ${this.nextSeq}`)
    const seen = this.#source.lastTruncation
    await atCaller(abortable(signal, () => this.#pipeline.reached(seq, level)))
    if (seen.lowestLater() <= seq) throw outOfRange(`record ${seq} was cut from the log before it reached the level`)
    if (replication !== undefined) await atCaller(replication.reached(seq, signal))
  }

  get replicatedSeq(): number {
    return (this.#replication?.end ?? 0) - 1
  }

  /** The replication of the log. Throws ERR_DURLOG_INVALID_ARGUMENT if it has none. */
  static replicationOf(log: WriterLog): Replication {
    if (log.#replication !== undefined) return log.#replication
    throw invalidArgument('durability "replicated" needs a destination: open it with the option replicate')
  }

  /** Ends the replication of the log, if it has one. */
  static async endReplication(log: WriterLog): Promise<void> {
    await log.#replication?.close()
  }

  flushSync(durability: Durability = 'sync'): number {
    return this.#pipeline.flushSync(levelCode(durability))
  }

  writable(options?: WritableOptions): LogWritable {
    return makeWritable(this.#pipeline, this.#options, options)
  }

  trimBefore(seq: number, options?: WaitOptions): Promise<number> {
    return waiting('trimBefore', options, () => this.#changes.trimBefore(seq))
  }

  /** Like `trimBefore`. `find` is called directly before the trim. Static, because users must not call it. */
  static trimFound(log: WriterLog, find: () => Promise<TrimBounds>): Promise<number> {
    return log.#changes.trimFound(find)
  }

  applyRetention(options?: WaitOptions): Promise<number> {
    return waiting('applyRetention', options, () => this.#changes.applyRetention())
  }

  truncateAfter(seq: number, options?: WaitOptions): Promise<number> {
    return waiting('truncateAfter', options, () => this.#changes.truncateAfter(seq))
  }

  rotate(options?: WaitOptions): Promise<number> {
    return waiting('rotate', options, () => this.#changes.rotate())
  }

  stats(): LogStats {
    const native = this.#native
    const stats = {
      ...native.stats(),
      ...this.#pipeline.pending(),
      ...this.#source.counts,
      cursors: LogFace.openCursors(this),
      ...(native.shared && { shared: native.members() }),
      ...(this.#replication !== undefined && { replication: this.#replication.stats() }),
    }
    // No member of a shared log counts the segments that others add and remove.
    return this.#diskUse.addTo(stats, native.shared ? ['diskBytes', 'segments'] : ['diskBytes'])
  }

  close(): Promise<void> {
    if (this.#closing === undefined) {
      // Replication reads the log, and has a cursor.
      const replicated = this.#replication?.close()
      // The files are closed also if the destination fails to close.
      const ended = replicated?.catch(() => {})
      const cursors = ended === undefined ? LogFace.refuseReads(this) : ended.then(() => LogFace.refuseReads(this))
      const closed = this.#changes
        .close(() => (ended === undefined ? this.#closeFiles() : ended.then(() => this.#closeFiles())))
        .finally(() => this.#source.end())
      this.#closing = atCaller(closed.finally(() => cursors).then(() => replicated))
      this.#announcer.onClosing()
    }
    return this.#closing
  }

  /** In a shared log, first updates the counters with the progress of the other writers. */
  #counter(index: number): number {
    if (this.#native.shared && this.#closing === undefined) this.#native.look()
    return this.#native.counters[index] as number
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
}

/** Waits for `start`, at most until the signal in the options of the method `name` is aborted. */
async function waiting<T>(name: string, options: WaitOptions | undefined, start: () => Promise<T>): Promise<T> {
  return await atCaller(options === undefined ? start() : abortable(resolveWait(name, options), start))
}

/**
 * Makes an append with an expected seq. If another seq is due, rejects only when the records before that seq can be
 * read, because the caller may read them to decide again.
 */
async function decided<T>(pipeline: WritePipeline, append: () => Promise<T>): Promise<T> {
  try {
    return await append()
  } catch (error) {
    // If the records cannot be stored, they need not be read.
    if (isCode(error, 'ERR_DURLOG_SEQ_CONFLICT')) await pipeline.sync(LEVELS.memory).catch(() => {})
    throw error
  }
}

export function toRecovery(found: NativeRecovery): LogRecovery {
  const { state, scannedFrom, scannedBytes, discardedBytes, discardedRecords, segment, offset, lostFirst, lostLast } =
    found
  return {
    state,
    scannedFrom,
    scannedBytes,
    discardedBytes,
    discardedRecords,
    ...(offset >= 0 && { damage: { segment, offset } }),
    ...(state === 'corrupt' && lostFirst <= lostLast && { lost: { first: lostFirst, last: lostLast } }),
  }
}
