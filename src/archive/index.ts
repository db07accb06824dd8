/**
 * durlog/archive: copies a log to an S3-compatible bucket while the log is written, and restores it up to any record or
 * time.
 */
import type { ReadableLog, ReplicateTo } from '../index.js'
import { bag } from '../options/checks.js'
import type { ReplicationDestination } from '../options/replication-link.js'
import { checkLog, resolveReplicate } from '../ship/options.js'
import { LogArchiver } from './archiver.js'
import { Bucket } from './bucket.js'
import { BUCKET_OPTION_NAMES, resolveBucket } from './bucket-options.js'
import { summarize } from './choose.js'
import { resolveArchiveOptions } from './options.js'
import { Probe, probeStore } from './probe.js'
import { CHOICE_NAMES, resolveChoice } from './restore-options.js'
import { withoutRetry } from './store-errors.js'
import type {
  ArchiveChoice,
  ArchiveOptions,
  Archiver,
  ArchiveSummary,
  BucketAccess,
  ProbeFinding,
  ReplicateArchiveOptions,
} from './types.js'

export type { KeptRecords, KeptStream, RejoinReport } from '../ship/rejoin.js'
export { mainLogOf } from '../streams/files/main-log.js'
export { readArchive } from './read.js'
export { rejoin } from './rejoin.js'
export { restoreArchive, standBy, takeOver } from './restore.js'
export type {
  ArchiveChoice,
  ArchivedHistory,
  ArchivedPoint,
  ArchiveEvents,
  ArchiveOptions,
  Archiver,
  ArchiveStats,
  ArchiveSummary,
  BucketAccess,
  KeepAfterAck,
  ProbeFinding,
  ReadArchiveOptions,
  RejoinOptions,
  ReplicateArchiveOptions,
  RestoreArchiveOptions,
  RestoreArchiveReport,
  S3Credentials,
  ShipLag,
  ShipRetry,
  StandByOptions,
  TakeOverOptions,
  TakeOverReport,
} from './types.js'

/**
 * Archives every synced record of `log` until the archiver is closed. `log` may be open for writing, or read-only while
 * another process writes it. Throws ERR_DURLOG_INVALID_ARGUMENT. Reports other failures by the events `error` and
 * `retry`.
 */
export function archive(log: ReadableLog, options: ArchiveOptions): Archiver {
  checkLog(log)
  return new LogArchiver(log, resolveArchiveOptions(log, options))
}

/**
 * A destination for the option `replicate` of `open`: a bucket. Every synced record is archived, and an append at
 * `replicated` is archived at once. Throws ERR_DURLOG_INVALID_ARGUMENT.
 */
export function archiveTo(options: ReplicateArchiveOptions): ReplicateTo {
  const { keepsLocal, leaseMs, rest } = resolveReplicate('archiveTo', options)
  const resolved = resolveArchiveOptions(undefined, rest)
  const to: ReplicationDestination = {
    keepsLocal,
    start: (log, listener) => new LogArchiver(log, resolved, listener, leaseMs),
  }
  return to
}

/** Lists the histories of an archive, and the objects at which a restore can end. Rejects with ERR_DURLOG_NOT_FOUND. */
export async function listArchive(options: ArchiveChoice): Promise<ArchiveSummary> {
  const choice = resolveChoice(bag('listArchive options', options, CHOICE_NAMES) as unknown as ArchiveChoice)
  try {
    return await summarize(new Bucket(choice.bucket), choice)
  } catch (error) {
    throw withoutRetry(error)
  }
}

/**
 * Tests whether a store has the properties that the archive depends on. Creates a few objects and removes them again.
 * Stores the result at the prefix, where archivers read it instead of testing the store.
 */
export async function probeBucket(options: BucketAccess): Promise<ProbeFinding[]> {
  const given = bag('probeBucket options', options, BUCKET_OPTION_NAMES) as unknown as BucketAccess
  const bucket = new Bucket(resolveBucket(given))
  try {
    return await probeStore(bucket, new Probe(bucket))
  } catch (error) {
    throw withoutRetry(error)
  }
}
