/** The public types of `durlog/streams`. */
import type { EventEmitter } from 'node:events'
import type {
  AppendDurability,
  ByteSize,
  CommitOptions,
  CursorOptions,
  Duration,
  DurlogError,
  LogPosition,
  RecordReader,
  ReplicateTo,
  TimePoint,
  WaitOptions,
} from '../../index.js'

/** How values are stored: as JSON, as strings or as bytes. */
export type StreamEncoding = 'json' | 'utf8' | 'buffer'

/** `signal` ends the wait for the folder: then it is not opened. */
export interface StreamsOptions extends WaitOptions {
  /**
   * The encoding of streams that are created without another one. It is fixed when the folder is created; another one
   * is then refused with ERR_DURLOG_INVALID_ARGUMENT. Default: that of the folder, or `json` for a new folder.
   */
  encoding?: StreamEncoding | undefined
  /**
   * The durability that a record must reach before its append settles and readers see it. All processes that share the
   * folder must use the same. With `replicated`, the folder opens when every record that it holds is replicated.
   * Default `sync`.
   */
  durability?: AppendDurability | undefined
  /**
   * A destination outside this machine, as for `open`: every record of the folder is copied there, and appends may use
   * the level `replicated`. Needs `exclusive`. Default: none.
   */
  replicate?: ReplicateTo | undefined
  /**
   * A checkpoint begins after this many bytes of new records: 64 KiB to 256 MiB. Default 16 MiB. If thousands of
   * streams have changed, it begins after up to twice this number. Up to eight times this number of bytes is held in
   * memory; then appends wait for a checkpoint.
   */
  checkpointBytes?: ByteSize | undefined
  /**
   * Milliseconds from the first append after a checkpoint to the next checkpoint: 10 to 3,600,000. Default 1000. If the
   * last checkpoint took long, three times its duration.
   */
  checkpointMs?: Duration | undefined
  /**
   * Milliseconds to wait while another process has the folder open with `exclusive` (or, if this call is `exclusive`,
   * while any other process has it open): 0 to 2,147,483,647. Default 0: ERR_DURLOG_LOCKED at once.
   */
  waitMs?: Duration | undefined
  /**
   * Create the folder if it does not contain streams. Default true. With false, `openStreams` fails with
   * ERR_DURLOG_NOT_FOUND.
   */
  create?: boolean | undefined
  /** Open the folder for this process only, without the owner's thread and socket. Default false. */
  exclusive?: boolean | undefined
  /**
   * Continue with the time of the present clock although earlier records have a later time, which a clock that was
   * ahead has given them. Needs `exclusive`. Default false: new records repeat the latest time until the clock reaches
   * it.
   */
  acceptClock?: boolean | undefined
}

/**
 * Makes retries safe: a repeated append is stored once. A producer numbers its appends to each stream from 0 in each
 * epoch.
 */
export interface Producer {
  /** Unicode text of 1 to 128 bytes in UTF-8. */
  id: string
  /**
   * From 0 to 2^53 - 1. A new instance of the producer uses a higher epoch; then lower epochs are refused with
   * ERR_DURLOG_PRODUCER_FENCED.
   */
  epoch: number
  /** From 0 to 2^53 - 1. If it skips a number, the append is refused with ERR_DURLOG_PRODUCER_GAP. */
  seq: number
}

export interface StreamAppendOptions extends WaitOptions {
  /**
   * The seq that the record must get. If it would get another seq, the append fails with ERR_DURLOG_SEQ_CONFLICT, whose
   * `nextSeq` is that seq. Default: any seq.
   */
  expectedSeq?: number | undefined
  producer?: Producer | undefined
  /**
   * Text of 1 to 1024 bytes in UTF-8. It must be greater, compared by these bytes, than the `writerSeq` of every
   * earlier append to the stream. Otherwise the append fails with ERR_DURLOG_SEQ_CONFLICT.
   */
  writerSeq?: string | undefined
  /** Create the stream if it does not exist. Default true. With false, the append fails with ERR_DURLOG_NOT_FOUND. */
  create?: boolean | undefined
  /** End the stream after this append, in the same step. Default false. */
  end?: boolean | undefined
  /**
   * The durability that the record must reach before the append settles, if it is stronger than that of the folder. A
   * batch settles at the strongest of its appends. Readers see the record at the durability of the folder. Default:
   * that of the folder.
   */
  durability?: AppendDurability | undefined
  /**
   * The record's timestamp in milliseconds since 1970, for records that are imported from elsewhere. A time in the
   * future is replaced by the current time. Default: the current time.
   */
  timestamp?: number | undefined
}

/**
 * The point of a source stream at which a new stream begins. The source's earlier records have the same seqs in both.
 */
