/** The options, results and events of `durlog/archive`. */
import type { EventEmitter } from 'node:events'
import type { DurlogError } from '../errors.js'
import type { ByteSize, Duration, LeaseView, ReadableLog, TimePoint, WaitOptions } from '../index.js'
import type { ReplicateOptions } from '../ship/options.js'
import type { CommonRestoreOptions, KeepAfterAck, ShipLag, ShipRetry, ShipStats } from '../ship/types.js'

export interface S3Credentials {
  accessKeyId: string
  secretAccessKey: string
  sessionToken?: string | undefined
}

/** The location of an archive: a bucket, the prefix of its keys, and the access to the store. */
export interface BucketAccess {
  /** `s3://bucket` or `s3://bucket/prefix`. Several logs may share a prefix. */
  bucket: string
  /** The URL of the store, without the bucket. Default: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, or AWS in `region`. */
  endpoint?: string | undefined
  /** Default: AWS_REGION, AWS_DEFAULT_REGION, or `us-east-1`. */
  region?: string | undefined
  /**
   * If it is a function, it is called for each request. Default: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and
   * AWS_SESSION_TOKEN.
   */
  credentials?: S3Credentials | (() => S3Credentials | Promise<S3Credentials>) | undefined
  /** The timeout of a request in milliseconds, plus one second for each 256 KiB that it transfers. Default 30 s. */
  timeoutMs?: Duration | undefined
}

export interface ArchiveOptions extends BucketAccess {
  /** The upload of a record begins at most this many milliseconds after it was synced. Default 10 s. */
  flushMs?: Duration | undefined
  /** The upload begins earlier if this many bytes wait: 64 KiB to 64 MiB. Default 64 MiB. */
  flushBytes?: ByteSize | undefined
  /** Trims archived records from the log, which must be open for writing. Default: keep all records. */
  keepAfterAck?: KeepAfterAck | undefined
  /**
   * `zstd` compresses each whole segment, but not the parts of the newest one. Needs Node 22.15 or newer, or the
   * package `@bokuweb/zstd-wasm`; so does a restore. Default `none`.
   */
  compress?: 'none' | 'zstd' | undefined
  /**
   * Of a folder of streams: for how long the archive can restore an earlier state, in milliseconds. Later, what was
   * deleted is removed. Default 7 days.
   */
  historyMs?: Duration | undefined
  /**
   * The name of the log's cursor that stores the archiver's position. Each archive needs a separate cursor. Default
   * `archive`.
   */
  cursor?: string | undefined
  /**
   * Stop with ERR_DURLOG_DESTINATION_UNREACHABLE after this many milliseconds of consecutive failures. Default: never.
   */
  retryForMs?: Duration | undefined
  /**
   * Emit `lagging` when the oldest record that is not archived has waited this many milliseconds. Default: three times
   * `flushMs`.
   */
  laggingMs?: Duration | undefined
  /** Aborting the signal closes the archiver. */
  signal?: AbortSignal | undefined
}

/** The options of `archiveTo`: `flushMs` applies to records that no append at `replicated` waits for. */
export interface ReplicateArchiveOptions extends Omit<ArchiveOptions, 'signal'>, ReplicateOptions {}

export interface ArchiveStats extends Omit<ShipStats, 'shippedSeq' | 'mode' | 'reconnects' | 'inFlight'> {
  /** The last archived seq; -1 if none is known. */
  archivedSeq: number
  /** The number of objects that this archiver has created. */
  objects: number
}

export type ArchiveEvents = {
  /** Every record up to `seq` is archived. */
  archived: [seq: number]
  /**
   * The oldest record that is not archived has waited for `laggingMs`. Emitted again only after all records were
   * archived.
   */
  lagging: [lag: ShipLag]
  /** A request failed and will be repeated. */
  retry: [retry: ShipRetry]
  /** The log was truncated or restored. Its records from seq `from` on are stored as a new history, `generation`. */
  forked: [generation: number, from: number]
  /** The archiver has stopped because of `error`. Without a listener, the error is an uncaught exception. */
  error: [error: DurlogError]
}

export interface Archiver extends EventEmitter<ArchiveEvents>, AsyncDisposable {
  stats(): ArchiveStats
  /**
   * Archives at once. Resolves once every record that the log held at the time of the call is synced and archived.
   * `signal` ends only the wait.
   */
  idle(options?: WaitOptions): Promise<void>
  /** Archives the records that wait, for up to 2 s. Then closes the cursor, but not the log. */
  close(): Promise<void>
}

