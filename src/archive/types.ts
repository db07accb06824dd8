/** The options, results and events of `durlog/archive`. */
import type { EventEmitter } from 'node:events'
import type { DurlogError } from '../errors.js'
import type { ByteSize, Duration, ReadableLog } from '../index.js'
import type { KeepAfterAck, ShipLag, ShipRetry, ShipStats } from '../ship/types.js'

export interface S3Credentials {
  accessKeyId: string
  secretAccessKey: string
  sessionToken?: string | undefined
}

/** How to reach a bucket, and which part of it holds the archive. */
export interface BucketAccess {
  /** `s3://bucket` or `s3://bucket/prefix`. Several logs may share a prefix. */
  bucket: string
  /** The URL of the store, without the bucket. Default: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, or AWS in `region`. */
  endpoint?: string | undefined
  /** Default: AWS_REGION, AWS_DEFAULT_REGION, or `us-east-1`. */
  region?: string | undefined
  /** A function is called for each request. Default: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN. */
  credentials?: S3Credentials | (() => S3Credentials | Promise<S3Credentials>) | undefined
  /** The longest time for an answer, apart from one second for each 256 KiB; default 30 s. */
  timeoutMs?: Duration | undefined
}

export interface ArchiveOptions extends BucketAccess {
  /** Records are archived at most this many milliseconds after they were synced; default 10 s. */
  flushMs?: Duration | undefined
  /** Records are archived earlier if this many bytes wait, 64 KiB to 64 MiB; default 64 MiB. */
  flushBytes?: ByteSize | undefined
  /** Remove archived records from the log. Only of a log that is open for writing. Default: keep all. */
  keepLocal?: KeepAfterAck | undefined
  /** The name of the log's cursor that holds the position; one for each archive. Default `archive`. */
  cursor?: string | undefined
  /** Give up with ERR_DURLOG_DESTINATION_UNREACHABLE after this many milliseconds of failures in a row. Default: never. */
  retryForMs?: Duration | undefined
  /** Emit `lagging` when the oldest record that is not archived has waited this long; default three times `flushMs`. */
  laggingMs?: Duration | undefined
  /** Closes the archiver. */
  signal?: AbortSignal | undefined
}

export interface ArchiveStats extends Omit<ShipStats, 'shippedSeq' | 'mode' | 'reconnects' | 'inFlight'> {
  /** The last archived seq; -1 if none is known. */
  archivedSeq: number
  /** Objects that were created since the archiver was made. */
  objects: number
}

export type ArchiveEvents = {
  /** Every record up to `seq` is archived. */
  archived: [seq: number]
  /** The oldest record that is not archived has waited longer than `laggingMs`. Emitted once, until all are archived. */
  lagging: [lag: ShipLag]
  retry: [retry: ShipRetry]
  /** The log was truncated below archived records: from here on, the records of `generation` are stored separately. */
  forked: [generation: number, from: number]
  /** The archiver has stopped. Without a listener it is an uncaught exception. */
  error: [error: DurlogError]
}

export interface Archiver extends EventEmitter<ArchiveEvents>, AsyncDisposable {
  stats(): ArchiveStats
  /** Archives now, and settles once every record that the log held at the call is synced and archived. */
  idle(): Promise<void>
  /** Archives what waits, for up to 2 s, and closes the cursor, not the log. */
  close(): Promise<void>
}

/** One history of a log: each truncation of archived records begins another one. */
export interface ArchivedHistory {
  /** The log's generation when the history began; 0 for the first. */
  generation: number
  firstSeq: number
  nextSeq: number
  /** The first seq that it does not have in common with the history before it. */
  from: number
}

/** An object that restores can end with. */
export interface ArchivedPoint {
  firstSeq: number
  lastSeq: number
  records: number
  bytes: number
  /** The times of its oldest and its newest record, in milliseconds since 1970. */
  oldestMs: number
  newestMs: number
}

export interface ArchiveSummary {
  uuid: string
  histories: ArchivedHistory[]
  /** The objects of the history that a restore would choose, in order. */
  points: ArchivedPoint[]
}

/** Which archive of the bucket is meant. */
export interface ArchiveChoice extends BucketAccess {
  /** The log; needed if the prefix holds several. */
  uuid?: string | undefined
  /** The history to use; default: the newest. */
  generation?: number | undefined
}

export interface RestoreArchiveOptions extends ArchiveChoice {
  /** End before this seq, or before the batch that it divides. Default: restore all. */
  to?: number | undefined
  /** End before the first record at or after this time: a Date, milliseconds since 1970, or ISO 8601. */
  until?: Date | number | string | undefined
  /** Do not end: a replica for reading. Default false. */
  follow?: boolean | undefined
  /** How often a replica looks for new records, in milliseconds; default 1000. */
  pollMs?: Duration | undefined
  retryForMs?: Duration | undefined
  /** Called after each piece with the number of restored bytes and the total. */
  onProgress?: ((restoredBytes: number, totalBytes: number) => void) | undefined
  signal?: AbortSignal | undefined
}

export interface RestoreArchiveReport {
  uuid: string
  firstSeq: number
  nextSeq: number
  /** Bytes that this call has read from the archive. */
  bytes: number
  /** An earlier call had begun. */
  resumed: boolean
}

export interface ReadArchiveOptions extends ArchiveChoice {
  /** The archived log: records that it holds are read from it. Default: read the archive alone. */
  log?: ReadableLog | undefined
  /** The first seq; default: the first of the archive. */
  from?: number | undefined
  /** End before this seq; default: the end of the log, or of the archive. */
  to?: number | undefined
  /** Wait for new records at the end of `log`. Default false. */
  follow?: boolean | undefined
  /** Keep objects that were read. Default: a temporary folder, which is removed at the end. */
  cache?: { dir: string; maxBytes?: ByteSize | undefined } | undefined
  signal?: AbortSignal | undefined
}

/** One property of a store that the archive depends on. */
export interface ProbeFinding {
  check: string
  ok: boolean
  /** The store's behaviour, if it is not the expected one. */
  found: string
}

export type { KeepAfterAck, ShipLag, ShipRetry }
