/** A typed face of the addon. Nothing above this file knows how it is loaded. */

import { DurlogError } from '../errors.js'
import type { CursorOverrun, LogRecord, LogStats, Payload, Preallocation, RecoveryState, Strategy } from '../types.js'
import { loadAddon } from './binary.js'

/** Indices into `NativeLog.counters`. An end is exclusive: every record below it has reached that level. */
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

/** One open log. Appends are framed in the call. */
export interface NativeLog {
  readonly counters: Float64Array
  readonly recovery: NativeRecovery
  readonly uuid: string
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
  /** Asks that everything so far reach `level`; `onProgress` is called when it has. */
  requestSync(level: number): void
  /** Everything framed so far is at `level` when it returns. */
  flushSync(level: number): void
  /** Starts the next group commit unless one is under way or none is wanted. */
  pump(): void
  /** Events since the last call, oldest first: the core never calls back from within a call. */
  takeEvents(): (NativeFailure | NativeStall | NativeRotation)[]
  stats(): NativeStats
  /** Takes 1 to 1024 seqs without a record, at `memory`, in a restored log. `timestamp` is the next record's. */
  writeVoid(seqs: number, timestamp: number): Refused
  /** Removes whole segments below `seq`; resolves to the new firstSeq once durable. */
  trimBefore(seq: number): Promise<number>
  /** What `policy` would trim now. Neither a trim nor a truncation is under way. One call at a time. */
  planRetention(policy: NativeRetentionPolicy): Promise<NativeRetentionPlan>
  /** Cuts every record after `seq` (-1: all); resolves to the new nextSeq once durable. */
  truncateAfter(seq: number): Promise<number>
  /** Seals the active segment if it holds a record; resolves to the seq of the next one once durable. */
  rotate(): Promise<number>
  /** Syncs every record, writes the end marker and releases the lock. */
  close(): Promise<void>
}

export interface NativeFolderPlan extends NativeRetentionPlan {
  /** Of the newest segment. */
  segmentBytes: number
}

/** One of several writers of a log. It has no `truncateAfter` and no `rotate`. */
export interface NativeSharedLog extends NativeLog {
  /** Updates `nextSeq` and the ends with the progress of the other writers. */
  look(): void
  members(): { members: number; slot: number }
}

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

/** A named cursor that this process owns. `sync` and `place` one at a time. */
export interface NativeDurableCursor {
  /** The seq of the next record to read; -1 before the first `place` of a new one. Throws if the file is damaged. */
  position(): number
  /**
   * Compares the position, and `reached` if that is higher, with the cuts since then. Returns the log's next seq right
   * after the deepest cut below them, or Infinity if there is none. Reads one small file.
   */
  findCut(reached: number): number
  /** The generation for `place`: the caller that chooses the position knows the cuts up to it. Reads the same file. */
  newestGeneration(): number
  /** Moves forward, in memory. Records below `syncedEnd` are synced. */
  commit(position: number, syncedEnd: number): void
  /** Settles with the lowest position that a power cut can leave. */
  sync(syncedEnd: number, full: boolean): Promise<number>
  /** Moves both ways, durably. */
  place(position: number, syncedEnd: number, generation: number): Promise<void>
  close(): void
}

export interface NativeCursorSummary {
  name: string
  /** Absent if the file is damaged. */
  position?: number
  /** The log was cut to end before it, below the position. */
  cut?: number
  owned: boolean
  /** 0 if unknown. */
  ownerPid: number
}

export interface NativeCuts {
  uuid: string
  /** Of the log; -1 if its list of cuts is damaged. */
  generation: number
  /** The log's next seq after the deepest of its cuts since the generation that was asked for; -1 without any. */
  lowest: number
}

