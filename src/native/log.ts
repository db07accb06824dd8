/** The addon's interface for a log that is open for writing. */
import type { DurlogError } from '../errors.js'
import type { CursorOverrun, LogStats, Payload, Preallocation, RecoveryState, Strategy } from '../types.js'

/** Indices into `NativeWriter.counters`. Ends are exclusive: every record below an end has reached its level. */
export const Counter = {
  firstSeq: 0,
  nextSeq: 1,
  memoryEnd: 2,
  asyncEnd: 3,
  syncedEnd: 4,
  fullEnd: 5,
  pendingBytes: 6,
  latched: 7,
  /** The number of events that wait for `takeEvents`. Check it after each call that may commit. */
  events: 8,
  /** The number of calls that succeeded, such as appends and flushes. */
  accepted: 9,
} as const

/** An event: a new segment has become the active one. */
export interface NativeRotation {
  firstSeq: number
}

/** An event: another writer of a shared log is alive but makes no progress. */
export interface NativeStall {
  /** The process of that writer; 0 if it is unknown. */
  stalledPid: number
  /** The first seq that waits for that writer; all later seqs wait too. */
  firstSeq: number
  /** Whether the stall has lasted for as long as `close` waits. */
  lasts: boolean
}

/** An event: a commit failed. */
export interface NativeFailure {
  error: DurlogError
  /**
   * Every waiting append with this seq or a later one has failed. Unless `latched` or `stored`, later records get these
   * seqs.
   */
  firstSeq: number
  /** Failed appends below this seq may or may not be on the device. No append from this seq on was written. */
  unknownBefore: number
  latched: boolean
  /** Whether the failed records remain in the log. They may reach their levels later. */
  stored: boolean
}

export interface NativeOptions {
  strategy: Strategy
  preallocate: Preallocation
  segmentBytes: number
  /**
   * The size of a new log's first segment; each later segment is twice as long, up to `segmentBytes`. 0: every segment
   * has `segmentBytes`.
   */
  firstSegmentBytes: number
  maxPendingBytes: number
  maxRecordBytes: number
  create: boolean
  /** If true, `open` resolves to a NativeSharedLog. */
  shared: boolean
  salvage: boolean
  /**
   * The UUID of a restored log that this call of `open` creates. '' for any other log, for which `firstSeq` and
   * `generation` are ignored.
   */
  uuid: string
  firstSeq: number
  generation: number
  /** The level that most appends will request. It determines the first mode of the strategy `auto`. */
  expectedLevel: number
  /** The number of trimmed segments whose files are kept for reuse: 0 to 2. */
  maxRecyclable: number
}

/** -1 means no limit. */
export interface NativeRetentionPolicy {
  maxBytes: number
  maxAgeMs: number
  /** Records below this seq are removed even if cursors have not read them. */
  before: number
  /** Records below this seq are removed once every cursor has passed them. */
  passedBefore: number
  keepForCursors: boolean
}

export interface NativeRetentionPlan {
  /** Segments whose records are all below this seq may be removed. The log's first seq if none may. */
  before: number
  /** The part of `before` that ignores cursors. */
  regardless: number
  /** Whether the active segment may be removed too once it is sealed. */
  seal: boolean
  /** Whether the policy also selects segments that cannot be removed yet because they are not synced. */
  over: boolean
  overruns: CursorOverrun[]
}

export interface NativeFolderPlan extends NativeRetentionPlan {
  /** The size of the newest segment. */
  segmentBytes: number
}

export interface NativeRecovery {
  state: RecoveryState
  scannedFrom: number
  scannedBytes: number
  /** The number of bytes that were cut; 0 if there was no cut. */
  discardedBytes: number
  /** The number of whole records in these bytes, none of which had been acknowledged at `sync`. */
  discardedRecords: number
  /** The segment file and the byte offset of the damage; '' and -1 if there was none. */
  segment: string
  offset: number
  /** For `corrupt`: the lost seqs; first > last if unknown. */
  lostFirst: number
  lostLast: number
}

/** The statistics that the core provides. */
type NativeStats = Omit<
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

