/** Every public type with its guarantees, on one page. */
import type { EventEmitter } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import type { DurlogError } from './errors.js'

/**
 * How safe a record is when its append settles. A higher level includes every lower one, and when
 * a record is acknowledged at a level, every record before it has reached that level too.
 *
 * - `memory`: in the kernel's page cache. Survives the death of the process, not a kernel panic or power loss.
 * - `async`: as `memory`, and writeback has been started but not awaited.
 * - `sync`: msync(MS_SYNC), fdatasync or an O_DSYNC write returned. Survives a kernel panic, and power loss
 *   if the drive honours flushes. On macOS it is a barrier in the drive's cache, which a power cut may empty: use
 *   `full` there.
 * - `full`: the platform's strongest sync: F_FULLFSYNC on macOS, fsync elsewhere, metadata included.
 */
export type Durability = 'memory' | 'async' | 'sync' | 'full'

/** How bytes reach the segment file. `auto` chooses by file system and by the levels of the appends. */
export type Strategy = 'auto' | 'mmap' | 'pwrite' | 'direct'

/** How the space of a segment is allocated before it holds records. */
export type Preallocation = 'auto' | 'none' | 'zero'

/** A record's content: bytes, or a string stored as UTF-8. At least 1 byte, at most `maxRecordBytes`. */
export type Payload = Uint8Array | string

/** Bytes: a number, or text with a unit of 1024, such as `'64k'`, `'512MiB'` or `'2g'`. */
export type ByteSize = number | string

/** A length of time: a number in the unit of the option's name, or text such as `'200us'`, `'250ms'`, `'90s'`, `'15m'`, `'2h'` or `'7d'`. */
export type Duration = number | string

export interface OpenOptions {
  /** The level of appends that name none. Default `sync`. */
  durability?: Durability | undefined
  /** Default `auto`. */
  strategy?: Strategy | undefined
  /** Default `auto`. `mmap` refuses `none`: a store to a block that is not allocated may fail. */
  preallocate?: Preallocation | undefined
  /**
   * Size of a segment file in bytes: 64 KiB to 1 GiB, a multiple of 4096. Default 64 MiB. The first segment of a new log
   * has 1 MiB, or more if its first append needs it; each further one is twice as long, up to this size. In a `shared`
   * log all segments have this size.
   */
  segmentBytes?: ByteSize | undefined
  /**
   * Bytes that may wait for the device before appends wait for room and `write` refuses: 64 KiB to 2 GiB.
   * Default 32 MiB.
   */
  maxPendingBytes?: ByteSize | undefined
  /**
   * The longest record in bytes, 1 to 128 MiB: at most 8192 less than the smaller of `segmentBytes` and `maxPendingBytes`.
   * Default 16 MiB, lowered to that if necessary.
   */
  maxRecordBytes?: ByteSize | undefined
  /**
   * How long a commit waits for more appends to join it, in microseconds: 0 to 1,000,000. Default 0: a commit
   * starts as soon as the current turn of the event loop has made its appends. Whole milliseconds wait on a
   * timer; a shorter delay takes turns of the event loop.
   */
  commitDelayMicros?: Duration | undefined
  /** How long to wait for another writer to close the log, in milliseconds. Default 0: refuse at once. */
  waitMs?: Duration | undefined
  /**
   * What to do if records known to be synced are damaged: `strict` (default) refuses with ERR_DURLOG_CORRUPT,
   * `salvage` opens the log without them and leaves the damaged bytes as they are.
   */
  recovery?: 'strict' | 'salvage' | undefined
  /**
   * The type of the values that are appended and of `record.value`: any value that JSON can represent, a string, bytes, or
   * the values of an object's `encode` and `decode`. The log stores only the encoded bytes. Default: appends take bytes or
   * strings, and records have no `value`.
   */
  encoding?: 'json' | 'utf8' | 'buffer' | Encoding<unknown> | undefined
  /** Removes old segments automatically, oldest first. Default: none are removed. */
  retention?: RetentionOptions | undefined
  /**
   * Several processes and worker threads write the log at the same time, each with `shared: true`. Linux only, on file
   * systems that overwrite in place; else ERR_DURLOG_UNSUPPORTED. Default false: this one writes alone.
   */
  shared?: boolean | undefined
  /** Make the log if there is none. Default true; with false, ERR_DURLOG_NOT_FOUND. */
  create?: boolean | undefined
  /** Default false: open for writing. See `ReadOnlyOptions`. */
  readOnly?: false | undefined
}

