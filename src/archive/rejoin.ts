/**
 * Turns the log of a former writer into a replica of the writer that has taken over. The records that the archive's
 * newest history does not have are copied to another folder and removed here. Any step may be the last one before a
 * crash: the mark is written first, and records are removed only under the lock that was held while they were copied.
 */
import { readdirSync, statSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { DurlogError } from '../errors.js'
import { inspect, type Log, type LogRecord } from '../index.js'
import { open, openRestored, type RestoringLog } from '../open.js'
import { resolveDir } from '../options/call-options.js'
import { readCopy } from '../ship/copy.js'
import { ofFileSystem } from '../support/file-system-error.js'
import { markFolder, readMark } from '../support/restore-folder.js'
import { refuseStreams } from '../support/streams-log.js'
import { Bucket } from './bucket.js'
import { type ChosenArchive, chooseArchive } from './choose.js'
import { firstDifference } from './position.js'
import { readArchive } from './read.js'
import { RestoreLock } from './restore-lock.js'
import { type ResolvedRejoin, resolveRejoin } from './restore-options.js'
import type { ArchiveRestoreMark } from './restore-target.js'
import { Segments } from './segments.js'
import { withoutRetry } from './store-errors.js'
import type { KeptRecords, RejoinOptions, RejoinReport } from './types.js'

const NONE: KeptRecords = { first: -1, last: -1, records: 0 }

/**
 * Makes the log of a former writer a replica: copies its records that were never replicated to the folder `into`, a log
 * with the same seqs and times, then removes them. `restoreArchive` with `follow`, or `takeOver`, continues the
 * replica. If it was interrupted, run it again with the same folders. Rejects with ERR_DURLOG_NOT_FOUND if no other
 * copy has taken over, with ERR_DURLOG_NOT_EMPTY if `into` holds anything else, with ERR_DURLOG_LOCKED while a writer
 * has the log open, or as `listArchive` and `open` do.
 */
export async function rejoin(dir: string | URL, options: RejoinOptions): Promise<RejoinReport> {
  const folder = resolveDir(dir)
  const resolved = resolveRejoin(options)
  try {
    refuseStreams(folder)
    // Also a check that there is a log, before the folder of the lock is made in it.
    statSync(folder)
    const lock = await RestoreLock.take(folder)
    try {
      return await rejoinLocked(folder, resolved)
    } finally {
      await lock.release()
    }
  } catch (error) {
    throw ofFileSystem(withoutRetry(error))
  }
}

async function rejoinLocked(dir: string, options: ResolvedRejoin): Promise<RejoinReport> {
  const before = readMark<ArchiveRestoreMark>(dir)
  if (before !== undefined && before.cutTo === undefined) {
    await using replica = await open(dir, { readOnly: true })
    return { uuid: replica.uuid, nextSeq: replica.nextSeq, ...(before.kept ?? NONE) }
  }
  const log = await openRestored(dir, undefined, { create: false })
  try {
    const { uuid } = log
    const mark = before ?? (await markOf(log, options))
    const end = mark.cutTo as number
    if (before === undefined) await markFolder(dir, mark)
    const { kept = NONE } = log.nextSeq > end ? { kept: await keep(log, end, options.into) } : mark
    if (log.nextSeq > end) {
      await markFolder(dir, { ...mark, kept })
      await log.truncateAfter(end - 1)
    }
    // A takeover sets the positions that the archive has.
    for (const { name } of await log.cursors()) await log.removeCursor(name)
    const { generation } = log
    await log.close()
    // Readers that have mapped it would wait for the former writer.
    await rm(join(dir, 'live'), { force: true })
    const { cutTo, ...replica } = mark
    await markFolder(dir, { ...replica, cuts: generation, kept })
    return { uuid, nextSeq: end, ...kept }
  } finally {
    await log.close()
  }
}

/** The mark of a replica of the newest history, which `log` is once its records from `cutTo` on are removed. */
async function markOf(log: Log, { into, ...options }: ResolvedRejoin): Promise<ArchiveRestoreMark> {
  const bucket = new Bucket(options.bucket, options.signal)
  const chosen = await chooseArchive(bucket, { uuid: log.uuid, generation: undefined })
  const { owner, generation } = chosen.manifest.history
  const { id } = await readCopy(log.dir)
  if (owner === undefined || owner === id) throw notReplaced(log.dir, bucket.urlOf(chosen.root))
  const cutTo = await commonEnd(log, bucket, chosen, options)
  if (cutTo < log.firstSeq) throw trimmedTooFar(log, cutTo)
  return { archive: bucket.urlOf(chosen.root), generation, first: log.firstSeq, cuts: log.generation, cutTo }
}

/** The seq before which the log and the archive's newest history have the same records. */
async function commonEnd(
  log: Log,
  bucket: Bucket,
  { uuid, manifest }: ChosenArchive,
  { access, signal }: Omit<ResolvedRejoin, 'into'>,
): Promise<number> {
  const last = await manifest.last()
  const archiveEnd = last === undefined ? 0 : manifest.endOf(manifest.entries.length - 1, last)
  const end = Math.min(archiveEnd, log.nextSeq)
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

/** The lowest seq at which only one of two readers has a record, or each another one; infinite if there is none. */
async function firstOther(one: AsyncIterable<LogRecord>, other: AsyncIterable<LogRecord>): Promise<number> {
  const others = other[Symbol.asyncIterator]()
  try {
    for await (const { seq, timestamp, data } of one) {
      const { value, done } = await others.next()
      if (done) return seq
      const record: LogRecord = value
      if (record.seq !== seq || record.timestamp !== timestamp || !record.data.equals(data))
        return Math.min(seq, record.seq)
    }
    const { value, done } = await others.next()
    return done ? Number.POSITIVE_INFINITY : (value as LogRecord).seq
  } finally {
    await others.return?.()
  }
}

/**
 * Copies the records from seq `from` on to the log in `into`, which may hold the beginning of them, and syncs that log.
 */
async function keep(log: Log, from: number, into: string): Promise<KeptRecords> {
  const kept = { ...NONE }
  await log.sync('full')
  const copy = await openKept(log, from, into)
  try {
    const next = copy.nextSeq
    const isSame = next <= log.nextSeq && (await firstOther(log.read({ from, to: next }), copy.read())) >= next
    if (copy.uuid !== log.uuid || copy.firstSeq !== from || !isSame) throw otherRecords(into)
    for await (const { seq, timestamp, data } of log.read({ from, salvage: false })) {
      if (kept.records === 0) kept.first = seq
      kept.last = seq
      kept.records++
      if (seq < next) continue
      await copy.skipTo(seq, timestamp)
      await copy.appendNext(data, timestamp)
    }
    await copy.sync('full')
    if ((await firstOther(log.read({ from, salvage: false }), copy.read())) === Number.POSITIVE_INFINITY) return kept
    throw new DurlogError('ERR_DURLOG_CORRUPT', `the copy in ${into} differs from the log: the device may be failing`)
  } finally {
    await copy.close()
  }
}

async function openKept(log: Log, firstSeq: number, into: string): Promise<RestoringLog> {
  const isFolder = statSync(into, { throwIfNoEntry: false })?.isDirectory() === true
  const names = isFolder ? readdirSync(into) : []
  if (names.length > 0 && !names.some((name) => name.endsWith('.seg'))) throw otherRecords(into)
  const { segments } = await inspect(log.dir)
  const segmentBytes = Math.max(...segments.map(({ bytes }) => bytes), 2 ** 16)
  // Not a higher generation: the archive must never accept these records.
  const { uuid, generation } = log
  return openRestored(into, { uuid, firstSeq, generation }, { durability: 'memory', segmentBytes })
}

function otherRecords(into: string): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_NOT_EMPTY',
    `${into} holds something else than the records that were never replicated: name a new folder`,
    { path: into },
  )
}

function notReplaced(dir: string, url: string): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_NOT_FOUND',
    `no other copy of the log in ${dir} has taken over at ${url}: the log can be written here`,
    { path: dir },
  )
}

function trimmedTooFar({ dir, firstSeq }: Log, common: number): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_OUT_OF_RANGE',
    `${dir} begins with record ${firstSeq}, but it shares only the records before ${common} with the archive: keep the folder, and restore the archive into a new one`,
    { path: dir },
  )
}
