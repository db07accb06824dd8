/** Every public type of the main entry point, with its guarantees. */
import type { EventEmitter } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import type { DurlogError } from './errors.js'

/**
 * The failures that a record survives once its append has settled. A higher level includes every lower level. When a
 * record is acknowledged at a level, every earlier record has reached that level too.
 *
 * - `memory`: the record is in the kernel's page cache. It survives the death of the process, not a kernel panic or
 *   power loss.
 * - `async`: as `memory`; writeback has started, and nothing waits for it.
 * - `sync`: msync(MS_SYNC), fdatasync or an O_DSYNC write returned. Survives a kernel panic, and power loss
 *   if the drive honours flushes. On macOS these calls do not empty the drive's cache, whose content a power cut may
 *   destroy: use `full` there.
 * - `full`: the platform's strongest sync: F_FULLFSYNC on macOS, fsync elsewhere, metadata included.
 */
export type Durability = 'memory' | 'async' | 'sync' | 'full'

/**
 * The level of an append, or `replicated`: as `sync`, and the destination of the option `replicate` has acknowledged
 * this record and every earlier one. The record survives the loss of this machine.
 */
export type AppendDurability = Durability | 'replicated'

/**
 * How bytes reach the segment file. `auto` chooses by file system and by the levels of the appends.
 *
 * - `mmap`: the appending thread stores into a memory map, and a commit calls msync.
 * - `pwrite`: a commit calls pwrite and fdatasync.
 * - `direct`: a commit makes one O_DIRECT + O_DSYNC write of whole blocks.
 */
export type Strategy = 'auto' | 'mmap' | 'pwrite' | 'direct'

/**
 * How the space of a segment is allocated before it holds records.
 *
 * - `auto`: by fallocate, or by using a trimmed segment again; not at all if the file system does not support it.
 * - `none`: not in advance; the file grows as it is written.
 * - `zero`: zeros are written to the whole segment, which doubles the bytes written.
 */
export type Preallocation = 'auto' | 'none' | 'zero'

/** A record's content: bytes, or a string stored as UTF-8. At least 1 byte, at most `maxRecordBytes`. */
export type Payload = Uint8Array | string

/** Bytes: a number, or text with a unit of 1024, such as `'64k'`, `'512MiB'` or `'2g'`. */
export type ByteSize = number | string

/**
 * A length of time: a number in the unit of the option's name, or text such as `'200us'`, `'250ms'`, `'90s'`, `'15m'`,
 * `'2h'` or `'7d'`.
 */
export type Duration = number | string

export interface WaitOptions {
  /**
   * Ends the wait: the promise rejects with the signal's reason. Work that the call has begun continues and is not
   * undone. A signal that is aborted before the call prevents it.
   */
  signal?: AbortSignal | undefined
}

/** The options of every log. `signal` ends the wait of `waitMs`: then the log is not opened. */
interface LogOptions extends WaitOptions {
  /** The level of appends without the option `durability`. Default `sync`. */
  durability?: Durability | undefined
  /**
   * Size of a segment file in bytes: 64 KiB to 1 GiB, a multiple of 4096. Default 64 MiB. The first segment of a new
   * log has 1 MiB, or more if its first append needs it; each later segment is twice as long as the previous one, up to
   * this size. In a `shared` log all segments have this size.
   */
  segmentBytes?: ByteSize | undefined
  /**
   * The limit, in bytes, for records that wait in this process's memory for the device: 64 KiB to 2 GiB. Default 32
   * MiB. Above it appends wait for room, and `write` throws ERR_DURLOG_BACKPRESSURE. Records in a memory map are in the
   * page cache and do not count; there the limit is 256 MiB of segments that are not synced.
   */
  maxPendingBytes?: ByteSize | undefined
  /**
   * The longest record in bytes: 1 byte to 128 MiB, and at most the smaller of `segmentBytes` and `maxPendingBytes`,
   * minus 8192. Default 16 MiB, or that limit if it is lower.
   */
  maxRecordBytes?: ByteSize | undefined
  /**
   * How long a commit waits for more appends to join it, in microseconds: 0 to 1,000,000. Default 0: a commit
   * starts at the end of the turn of the event loop that made the appends. A delay of 1000 or more is rounded to whole
   * milliseconds and uses a timer. A shorter delay checks the clock in every turn of the event loop, which keeps the
   * thread busy.
   */
  commitDelayMicros?: Duration | undefined
  /**
   * How long to wait for another writer to close the log, in milliseconds. Default 0: reject at once with
   * ERR_DURLOG_LOCKED.
   */
  waitMs?: Duration | undefined
  /**
   * The type of the values that are appended and of `record.value`: any value that JSON can represent, a string, bytes,
   * or the values of an object's `encode` and `decode`. The log stores only the encoded bytes. Default: appends take
   * bytes or strings, and records have no `value`.
   */
  encoding?: 'json' | 'utf8' | 'buffer' | Encoding<unknown> | undefined
  /** Create the log if there is none. Default true. With false, `open` rejects with ERR_DURLOG_NOT_FOUND. */
  create?: boolean | undefined
}

