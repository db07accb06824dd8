/** A log that is open for writing. */
import type { DurlogError } from '../errors.js'
import type { CursorOverrun, LogStats, Payload, Preallocation, RecoveryState, Strategy } from '../types.js'

/** Indices into `NativeWriter.counters`. An end is exclusive: every record below it has reached that level. */
export const Counter = {
  firstSeq: 0,
  nextSeq: 1,
  memoryEnd: 2,
  asyncEnd: 3,
  syncedEnd: 4,
  fullEnd: 5,
  pendingBytes: 6,
  latched: 7,
  /** Not a seq: how many events wait for `takeEvents`. Look after each call that may commit. */
  events: 8,
  /** Not a seq: the number of calls that succeeded, such as an append or a flush. */
  accepted: 9,
} as const

/** A new segment took over. */
export interface NativeRotation {
  firstSeq: number
}

/** Another writer of a shared log is alive but makes no progress. */
export interface NativeStall {
  /** 0 if it is not known. */
  stalledPid: number
  /** This seq and all after it wait for it. */
  firstSeq: number
  /** It has been so for as long as a close waits. */
  lasts: boolean
}

/** A commit failed. */
export interface NativeFailure {
  error: DurlogError
  /** Every waiting append with this seq or a later one failed; the seqs are given out again. */
  firstSeq: number
  /** Waiting appends below this seq may or may not be on the device; from it on none was written. */
  unknownBefore: number
  latched: boolean
}

export interface NativeOptions {
  strategy: Strategy
  preallocate: Preallocation
  segmentBytes: number
  /** Of a new log; each later segment is twice as long, up to `segmentBytes`. 0 for `segmentBytes`. */
  firstSegmentBytes: number
  maxPendingBytes: number
  maxRecordBytes: number
  create: boolean
  /** `open` resolves to a NativeSharedLog. */
  shared: boolean
  salvage: boolean
  /**
   * The UUID of a restored log that this open creates. '' for any other log: then `firstSeq` and `generation` have no
   * meaning.
   */
  uuid: string
  firstSeq: number
  generation: number
  /** The level that most appends will request. It decides how the `auto` strategy starts. */
  expectedLevel: number
  /** Trimmed segments that may wait to be used again: 0 to 2. */
  maxRecyclable: number
}

/** -1 is no limit. */
export interface NativeRetentionPolicy {
  maxBytes: number
  maxAgeMs: number
  /** Records below this seq are removed even if cursors have not read them. */
  before: number
  keepForCursors: boolean
}

export interface NativeRetentionPlan {
  /** Segments wholly below it may be removed; the first seq if none may. */
  before: number
  /** The number of these segments, and their size. */
  segments: number
  bytes: number
  /** The active segment holds records that may all be removed once it is sealed. */
  seal: boolean
  /** The policy asks to remove more, which is not synced yet. */
  over: boolean
  overruns: CursorOverrun[]
}

export interface NativeFolderPlan extends NativeRetentionPlan {
  /** Of the newest segment. */
  segmentBytes: number
}

export interface NativeRecovery {
  state: RecoveryState
  scannedFrom: number
  scannedBytes: number
  /** The number of bytes cut; 0 if there was no cut. */
  discardedBytes: number
  /** The number of whole records in them, none of which had been acknowledged at sync. */
  discardedRecords: number
  /** Segment file and byte offset of the damage; '' and -1 if there was none. */
  segment: string
  offset: number
  /** For `corrupt`: the lost seqs; first > last if unknown. */
  lostFirst: number
  lostLast: number
}

/** The statistics that the core provides. */
export type NativeStats = Omit<
  LogStats,
  | 'pendingBytes'
  | 'pendingAppends'
  | 'waitingForRoom'
  | 'readRecords'
  | 'readBytes'
  | 'cursors'
  | 'diskBytes'
  | 'shared'
>

/** Why there is no room; try after progress. Nothing: framed, and the last seq is `nextSeq` - 1. */
export type Refused = string | undefined

/** The methods of every log that is open for writing. Appends are framed in the call. */
export interface NativeWriter {
  readonly counters: Float64Array
  readonly recovery: NativeRecovery
  readonly uuid: string
  /** Of the log when it was opened: see `NativeCuts`. */
  readonly generation: number
  /**
   * `timestamp` is omitted or -1 for the clock's. Throws ERR_DURLOG_SEQ_CONFLICT unless the next seq is `expectedSeq`; then
   * `nextSeq` in the counters is the seq that the record would have got.
   */
  append(data: Payload, level: number, timestamp?: number, expectedSeq?: number): Refused
  appendBatch(list: readonly Payload[], level: number, timestamp?: number, expectedSeq?: number): Refused
  /** As `append`, of the bytes from `start` to `end`. */
  appendRange(bytes: Uint8Array, start: number, end: number, level: number): Refused
  /** At `memory` when it returns. */
  write(data: Payload): Refused
  /** As `write`, for all of the records or none. Returns the seq of the first, or the reason why there is no room. */
  writeBatch(list: readonly Payload[]): number | string
  /** At `level` when it returns. */
  appendSync(data: Payload, level: number, timestamp?: number): Refused
  /** Whether there is room for the newest append or write that was refused. */
  hasRoom(): boolean
  /** Asks that everything so far reach `level`; `onProgress` is called when it has. */
  requestSync(level: number): void
  /** Everything framed so far is at `level` when it returns. */
  flushSync(level: number): void
  /** Starts the next group commit unless one is under way or none is wanted. */
  pump(): void
  /** Events since the last call, oldest first: the core never calls back from within a call. */
  takeEvents(): (NativeFailure | NativeStall | NativeRotation)[]
  stats(): NativeStats
  /** Removes whole segments below `seq`; resolves to the new firstSeq once durable. */
  trimBefore(seq: number): Promise<number>
  /** Syncs every record, writes the end marker and releases the lock. */
  close(): Promise<void>
}

/** A log that no other process or thread writes. */
export interface NativeLog extends NativeWriter {
  readonly shared: false
  /** Takes 1 to 1024 seqs without a record, at `memory`, in a restored log. `timestamp` is the next record's. */
  writeVoid(seqs: number, timestamp: number): Refused
  /** What `policy` would trim now. Neither a trim nor a truncation is under way. One call at a time. */
  planRetention(policy: NativeRetentionPolicy): Promise<NativeRetentionPlan>
  /** Cuts every record after `seq` (-1: all); resolves to the new nextSeq once durable. */
  truncateAfter(seq: number): Promise<number>
  /** Seals the active segment if it holds a record; resolves to the seq of the next one once durable. */
  rotate(): Promise<number>
}

/** One of several writers of a log. */
export interface NativeSharedLog extends NativeWriter {
  readonly shared: true
  /** Updates `nextSeq` and the ends with the progress of the other writers. */
  look(): void
  members(): { members: number; slot: number }
}