/**
 * The result of an append. A string is the reason why there was no room: try again after progress. If it is undefined,
 * the records were framed, and the last of them has the seq `nextSeq` - 1.
 */
type Refused = string | undefined

/** The methods of every log that is open for writing. An append frames its records before it returns. */
export interface NativeWriter {
  readonly counters: Float64Array
  readonly recovery: NativeRecovery
  readonly uuid: string
  /** The log's generation when it was opened: see `NativeCuts`. */
  readonly generation: number
  /**
   * Without a `timestamp`, or with -1, the clock's time is used. Throws ERR_DURLOG_SEQ_CONFLICT if the log's next seq
   * is not `expectedSeq`; the counter `nextSeq` then holds the next seq.
   */
  append(data: Payload, level: number, timestamp?: number, expectedSeq?: number): Refused
  appendBatch(list: readonly Payload[], level: number, timestamp?: number, expectedSeq?: number): Refused
  /** As `append`, for the bytes from `start` to `end`. */
  appendRange(bytes: Uint8Array, start: number, end: number, level: number): Refused
  /**
   * Appends entries of one stream as a batch. The first one is `first` and the first value, the second one `following`
   * and its value; each later one has the next seq. `end`, which may be empty, is the last entry. Value i is `values`
   * from `places[2 * i]` to `places[2 * i + 1]`. Marks all entries but the last as continued.
   */
  appendEntries(
    first: Uint8Array,
    following: Uint8Array,
    end: Uint8Array,
    values: Uint8Array,
    places: Uint32Array,
    level: number,
  ): Refused
  /** Appends a record, which has reached `memory` when this returns. */
  write(data: Payload): Refused
  /**
   * As `write`, for all of the records or none. Returns the seq of the first record, or the reason why there is no
   * room.
   */
  writeBatch(list: readonly Payload[]): number | string
  /** Appends a record, which has reached `level` when this returns. Blocks the thread. */
  appendSync(data: Payload, level: number, timestamp?: number): Refused
  /** Whether there is room for the newest append or write that was refused. */
  hasRoom(): boolean
  /** Requests that every record framed so far reach `level`. `onProgress` is called when they have. */
  requestSync(level: number): void
  /** Brings every record framed so far to `level` before it returns. Blocks the thread. */
  flushSync(level: number): void
  /** Starts the next group commit, unless a commit is running or there is no work for one. */
  pump(): void
  /** Starts a check of the log's files on a worker, unless one began in the last second. To be called once a second. */
  checkFiles(): void
  /**
   * Returns the events since the last call, oldest first. The core queues events, and never calls JavaScript during a
   * call.
   */
  takeEvents(): (NativeFailure | NativeStall | NativeRotation)[]
  stats(): NativeStats
  /**
   * Removes the segments whose records are all below `seq`. Resolves to the new first seq once the removal is durable.
   */
  trimBefore(seq: number): Promise<number>
  /** Syncs every record, states in the log that they are synced and releases the lock. */
  close(): Promise<void>
}

/** A log that no other process or thread writes. */
export interface NativeLog extends NativeWriter {
  readonly shared: false
  /**
   * Writes a void, 1 to 1024 seqs without a record, at `memory` to a restored log. `timestamp` is that of the next
   * record.
   */
  writeVoid(seqs: number, timestamp: number): Refused
  /** Plans what `policy` would trim now. One call at a time, and only while no trim and no truncation is running. */
  planRetention(policy: NativeRetentionPolicy): Promise<NativeRetentionPlan>
  /** Removes every record after `seq` (-1: all). Resolves to the new next seq once the cut is durable. */
  truncateAfter(seq: number): Promise<number>
  /**
   * Seals the active segment if it holds a record. Resolves to the first seq of the new active segment once that is
   * durable.
   */
  rotate(): Promise<number>
}

/** One of several writers of a log. */
export interface NativeSharedLog extends NativeWriter {
  readonly shared: true
  /** Updates the counters `nextSeq` and the ends with the progress of the other writers. */
  look(): void
  members(): { members: number; slot: number }
}