export interface NativeBounds {
  firstSeq: number
  nextSeq: number
  /** Every record below it is known to be synced. */
  syncedEnd: number
  uuid: string
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

/** One frame as it is in the file, whole or not. */
export interface NativeFrame {
  offset: number
  bytes: number
  kind: 'record' | 'padding' | 'marker' | 'void' | 'free' | 'damaged'
  seq: number
  length: number
  unsynced: number
  timestamp: number
  batchContinues: boolean
  /** The reason why it is damaged; '' if it is not. */
  problem: string
}

/** Frames of one segment that hold the seqs from one to below another. */
export interface NativeExtent {
  beginOffset: number
  /** `beginOffset` if the extent is empty. */
  endOffset: number
  /** After the last seq of the extent. */
  nextSeq: number
  records: number
  /** Of its records, in milliseconds since 1970; 0 if it has none. */
  oldestMs: number
  newestMs: number
}

export interface NativeSegmentReport {
  name: string
  bytes: number
  firstSeq: number
  records: number
  endOffset: number
  headerProblem: string
}

export interface NativeVerifyReport {
  state: RecoveryState
  uuid: string
  firstSeq: number
  nextSeq: number
  records: number
  payloadBytes: number
  /** Every record below it is known to be synced. */
  syncedEnd: number
  segments: NativeSegmentReport[]
  problems: { segment: string; offset: number; lostFirst: number; lostLast: number; message: string }[]
}

export interface NativeRepairReport {
  state: RecoveryState
  applied: boolean
  /** The bytes that were or would be cut, by file; the backup holds them. */
  cuts: { segment: string; offset: number; bytes: number; removed: boolean }[]
  backup: string
}

/** Flags of a stream in a NativeStreamJob. */
export const StreamFlag = {
  /** Its file is JSON Lines; otherwise it is made of frames. */
  lines: 1,
  /** Remove the files of an earlier stream of that name first. */
  removes: 2,
  /** Records are added to its file. */
  hasFile: 4,
} as const
export const STREAM_RESULT_FIELDS = 4

/** Records of successive positions whose bytes are in one block. It may grow during a job. */
export interface NativeRecordSlab {
  readonly bytes: Uint8Array
  /** The position of its first record. */
  readonly first: number
  readonly count: number
  /** Of each record: where it begins and ends in `bytes`. */
  readonly places: Uint32Array
  /** Of each record: milliseconds since 1970. */
  readonly times: Float64Array
}

/** Additions to the files of several streams. */
export interface NativeStreamJob {
  /** The names of their files, without an extension. */
  names: string[]
  /** Of each: flags, the file's length and CRC-32C, entries of the index that are in its file, bytes in `indexes`, records. */
  streams: Float64Array
  /** The entries of each index after those in its file. */
  indexes: Uint8Array
  /** Of each record to add, stream by stream. */
  positions: Float64Array
  /** They hold these records, in ascending order of positions. */
  slabs: readonly NativeRecordSlab[]
  /** Sync each file by the descriptor that it was written with. */
  sync: boolean
  /** Stop after so many changes of the device. */
  stepLimit: number
}

export interface NativeStreamResult {
  /** Of each: 1 if it was stored, 0 if the file does not have that length; the file's length, its CRC-32C, bytes in `indexes`. */
  streams: Float64Array
  /** The entries of each index that are not in its file. */
  indexes: Uint8Array
  steps: number
  /** The limit was reached. */
  stopped: boolean
}

/** The folders of the streams' files. */
export interface NativeStreamFiles {
  store(job: NativeStreamJob): Promise<NativeStreamResult>
  /**
   * Syncs the file system. Rejects if a write to it has failed since the folders were opened, whichever process made it.
   * ERR_DURLOG_UNSUPPORTED, before anything is synced, if failed writes would not be reported.
   */
  syncAll(): Promise<void>
  close(): void
}

export interface Native {
  openStreamFiles(records: string, index: string): Promise<NativeStreamFiles>
  setErrorClass(errorClass: typeof DurlogError): void
  /**
   * `onProgress` is called on the log's own thread, between two turns of the event loop: counters moved, events
   * wait or room was made.
   */
  open(dir: string, options: NativeOptions, onProgress: () => void): Promise<NativeLog | NativeSharedLog>
  openLogReader(dir: string, fromSeq: number): Promise<NativeLogReader>
  /** Takes the cursor's lock; rejects with ERR_DURLOG_LOCKED. */
  openDurableCursor(dir: string, name: string): Promise<NativeDurableCursor>
  listCursors(dir: string): Promise<NativeCursorSummary[]>
  removeCursor(dir: string, name: string): Promise<void>
  /** What `policy` would trim from a log that another process may have open. */
  planRetention(dir: string, policy: NativeRetentionPolicy): Promise<NativeFolderPlan>
  /** The size of the records `first` to `last`, and the time between the two. Reads both records. */
  measure(dir: string, first: number, last: number): { bytes: number; ms: number }
  /**
   * `own`: this process writes the log. Before each change but an append it lets every call end, calls `forget`,
   * and makes no other until the change is made. Opens nothing.
   */
  pointReader(dir: string, own: boolean): NativePointReader
  /** The folder's first and next seq, without the writer's lock. */
  bounds(dir: string): Promise<NativeBounds>
  /** The cuts of the log since `generation`. */
  cuts(dir: string, generation: number): Promise<NativeCuts>
  /** The page in which the log's writer publishes how far the log may be read; needs no writer. */
  openLivePage(dir: string, onChange: () => void): NativeLivePage
  verify(dir: string): Promise<NativeVerifyReport>
  /** Frames of one segment from `offset` (0: the first); at most `max`. */
  frames(dir: string, segment: string, offset: number, max: number): Promise<NativeFrame[]>
  /**
   * The frames of `segment` from `seq`, whose frame is at `offset` (0: find it), to below `endSeq`, each of them checked; never
   * a part of a batch, and at most `maxBytes` unless the first batch is longer. Ends before the first frame that is not whole.
   */
  extent(
    dir: string,
    segment: string,
    offset: number,
    seq: number,
    endSeq: number,
    maxBytes: number,
  ): Promise<NativeExtent>
  /** Cuts torn tails and holes after copying the bytes into `backup`; a dry run unless `apply`. */
  repair(dir: string, apply: boolean, backup: string): Promise<NativeRepairReport>
  /** Makes file `name` with `text`, which is on the device when this settles. Rejects if it exists. */
  addFile(dir: string, name: string, text: string): Promise<void>
  crc32c(crc: number, data: Uint8Array): number
}

export const native = loadAddon() as Native
native.setErrorClass(DurlogError)
