/** A log opened for reading only, without the lock: another process or thread may be writing it. */
import type { Readable } from 'node:stream'
import { atCaller } from '../caller-stack.js'
import { LogCursors } from '../cursor/log-cursors.js'
import type { NativeBounds } from '../native/reading.js'
import type { ResolvedOptions } from '../options/open-options.js'
import { FolderSource } from '../reader/folder-source.js'
import { LogReads } from '../reader/log-reads.js'
import type {
  CursorOptions,
  CursorSummary,
  DurableCursor,
  EnsureCursorOptions,
  LogPosition,
  LogReader,
  LogRecord,
  ReadableOptions,
  ReadOnlyLog,
  ReadOnlyStats,
  ReadOptions,
  TimePoint,
} from '../types.js'
import { DiskUse } from './disk-use.js'

export class ReaderLog implements ReadOnlyLog {
  readonly dir: string
  readonly readOnly = true
  readonly #source: FolderSource
  readonly #reads: LogReads
  readonly #cursors: LogCursors
  #generation: number

  constructor(dir: string, bounds: NativeBounds, { salvage, codec }: ResolvedOptions) {
    this.dir = dir
    this.#generation = bounds.generation
    this.#source = new FolderSource(dir, salvage, bounds)
    this.#reads = new LogReads(this.#source, false, codec)
    this.#cursors = new LogCursors({
      source: this.#source,
      read: (options) => this.#reads.read(options),
      checksum: (seq) => this.#reads.checksumIfHeld(this.uuid, seq),
      sync: undefined,
    })
  }

  get uuid(): string {
    return this.#source.uuid
  }

  get firstSeq(): number {
    return this.#source.bounds.firstSeq
  }

  get nextSeq(): number {
    return this.#source.bounds.nextSeq
  }

  get syncedSeq(): number {
    return this.#source.bounds.syncedEnd - 1
  }

  get generation(): number {
    return this.#generation
  }

  isCurrent(position: LogPosition): Promise<boolean> {
    return this.#reads.isCurrent(this.uuid, position)
  }

  checksum(seq: number): Promise<number> {
    return this.#reads.checksum(this.uuid, seq)
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

  seqAt(time: TimePoint): Promise<number> {
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

  refresh(): Promise<void> {
    return atCaller(this.#refresh())
  }

  async #refresh(): Promise<void> {
    this.#reads.check()
    await this.#source.refresh()
    this.#generation = this.#source.bounds.generation
  }

  stats(): ReadOnlyStats {
    const current = this.#source.lookAtBounds()
    // A new object, so that no file length is cached: another process may cut the log and reuse the name of a file.
    return new DiskUse(this.dir).addTo(
      {
        current,
        firstSeq: this.firstSeq,
        nextSeq: this.nextSeq,
        syncedSeq: this.syncedSeq,
        ...this.#source.commits(),
        ...this.#source.counts,
        cursors: this.#cursors.opened(),
      },
      ['diskBytes', 'segments'],
    )
  }

  close(): Promise<void> {
    return atCaller(this.#close())
  }

  async #close(): Promise<void> {
    this.#reads.refuse()
    await this.#cursors.close()
    this.#source.end()
    await this.#reads.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}