/** At least one limit. */
export interface RetentionOptions {
  /**
   * The bytes that the log's files may take, its segments and room for two more: at least 4 times `segmentBytes`. This limit
   * also removes records that cursors have not read: see the event `overrun`. Without `segmentBytes` a segment is an eighth of
   * it, from 64 KiB to 64 MiB.
   */
  maxBytes?: ByteSize | undefined
  /**
   * A segment is removed once its newest record is older: at least 1000 ms. If all records of the active segment are older,
   * it is sealed first. Default: no limit.
   */
  maxAgeMs?: Duration | undefined
  /**
   * `cursors` (default): `maxAgeMs` removes no record at or after the position of a named cursor, whichever process uses it.
   * `nothing`: cursors are ignored.
   */
  keepFor?: 'cursors' | 'nothing' | undefined
}

/** Records at or after a cursor's position that were removed. */
export interface CursorOverrun {
  /** The cursor's name. */
  cursor: string
  lostFirst: number
  lostLast: number
}

/** At least one of `before`, `maxBytes` and `maxAgeMs`. */
export interface TrimOptions {
  /** Removes the segments whose records are all before this seq or time, even if a cursor has not read them. */
  before?: number | Date | undefined
  /** As in `RetentionOptions`. */
  maxBytes?: ByteSize | undefined
  maxAgeMs?: Duration | undefined
  keepFor?: 'cursors' | 'nothing' | undefined
  /** Remove nothing, and report what would be removed. Default false. */
  dryRun?: boolean | undefined
  /** How long to wait for the log's writer to trim, in milliseconds; it trims even if this call stops waiting. Default 10,000. */
  waitMs?: Duration | undefined
}

export interface TrimReport {
  /**
   * - `caller`: no process had the log open, and this call removed the segments.
   * - `writer`: the process that has the log open removed them.
   * - `requested`: that process had not removed them after `waitMs`, and the request stays.
   * - `none`: a dry run, or there was nothing to remove.
   */
  by: 'caller' | 'writer' | 'requested' | 'none'
  /** The log's oldest seq now. */
  firstSeq: number
  /** The first seq that the trim keeps. */
  before: number
  /** The number of whole segments before that seq at the time of the call, and their bytes. */
  segments: number
  bytes: number
  /** For each cursor whose position is in these segments. */
  overruns: CursorOverrun[]
}

/**
 * Opens for reading only. `recovery` is the default of `ReadOptions.salvage`; a reader checks the other options and
 * does not use them, so that a writer and its readers may share them.
 */
export interface ReadOnlyOptions extends Omit<OpenOptions, 'readOnly'> {
  readOnly: true
}

export interface AppendSyncOptions {
  /** The level at which the append is done. Default: the log's `durability`. */
  durability?: Durability | undefined
  /**
   * The record's timestamp, to import records: milliseconds since 1970, 0 to 8.64e15, stored exactly. Default: the clock's
   * time. Unless the log is shared, a new segment begins if the timestamp is before the previous record's, or more than 49.7
   * days after the segment's base time: records in descending order take a segment each.
   */
  timestamp?: number | undefined
}

export interface AppendOptions extends AppendSyncOptions {
  /**
   * The seq that the record, or the first of the batch, has to get. If it would get another one nothing is appended, and
   * the promise rejects with ERR_DURLOG_SEQ_CONFLICT, whose `nextSeq` is the one it would have got. Default: any.
   */
  expectedSeq?: number | undefined
  /**
   * Gives up an append that still waits for room; the promise rejects with the signal's reason. Once the record has its seq,
   * the signal has no effect.
   */
  signal?: AbortSignal | undefined
}

export interface BatchRange {
  first: number
  last: number
}

export interface LogRecord {
  seq: number
  /** A view of the batch it was read with: it stays valid and keeps that batch in memory. Copy it to transfer it. */
  data: Buffer
  /** When it was appended, in milliseconds since 1970, by the writer's clock, or the option `timestamp` of its append. */
  timestamp: number
}