/** The options of a log that one writer has open at a time. */
interface ExclusiveLogOptions extends LogOptions {
  /** Default `auto`. */
  strategy?: Strategy | undefined
  /** Default `auto`. `mmap` refuses `none`: a store to a block that is not allocated may fail. */
  preallocate?: Preallocation | undefined
  /**
   * What to do if records known to be synced are damaged: `strict` (default) refuses with ERR_DURLOG_CORRUPT,
   * `salvage` opens the log without these records and leaves the damaged bytes in place.
   */
  recovery?: 'strict' | 'salvage' | undefined
  /** Removes old segments automatically, oldest first. Default: none are removed. */
  retention?: RetentionOptions | undefined
  /**
   * A destination outside this machine, to which every synced record is copied: `archiveTo` of `durlog/archive` or
   * `jetstream` of `durlog/jetstream`. Allows appends at the level `replicated`. Default: none.
   */
  replicate?: ReplicateTo | undefined
  /** Default false. With true, the options are those of `SharedLogOptions`. */
  shared?: false | undefined
}

/**
 * The options of a log that several processes and worker threads write at the same time. `trimBefore` replaces
 * `retention`. Linux only, on file systems that overwrite in place; otherwise `open` rejects with
 * ERR_DURLOG_UNSUPPORTED.
 */
interface SharedLogOptions extends LogOptions {
  shared: true
  strategy?: 'auto' | 'mmap' | undefined
  preallocate?: 'auto' | 'zero' | undefined
  recovery?: 'strict' | undefined
  retention?: undefined
  replicate?: undefined
}

export type OpenOptions = (ExclusiveLogOptions | SharedLogOptions) & {
  /** Default false: open for writing. See `ReadOnlyOptions`. */
  readOnly?: false | undefined
}

/**
 * A destination for the option `replicate`: `archiveTo` of `durlog/archive` or `jetstream` of `durlog/jetstream`
 * returns one.
 */
export interface ReplicateTo {
  /** Whether appends at other levels continue after another writer has taken over. */
  readonly keepsLocal: boolean
}

/** The replication of a log that was opened with the option `replicate`. */
export interface ReplicationStats {
  /**
   * `connecting` until the destination has responded, `waiting` before another attempt, `stopped` after an error or
   * `close`.
   */
  state: 'connecting' | 'shipping' | 'waiting' | 'stopped'
  /** The last replicated seq; -1 if none is known. */
  replicatedSeq: number
  /**
   * The synced records that are not replicated, the bytes of their frames, and the age of the oldest one in
   * milliseconds.
   */
  lag: { records: number; bytes: number; ms: number }
  /** The appends at `replicated` whose promise has not settled. */
  waitingAppends: number
  /** The bytes of their records, and of the objects around these. */
  waitingBytes: number
  /** Appends have waited for ten seconds, and the destination has acknowledged nothing. */
  stalled: boolean
  /** Another writer has taken over. */
  fenced: boolean
  /** The error that has stopped the replication; undefined while it continues. */
  failure: DurlogError | undefined
  /** With the option `leaseMs` of the destination. */
  lease?: LeaseView | undefined
  retries: number
  /** The newest failure, even if it did not stop the replication. */
  lastError: Error | undefined
}

/** A lease of a replicated log, as this process sees it. */
export interface LeaseView {
  isHeld: boolean
  /** The time in milliseconds since this process has renewed the lease, or for which it has seen no other do so. */
  ageMs: number
  /** The duration of the lease in milliseconds; 0 if no process has ever held it. */
  ms: number
  /** The reason if the destination gave no answer when it was asked last. */
  error: Error | undefined
}

export interface ReplicationStall {
  /** The seq of the oldest append that waits. */
  seq: number
  /** The time without an acknowledgement. */
  ms: number
  /** The newest failure of the destination, if there was one. */
  error: Error | undefined
}

/** At least one of `maxBytes` and `maxAgeMs`. */
export interface RetentionOptions {
  /**
   * The bytes that the log's files may take, including space for two further segments: at least 4 times `segmentBytes`.
   * This limit also removes records that cursors have not read: see the event `overrun`. With this limit the default of
   * `segmentBytes` is an eighth of it, at least 64 KiB and at most 64 MiB.
   */
  maxBytes?: ByteSize | undefined
  /**
   * A segment is removed once its newest record is older than this, in milliseconds: at least 1000. If all records of
   * the active segment are older, the segment is sealed first, then removed. Default: no limit.
   */
  maxAgeMs?: Duration | undefined
  /**
   * `cursors` (default): `maxAgeMs` removes no record at or after the position of any named cursor, including cursors
   * of other processes. `nothing`: `maxAgeMs` ignores cursors.
   */
  keepFor?: 'cursors' | 'nothing' | undefined
}

/** A range of records that was removed although a cursor had not read it. */
export interface CursorOverrun {
  /** The cursor's name. */
  cursor: string
  lostFirst: number
  lostLast: number
}

