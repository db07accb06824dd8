/** The types of the options of `durlog/streams`. */
import type { AppendDurability, ByteSize, Duration, ReplicateTo, TimePoint, WaitOptions } from '../../index.js'

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