/** A record of a log that was opened with an `encoding`. */
export interface DecodedRecord<V> extends LogRecord {
  /** Decoded when it is first asked for; throws ERR_DURLOG_DECODE if that fails. */
  readonly value: V
}

/** Converts values to bytes and back. An error that it throws becomes the `cause` of durlog's error. */
export interface Encoding<V> {
  /** The bytes of a record, or a string for UTF-8. */
  encode(value: V): Payload
  decode(data: Buffer): V
}

/** Records that could not be read and were skipped. */
export interface ReadGap {
  first: number
  /** The last seq lost, or -1 if nothing whole follows. */
  last: number
  error: DurlogError
}

export interface ReadOptions {
  /** The first seq to deliver. Default: `firstSeq`. */
  from?: number | undefined
  /** End before this seq. Default: the end of the log when reading begins; with `follow`, no end. */
  to?: number | undefined
  /**
   * Begin at the first record at or after this time (a Date, or milliseconds since 1970), or after the last record if
   * there is none yet. With `from`, at the later of the two. See `seqAt`.
   */
  since?: Date | number | undefined
  /** End before the first record at or after this time. Not with `follow`. */
  until?: Date | number | undefined
  /** Wait for new records at the end of the log instead of finishing. Default false. */
  follow?: boolean | undefined
  /** Deliver a record only once it is known to be synced. Default false. */
  durableOnly?: boolean | undefined
  /** Skip damage instead of failing with ERR_DURLOG_CORRUPT. Default: true if the log was opened with `salvage`. */
  salvage?: boolean | undefined
  /** Called with each gap that `salvage` skips, before the record after it is delivered. */
  onGap?: ((gap: ReadGap) => void) | undefined
  /** Ends the iteration: it throws the signal's reason. */
  signal?: AbortSignal | undefined
}

/** Iterates over records; leaving a `for await` early closes it. */
export interface LogReader<R extends LogRecord = LogRecord>
  extends AsyncIterator<R, undefined, undefined>,
    AsyncDisposable {
  /** The next record if it is decoded and no `next()` is pending; undefined otherwise: then await `next()`. */
  nextBuffered(): R | undefined
  next(): Promise<IteratorResult<R, undefined>>
  /** Arrays of 1 to `maxRecords` records, what is decoded each time: one await for all of them. Leaving early closes the reader. */
  batches(maxRecords?: number): AsyncGenerator<R[], undefined, undefined>
  /** Ends the iteration and closes the files. */
  return(): Promise<IteratorResult<R, undefined>>
  [Symbol.asyncIterator](): LogReader<R>
}

/** How safe a cursor's position is. */
export type CursorDurability = 'memory' | 'sync' | 'full'

export interface CursorOptions {
  /**
   * The position of a new cursor: the oldest record (`first`), after the newest (`next`), or a seq. Default `first`. An
   * existing cursor keeps its position.
   */
  from?: 'first' | 'next' | number | undefined
  /** How long to wait for another owner to close the cursor, in milliseconds. Default 0: refuse at once. */
  waitMs?: Duration | undefined
}

/** Where `ensureCursor` places a new cursor. */
export type EnsureCursorOptions = Pick<CursorOptions, 'from'>

/** As `ReadOptions`; it begins at the cursor's position. */
export interface CursorReadOptions extends Omit<ReadOptions, 'from' | 'since'> {}

export interface CommitOptions {
  /** Default `memory`: the position survives the death of the process. */
  durability?: CursorDurability | undefined
}

/** How far a cursor is behind the end of the log. */
export interface CursorLag {
  records: number
  /** Of these records' frames, and of the free space at the end of each segment before the newest record's. */
  bytes: number
  /** From the next record to the newest, by their timestamps. */
  ms: number
}

/** A cursor as others see it. */
export interface CursorSummary {
  name: string
  /** The seq of the next record that it reads; -1 if its file is damaged. */
  position: number
  /** Records from the position, or from the log's first record if that is later, to the end of the log. */
  lagRecords: number
  /** Whether its `read` delivers: `cut`, `overrun` and `damaged` need a `seek`. */
  state: 'ready' | 'cut' | 'overrun' | 'damaged'
  /** Whether a process has it open; false also if the file system cannot show it. */
  owned: boolean
  /** That process, if it is known. */
  ownerPid?: number
}