/** At least one of `before`, `maxBytes` and `maxAgeMs`. */
/** `signal` ends the wait of `waitMs`; a request that is in the folder by then stays. */
export interface TrimOptions extends WaitOptions {
  /** Removes the segments whose records are all before this seq or time, even those that a cursor has not read. */
  before?: number | Date | undefined
  /** As in `RetentionOptions`, but without a lower bound. */
  maxBytes?: ByteSize | undefined
  maxAgeMs?: Duration | undefined
  keepFor?: 'cursors' | 'nothing' | undefined
  /** Only report what would be removed. Default false. */
  dryRun?: boolean | undefined
  /**
   * How long to wait for the log's writer to trim, in milliseconds. Default 10,000. The writer trims even if this call
   * stops waiting.
   */
  waitMs?: Duration | undefined
}

export interface TrimReport {
  /**
   * - `caller`: no process had the log open for writing, and this call removed the segments.
   * - `writer`: the log's writer removed the segments.
   * - `requested`: the log's writer had not removed the segments after `waitMs`. The request stays in the folder.
   * - `none`: a dry run, or there was nothing to remove.
   */
  by: 'caller' | 'writer' | 'requested' | 'none'
  /** The log's oldest seq when the call returned. */
  firstSeq: number
  /** The first seq that the trim keeps, as planned when the call began. A cursor that is created later keeps more. */
  before: number
  /**
   * The number of segments that were removed, and their size in bytes; for `requested` and `none`, of those that are to
   * be removed.
   */
  segments: number
  bytes: number
  /** One entry for each cursor whose position is in these segments. */
  overruns: CursorOverrun[]
}

/**
 * Opens for reading only. `recovery: 'salvage'` makes `ReadOptions.salvage` default to true, and `encoding` applies as
 * for a writer. The other options are checked but not used, so that a writer and its readers can share one options
 * object.
 */
export type ReadOnlyOptions = WithoutAccess<OpenOptions> & { readOnly: true }
type WithoutAccess<Options> = Options extends unknown ? Omit<Options, 'readOnly'> : never

export interface AppendSyncOptions {
  /** The level that the append waits for. Default: the log's `durability`. */
  durability?: Durability | undefined
  /**
   * The record's timestamp, for imported records: milliseconds since 1970, 0 to 8.64e15, stored exactly. Default: the
   * clock's time. A new segment begins if the timestamp is before that of the previous record, or more than 49.7 days
   * after the segment's base time: in descending order, each record takes a segment. A shared log instead rejects a
   * timestamp that its active segment cannot hold, with ERR_DURLOG_UNSUPPORTED.
   */
  timestamp?: number | undefined
}

export interface AppendOptions extends Omit<AppendSyncOptions, 'durability'> {
  /**
   * The level that the append waits for; `replicated` needs the option `replicate` of `open`. Default: the log's
   * `durability`.
   */
  durability?: AppendDurability | undefined
  /**
   * The seq that the record, or the first record of the batch, must get. If the log's next seq is different, nothing is
   * appended, and the promise rejects with ERR_DURLOG_SEQ_CONFLICT, whose `nextSeq` is the log's next seq. Default: any
   * seq.
   */
  expectedSeq?: number | undefined
  /**
   * Cancels an append that still waits for room: the promise rejects with the signal's reason. Once the record has a
   * seq, the signal only ends the wait for the destination of an append at `replicated`: the promise rejects with
   * ERR_DURLOG_NOT_REPLICATED, whose `cause` is the signal's reason, and the record stays.
   */
  signal?: AbortSignal | undefined
}

export interface BatchRange {
  first: number
  last: number
}

export interface LogRecord {
  seq: number
  /**
   * A view of the memory of the batch that the record was read with. It stays valid, and keeps that memory allocated.
   * That memory cannot be transferred: to transfer the record to another thread, copy it.
   */
  data: Buffer
  /** Milliseconds since 1970: the time of the append by the writer's clock, or the append's option `timestamp`. */
  timestamp: number
}

/** A record of a log that was opened with an `encoding`. */
export interface DecodedRecord<V> extends LogRecord {
  /** Decoded at the first access, which throws ERR_DURLOG_DECODE if decoding fails. */
  readonly value: V
}

/** Converts values to bytes and back. If a method throws, the thrown value becomes the `cause` of a DurlogError. */
export interface Encoding<V> {
  /** Returns the record's bytes, or a string, which is stored as UTF-8. May return the same memory for each value. */
  encode(value: V): Payload
  decode(data: Buffer): V
}

/** A range of records that could not be read and was skipped. */
export interface ReadGap {
  first: number
  /** The last lost seq; -1 if no whole record follows the gap. */
  last: number
  error: DurlogError
}

