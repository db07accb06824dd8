/** The public types of `durlog/streams`. */
import type { EventEmitter } from 'node:events'
import type { ByteSize, CommitOptions, CursorOptions, Durability, Duration, DurlogError } from '../index.js'

/** How the values of all streams of a folder are stored: as JSON, as strings, or as bytes. */
export type StreamEncoding = 'json' | 'text' | 'bytes'

export interface StreamsOptions {
  /** Fixed when the folder is made. Default `json`. */
  encoding?: StreamEncoding | undefined
  /** The level at which an append settles. Readers see records that have reached it. Default `sync`. */
  durability?: Durability | undefined
  /** Bytes of records after which a checkpoint begins: 64 KiB to 256 MiB. Default 16 MiB. Twice as many if thousands of streams have changed; up to eight times as many are held in memory. */
  checkpointBytes?: ByteSize | undefined
  /** Milliseconds between two checkpoints while records arrive: 10 to 3,600,000. Default 1000. More if a checkpoint takes long. */
  checkpointMs?: Duration | undefined
  /** How long to wait for another owner to close the folder, in milliseconds. Default 0: refuse at once. */
  waitMs?: Duration | undefined
  /** Make the folder if it holds no streams. Default true; with false, ERR_DURLOG_NOT_FOUND. */
  create?: boolean | undefined
  /** The folder is for this process alone, and is served by its thread. Default false. */
  exclusive?: boolean | undefined
}

/** Makes a retried append a duplicate. Each producer counts its appends to one stream from 0 in each epoch. */
export interface Producer {
  /** 1 to 128 bytes of UTF-8. */
  id: string
  /** Raised when a new instance of the producer takes over: earlier epochs are refused then. */
  epoch: number
  seq: number
}

export interface StreamAppendOptions {
  /** The seq that the record must get; otherwise ERR_DURLOG_SEQ_CONFLICT with `nextSeq`. Default: any. */
  expectedSeq?: number | undefined
  producer?: Producer | undefined
  /** A text that must be greater, by its bytes in UTF-8, than that of every earlier append; otherwise ERR_DURLOG_SEQ_CONFLICT. */
  writerSeq?: string | undefined
  /** Make the stream if it does not exist. Default true; with false, ERR_DURLOG_NOT_FOUND. */
  create?: boolean | undefined
  /** End the stream with this append, in one step. Default false. */
  end?: boolean | undefined
  /** When the record was made, to import records from elsewhere: milliseconds since 1970, not later than now. Default: now. */
  timestamp?: number | undefined
}

/** A position of another stream, where a stream begins. Its records have the same seqs in both. */
export interface StreamFork {
  stream: string
  /** The new stream has the source's records before it. Default: all. */
  seq?: number | undefined
  /** Of a stream of bytes: the first `bytes` bytes of the source's record `seq` become record `seq` of the new stream. Default 0. */
  bytes?: number | undefined
}

/** At least one limit. Records are removed a file at a time, so up to an eighth more is kept. */
export interface StreamRetention {
  /** The number of records that are kept, the newest ones: at least 1. Up to 16 more, if that is more than an eighth. */
  maxRecords?: number | undefined
  /** The bytes of the newest records that are kept, as they are in the files: at least 64 KiB. */
  maxBytes?: ByteSize | undefined
  /** How long records are kept: at least 1000 ms. */
  maxAgeMs?: Duration | undefined
}

/** The limits of a stream, as numbers. */
export interface StreamLimits {
  maxRecords?: number | undefined
  maxBytes?: number | undefined
  maxAgeMs?: number | undefined
}

/** Where a stream was forked. */
export interface StreamForkPoint {
  stream: string
  seq: number
  bytes: number
}

export interface StreamCreateOptions<V> {
  /** Of the stream's values. Default: that of the folder, of a fork that of its source. */
  encoding?: StreamEncoding | undefined
  /** A media type, which `info` returns. Default: by the encoding. */
  contentType?: string | undefined
  /** The stream is deleted after so many milliseconds without an append or a read. A fork has that of its source by default. */
  ttlMs?: Duration | undefined
  /** The stream is deleted at this time, a Date or milliseconds since 1970. A fork has that of its source by default. */
  expiresAt?: Date | number | undefined
  /** Begin with the records of another stream, which are not copied. */
  fork?: StreamFork | undefined
  /** Remove old records. A fork has that of its source by default. Default: all records are kept. */
  retention?: StreamRetention | undefined
  /** The first records. Default: none. */
  values?: readonly V[] | undefined
  /** End the stream after them. Default false. */
  end?: boolean | undefined
}

export interface StreamEndOptions {
  producer?: Producer | undefined
}

export interface StreamBatchItem<V> extends Omit<StreamAppendOptions, 'end'> {
  stream: string
  value: V
}

export interface StreamAppendResult {
  /** The record's seq in its stream. Of a duplicate: that of the original, or -1 if the producer has made 16 appends since. */
  seq: number
  /** Whether this append had been stored before. */
  duplicate: boolean
}

export interface StreamReadOptions {
  /** The first seq to deliver. Default: the oldest. */
  from?: number | undefined
  /** Wait for new records, and for the stream if it does not exist, until it has ended. Default false. */
  follow?: boolean | undefined
  /** Ends the iteration: it throws the signal's reason. */
  signal?: AbortSignal | undefined
}