/**
 * A named position in the log that outlives its process. At least once: a record is delivered again until a commit of it,
 * or of a later one, has reached the device.
 */
export interface DurableCursor<R extends LogRecord = LogRecord> extends AsyncDisposable {
  readonly name: string
  /** The seq of the next record to read: the one after the last that was committed. */
  readonly position: number
  /** The log's `generation` at this moment. */
  readonly generation: number
  /** Reads up to three small pieces of the log, on this thread. */
  readonly lag: CursorLag
  /**
   * Iterates from the position on. Fails with ERR_DURLOG_CURSOR_CUT if `truncateAfter`, or a recovery, removed records that
   * a reader of this cursor had delivered or that were committed, and with ERR_DURLOG_CURSOR_OVERRUN if its next records were
   * trimmed; `lostFirst` and `lostLast` name them. Then `seek`.
   */
  read(options?: CursorReadOptions): LogReader<R>
  /**
   * Marks everything up to `seq` as done: the cursor continues after it, in this process or the next. Seqs may be skipped;
   * committing a lower seq again changes nothing. `sync` and `full` wait until the record itself is synced (a writer's log
   * syncs it), and then bring the position to the device.
   */
  commit(seq: number, options?: CommitOptions): Promise<void>
  /** Sets the position, forwards or back, durably. Ends the state after ERR_DURLOG_CURSOR_CUT and its like. */
  seek(seq: number): Promise<void>
  /** Releases the cursor for its next owner. The committed position stays. Followers end; other readers fail. */
  close(): Promise<void>
}

export interface ReadableOptions extends ReadOptions {
  /** Records that are held ready. Default 256. */
  highWaterMark?: number | undefined
}

export interface WritableOptions {
  /** Default: the log's `durability`. */
  durability?: Durability | undefined
  /** Bytes held while earlier ones are pending. Default 1 MiB; in object mode values, 256. */
  highWaterMark?: ByteSize | undefined
  /** `lines`: each line is a record, without its newline, wherever chunks end. Default `chunks`: each chunk is one. */
  split?: 'chunks' | 'lines' | undefined
  /** Leave out chunks and lines without a byte, which no record can be. Default false: they are refused. */
  skipEmpty?: boolean | undefined
}

/**
 * Of `writable`. After an error the stream appends no more. Its records up to `lastSeq` have reached their level; later ones
 * can be stored only if the error's `outcome` is `unknown`.
 */
export interface LogWritable extends Writable {
  /** Records that have reached their level. */
  readonly appended: number
  /** The seq of the last of these; -1 without any. */
  readonly lastSeq: number
}

export type RecoveryState = 'clean' | 'torn-tail' | 'hole' | 'corrupt'

/** What opening the log found, and what it did about it. */
export interface LogRecovery {
  /**
   * Of the segments that were read: those that hold records from `scannedFrom` on. Damage in an older segment is found by
   * `verify`, by `repair` and when its records are read.
   * - `clean`: the log was closed, or ended at a whole record.
   * - `torn-tail`: an incomplete end, none of it known to be synced, was cut.
   * - `hole`: an unreadable place before whole records, none of them known to be synced: cut from there on.
   * - `corrupt`: damage of records known to be synced; opened only by `recovery: 'salvage'`.
   */
  state: RecoveryState
  /**
   * The first seq of the oldest segment that was read. Every record before it was known to be synced by what the newer
   * segments say, and was not read.
   */
  scannedFrom: number
  /** Bytes read to decide it. */
  scannedBytes: number
  /** Bytes that were cut away. */
  discardedBytes: number
  /** Whole records among them; none was known to be synced. */
  discardedRecords: number
  /** Where the damage begins. */
  damage?: { segment: string; offset: number }
  /** The seqs that are lost, if they are known. */
  lost?: BatchRange
}

/** The percentiles of values, up to a sixteenth too high; `max` is exact. */
export interface Percentiles {
  /** How many there are; without any the others are 0. */
  count: number
  p50: number
  p90: number
  p99: number
  max: number
}

export interface Distribution {
  /** Since the log was opened. */
  all: Percentiles
  /** Of the last 50 to 60 seconds. */
  lastMinute: Percentiles
}