export interface ReadOptions {
  /**
   * The first seq to deliver. Default: `firstSeq`. With -n, the last n seqs are delivered, as far as the log holds
   * them. They are counted from the end of the log when reading begins (with `durableOnly`, of the synced records), or
   * from `to` or `until` if these are earlier.
   */
  from?: number | undefined
  /** The seq before which reading ends. Default: the end of the log when reading begins; with `follow`, no end. */
  to?: number | undefined
  /**
   * Begin at the first record at or after this time (a Date, milliseconds since 1970, or ISO 8601 text). If there is no
   * such record, begin after the last record. With `from`, begin at the later of the two positions. See `seqAt`.
   */
  since?: TimePoint | undefined
  /** End before the first record at or after this time. Not with `follow`. */
  until?: TimePoint | undefined
  /** Wait for new records at the end of the log instead of finishing. Default false. */
  follow?: boolean | undefined
  /** Deliver a record only once it is known to be synced. Default false. */
  durableOnly?: boolean | undefined
  /** Deliver a record only once it is replicated. Only for the log object that replicates. Default false. */
  replicatedOnly?: boolean | undefined
  /**
   * Skip damaged records instead of failing with ERR_DURLOG_CORRUPT. Default: true if the log was opened with
   * `salvage`.
   */
  salvage?: boolean | undefined
  /** Called with each gap that `salvage` skips, before the next record is delivered. */
  onGap?: ((gap: ReadGap) => void) | undefined
  /** Aborting the signal ends the iteration, which throws the signal's reason. */
  signal?: AbortSignal | undefined
}

/** A time: a Date, milliseconds since 1970, or text in the format of ISO 8601, for example `2026-01-31T12:00:00Z`. */
export type TimePoint = Date | number | string

/**
 * Iterates over records. Leaving a `for await` loop early closes the reader, and so does destroying a stream that was
 * made of it, while it waits for a record too.
 */
export interface RecordReader<T> extends AsyncIterator<T, undefined, undefined>, AsyncDisposable {
  /**
   * Returns the next record if it is already decoded and no `next()` is pending. Otherwise returns undefined: await
   * `next()`.
   */
  nextBuffered(): T | undefined
  next(): Promise<IteratorResult<T, undefined>>
  /**
   * Yields arrays of the records that are already decoded, 1 to `maxRecords` (1 to 65,536, default 1024) in each, so
   * that many records need one `await`. Leaving the loop early closes the reader.
   */
  batches(maxRecords?: number): RecordBatches<T>
  /**
   * A stream of the records in object mode. `highWaterMark` is the number of records that it buffers, by default 256.
   */
  readable(options?: { highWaterMark?: number | undefined }): Readable
  /** Ends the iteration and closes the files. A pending `next` settles with the end of the iteration. */
  return(): Promise<IteratorResult<T, undefined>>
  [Symbol.asyncIterator](): RecordReader<T>
}

/** Iterates over the records of a reader in arrays. */
export interface RecordBatches<T> extends AsyncIterator<T[], undefined, undefined>, AsyncDisposable {
  next(): Promise<IteratorResult<T[], undefined>>
  /** Ends the iteration of the reader, and closes the files. */
  return(): Promise<IteratorResult<T[], undefined>>
  [Symbol.asyncIterator](): RecordBatches<T>
}

/** The reader of a log. */
export type LogReader<R extends LogRecord = LogRecord> = RecordReader<R>

/** The failures that a cursor's position survives: see `Durability`. */
export type CursorDurability = 'memory' | 'sync' | 'full'

/**
 * `signal` ends the wait of `waitMs`, and the wait of a new cursor for the sync of the records before its position:
 * then the cursor is not opened.
 */
export interface CursorOptions extends WaitOptions {
  /**
   * The position of a new cursor: the oldest record (`first`), after the newest record (`next`), or a seq. Default
   * `first`. An existing cursor keeps its position.
   */
  from?: 'first' | 'next' | number | undefined
  /**
   * How long to wait for another owner to close the cursor, in milliseconds. Default 0: reject at once with
   * ERR_DURLOG_LOCKED.
   */
  waitMs?: Duration | undefined
}

/** The position at which `ensureCursor` creates a new cursor. */
export type EnsureCursorOptions = Pick<CursorOptions, 'from'>

/** As `ReadOptions`, but reading begins at the cursor's position. */
export interface CursorReadOptions extends Omit<ReadOptions, 'from' | 'since'> {}

export interface CommitOptions extends WaitOptions {
  /** Default `memory`: the position survives the death of the process. */
  durability?: CursorDurability | undefined
}

/** How far a cursor is behind the end of the log. */
export interface CursorLag {
  records: number
  /** The size of these records' frames, plus the free space at the end of every segment but the newest record's. */
  bytes: number
  /** The time from the next record to the newest record, by their timestamps. */
  ms: number
}

/** The state of a cursor, which any process may own. */
export interface CursorSummary {
  name: string
  /** The seq of the next record that the cursor reads; -1 if its file is damaged. */
  position: number
  /** Records from the position, or from the log's first record if that is later, to the end of the log. */
  lagRecords: number
  /** `ready`: its `read` delivers records. `cut`, `replaced`, `overrun` and `damaged`: `read` fails until a `seek`. */
  state: 'ready' | 'cut' | 'replaced' | 'overrun' | 'damaged'
  /** Whether a process has the cursor open. Also false if the file system cannot report locks. */
  owned: boolean
  /** The id of that process. Absent if it is unknown. */
  ownerPid?: number
}

