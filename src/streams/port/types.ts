/** The public types of `durlog/streams`. */
import type { EventEmitter } from 'node:events'
import type {
  CommitOptions,
  CursorOptions,
  DurlogError,
  LogPosition,
  RecordReader,
  TimePoint,
  WaitOptions,
} from '../../index.js'
import type {
  StreamAppendOptions,
  StreamCreateOptions,
  StreamEncoding,
  StreamEndOptions,
  StreamForkPoint,
  StreamLimits,
} from './option-types.js'

export type * from './option-types.js'

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