export interface StreamFork {
  /** The name of the source. */
  stream: string
  /** The new stream begins with the source's records before this seq. Default: all records of the source. */
  seq?: number | undefined
  /**
   * Only in a stream of bytes, and only with `seq`: record `seq` of the new stream is a copy of the first `bytes` bytes
   * of the source's record `seq`. From 0 to 2^32. Default 0: no such copy.
   */
  bytes?: number | undefined
}

/**
 * The limits beyond which the oldest records are removed; at least one limit. Whole files are removed, so up to an
 * eighth of the limit (for `maxRecords` at least 16 records) more is kept.
 */
export interface StreamRetention {
  /** The number of newest records to keep: at least 1. */
  maxRecords?: number | undefined
  /** The number of bytes of the newest records to keep, as they are in the files: at least 64 KiB. */
  maxBytes?: ByteSize | undefined
  /** How long to keep a record, in milliseconds: at least 1000. */
  maxAgeMs?: Duration | undefined
}

/** The retention limits of a stream, as numbers. */
export interface StreamLimits {
  maxRecords?: number | undefined
  maxBytes?: number | undefined
  maxAgeMs?: number | undefined
}

/** The point of the source stream at which a stream was forked; see `StreamFork`. */
export interface StreamForkPoint {
  stream: string
  seq: number
  bytes: number
}

export interface StreamCreateOptions<V> extends WaitOptions {
  /**
   * The encoding of the stream's values. Default: the encoding of the folder; in a fork, the encoding of its source.
   */
  encoding?: StreamEncoding | undefined
  /**
   * The media type that `info` returns: 1 to 256 bytes in UTF-8. Default: the usual type of the encoding; in a fork,
   * the type of its source.
   */
  contentType?: string | undefined
  /**
   * The stream is deleted after this many milliseconds without an append or a read. A fork without `ttlMs` and
   * `expiresAt` gets those of its source.
   */
  ttlMs?: Duration | undefined
  /**
   * The stream is deleted at this time; see `TimePoint`. A fork without `ttlMs` and `expiresAt` gets
   * those of its source.
   */
  expiresAt?: TimePoint | undefined
  /** Begin with the records of another stream. They are not copied. */
  fork?: StreamFork | undefined
  /** Remove old records. Default: keep all records; a fork has the retention of its source. */
  retention?: StreamRetention | undefined
  /** Values to append in the same step. Default: none. */
  values?: readonly V[] | undefined
  /** End the stream after `values`, in the same step. Default false. */
  end?: boolean | undefined
}

export interface StreamEndOptions extends WaitOptions {
  producer?: Producer | undefined
}

export interface StreamBatchItem<V> extends Omit<StreamAppendOptions, 'end' | 'signal'> {
  stream: string
  value: V
}

export interface StreamAppendResult {
  /**
   * The seq of the record; of several records, the seq of the first. If `duplicate` is true, the seq of the stored
   * record, or -1 if the producer has made 16 or more appends to the stream after it.
   */
  seq: number
  /** Whether an earlier append of the same producer had already stored the record. */
  duplicate: boolean
}

export interface StreamReadOptions {
  /**
   * The first seq to deliver. Default: the oldest one that is left. With -n, begins with the last n records (before
   * `to`) of the stream when reading begins; of a stream that does not exist yet, with the first.
   */
  from?: number | undefined
  /** The seq before which reading ends. Default: the end of the stream when reading begins; with `follow`, no end. */
  to?: number | undefined
  /** End before the first record of this time or later. Not with `follow`. */
  until?: TimePoint | undefined
  /** Wait for new records until the stream ends, and first for the stream if it does not exist. Default false. */
  follow?: boolean | undefined
  /** Deliver a record only once it is synced. Default false: once it has reached its durability. */
  durableOnly?: boolean | undefined
  /** Aborting the signal ends the iteration, which throws the signal's reason. */
  signal?: AbortSignal | undefined
}

export interface StreamRecord<V> {
  seq: number
  value: V
  /** The time of the append, in milliseconds since 1970. */
  timestamp: number
  /** The record's number in the main log, and so its place in the order of all appends of the folder. */
  position: number
}

/** As `StreamReadOptions`, with positions instead of seqs. */
export interface StreamsReadOptions extends Omit<StreamReadOptions, 'from'> {
  /**
   * The first position to deliver; -n begins with the last n positions. Or the `logPosition` of the last record that
   * was processed: begins with the next one, or fails with ERR_DURLOG_CURSOR_CUT if the main log does not hold that
   * record, for example because an older copy of the folder was put back.
   */
  from?: number | LogPosition | undefined
}

export interface StreamListOptions {
  /** Only the streams whose names begin with it. Default '': all. */
  prefix?: string | undefined
  /** Aborting the signal ends the iteration, which throws the signal's reason. */
  signal?: AbortSignal | undefined
}