/**
 * A named position in the log that outlives its process. Delivery is at least once: after a crash, a record is
 * delivered again unless a commit of that record or of a later one survived, see `CommitOptions.durability`.
 */
export interface DurableCursor<R extends LogRecord = LogRecord> extends AsyncDisposable {
  readonly name: string
  /** The seq of the next record to read, which is after the last committed record. */
  readonly position: number
  /** The log's current `generation`. Reads a small file on this thread. */
  readonly generation: number
  /**
   * The distance to the end of the log. Reads up to three small pieces of the log and the lengths of the segments
   * between them, on this thread: about 4 ms for 1000 segments.
   */
  readonly lag: CursorLag
  /**
   * Iterates over the records from the position on. Fails with ERR_DURLOG_CURSOR_CUT if `truncateAfter` or a recovery
   * removed records that a reader of this cursor had delivered or that were committed. Fails with
   * ERR_DURLOG_CURSOR_OVERRUN if the next records were trimmed. `lostFirst` and `lostLast` are the removed records;
   * call `seek` to continue.
   */
  read(options?: CursorReadOptions): LogReader<R>
  /**
   * Marks every record up to `seq` as processed: the cursor continues after `seq`, also in its next owner. Seqs may be
   * skipped; committing a lower seq changes nothing. `sync` and `full` wait until the record itself is synced (in the
   * log's writer, the commit syncs it), then bring the position to the device.
   */
  commit(seq: number, options?: CommitOptions): Promise<void>
  /**
   * Sets the position, forwards or backwards, durably. Afterwards `read` works again after ERR_DURLOG_CURSOR_CUT,
   * ERR_DURLOG_CURSOR_OVERRUN or damage of the cursor's file.
   */
  seek(seq: number, options?: WaitOptions): Promise<void>
  /**
   * Releases the cursor for its next owner and keeps its position. Its readers with `follow` end; its other readers
   * fail.
   */
  close(): Promise<void>
}

export interface ReadableOptions extends ReadOptions {
  /** The number of records that the stream buffers. Default 256. */
  highWaterMark?: number | undefined
}

export interface WritableOptions {
  /** Default: the log's `durability`. */
  durability?: Durability | undefined
  /** The bytes that the stream buffers: default 1 MiB. In object mode, the number of values: default 256. */
  highWaterMark?: ByteSize | undefined
  /**
   * `chunks` (default): each chunk is a record. `lines`: each line, without its newline, is a record, even across
   * chunks.
   */
  split?: 'chunks' | 'lines' | undefined
  /** Skip empty chunks and lines: a record cannot be empty. Default false: they fail with ERR_DURLOG_RECORD_EMPTY. */
  skipEmpty?: boolean | undefined
}

/**
 * The stream that `writable` returns. After an error the stream appends nothing more. Its records up to `lastSeq` have
 * reached their level; later records may be stored only if the error's `outcome` is `unknown`.
 */
export interface LogWritable extends Writable {
  /** The number of records that have reached their level. */
  readonly appended: number
  /** The seq of the last record that has reached its level; -1 if none has. */
  readonly lastSeq: number
}

export type RecoveryState = 'clean' | 'torn-tail' | 'hole' | 'corrupt'

/** The damage that opening the log found, and the bytes that it removed. */
export interface LogRecovery {
  /**
   * The state of the segments that were read, which hold the records from `scannedFrom` on. Damage in older segments is
   * found by `verify`, by `repair`, and by reading their records.
   * - `clean`: the log was closed, or ended at a whole record.
   * - `torn-tail`: the log ended with an incomplete record that was not known to be synced. It was cut.
   * - `hole`: there was an unreadable place before whole records, none of them known to be synced. The log was cut
   *   there.
   * - `corrupt`: records known to be synced are damaged. Such a log opens only with `recovery: 'salvage'`.
   */
  state: RecoveryState
  /**
   * The first seq of the oldest segment that was read. Earlier records were not read: the newer segments prove that
   * they were synced.
   */
  scannedFrom: number
  /** The bytes that were read to determine `state`. */
  scannedBytes: number
  /** The bytes that were cut. */
  discardedBytes: number
  /** The number of whole records in these bytes; none was known to be synced. */
  discardedRecords: number
  /** Where the damage begins. */
  damage?: { segment: string; offset: number }
  /** The seqs that are lost, if they are known. */
  lost?: BatchRange
}

/** The percentiles of a set of values. Each is at most a sixteenth too high; `max` is exact. */
export interface Percentiles {
  /** The number of values. If it is 0, the other fields are 0. */
  count: number
  p50: number
  p90: number
  p99: number
  max: number
}

