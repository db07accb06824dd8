/** Reading a log, in order, by seq and as it grows. */
import type { LogRecord } from '../types.js'

/** A decoded batch: `entries` holds three numbers for each record: offset, length, ms since base. */
export interface NativeBatch {
  count: number
  firstSeq: number
  /** The position of the reader after it: there may be seqs without a record. */
  nextSeq: number
  baseTimeMs: number
  /** If count is 0: the bytes that the next record needs (buffer too small), or 0 at the end of the log. */
  needBytes: number
}

export interface NativeLogReader {
  /** Fills `buffer` with records below `limit` (-1: no limit). One call at a time. */
  next(buffer: Uint8Array, entries: Uint32Array, limit: number): Promise<NativeBatch>
  /** As `next`, at once and on this thread, if records below `limit` are in the page cache; undefined otherwise. */
  nextCached(buffer: Uint8Array, entries: Uint32Array, limit: number): NativeBatch | undefined
  /** Whether there is something new at its position: one small read, which never waits for the device's queue. */
  poll(): boolean
  /** After ERR_DURLOG_CORRUPT: moves past the damage; resolves to the next whole seq, or -1 at the end. */
  skipDamage(): Promise<number>
  /** The seq that `next` would deliver. */
  seq(): number
  close(): void
}

/** Single records by seq. Any number of calls at once; each ends even if the object is collected. */
export interface NativePointReader {
  /**
   * Record `seq`, which is known to be there if it is below `limit` (-1: it may not be). Records below `acknowledgedEnd` were
   * acknowledged when the call was made.
   */
  get(seq: number, limit: number, acknowledgedEnd: number): Promise<LogRecord>
  /** As `get`; the calling thread reads. */
  getSync(seq: number, limit: number, acknowledgedEnd: number): LogRecord
  /**
   * Record `seq` if it is in the page cache and its place is known; undefined does not mean that there is no such
   * record. Takes about 5 us.
   */
  getCached(seq: number, acknowledgedEnd: number): LogRecord | undefined
  /**
   * The seq of the first record from `first` to below `end` at or after `timeMs`, `end` if there is none. All of them
   * are there.
   */
  seqAt(timeMs: number, first: number, end: number): Promise<number>
  /** Closes the files; settles when they are closed. The next call opens the files that it needs. */
  forget(): Promise<void>
}

export interface NativeBounds {
  firstSeq: number
  nextSeq: number
  /** Every record below it is known to be synced. */
  syncedEnd: number
  uuid: string
  /** As `NativeCuts.generation`; never newer than the other fields. */
  generation: number
}

/** Indices into the fields that `NativeLivePage.look` fills. Ends are exclusive. */
export const LiveField = {
  /** 1 if the page is valid, because a writer is alive or has been since the page was first read. */
  counts: 0,
  firstSeq: 1,
  /** Every record below it is acknowledged at `memory`. */
  memoryEnd: 2,
  /** Every record below it is acknowledged at `sync`. */
  syncedEnd: 3,
  /** The lowest next seq of the cuts since the call before; Infinity without any. */
  cut: 4,
  /** Commits above `memory` since the page was created, and their total time; 0 in a shared log. */
  commits: 5,
  commitMicros: 6,
} as const
export const LIVE_FIELD_COUNT = 7

export interface NativeLivePage {
  /** A few loads and one system call. */
  look(fields: Float64Array): void
  /**
   * Calls `onChange` once when more than `memoryEnd` is in memory, or more than `syncedEnd` synced, when the page no longer
   * counts or the log has been cut; also for no reason. Takes the place of an earlier call. Until then the event loop
   * stays alive.
   */
  watch(memoryEnd: number, syncedEnd: number): void
  unwatch(): void
  close(): void
}
