/** The addon's interface for reading a log: in order, by seq, and as it grows. */
import type { LogRecord } from '../types.js'

/** The indexes of the numbers that describe a decoded batch. */
export const BatchNumber = {
  count: 0,
  firstSeq: 1,
  /** The reader's position after the batch. It may be higher than `firstSeq + count`, because a void has no record. */
  nextSeq: 2,
  baseTimeMs: 3,
  /**
   * If `count` is 0: the bytes that the next record needs if the buffer is too small for it; 0 at the end of the log.
   */
  needBytes: 4,
} as const

/** The count of these numbers. */
export const BATCH_NUMBER_COUNT = 5

export interface NativeLogReader {
  /**
   * Fills `buffer` with records below `limit` (-1: no limit), on a worker thread. One call at a time. `batch` gets the
   * numbers of `BatchNumber`. `entries` gets three numbers for each record: the offset in the buffer, the length, and
   * the milliseconds from `baseTimeMs` to its timestamp.
   */
  next(buffer: Uint8Array, entries: Uint32Array, limit: number, batch: Float64Array): Promise<void>
  /** As `next`, but reads on this thread. Returns false unless records below `limit` are in the page cache. */
  nextCached(buffer: Uint8Array, entries: Uint32Array, limit: number, batch: Float64Array): boolean
  /**
   * Whether there may be a new record at the reader's position. Makes one small read, which does not wait for the
   * device.
   */
  poll(): boolean
  /** After ERR_DURLOG_CORRUPT: moves to the next whole record. Resolves to its seq, or to -1 if there is none. */
  skipDamage(): Promise<number>
  /** The seq that `next` would deliver. */
  seq(): number
  close(): void
}

/**
 * Reads single records by seq. Any number of calls may run at the same time. Each completes even if the object is
 * garbage-collected.
 */
export interface NativePointReader {
  /**
   * Reads record `seq`. Records below `limit` are known to exist (-1: unknown). Records below `acknowledgedEnd` were
   * acknowledged before the call.
   */
  get(seq: number, limit: number, acknowledgedEnd: number): Promise<LogRecord>
  /** As `get`, but reads on this thread, which may wait for the device. */
  getSync(seq: number, limit: number, acknowledgedEnd: number): LogRecord
  /**
   * Reads record `seq` on this thread if it is in the page cache and its offset is known. Otherwise returns undefined,
   * even if the record exists. Takes 5 to 10 us.
   */
  getCached(seq: number, acknowledgedEnd: number): LogRecord | undefined
  /**
   * The seq of the first record at or after `timeMs` in the range from `first` to below `end`; `end` if there is none.
   * The log holds all of that range.
   */
  seqAt(timeMs: number, first: number, end: number): Promise<number>
  /** Closes the files, and resolves when they are closed. A later read opens the files that it needs again. */
  forget(): Promise<void>
}

export interface NativeBounds {
  firstSeq: number
  nextSeq: number
  /** Every record below this seq is known to be synced. */
  syncedEnd: number
  uuid: string
  /** As `NativeCuts.generation`. It was read before the other fields. */
  generation: number
}

/** Indices into the fields that `NativeLivePage.look` fills. Ends are exclusive. */
export const LiveField = {
  /** 1 if the page is valid: a writer has held it at some time since this reader first read it. Otherwise 0. */
  isValid: 0,
  firstSeq: 1,
  /** Every record below it is acknowledged at `memory`. */
  memoryEnd: 2,
  /** Every record below it is acknowledged at `sync`. */
  syncedEnd: 3,
  /** The log's next seq after the deepest cut since the previous call of `look`; Infinity if there was none. */
  cut: 4,
  /** The number of commits above `memory` since the page was created, and their total duration; 0 in a shared log. */
  commits: 5,
  commitMicros: 6,
  /**
   * While the page is not valid because no writer has the log open: a number that changes when the next writer opens
   * it, and before that writer appends. 0 if the page is valid, and if there is none.
   */
  unlockedSession: 7,
} as const
export const LIVE_FIELD_COUNT = 8

export interface NativeLivePage {
  /** Fills `fields`. Costs a few loads and one system call. */
  look(fields: Float64Array): void
  /**
   * Calls `onChange` once when the page shows an end above `memoryEnd` (or a synced end above `syncedEnd`), when the
   * page becomes invalid, or when the log is cut. If the last `look` has found an `unlockedSession`, calls it when this
   * number changes, or when the log is cut. Spurious calls are possible. Replaces an earlier `watch`. The event loop
   * stays alive until `onChange` is called.
   */
  watch(memoryEnd: number, syncedEnd: number): void
  unwatch(): void
  close(): void
}