export interface Distribution {
  /** The values since the log was opened. */
  all: Percentiles
  /** The values of the last 50 to 60 seconds. */
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
  /** The option `strategy`. */
  strategy: string
  /** How bytes are currently written to the file: `mmap`, `pwrite` or `direct`. */
  mode: string
  /** How the active segment's space was allocated. */
  preallocate: string
  fileSystem: string
  /** The reason for `mode`, as text. */
  reason: string
  segments: number
  segmentBytes: number
  rotations: number
  commits: number
  committedRecords: number
  committedBytes: number
  modeSwitches: number
  /** The number of trimmed segments whose files were reused. */
  recycled: number
  /** The records that were framed, and the bytes of their frames, including records that were rolled back. */
  appendedRecords: number
  appendedBytes: number
  /** The records that the readers of this log object have decoded, and the bytes of memory that they took. */
  readRecords: number
  readBytes: number
  /** The records that were trimmed, and the bytes of the segments that held them. */
  trimmedRecords: number
  trimmedBytes: number
  /**
   * The total length of the log's segments and spare files, which `retention.maxBytes` limits. A getter that reads the
   * folder.
   */
  diskBytes: number
  /** When the last commit of records above `memory` ended, in milliseconds since 1970; 0 before the first. */
  lastCommitMs: number
  /** The duration, in microseconds, of each commit of records above `memory`: its writes and syncs. */
  commitMicros: Distribution
  /** The number of records that each commit brought to its level. */
  commitRecords: Distribution
  /** The cursors that are open in this log object, sorted by name. `cursors()` also lists those of other processes. */
  cursors: OpenCursor[]
  /** The bytes that wait in memory for the device, limited by `maxPendingBytes`; 0 while a memory map is in use. */
  pendingBytes: number
  /** The calls of `append` and `appendBatch` whose promise has not settled, including those that wait for room. */
  pendingAppends: number
  /** The number of `pendingAppends` that wait for room, or for a trim, a truncation or a rotation. */
  waitingForRoom: number
  /** For a log with `replicate`. */
  replication?: ReplicationStats
  /** For a log with `shared`: the number of members that currently write it, and the slot of this one. */
  shared?: { members: number; slot: number }
}

/** The statistics of a log that was opened for reading only. */
export interface ReadOnlyStats {
  /**
   * Whether `firstSeq`, `nextSeq` and `syncedSeq` are current. False until this log object has seen a running writer;
   * until then they are from `open` or from the last `refresh`.
   */
  current: boolean
  firstSeq: number
  nextSeq: number
  syncedSeq: number
  /**
   * The number of commits above `memory` since the file `live` was created. Undefined if none was counted, as in a
   * shared log.
   */
  commits: number | undefined
  /** The total duration of these commits, in microseconds. */
  commitTotalMicros: number
  /** A getter that reads the folder. */
  segments: number
  /** As in `LogStats`. */
  diskBytes: number
  /** As in `LogStats`. */
  readRecords: number
  readBytes: number
  /** As in `LogStats`. */
  cursors: OpenCursor[]
}

/** Event names and their arguments. */
export type LogEvents = {
  /** The last seq that is now known to be synced. */
  synced: [seq: number]
  /** The first seq of the new active segment. */
  rotated: [firstSeq: number]
  /**
   * A write or a sync failed, or another program has changed a file: the log accepts no more records until it is opened
   * again.
   */
  latched: [error: DurlogError]
  /**
   * `retention.maxBytes` removed records at or after a cursor's position. Emitted once for each cursor in each pass.
   */
  overrun: [overrun: CursorOverrun]
  /** A background pass of `retention`, or a trim that another process requested, failed. It will be repeated. */
  retentionFailed: [error: DurlogError]
  /**
   * With `shared`: a writer in process `pid` (0 if unknown) is alive but has made no progress for a second. Record
   * `seq` and all later records wait for that writer to finish a record, a sync for all members, or the next segment.
   * Emitted every second until that process continues or dies; emitted once if the process delays a trim.
   */
  stalled: [stall: { pid: number; seq: number }]
  /**
   * Appends at `replicated` wait, and the destination has acknowledged nothing for ten seconds. Emitted once until it
   * does.
   */
  replicationStalled: [stall: ReplicationStall]
  /**
   * Replication has stopped for good: appends at `replicated` reject. With ERR_DURLOG_FENCED another writer has taken
   * over, and by default the log accepts no append at any level.
   */
  replicationFailed: [error: DurlogError]
}

/** The log of a snapshot, and the last record that the snapshot covers. JSON keeps it. */
export interface LogPosition {
  /** The log's `uuid`. */
  uuid: string
  /** The log's `generation`, read before the snapshot's records were read. */
  generation: number
  /** The seq of the last record that the snapshot covers; -1 for none. The record must have been synced. */
  seq: number
  /** The log's `checksum(seq)`. Without it, a position at a record is never current. */
  checksum: number | undefined
}

