/** Where records come from, and how far they may be read now. */
import { outOfRange } from '../errors.js'
import type { NativeCursor } from '../native/native.js'
import type { Truncation } from './truncation.js'

/** Where records come from: this process's writer, or a log that another process or thread writes. */
export interface ReadSource {
  readonly dir: string
  readonly salvage: boolean
  /** The newest cut of the log's end: another object after each. */
  readonly lastTruncation: Truncation
  /** Brings `lastTruncation` and the limits up to date, where another process makes them. */
  look(): void
  /** Settles when no cut is under way: until then what it takes away may look like damage. */
  settled(): Promise<void>
  /** True once nothing can be added any more. */
  readonly ended: boolean
  /** The end that the read of record `seq` must keep to, -1 where only the files can tell. Throws where it is not there. */
  limitFor(seq: number): number
  /** Seqs from `first` to below `limit` can be read now; the log ends before `next`. */
  range(durableOnly: boolean): Promise<{ first: number; limit: number; next: number }>
  /** The seq below which a follower may read; -1 where only the files can tell. */
  followLimit(durableOnly: boolean): number
  /** Calls `done` once when there may be more than `limit` allowed; returns how to give up. */
  onMore(cursor: NativeCursor, limit: number, durableOnly: boolean, done: (error?: unknown) => void): () => void
}

/** Throws unless a log that holds `first` to below `limit` holds record `seq`. */
export function checkHeld(seq: number, first: number, limit: number): void {
  if (seq < first || seq >= limit) throw outOfRange(`the log holds ${first} to ${limit - 1}; got ${seq}`)
}