/** One history of a log: the records of one generation of the log. */
export interface ArchivedHistory {
  /** The generation of the log. */
  generation: number
  firstSeq: number
  nextSeq: number
  /** The first seq that this history does not share with the previous one. */
  from: number
}

/** An object at whose end a restore can end. */
export interface ArchivedPoint {
  firstSeq: number
  lastSeq: number
  records: number
  /** The length in bytes, before compression. */
  bytes: number
  /** The lowest and the highest timestamp of its records, in milliseconds since 1970. */
  oldestMs: number
  newestMs: number
}

export interface ArchiveSummary {
  uuid: string
  histories: ArchivedHistory[]
  /** The objects of the history that a restore would choose, in order. */
  points: ArchivedPoint[]
}

/** Selects one archive of a bucket. */
export interface ArchiveChoice extends BucketAccess {
  /** The UUID of the log. Required if the prefix holds the archives of several logs. */
  uuid?: string | undefined
  /** The generation of the history to use. Default: the newest history. */
  generation?: number | undefined
}

export interface RestoreArchiveOptions extends ArchiveChoice, CommonRestoreOptions {
  /** End before this seq; if that would divide a batch, end before the batch. Default: restore all records. */
  to?: number | undefined
  /** The interval, in milliseconds, at which a replica checks for new records. Default 1000. */
  pollMs?: Duration | undefined
  /** Called repeatedly with the bytes that were read and the bytes to read in total. */
  onProgress?: ((restoredBytes: number, totalBytes: number) => void) | undefined
}

export interface TakeOverOptions
  extends Omit<RestoreArchiveOptions, 'generation' | 'to' | 'until' | 'follow' | 'pollMs' | 'onCaughtUp'> {
  /**
   * Also replace a copy that has taken over and replicated nothing yet. Default false: reject with ERR_DURLOG_FENCED.
   */
  force?: boolean | undefined
}

export interface StandByOptions extends Omit<TakeOverOptions, 'force'> {
  /** The interval, in milliseconds, at which the replica checks for new records. Default 1000. */
  pollMs?: Duration | undefined
  /** Called after each look at the lease. */
  onLease?: ((lease: LeaseView) => void) | undefined
}

export interface TakeOverReport extends RestoreArchiveReport {
  /** The generation that this copy has claimed. */
  generation: number
}

export interface RejoinOptions extends BucketAccess {
  /**
   * The folder for the records that were never replicated: a log with the same seqs and times. Not created if there are
   * none.
   */
  into: string | URL
  /** Aborting the signal ends the requests to the store: `rejoin` rejects with its reason. */
  signal?: AbortSignal | undefined
}

export interface RestoreArchiveReport {
  uuid: string
  firstSeq: number
  nextSeq: number
  /** The bytes that this call has read from the archive. */
  bytes: number
  /** Whether this call continued an earlier one. */
  resumed: boolean
}

export interface ReadArchiveOptions extends ArchiveChoice {
  /** The archived log: records that it still holds are read from it. Default: read only the archive. */
  log?: ReadableLog | undefined
  /**
   * The first seq to read. With −n: the last n seqs before `to`, or before the end. Default: the first seq of the
   * archive.
   */
  from?: number | undefined
  /** End before this seq. Default: the end of `log`, or of the archive. */
  to?: number | undefined
  /** End before the first record of this time or later. Not with `follow`. Default: none. */
  until?: TimePoint | undefined
  /** Wait for new records at the end of `log`. Default false. */
  follow?: boolean | undefined
  /** Of `log`, deliver only records that are synced, as a reader of the log does. Default false. */
  durableOnly?: boolean | undefined
  /** A folder that caches objects between calls; `maxBytes` defaults to 1 GiB. Default: a temporary folder. */
  cache?: { dir: string; maxBytes?: ByteSize | undefined } | undefined
  /** Aborts the iteration, which then throws the signal's reason. */
  signal?: AbortSignal | undefined
}

/** One property of a store that the archive depends on. */
export interface ProbeFinding {
  /** The expected behaviour. */
  check: string
  ok: boolean
  /** The actual behaviour if it is not the expected one; otherwise ''. */
  found: string
}

export type { KeepAfterAck, ShipLag, ShipRetry }