/** The members that a writer and a reader of a log have in common. A method that returns a promise never throws. */
export interface ReadableLog<R extends LogRecord = LogRecord> extends AsyncDisposable {
  /** The folder's absolute path when the log was opened. */
  readonly dir: string
  /** A random identifier, chosen when the log was created. */
  readonly uuid: string
  readonly readOnly: boolean
  /** The oldest seq that the log holds; equal to `nextSeq` while the log is empty. */
  readonly firstSeq: number
  /** The seq of the next record. */
  readonly nextSeq: number
  /** The last seq that is known to be synced; -1 if there is none. */
  readonly syncedSeq: number
  /**
   * The number of recorded cuts: those by `truncateAfter`, and those by a recovery that removed a record before a
   * cursor's position. -1 if the list of cuts is damaged. In a read-only log it is from `open` or the last `refresh`;
   * such an older generation is as safe in a snapshot as the current one.
   */
  readonly generation: number

  /**
   * Whether the snapshot at `position` belongs to this log, none of the records that it covers was cut after it was
   * made, and the last of them is still the same, unless it was trimmed. If the result is false, discard the snapshot:
   * other records may have these seqs.
   */
  isCurrent(position: LogPosition): Promise<boolean>
  /** A number from the UUID, seq, timestamp and data of record `seq`, for a `LogPosition`. Rejects like `get`. */
  checksum(seq: number): Promise<number>
  /** Iterates over records in order. Opens no file before the first `next`. */
  read(options?: ReadOptions): LogReader<R>
  /** Reads record `seq`. Rejects with ERR_DURLOG_OUT_OF_RANGE if the log does not hold it. */
  get(seq: number): Promise<R>
  /**
   * As `get`, but blocks the thread until the record is read: a few microseconds if it is in the page cache, otherwise
   * a device read. The first access to a part of a segment since the log was opened also reads the preceding part of
   * that segment. Throws ERR_DURLOG_BACKPRESSURE while `trimBefore` or `truncateAfter` runs.
   */
  getSync(seq: number): R
  /**
   * The seq of the first record at or after `time`; `nextSeq` if there is none. Reads a few dozen records, and once the
   * segment that holds the result. Timestamps are assumed never to decrease from one record to the next; if some do,
   * the result is one of several possible seqs. Rejects like `get`.
   */
  seqAt(time: TimePoint): Promise<number>
  /** A stream of `LogRecord`, in object mode. */
  readable(options?: ReadableOptions): Readable
  /**
   * Opens the cursor `name` (1 to 64 letters, digits, `-` and `_`), and creates it if there is none. A cursor has one
   * owner at a time: while it is open elsewhere, rejects with ERR_DURLOG_LOCKED after `waitMs`.
   */
  cursor(name: string, options?: CursorOptions): Promise<DurableCursor<R>>
  /**
   * Creates the cursor `name` at `from` unless it exists, and does not keep it open: another process may own it. From
   * then on retention by `maxAgeMs` keeps the records from the cursor's position on, unless `keepFor` is `nothing`.
   */
  ensureCursor(name: string, options?: EnsureCursorOptions): Promise<void>
  /** Lists every cursor of the log, sorted by name. */
  cursors(): Promise<CursorSummary[]>
  /**
   * Removes the cursor `name`. Rejects with ERR_DURLOG_NOT_FOUND if there is none, and with ERR_DURLOG_LOCKED if it is
   * open.
   */
  removeCursor(name: string): Promise<void>
  /**
   * Releases the files and closes the cursors. Open readers, including followers, deliver their remaining records and
   * end.
   */
  close(): Promise<void>
}

/**
 * A log opened for reading only, whether or not a process writes it. It takes no lock on the log. It changes only the
 * files of its cursors, and the fields of the file `live` that wake waiting readers.
 */
export interface ReadOnlyLog<R extends LogRecord = LogRecord> extends ReadableLog<R> {
  readonly readOnly: true
  /** Updates `firstSeq`, `nextSeq`, `syncedSeq` and `generation`. */
  refresh(): Promise<void>
  /**
   * If the result's `current` is true, the call has also updated this object's `firstSeq`, `nextSeq` and `syncedSeq`.
   */
  stats(): ReadOnlyStats
}

/** A log opened for writing. */
export interface Log<V = Payload, R extends LogRecord = LogRecord> extends ReadableLog<R>, EventEmitter<LogEvents> {
  readonly readOnly: false
  /** The result of the recovery at `open`. */
  readonly recovery: LogRecovery
  /** The last seq that the destination of `replicate` has acknowledged; -1 if none is known. */
  readonly replicatedSeq: number

