/** A log that another process or thread may be writing: reading only, without its lock. */
import { EventEmitter } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import { checkSeq } from './call-options.js'
import { Cut } from './cut.js'
import { DurlogError } from './errors.js'
import { closedError } from './log.js'
import { type NativeCursor, native } from './native.js'
import { PointReads } from './point-reads.js'
import { Reader, type ReadSource } from './reader.js'
import { UNCHECKED } from './recovery.js'
import { makeReadable } from './streams.js'
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
} from './types.js'

/** How often a follower looks whether something has been added. */
const POLL_INTERVAL_MS = 5
/** Looking what is synced reads the last segment: it takes at most this share of the time. */
const MAX_BOUNDS_SHARE = 0.2

type Bounds = Awaited<ReturnType<typeof native.bounds>>

export class ReadOnlyLog extends EventEmitter<LogEvents> implements Log {
  readonly dir: string
  readonly readOnly: boolean = true
  readonly recovery: LogRecovery = UNCHECKED
  readonly #source: ForeignSource
  readonly #points: PointReads
  #closed = false

  constructor(dir: string, bounds: Bounds, salvage: boolean) {
    super()
    this.dir = dir
    this.#source = new ForeignSource(dir, salvage, bounds)
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
    return this.#source.bounds.syncedSeq - 1
  }

  read(options?: ReadOptions): LogReader {
    if (this.#closed) throw closedError(this.dir)
    return new Reader(this.#source, options)
  }

  async get(seq: number): Promise<LogRecord> {
    checkSeq('seq', seq)
    if (this.#closed) throw closedError(this.dir)
    return this.#points.get(seq)
  }

  getSync(seq: number): LogRecord {
    checkSeq('seq', seq)
    if (this.#closed) throw closedError(this.dir)
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
    this.#source.ended = true
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

/** What the files tell, asked again at intervals. */
class ForeignSource implements ReadSource {
  readonly dir: string
  readonly salvage: boolean
  /** Cuts made by another process: the cursor notices them itself. */
  readonly lastCut: Cut = new Cut(Number.POSITIVE_INFINITY)
  bounds: Bounds
  ended = false

  constructor(dir: string, salvage: boolean, bounds: Bounds) {
    this.dir = dir
    this.salvage = salvage
    this.bounds = bounds
  }

  async refresh(): Promise<void> {
    this.bounds = await native.bounds(this.dir)
  }

  async range(durableOnly: boolean): Promise<{ first: number; limit: number; next: number }> {
    await this.refresh()
    const { firstSeq, nextSeq, syncedSeq } = this.bounds
    return { first: firstSeq, limit: durableOnly ? syncedSeq : nextSeq, next: nextSeq }
  }

  followLimit(durableOnly: boolean): number {
    return durableOnly ? this.bounds.syncedSeq : -1
  }

  onMore(cursor: NativeCursor, limit: number, durableOnly: boolean, done: (error?: unknown) => void): () => void {
    let cancelled = false
    let timer: NodeJS.Timeout
    let intervalMs = POLL_INTERVAL_MS
    const arrived = async (): Promise<boolean> => {
      if (this.ended) return true
      if (!durableOnly) return cursor.poll()
      const start = performance.now()
      await this.refresh()
      intervalMs = Math.max(POLL_INTERVAL_MS, (performance.now() - start) / MAX_BOUNDS_SHARE)
      return this.bounds.syncedSeq > limit
    }
    const look = async (): Promise<void> => {
      try {
        const found = await arrived()
        if (cancelled) return
        if (found) done()
        else timer = setTimeout(look, intervalMs)
      } catch (error) {
        if (!cancelled) done(error)
      }
    }
    timer = setTimeout(look, intervalMs)
    return () => {
      cancelled = true
      clearTimeout(timer)
    }
  }
}
