/** The source of records, and the end up to which they may be read now. */
import { outOfRange } from '../errors.js'
import type { NativeLogReader } from '../native/reading.js'
import type { Truncation } from './truncation.js'

export interface ReadCounts {
  readRecords: number
  readBytes: number
}

/** The source of records: this process's writer, or a log that another process or thread writes. */
export interface ReadSource {
  readonly dir: string
  readonly salvage: boolean
  /** Counters of the records decoded for readers. */
  readonly counts: ReadCounts
  /** The newest cut of the log's end: a new object after each. */
  readonly lastTruncation: Truncation
  /** Updates `lastTruncation` and the limits if another process writes the log. */
  look(): void
  /** Settles when no cut is in progress: until then the records that it removes may look damaged. */
  settled(): Promise<void>
  /** True once no record can be added. */
  readonly ended: boolean
  /** The limit for a read of record `seq`, -1 if only the files show it. Throws if the log does not hold it. */
  limitFor(seq: number): number
  /** Records below it were acknowledged, as of the last check. */
  acknowledgedEnd(): number
  /** Seqs from `first` to below `limit` can be read now; the log ends before `next`. */
  range(durableOnly: boolean): Promise<{ first: number; limit: number; next: number }>
  /** The bounds of the log, as of the last check. */
  seqs(): { first: number; next: number }
  /** The seq below which a follower may read; -1 if only the files show it. */
  followLimit(durableOnly: boolean): number
  /** Calls `done` once when there may be records from `limit` on; returns a function that cancels it. */
  onMore(
    reader: Pick<NativeLogReader, 'poll'>,
    limit: number,
    durableOnly: boolean,
    done: (error?: unknown) => void,
  ): () => void
}

/** Throws unless a log that holds `first` to below `limit` holds record `seq`. */
export function checkHeld(seq: number, first: number, limit: number): void {
  if (seq < first || seq >= limit) throw outOfRange(`the log holds ${first} to ${limit - 1}; got ${seq}`)
}