export interface CommittedRecord<V> extends StreamRecord<V> {
  stream: string
  /** The position with the identity of its record, to save: see `StreamsReadOptions.from`. JSON keeps it. */
  readonly logPosition: LogPosition
}

export interface StreamInfo {
  name: string
  /**
   * The oldest seq that can be read. It is above 0 if retention has removed records, or if another program has
   * shortened or removed a file.
   */
  firstSeq: number
  /** The seq of the next record. */
  nextSeq: number
  /**
   * The timestamp of the last record that was appended to the stream itself, or of the creation if there is none, in
   * milliseconds since 1970. Undefined if an older version of durlog has made the last change before the last
   * checkpoint.
   */
  updatedAt: number | undefined
  ended: boolean
  encoding: StreamEncoding
  contentType: string
  /** Milliseconds without an append or a read after which the stream is deleted. */
  ttlMs: number | undefined
  /** The time at which the stream is deleted, in milliseconds since 1970. */
  expiresAt: number | undefined
  fork: StreamForkPoint | undefined
  retention: StreamLimits | undefined
  /** The length in bytes of the stream's file as of the last checkpoint; with retention, of all its files. */
  fileBytes: number
  /**
   * The path of the stream's file; with retention, of the newest one. The first checkpoint of the stream creates it.
   */
  path: string
}

/** A change that another program made to a stream's file. */
export interface StreamChange {
  stream: string
  /** The path of the original file in `changed/`; '' if the file was missing. */
  original: string
  /** The first lost seq; -1 if no record is lost. */
  lostFirst: number
  /** The last lost seq; -1 if no record is lost. */
  lostLast: number
}

export interface StreamsCheckpoint {
  /** Every record before this position of the main log is in its stream's file. */
  position: number
  /** The number of streams that the checkpoint stored or removed. */
  streams: number
  /** The number of records that it added to files. */
  records: number
  durationMs: number
}

export type StreamsEvents = {
  checkpoint: [checkpoint: StreamsCheckpoint]
  /**
   * A checkpoint failed; its records remain in the main log. If a sync failed, no checkpoint succeeds until the folder
   * is closed and opened again.
   */
  checkpointFailed: [error: DurlogError]
  /** Another program has changed a stream's file. */
  changed: [change: StreamChange]
  /** The owner of the folder, process `pid`, has not answered for 1 s. */
  stalled: [stall: { pid: number }]
}

/** A handle for one stream. The stream need not exist. */
export interface Stream<V> {
  readonly name: string
  /**
   * Creates the stream. Settles with true if this call created it, and with false if it exists with the same options.
   * Rejects with ERR_DURLOG_STREAM_EXISTS if it exists with other options, ERR_DURLOG_STREAM_DELETED if the name is in
   * use until the forks of a deleted stream are deleted, ERR_DURLOG_NOT_FOUND if the source of a fork does not exist,
   * ERR_DURLOG_OUT_OF_RANGE if the source does not have or keep the records of the fork, ERR_DURLOG_INVALID_ARGUMENT,
   * or an error of `append`.
   */
  create(options?: StreamCreateOptions<V>): Promise<boolean>
  /**
   * Appends a record; creates the stream if it does not exist. Settles when the record has reached the folder's
   * `durability`.
   *
   * Stores nothing and rejects with ERR_DURLOG_INVALID_ARGUMENT, ERR_DURLOG_RECORD_TOO_LARGE (above 8 MiB),
   * ERR_DURLOG_STREAM_ENDED, ERR_DURLOG_STREAM_DELETED, ERR_DURLOG_OUT_OF_RANGE (4096 other producers) or, if a
   * condition of `options` fails, ERR_DURLOG_SEQ_CONFLICT, ERR_DURLOG_PRODUCER_GAP, ERR_DURLOG_PRODUCER_FENCED or
   * ERR_DURLOG_NOT_FOUND. Rejects with an error of a log's `append` if the write fails, and with ERR_DURLOG_STALLED if
   * the owner does not answer; if `outcome` of the error is `unknown`, the record may be stored.
   */
  append(value: V, options?: StreamAppendOptions): Promise<StreamAppendResult>
  /**
   * Appends 1 to 65,535 records in one atomic step; a producer numbers them as one append. Settles with the seq of the
   * first. Rejects with the errors of `append`, or with ERR_DURLOG_BATCH_TOO_LARGE.
   */
  appendAll(values: readonly V[], options?: StreamAppendOptions): Promise<StreamAppendResult>
  /**
   * Like `appendAll`, for a text that is JSON already: appends the elements of an array, or another value as one
   * record. The values are checked but not parsed, and stored as they are written. Also rejects with
   * ERR_DURLOG_INVALID_ARGUMENT unless the text is JSON and the encoding of the stream is `json`.
   */
  appendJson(text: string | Uint8Array, options?: StreamAppendOptions): Promise<StreamAppendResult>
  /**
   * Iterates over the records of the stream. Without `follow`, throws ERR_DURLOG_NOT_FOUND if the stream does not
   * exist. Throws ERR_DURLOG_OUT_OF_RANGE if the next record is not kept any more, and ERR_DURLOG_STREAM_CHANGED if
   * another program has damaged it.
   */
  read(options?: StreamReadOptions): RecordReader<StreamRecord<V>>
  /**
   * Ends the stream: later appends are refused with ERR_DURLOG_STREAM_ENDED, and followers finish after the last
   * record. Settles when the end has reached the folder's `durability`. To end the stream again changes nothing; with
   * another `producer` it is refused with ERR_DURLOG_STREAM_ENDED. Rejects with ERR_DURLOG_NOT_FOUND if the stream does
   * not exist, or with an error of `append`.
   */
  end(options?: StreamEndOptions): Promise<void>
  /**
   * Deletes the stream. Settles with whether it existed, when the deletion, or that of an earlier call, has reached the
   * folder's `durability`. The next checkpoint frees its space. If the stream has forks, its name and its space stay in
   * use until the last fork is deleted.
   */
  delete(options?: WaitOptions): Promise<boolean>
  /** Describes the stream; undefined if it does not exist. */
  info(options?: WaitOptions): Promise<StreamInfo | undefined>
}