/** A cursor that is open in this log. */
export interface OpenCursor {
  name: string
  position: number
  /** Records from the position, or from the log's first record if that is later, to the end of the log. */
  lagRecords: number
}

export interface LogStats {
  /** The strategy that was asked for. */
  strategy: string
  /** How bytes go to the file at this moment: `mmap`, `pwrite` or `direct`. */
  mode: string
  /** How the active segment's space was taken. */
  preallocate: string
  fileSystem: string
  /** Why this mode is in use. */
  reason: string
  segments: number
  segmentBytes: number
  rotations: number
  commits: number
  committedRecords: number
  committedBytes: number
  modeSwitches: number
  /** Segments that were used again. */
  recycled: number
  /** Records framed, and the bytes of their frames; those that were rolled back are among them. */
  appendedRecords: number
  appendedBytes: number
  /** Records that this log's readers have decoded, and the bytes of memory that these records took. */
  readRecords: number
  readBytes: number
  /** Records that were removed at the log's beginning, and the bytes of their files. */
  trimmedRecords: number
  trimmedBytes: number
  /** The length of the log's files, spares included: what `retention.maxBytes` limits. Reads the folder when it is read. */
  diskBytes: number
  /** When the last commit of records above `memory` ended, in milliseconds since 1970; 0 before the first. */
  lastCommitMs: number
  /** Microseconds that a commit of records above `memory` took: writes and syncs. */
  commitMicros: Distribution
  /** How many records a commit brought to its level. */
  commitRecords: Distribution
  /** Cursors that are open in this log, by name. `cursors()` tells of those of other processes too. */
  cursors: OpenCursor[]
  /** Bytes that wait for the device. */
  pendingBytes: number
  /** Appends and syncs whose promise has not settled, those that wait for room included. */
  pendingAppends: number
  /** Of these, how many wait for room. */
  waitingForRoom: number
  /** Of a log with `shared`: how many write it at this moment, and this one's number among them. */
  shared?: { members: number; slot: number }
}

/** Of a log that was opened for reading only. */
export interface ReadOnlyStats {
  /**
   * Whether the next three fields are those of this moment. False until this log has seen a running writer; until then they
   * are those of `open` or of the last `refresh`.
   */
  current: boolean
  firstSeq: number
  nextSeq: number
  syncedSeq: number
  /**
   * Commits above `memory` since the file `live` was created, and their total duration in microseconds. 0 without that file,
   * and for a shared log.
   */
  commits: number
  commitTotalMicros: number
  /** Reads the folder when it is read. */
  segments: number
  /** As in `LogStats`. */
  diskBytes: number
  /** As in `LogStats`. */
  readRecords: number
  readBytes: number
  /** Cursors that are open in this log, by name. `cursors()` tells of those of other processes too. */
  cursors: OpenCursor[]
}

/** Event names and their arguments. */
export type LogEvents = {
  /** The last seq that is now known to be synced. */
  synced: [seq: number]
  /** The first seq of the segment that took over. */
  rotated: [firstSeq: number]
  /** A write or a sync failed: the log accepts no more records until it is opened again. */
  latched: [error: DurlogError]
  /** `retention.maxBytes` has removed records at or after a cursor's position. Once for each cursor and pass. */
  overrun: [overrun: CursorOverrun]
  /** A background pass, or a trim that another process requested, failed. It is repeated later. */
  retentionFailed: [error: DurlogError]
  /**
   * With `shared`: a writer in process `pid` (0 if unknown) is alive but has made no progress for a second, and `seq` and all
   * later records wait for its record, for the sync it makes for all members, or for the next segment. Emitted each second
   * until that process continues or dies; for a trim that it delays, once.
   */
  stalled: [stall: { pid: number; seq: number }]
}

/** The log of a snapshot and the last record that the snapshot covers. */
export interface LogPosition {
  /** The log's. */
  uuid: string
  /** The log's, as it was before the records were read. */
  generation: number
  /** Of the last record that the snapshot covers; -1 for none. It must have been synced. */
  seq: number
}