export interface StreamRecord<V> {
  seq: number
  value: V
  /** When it was appended, in milliseconds since 1970. */
  timestamp: number
  /** Its place in the commit order of all streams. */
  position: number
}

export interface StreamsReadOptions {
  /** The first position to deliver. Default: the oldest that the log still holds. */
  from?: number | undefined
  /** Wait for new records. Default false. */
  follow?: boolean | undefined
  /** Ends the iteration: it throws the signal's reason. */
  signal?: AbortSignal | undefined
}

export interface CommittedRecord<V> extends StreamRecord<V> {
  stream: string
}

export interface StreamInfo {
  name: string
  /** The oldest seq that can be read; above 0 if retention has removed records, or if another program has damaged a file. */
  firstSeq: number
  /** The seq of the next record. */
  nextSeq: number
  ended: boolean
  encoding: StreamEncoding
  contentType: string
  ttlMs: number | undefined
  /** Milliseconds since 1970. */
  expiresAt: number | undefined
  fork: StreamForkPoint | undefined
  retention: StreamLimits | undefined
  /** The length of its file in bytes, as of the last checkpoint; with retention, of all its files. */
  fileBytes: number
  /** The file's path. It exists after the first checkpoint of the stream. With retention: the newest file. */
  path: string
}

/** A file that another program has changed. */
export interface StreamChange {
  stream: string
  /** Where the original is kept; '' if there was no file. */
  original: string
  /** The records that are lost; -1 if none is. */
  lostFirst: number
  lostLast: number
}

export interface StreamsCheckpoint {
  /** Every record before it is in its stream's file. */
  position: number
  streams: number
  records: number
  durationMs: number
}

export type StreamsEvents = {
  checkpoint: [checkpoint: StreamsCheckpoint]
  /** Records stay in the log. After a failed sync of a file there is no checkpoint until the folder is opened again. */
  checkpointFailed: [error: DurlogError]
  changed: [change: StreamChange]
  /** The process `pid`, which has the folder open, has not answered for a second. */
  stalled: [stall: { pid: number }]
}

/** A handle of one stream; it costs nothing until it is used. */
export interface Stream<V> {
  readonly name: string
  /**
   * Makes the stream; settles with whether it did, false if it was created with the same options before. With other options
   * it is ERR_DURLOG_STREAM_EXISTS.
   */
  create(options?: StreamCreateOptions<V>): Promise<boolean>
  /** Appends a record, making the stream if there is none; settles when the level is reached. */
  append(value: V, options?: StreamAppendOptions): Promise<StreamAppendResult>
  /** Appends several records in one step; a producer counts them as one append. Settles with the seq of the first. */
  appendAll(values: readonly V[], options?: StreamAppendOptions): Promise<StreamAppendResult>
  /** Iterates over the records. Without `follow` a stream that does not exist is ERR_DURLOG_NOT_FOUND. */
  read(options?: StreamReadOptions): AsyncGenerator<StreamRecord<V>, void, undefined>
  /** No more appends: they are refused with ERR_DURLOG_STREAM_ENDED, and followers finish. */
  end(options?: StreamEndOptions): Promise<void>
  /**
   * Removes the stream; settles with whether it existed. Its space is free after the next checkpoint, or when its last fork
   * is deleted; until then its name is in use.
   */
  delete(): Promise<boolean>
  /** Undefined if there is no such stream. */
  info(): Promise<StreamInfo | undefined>
}

/** A durable position in `readAll`. */
export interface StreamsCursor<V> extends AsyncDisposable {
  readonly name: string
  /** The position of the next record to read. */
  readonly position: number
  /** Iterates over the records of all streams from the position on. */
  read(options?: Omit<StreamsReadOptions, 'from'>): AsyncGenerator<CommittedRecord<V>, void, undefined>
  /** Every record up to `position` is done. */
  commit(position: number, options?: CommitOptions): Promise<void>
  close(): Promise<void>
}

export interface Streams<V> extends EventEmitter<StreamsEvents>, AsyncDisposable {
  /** The folder's absolute path. */
  readonly dir: string
  /** What other programs have changed, as far as it was found since the folder was opened or while it was. */
  readonly changes: readonly StreamChange[]
  stream(name: string): Stream<V>
  /** Appends to several streams: all of it or, if one condition fails, nothing. */
  appendBatch(items: readonly StreamBatchItem<V>[]): Promise<StreamAppendResult[]>
  list(options?: { prefix?: string | undefined }): AsyncGenerator<StreamInfo, void, undefined>
  /** Iterates over the records of all streams in commit order, deleted streams included. */
  readAll(options?: StreamsReadOptions): AsyncGenerator<CommittedRecord<V>, void, undefined>
  /** Opens the cursor `name`, or makes it. The log keeps every record that it has not committed. */
  cursor(name: string, options?: CursorOptions): Promise<StreamsCursor<V>>
  /** Removes a cursor that is not open. */
  removeCursor(name: string): Promise<void>
  /** Settles when everything appended before is in the streams' files. */
  checkpoint(): Promise<void>
  /** Waits for every append, makes a checkpoint and releases the folder. If the checkpoint fails it rejects, and the log has the records. */
  close(): Promise<void>
}