/** A stored position in `readAll`, from which a consumer of all streams continues after a restart. */
export interface StreamsCursor<V> extends AsyncDisposable {
  readonly name: string
  /** The position after the last commit, at which `read` begins. */
  readonly position: number
  /** Iterates over the records of all streams from `position` on. */
  read(options?: Omit<StreamsReadOptions, 'from'>): RecordReader<CommittedRecord<V>>
  /**
   * Marks the records up to and including `position` as processed; a lower position than the last one changes nothing.
   * With the default durability `memory`, the position survives the death of the process.
   */
  commit(position: number, options?: CommitOptions): Promise<void>
  close(): Promise<void>
}

export interface Streams<V> extends EventEmitter<StreamsEvents>, AsyncDisposable {
  /** The folder's absolute path. */
  readonly dir: string
  /**
   * The latest changes by other programs that were found since the folder was opened, at most 256. The event `changed`
   * reports each.
   */
  readonly changes: readonly StreamChange[]
  /**
   * Returns a handle for the stream `name`: Unicode text of 1 to 1024 bytes in UTF-8. `T` is the type of its values,
   * which is not checked at run time. Throws ERR_DURLOG_INVALID_ARGUMENT.
   */
  stream<T extends V = V>(name: string): Stream<T>
  /**
   * Appends 1 to 65,536 records to one or more streams in one atomic step: if one condition fails, nothing is stored.
   * The results have the order of `items`. Rejects with the errors of `Stream.append`, or with
   * ERR_DURLOG_BATCH_TOO_LARGE.
   */
  appendBatch(items: readonly StreamBatchItem<V>[], options?: WaitOptions): Promise<StreamAppendResult[]>
  /**
   * Iterates over the streams whose names begin with `prefix`, in the order of their creation. A stream that is created
   * meanwhile is not included.
   */
  list(options?: StreamListOptions): RecordReader<StreamInfo>
  /** Iterates over the records of all streams in the order of their positions, also of deleted streams. */
  readAll(options?: StreamsReadOptions): RecordReader<CommittedRecord<V>>
  /**
   * Opens the cursor `name`. If it does not exist, it is created at `options.from`, by default at the oldest record of
   * the main log. The main log keeps every record that the cursor has not committed. Rejects with ERR_DURLOG_LOCKED if
   * the cursor is open.
   */
  cursor(name: string, options?: CursorOptions): Promise<StreamsCursor<V>>
  /**
   * Removes the cursor `name`. Rejects with ERR_DURLOG_NOT_FOUND if it does not exist, and with ERR_DURLOG_LOCKED if a
   * process has it open.
   */
  removeCursor(name: string): Promise<void>
  /**
   * Makes a checkpoint. Settles when every record whose append settled before the call is in its stream's file, on the
   * device. Rejects with the error of the event `checkpointFailed`.
   */
  checkpoint(options?: WaitOptions): Promise<void>
  /**
   * Waits for every append, makes a checkpoint and releases the folder. If other processes have the folder open, one of
   * them becomes the owner and makes the checkpoint. If the checkpoint fails, `close` rejects, and the records remain
   * in the main log.
   */
  close(): Promise<void>
}