/** The methods that a writer and a reader of a log have in common. A method that returns a promise never throws. */
export interface ReadableLog<R extends LogRecord = LogRecord> extends AsyncDisposable {
  /** The folder's absolute path, as it was when the log was opened. */
  readonly dir: string
  /** Random, made with the log. */
  readonly uuid: string
  readonly readOnly: boolean
  /** The oldest seq that is still there; equal to `nextSeq` while the log is empty. */
  readonly firstSeq: number
  /** The seq of the next record. */
  readonly nextSeq: number
  /** The last seq that is known to be synced, -1 if there is none. */
  readonly syncedSeq: number
  /**
   * The number of recorded cuts: by `truncateAfter`, and by a recovery that removed a record before a cursor's position. Of a
   * read-only log as of `open` or the last `refresh`; an older generation is as safe in a snapshot. -1 if the list of cuts is
   * damaged.
   */
  readonly generation: number

  /**
   * Whether the snapshot at `position` belongs to this log and none of the records that it covers has been cut since. A trim
   * has no effect on the result. If false, discard the snapshot: other records may have these seqs.
   */
  isCurrent(position: LogPosition): Promise<boolean>
  /** Iterates over records in order, a batch at a time. Begins at the first `next`. */
  read(options?: ReadOptions): LogReader<R>
  /** One record. Rejects with ERR_DURLOG_OUT_OF_RANGE if there is none. */
  get(seq: number): Promise<R>
  /**
   * As `get`, but blocks the thread until the record is read: a few microseconds if it is in the page cache, otherwise a
   * device read. The first access to a part of a segment that was not read since the log was opened also reads up to that
   * part. Throws ERR_DURLOG_BACKPRESSURE while `trimBefore` or `truncateAfter` runs.
   */
  getSync(seq: number): R
  /**
   * The seq of the first record at or after `time`; `nextSeq` if there is none. Reads a few dozen records, and once the
   * segment that holds the answer. Assumes that timestamps rise with seqs. If some
   * fall, the result is one of several possible seqs. Rejects like `get`.
   */
  seqAt(time: Date | number): Promise<number>
  /** A stream of `LogRecord`, in object mode. */
  readable(options?: ReadableOptions): Readable
  /**
   * Opens the cursor `name`, 1 to 64 letters, digits, `-` and `_`, and makes it if there is none. One process has it at a
   * time: ERR_DURLOG_LOCKED.
   */
  cursor(name: string, options?: CursorOptions): Promise<DurableCursor<R>>
  /**
   * Creates the cursor `name` at `from` unless it exists, without opening it: its owner may be another process. From then on
   * retention by `maxAgeMs` keeps the records from the cursor's position on, unless `keepFor` is `nothing`.
   */
  ensureCursor(name: string, options?: EnsureCursorOptions): Promise<void>
  /** Every cursor of the log, by name. */
  cursors(): Promise<CursorSummary[]>
  /** Removes a cursor that is not open; ERR_DURLOG_NOT_FOUND if there is none. */
  removeCursor(name: string): Promise<void>
  /** Releases the files and closes the cursors. Open readers, followers too, deliver their remaining records and end. */
  close(): Promise<void>
}

/**
 * A log opened for reading only, with or without a writer in any process. It takes no lock. It changes only its cursors'
 * files, and the fields of the file `live` that wake waiting readers.
 */
export interface ReadOnlyLog<R extends LogRecord = LogRecord> extends ReadableLog<R> {
  readonly readOnly: true
  /** Updates `firstSeq`, `nextSeq`, `syncedSeq` and `generation`. */
  refresh(): Promise<void>
  /** If the result's `current` is true, the call has also updated the log's `firstSeq`, `nextSeq` and `syncedSeq`. */
  stats(): ReadOnlyStats
}

/** A log opened for writing. */
export interface Log<V = Payload, R extends LogRecord = LogRecord> extends ReadableLog<R>, EventEmitter<LogEvents> {
  readonly readOnly: false
  /** What opening found. */
  readonly recovery: LogRecovery

