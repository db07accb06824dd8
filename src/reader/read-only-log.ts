/** A log that another process or thread may be writing: reading only, without its lock. */
import { EventEmitter } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import { closedError, DurlogError } from '../errors.js'
import type { NativeBounds } from '../native/native.js'
import { checkSeq } from '../options/call-options.js'
import type {
  BatchRange,
  Log,
  LogEvents,
  LogReader,
  LogRecord,
  LogRecovery,
  LogStats,
  ReadableOptions,
  ReadOptions,
} from '../types.js'
import { FolderSource } from './folder-source.js'
import { PointReads } from './point-reads.js'
import { makeReadable } from './readable.js'
import { Reader } from './reader.js'

/** A reader recovers nothing. */
const UNCHECKED: LogRecovery = {
  state: 'unchecked',
  scannedBytes: 0,
  discardedBytes: 0,
  discardedRecords: 0,
}

export class ReadOnlyLog extends EventEmitter<LogEvents> implements Log {
  readonly dir: string
  readonly readOnly: boolean = true
  readonly recovery: LogRecovery = UNCHECKED
  readonly #source: FolderSource
  readonly #points: PointReads
  #closed = false

  constructor(dir: string, bounds: NativeBounds, salvage: boolean) {
    super()
    this.dir = dir
    this.#source = new FolderSource(dir, salvage, bounds)
    this.#points = new PointReads(dir)
  }

  get uuid(): string {
    return this.#source.bounds.uuid
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

  read(options?: ReadOptions): LogReader {
    if (this.#closed) throw closedError(this.dir)
    return new Reader(this.#source, options)
  }

  async get(seq: number): Promise<LogRecord> {
    checkSeq('seq', seq)
    if (this.#closed) throw closedError(this.dir)
    for (;;) {
      const cut = this.#source.check(seq)
      try {
        const record = await this.#points.get(seq)
        if (this.#source.check(seq) === cut) return record
      } catch (error) {
        // What a cut took away while it was read is no damage.
        if (this.#source.check(seq) === cut) throw error
      }
    }
  }

  getSync(seq: number): LogRecord {
    checkSeq('seq', seq)
    if (this.#closed) throw closedError(this.dir)
    this.#source.check(seq)
    return this.#points.getSync(seq)
  }

  readable(options?: ReadableOptions): Readable {
    return makeReadable(this, options)
  }

  async refresh(): Promise<void> {
    if (this.#closed) throw closedError(this.dir)
    await this.#source.refresh()
  }

  stats(): LogStats {
    return {
      strategy: 'none',
      mode: 'none',
      preallocate: 'none',
      fileSystem: '',
      reason: 'opened for reading only',
      segments: 0,
      segmentBytes: 0,
      rotations: 0,
      commits: 0,
      committedRecords: 0,
      committedBytes: 0,
      modeSwitches: 0,
      recycled: 0,
      pendingBytes: 0,
      pendingAppends: 0,
      waitingForRoom: 0,
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#source.end()
    await this.#points.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async append(): Promise<number> {
    throw this.#refusal()
  }

  async appendBatch(): Promise<BatchRange> {
    throw this.#refusal()
  }

  write(): number {
    throw this.#refusal()
  }

  appendSync(): number {
    throw this.#refusal()
  }

  async drain(): Promise<void> {
    throw this.#refusal()
  }

  async sync(): Promise<number> {
    throw this.#refusal()
  }

  async trimBefore(): Promise<number> {
    throw this.#refusal()
  }

  async truncateAfter(): Promise<number> {
    throw this.#refusal()
  }

  writable(): Writable {
    throw this.#refusal()
  }

  #refusal(): DurlogError {
    return new DurlogError('ERR_DURLOG_READ_ONLY', `the log in ${this.dir} is open for reading only`)
  }
}
