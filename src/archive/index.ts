/** durlog/archive: copies a log to an S3-compatible bucket while it is written, and restores it to any record or moment. */
import type { ReadableLog } from '../index.js'
import { LogArchiver } from './archiver.js'
import { resolveArchiveOptions } from './options.js'
import type { ArchiveOptions, Archiver } from './types.js'

export { restoreArchive } from './restore.js'
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
  RestoreArchiveOptions,
  RestoreArchiveReport,
  S3Credentials,
} from './types.js'

/**
 * Archives every synced record of `log` until the archiver is closed. `log` is open for writing, or read-only while another
 * process writes it. Throws ERR_DURLOG_INVALID_ARGUMENT; other failures are the event `error` or `retry`.
 */
export function archive(log: ReadableLog, options: ArchiveOptions): Archiver {
  return new LogArchiver(log, resolveArchiveOptions(log, options), {})
}