  /**
   * Appends one record; settles with its seq when the level is reached. An append that waits for room (`maxPendingBytes`)
   * copies the bytes later, so do not change them until the promise settles.
   *
   * Rejects with ERR_DURLOG_RECORD_EMPTY, ERR_DURLOG_RECORD_TOO_LARGE, ERR_DURLOG_INVALID_ARGUMENT (before
   * anything is written), ERR_DURLOG_NO_SPACE, ERR_DURLOG_TOO_MANY_FILES or ERR_DURLOG_OUT_OF_MEMORY (nothing is
   * left behind; usable again when there is room, a free file descriptor or memory),
   * ERR_DURLOG_SYNC_FAILED, ERR_DURLOG_LATCHED or ERR_DURLOG_CLOSED. With `shared` also ERR_DURLOG_UNSUPPORTED (`timestamp`) or,
   * if `close` is called meanwhile, ERR_DURLOG_STALLED. The record is not stored, unless the error's `outcome` is `unknown`.
   */
  append(data: V, options?: AppendOptions): Promise<number>
  /**
   * Appends records with consecutive seqs, atomically: after a crash all are there or none. Rejects like
   * `append`, and with ERR_DURLOG_BATCH_TOO_LARGE if it does not fit one segment or `maxPendingBytes`.
   */
  appendBatch(list: readonly V[], options?: AppendOptions): Promise<BatchRange>
  /**
   * Appends one record at `memory` and returns its seq: the fastest way in. Throws ERR_DURLOG_BACKPRESSURE
   * when there is no room or other appends wait for it: `await log.drain()` and write again.
   */
  write(data: V): number
  /**
   * As `write`, for a batch: all of the records or none, with consecutive seqs, in one call. Throws like `write`, and
   * with ERR_DURLOG_BATCH_TOO_LARGE like `appendBatch`.
   */
  writeBatch(list: readonly V[]): BatchRange
  /** Appends one record and blocks the thread until the level is reached. Throws like `write`. */
  appendSync(data: V, options?: AppendSyncOptions): number
  /** Settles when `write` has room again. */
  drain(): Promise<void>
  /**
   * Brings all records so far to `level` (default `sync`); settles with the last seq that is now at that
   * level, -1 if the log has never held one.
   */
  sync(level?: Durability): Promise<number>

  /**
   * As `sync`, and blocks the thread until it is done: for `process.on('exit')` and `uncaughtExceptionMonitor`, in
   * which promises no longer settle. Records that wait for room are included. Throws what `sync` rejects with, and
   * ERR_DURLOG_BACKPRESSURE while appends wait for `truncateAfter`, `rotate` or a trim.
   */
  flushSync(level?: Durability): number

  /**
   * A stream that makes each chunk, or each line, one record; it finishes when all have reached their level. The
   * callback of each `write` reports the result of its chunk. In object mode if the `encoding` is `json` or an object.
   */
  writable(options?: WritableOptions): LogWritable

  /**
   * Removes the segments whose records are all before `seq`, even if a cursor has not read them; settles with the new
   * `firstSeq` once the removal is durable. Appends made meanwhile wait. The active segment and those not synced yet stay. In
   * a shared log the segments are synced first, and appends continue.
   */
  trimBefore(seq: number): Promise<number>
  /**
   * Starts a pass of the option `retention` now; settles with the new `firstSeq`. Rejects with ERR_DURLOG_INVALID_ARGUMENT
   * if the log was opened without the option.
   */
  applyRetention(): Promise<number>
  /**
   * Cuts every record after `seq` (-1: all of them); settles with the new `nextSeq` once the cut is as
   * durable as a synced append. Appends made meanwhile wait. A reader that has delivered a removed
   * record fails with ERR_DURLOG_OUT_OF_RANGE; any other ends at the cut, or continues if it follows.
   */
  truncateAfter(seq: number): Promise<number>

  /**
   * Seals the active segment before it is full, so that `trimBefore` may remove it, and begins the next one; settles with
   * its first seq, which is `nextSeq`, once every record before it and its file are durable. A segment that holds no
   * record stays. Appends made meanwhile wait.
   */
  rotate(): Promise<number>

  /** Counts since the log was opened, and how it writes at this moment. */
  stats(): LogStats
  /**
   * Waits for every append, syncs every record and releases the files and the lock. Open readers, followers
   * too, deliver their remaining records and end. Further calls return the same promise. Rejects with ERR_DURLOG_SYNC_FAILED if
   * that last sync fails: the log is closed, and records that were only at `memory` may be lost. With `shared`, rejects with
   * ERR_DURLOG_STALLED if another writer holds up the last acknowledgements for five seconds: the log is closed.
   */
  close(): Promise<void>
}
