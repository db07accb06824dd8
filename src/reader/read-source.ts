/** The source of records, and the end up to which readers may read. */
import { outOfRange } from '../errors.js'
import type { NativeLogReader } from '../native/reading.js'
import type { Truncation } from './truncation.js'

export interface ReadCounts {
  readRecords: number
  readBytes: number
}

/** Seqs from `first` to below `limit` can be read now. The records before `next` are acknowledged at `memory`. */
export interface ReadRange {
  first: number
  limit: number
  next: number
  /** At least `next`: the end of the pending appends, as far as this process knows. */
  pendingEnd?: number
}

/** The source of records: this process's writer, or a log that another process or thread writes. */
export interface ReadSource {
  readonly dir: string
  readonly uuid: string
  readonly salvage: boolean
  /** Counters of the records decoded for readers. */
  readonly counts: ReadCounts
  /** The newest cut of the log's end: a new object after each cut. */
  readonly lastTruncation: Truncation
  /** Updates `lastTruncation` and the limits if another process writes the log. */
  look(): void
  /** Resolves when no cut is in progress. During a cut, the records that it removes may look damaged. */
  settled(): Promise<void>
  /** True once no record can be added, because the log was closed. */
  readonly ended: boolean
  /** As `LaterCuts.hold`: after the log was closed, `look` finds cuts for as long as a reader is noted. */
  hold(): () => void
  /**
   * The limit for a read of record `seq`; -1 if only the files show it. Throws ERR_DURLOG_OUT_OF_RANGE if the log does
   * not hold `seq`.
   */
  limitFor(seq: number): number
  range(durableOnly: boolean): Promise<ReadRange>
  /** The bounds of the log, as of the last `look`: every record before `next` is acknowledged. */
  seqs(): { first: number; next: number }
  /** The seq below which a follower may read; -1 if only the files show it. */
  followLimit(durableOnly: boolean): number
  /** Calls `done` once when there may be records from `limit` on. Returns a function that cancels the call. */
  onMore(
    reader: Pick<NativeLogReader, 'poll'>,
    limit: number,
    durableOnly: boolean,
    done: (error?: unknown) => void,
  ): () => void
}

/** Throws ERR_DURLOG_OUT_OF_RANGE unless `seq` is from `first` to below `limit`, the seqs that the log holds. */
export function checkHeld(seq: number, first: number, limit: number): void {
  if (seq >= first && seq < limit) return
  throw outOfRange(
    first === limit ? `the log has no record; got ${seq}` : `the log holds ${first} to ${limit - 1}; got ${seq}`,
  )
}