  /**
   * Appends one record, and resolves with its seq once the level is reached. Takes the bytes before it returns, as
   * every call that appends does: an append that waits for room (`maxPendingBytes`) holds a copy.
   *
   * Rejects with ERR_DURLOG_RECORD_EMPTY, ERR_DURLOG_RECORD_TOO_LARGE, ERR_DURLOG_INVALID_ARGUMENT (before
   * anything is written), ERR_DURLOG_NO_SPACE, ERR_DURLOG_TOO_MANY_FILES or ERR_DURLOG_OUT_OF_MEMORY (nothing is
   * written; the log is usable again once there is space, a free file descriptor or memory),
   * ERR_DURLOG_SYNC_FAILED, ERR_DURLOG_LATCHED or ERR_DURLOG_CLOSED. With `shared` also ERR_DURLOG_UNSUPPORTED
   * (`timestamp`) or, if `close` is called before it ends, ERR_DURLOG_STALLED. With ERR_DURLOG_BACKPRESSURE if the
   * appends that wait would hold more than 256 MiB (or `maxPendingBytes` if that is more). The record is not stored
   * unless the error's `outcome` is `unknown`.
   */
  append(data: V, options?: AppendOptions): Promise<number>
  /**
   * Appends records with consecutive seqs, atomically: after a crash the log holds all of them or none. Rejects like
   * `append`, and with ERR_DURLOG_BATCH_TOO_LARGE if the batch does not fit into one segment or `maxPendingBytes`.
   */
  appendBatch(list: readonly V[], options?: AppendOptions): Promise<BatchRange>
  /**
   * Appends one record at `memory` and returns its seq: the fastest kind of append. Throws ERR_DURLOG_BACKPRESSURE
   * if there is no room (`maxPendingBytes`) or other appends already wait: `await log.drain()`, then write again.
   */
  write(data: V): number
  /**
   * As `write`, for a batch: appends all of the records, with consecutive seqs, or none. Throws like `write`, and
   * throws ERR_DURLOG_BATCH_TOO_LARGE if `appendBatch` would reject with it.
   */
  writeBatch(list: readonly V[]): BatchRange
  /** Appends one record and blocks the thread until the level is reached. Throws like `write`. */
  appendSync(data: V, options?: AppendSyncOptions): number
  /** Resolves when there is room for `write` again. */
  drain(options?: WaitOptions): Promise<void>
  /**
   * Brings all records appended so far to `level` (default `sync`). Resolves with the last seq that has reached that
   * level; -1 if the log has never held a record.
   */
  sync(level?: Durability, options?: WaitOptions): Promise<number>
  /**
   * Resolves once record `seq` and every earlier one have reached `level` (default `sync`): for a caller that appends
   * first and waits later. Rejects like `append`, and with ERR_DURLOG_OUT_OF_RANGE if the log has no such record yet,
   * or if it is cut meanwhile.
   */
  reached(seq: number, level?: AppendDurability, options?: WaitOptions): Promise<void>

  /**
   * As `sync`, but blocks the thread until the records have reached the level: for handlers of `exit` and
   * `uncaughtExceptionMonitor`, in which promises no longer settle. Includes appends that wait for room. Throws the
   * errors that `sync` rejects with, and ERR_DURLOG_BACKPRESSURE while `truncateAfter`, `rotate` or a trim runs.
   */
  flushSync(level?: Durability): number

  /**
   * A stream that appends each chunk, or each line, as one record. It finishes once all records have reached their
   * level. The callback of each `write` reports the result for that chunk. The stream is in object mode if the
   * `encoding` is `json` or an object.
   */
  writable(options?: WritableOptions): LogWritable

  /**
   * Removes the segments whose records are all before `seq`, even those that a cursor has not read. Resolves with the
   * new `firstSeq` once the removal is durable. Keeps the active segment and segments that are not synced yet. Appends
   * wait until the call has ended. In a shared log the segments are synced first, and appends do not wait.
   */
  trimBefore(seq: number, options?: WaitOptions): Promise<number>
  /**
   * Removes now what the option `retention` allows to remove; resolves with the new `firstSeq`. Rejects with
   * ERR_DURLOG_INVALID_ARGUMENT if the log was opened without that option.
   */
  applyRetention(options?: WaitOptions): Promise<number>
  /**
   * Removes every record after `seq` (-1: all records). Resolves with the new `nextSeq` once the cut is as durable as
   * an append at `sync`. Appends wait until the call has ended. A reader that has delivered a removed record fails with
   * ERR_DURLOG_OUT_OF_RANGE; any other reader ends at the cut, or continues if it follows.
   */
  truncateAfter(seq: number, options?: WaitOptions): Promise<number>

  /**
   * Seals the active segment before it is full, so that `trimBefore` can remove it, and begins the next segment.
   * Resolves with the first seq of the next segment, which is `nextSeq`, once that segment's file and every earlier
   * record are durable. Does nothing if the active segment holds no record. Appends wait until the call has ended.
   */
  rotate(options?: WaitOptions): Promise<number>

  /** Counters since the log was opened, and the current way of writing. */
  stats(): LogStats
  /**
   * Waits for every append, syncs every record, and releases the files and the lock. Open readers, including followers,
   * deliver their remaining records and end. Further calls return the same promise. Rejects with ERR_DURLOG_SYNC_FAILED
   * if the last sync fails: the log is closed, and records that had not reached `sync` may be lost. With `shared`,
   * rejects with ERR_DURLOG_STALLED if another writer delays the last acknowledgements for five seconds: the log is
   * closed.
   */
  close(): Promise<void>
}
