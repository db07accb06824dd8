/** Turns the log of a former writer into a replica of the archive's newest history. */
import { DurlogError } from '../errors.js'
import type { Log } from '../index.js'
import { resolveDir } from '../options/call-options.js'
import { readLockedCopy } from '../ship/copy.js'
import { firstOther, type RejoinReport, rejoinLog } from '../ship/rejoin.js'
import { holdsStreams, rejoinStreams } from '../ship/rejoin-streams.js'
import { ofFileSystem } from '../support/file-system-error.js'
import { refuseStreams } from '../support/streams-log.js'
import { Bucket } from './bucket.js'
import { type ChosenArchive, chooseArchive } from './choose.js'
import { firstDifference } from './position.js'
import { readArchive } from './read.js'
import { type ResolvedRejoin, resolveRejoin } from './restore-options.js'
import { type ArchiveRestoreMark, MARK_CHECKS } from './restore-target.js'
import { Segments } from './segments.js'
import { withoutRetry } from './store-errors.js'
import { isOwner } from './take-over.js'
import type { RejoinOptions } from './types.js'

/**
 * Makes the log of a former writer a replica: copies its records that were never replicated to the folder `into`, a
 * log with the same seqs and times, then removes them. `restoreArchive` with `follow`, or `takeOver`, continues the
 * replica. A folder of streams is moved to `into` as a whole. If it was interrupted, run it again with the same
 * folders. Rejects with ERR_DURLOG_NOT_FOUND if no other copy has taken over, with ERR_DURLOG_NOT_EMPTY if `into`
 * holds anything else, with ERR_DURLOG_LOCKED while a writer has the log open, or as `listArchive` and `open` do.
 */
export async function rejoin(dir: string | URL, options: RejoinOptions): Promise<RejoinReport> {
  const folder = resolveDir(dir)
  const resolved = resolveRejoin(options)
  try {
    if (holdsStreams(folder, resolved.into))
      return await rejoinStreams(folder, resolved.into, MARK_CHECKS, async (log) => (await markOf(log, resolved)).cutTo)
    refuseStreams(folder)
    return await rejoinLog(folder, resolved.into, MARK_CHECKS, (log) => markOf(log, resolved))
  } catch (error) {
    throw ofFileSystem(withoutRetry(error), folder)
  }
}

/** The mark of a replica of the newest history, which `log` is once its records from `cutTo` on are removed. */
async function markOf(log: Log, { into, ...options }: ResolvedRejoin): Promise<ArchiveRestoreMark & { cutTo: number }> {
  const bucket = new Bucket(options.bucket, options.signal)
  const chosen = await chooseArchive(bucket, { uuid: log.uuid, generation: undefined })
  const { history } = chosen.manifest
  const { id } = await readLockedCopy(log.dir)
  if (history.owner === undefined || isOwner(log, id, history)) throw notReplaced(log.dir, bucket.urlOf(chosen.root))
  const cutTo = await commonEnd(log, bucket, chosen, options)
  const { generation } = history
  return { archive: bucket.urlOf(chosen.root), generation, first: log.firstSeq, cuts: log.generation, cutTo }
}

/** The seq before which the log and the archive's newest history have the same records. */
async function commonEnd(
  log: Log,
  bucket: Bucket,
  { uuid, manifest }: ChosenArchive,
  { access, signal }: Omit<ResolvedRejoin, 'into'>,
): Promise<number> {
  const end = Math.min((await manifest.end()) ?? 0, log.nextSeq)
  const segments = new Segments(log.dir)
  try {
    const piece = await firstDifference(bucket, log, segments, manifest)
    const from = Math.max(log.firstSeq, piece)
    if (from >= end) return end
    const { generation } = manifest.history
    const archived = readArchive({ ...access, uuid, generation, from, to: end, signal })
    return Math.min(end, await firstOther(log.read({ from, to: end }), archived))
  } finally {
    await segments.close()
  }
}

function notReplaced(dir: string, url: string): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_NOT_FOUND',
    `no other copy of the log in ${dir} has taken over at ${url}: the log can be written here`,
    { path: dir },
  )
}
