/** Copies a log to another folder, with the same seqs, times, bytes, UUID and cursors, for `backup` and `restore`. */
import { existsSync, realpathSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { DurlogError } from '../errors.js'
import { inspect, type LogSummary, open, type ReadOnlyLog, verify } from '../index.js'
import { openRestored, type RestoringLog } from '../open.js'
import { replaceSynced } from '../support/durable-files.js'
import { BACKUP_MARK, isBackup, refuseReplica } from '../support/folder-marks.js'
import { type MarkChecks, markFolder, restoreInto, unmarkFolder } from '../support/restore-folder.js'
import { copySegmentBytes, mayHoldCopy } from '../support/segment-name.js'
import { InputError } from '../terminal/input-error.js'
import { formatSeqs } from '../terminal/output.js'
import type { CursorSummary, LogRecord, ReadOptions } from '../types.js'
import { isUncut } from '../uncut.js'
import { Appender, type NewRecord } from './appender.js'

/** The last records of a log, with at most this many seqs, show whether a copy continues it. */
const COMPARED_SEQS = 1024

export interface CopyReport {
  uuid: string
  firstSeq: number
  nextSeq: number
  /** The number of seqs that this call copied, including seqs without a record. */
  copied: number
  cursors: string[]
  /** The cursors that were not copied, because they need a `seek` in the source. */
  skippedCursors: string[]
}

/** With `salvage`, the seqs of damaged records hold no record in the copy. */
export interface CopyOptions extends Pick<ReadOptions, 'salvage' | 'onGap'> {
  /** Marks the copy as a backup, to which `open` refuses to append. */
  isBackup?: boolean
  /** A cursor that is not copied. */
  without?: string
}

/**
 * Copies every synced record and the cursors of the log in `from` to the folder `to`, then verifies the copy. Another
 * process may have the log open for writing. Continues an earlier copy of the same log. Throws InputError if `to` holds
 * anything else.
 */
export async function copyLog(
  from: string,
  to: string,
  onProgress: (done: number, total: number) => void,
  { isBackup: marks = false, without, ...salvage }: CopyOptions = {},
): Promise<CopyReport> {
  if (realPath(from) === realPath(to)) throw new InputError(`${to} is the log itself: name another folder`)
  await using source = await open(from, { readOnly: true })
  let summary: LogSummary
  let cursors: CursorSummary[]
  // After a truncation, other records may have the seqs before a position.
  do {
    summary = await inspect(from)
    // Read the positions before the end: then only a cursor that has read records which are not synced is after the
    // end.
    cursors = (await source.cursors()).filter(({ name }) => name !== without)
    await source.refresh()
  } while (source.generation !== summary.generation)
  const { generation, syncedSeq } = source
  const end = syncedSeq + 1
  if (marks) refuseOther(to)
  await using copy = await openCopy(summary, source.firstSeq, to)
  const first = copy.nextSeq
  await checkContinues(source, copy, end, to)
  if (marks) await markCopy(copy, source.dir, to)
  const lastTimestamp = await copyRecords(source, copy, end, salvage, (seq) => onProgress(seq - first, end - first))
  // A truncation also ends the reader. The seqs after it are no voids.
  if (copy.nextSeq < end && !(await isUncut(source, generation, end)))
    throw new InputError(
      `the log was truncated while it was copied, so the copy ends with seq ${copy.nextSeq - 1}: repeat the command`,
    )
  await copy.skipTo(end, lastTimestamp)
  await copy.sync('full')
  const skippedCursors = await copyCursors(cursors, copy)
  const { uuid, firstSeq, nextSeq } = copy
  await copy.close()
  await checkCopy(to, firstSeq, nextSeq)
  const names = cursors.map(({ name }) => name).filter((name) => !skippedCursors.includes(name))
  return { uuid, firstSeq, nextSeq, copied: nextSeq - first, cursors: names, skippedCursors }
}

/** The mark of an unfinished restore of a backup: the UUID of its log. */
interface RestoreMark {
  backup: string
}

const MARK_CHECKS: MarkChecks<RestoreMark> = { backup: (value) => typeof value === 'string' }

/**
 * As `copyLog`, into a new or empty folder. If the call is interrupted, the next one with the same arguments continues,
 * and no process can append to `to` before. Rejects with ERR_DURLOG_NOT_EMPTY if `to` holds anything else, such as the
 * log of a restore that has finished: another one would move its cursors back.
 */
export async function restoreLog(
  from: string,
  to: string,
  onProgress: (done: number, total: number) => void,
  salvage: Pick<ReadOptions, 'salvage' | 'onGap'>,
): Promise<CopyReport> {
  const { uuid } = await inspect(from)
  return restoreBackup(uuid, to, () => copyLog(from, to, onProgress, salvage))
}

/** Calls `copy`, which copies the log `uuid`, or the streams of this log, to the folder `to`: see `restoreLog`. */
export function restoreBackup<Report>(uuid: string, to: string, copy: () => Promise<Report>): Promise<Report> {
  return restoreInto(to, MARK_CHECKS, async (before) => {
    if (before === undefined) await markFolder(to, { backup: uuid } satisfies RestoreMark)
    else if (before.backup !== uuid)
      throw new DurlogError(
        'ERR_DURLOG_NOT_EMPTY',
        `${to} holds an unfinished restore of another log (${before.backup}): restore into a new or empty folder`,
        { path: to },
      )
    const report = await copy()
    await unmarkFolder(to)
    return report
  })
}

/** Marks `dir`, a log or a folder of streams, as a backup of `source`. */
export async function markBackup(dir: string, source: string): Promise<void> {
  await replaceSynced(join(dir, BACKUP_MARK), `${JSON.stringify({ source })}\n`)
}

export function realPath(dir: string): string {
  return existsSync(dir) ? realpathSync(dir) : resolve(dir)
}

/** Throws if `to` cannot be a backup. */
function refuseOther(to: string): void {
  // A replica has the UUID of the log too, and another process writes it.
  refuseReplica(to)
  if (!mayHoldCopy(to)) throw new InputError(`${to} is not empty and holds no log: name an empty or a new folder`)
}

/** Throws if the copy is another writer: its cursors would move back, and nothing could append to it any more. */
async function markCopy({ firstSeq, nextSeq }: RestoringLog, source: string, to: string): Promise<void> {
  // A backup is marked before its first record.
  if (nextSeq > firstSeq && !isBackup(to))
    throw new InputError(`${to} holds this log, but is no backup of it: name an empty or a new folder`)
  await markBackup(to, source)
}

async function openCopy(source: LogSummary, firstSeq: number, to: string): Promise<RestoringLog> {
  const { uuid, segments, generation } = source
  return openRestored(
    to,
    // A higher generation, because the copy may get other records with the seqs that follow the copied ones.
    { uuid, firstSeq, generation: generation + 1 },
    { durability: 'memory', segmentBytes: copySegmentBytes(segments) },
  )
}

/** Throws InputError unless the records of the copy are the beginning of the source. */
async function checkContinues(source: ReadOnlyLog, copy: RestoringLog, end: number, to: string): Promise<void> {
  if (copy.uuid !== source.uuid) throw new InputError(`${to} holds another log (${copy.uuid}): name another folder`)
  const { nextSeq } = copy
  if (nextSeq < source.firstSeq)
    throw new InputError(
      `the next seq of ${to} is ${nextSeq}, but the source was trimmed up to seq ${source.firstSeq}: name a new folder`,
    )
  const other = `${to} holds records that the source does not have, after a truncation for example: name a new folder`
  if (nextSeq > end) throw new InputError(other)
  const from = Math.max(copy.firstSeq, source.firstSeq, nextSeq - COMPARED_SEQS)
  if (from >= nextSeq) return
  const last = await lastOf(copy, from, nextSeq)
  const expected = await lastOf(source, from, nextSeq)
  const same =
    last?.seq === expected?.seq &&
    last?.timestamp === expected?.timestamp &&
    (last === undefined || expected === undefined || last.data.equals(expected.data))
  if (!same) throw new InputError(other)
}

/** Returns the last record from `from` to before `end`; undefined if there is none. */
async function lastOf(log: ReadOnlyLog | RestoringLog, from: number, end: number): Promise<LogRecord | undefined> {
  let last: LogRecord | undefined
  for await (const record of log.read({ from, to: end, salvage: true })) last = record
  return last
}

/** Returns the time of the last record. */
async function copyRecords(
  source: ReadOnlyLog,
  copy: RestoringLog,
  end: number,
  salvage: Pick<ReadOptions, 'salvage' | 'onGap'>,
  onProgress: (seq: number) => void,
): Promise<number> {
  let lastTimestamp = 0
  if (copy.nextSeq >= end) return lastTimestamp
  const appender = new Appender(copy, 'memory')
  let next = copy.nextSeq
  for await (const records of source.read({ ...salvage, from: next, to: end }).batches()) {
    const pieces: NewRecord[] = []
    for (const { seq, data, timestamp } of records) {
      pieces.push(seq > next ? { data, timestamp, skipTo: seq } : { data, timestamp })
      lastTimestamp = timestamp
      next = seq + 1
    }
    await appender.add(pieces)
    onProgress(next)
  }
  await appender.finish()
  return lastTimestamp
}

/**
 * Copies the cursors of the source. Returns the names of the cursors that were skipped because they have no valid
 * position.
 */
async function copyCursors(cursors: readonly CursorSummary[], copy: RestoringLog): Promise<string[]> {
  const skipped: string[] = []
  for (const { name, position, state } of cursors) {
    if (state !== 'ready') {
      skipped.push(name)
      continue
    }
    await using cursor = await copy.cursor(name)
    await cursor.seek(Math.min(Math.max(position, copy.firstSeq), copy.nextSeq))
  }
  for (const { name } of await copy.cursors()) {
    if (!cursors.some((cursor) => cursor.name === name)) await copy.removeCursor(name)
  }
  return skipped
}

async function checkCopy(to: string, firstSeq: number, nextSeq: number): Promise<void> {
  const { state, ...found } = await verify(to)
  if (state === 'clean' && found.firstSeq === firstSeq && found.nextSeq === nextSeq) return
  throw new InputError(
    `the copy in ${to} is ${state} and holds ${formatSeqs(found.firstSeq, found.nextSeq)}, not ${formatSeqs(firstSeq, nextSeq)}: the device may be failing; run "durlog doctor ${to}"`,
  )
}
