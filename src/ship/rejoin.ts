/**
 * Turns the log of a former writer into a replica of the writer that has taken over. The records that the destination's
 * newest generation does not have are copied to another folder and removed here. Any step may be the last one before a
 * crash: the mark is written first, and records are removed only under the lock that was held while they were copied.
 */
import { statSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { DurlogError } from '../errors.js'
import { inspect, type Log, type LogRecord } from '../index.js'
import { open, openRestored, type RestoringLog } from '../open.js'
import { isWhole } from '../options/checks.js'
import { type MarkChecks, markFolder, RestoreLock, readMark } from '../support/restore-folder.js'
import { copySegmentBytes, mayHoldCopy } from '../support/segment-name.js'

/** The records that were never replicated. */
export interface KeptRecords {
  /** The first and the last seq; -1 if there are none. */
  first: number
  last: number
  records: number
}

/** The appends to one stream that were never replicated. */
export interface KeptStream {
  name: string
  /** The first and the last seq in the stream. */
  first: number
  last: number
  records: number
}

export interface RejoinReport extends KeptRecords {
  uuid: string
  /** The next seq of the replica; of streams, of their main log, to which the other seqs belong too. */
  nextSeq: number
  /** Of a folder of streams, which `into` holds as a whole: the appends to each stream that were never replicated. */
  streams?: KeptStream[]
}

/** The part of the mark of a restore that a rejoin writes. */
export interface RejoinMark {
  /**
   * Of the log of a former writer whose `rejoin` is unfinished: its records from this seq on must be kept and removed.
   */
  cutTo?: number
  /** The records that `rejoin` has kept elsewhere. */
  kept?: KeptRecords
  /** The generation that the log has already. */
  cuts?: number
}

export const REJOIN_CHECKS: MarkChecks<RejoinMark> = {
  cutTo: isSeq,
  kept: (value) => value === undefined || areKept(Object(value) as KeptRecords),
  cuts: isSeq,
}

/** Whether the value of a member that a mark may lack is possible. */
export function isSeq(value: unknown): boolean {
  return value === undefined || isWhole(value)
}

function areKept({ first, last, records }: KeptRecords): boolean {
  return [first, last, records].every(Number.isSafeInteger)
}

export const NONE: KeptRecords = { first: -1, last: -1, records: 0 }

/**
 * Makes the log in `dir` a replica, and keeps its other records in the folder `into`. `markOf` returns the mark of the
 * replica, which the log is once its records from `cutTo` on are removed; `checks` are those of its members.
 */
export async function rejoinLog<M extends RejoinMark>(
  dir: string,
  into: string,
  checks: MarkChecks<M>,
  markOf: (log: Log) => Promise<M & { cutTo: number }>,
): Promise<RejoinReport> {
  // Also a check that there is a log, before the folder of the lock is made in it.
  statSync(dir)
  const lock = await RestoreLock.take(dir)
  try {
    return await rejoinHeld(dir, into, checks, markOf)
  } finally {
    await lock.release()
  }
}

async function rejoinHeld<M extends RejoinMark>(
  dir: string,
  into: string,
  checks: MarkChecks<M>,
  markOf: (log: Log) => Promise<M & { cutTo: number }>,
): Promise<RejoinReport> {
  const before = readMark(dir, checks)
  if (before !== undefined && before.cutTo === undefined) {
    await using replica = await open(dir, { readOnly: true })
    return { uuid: replica.uuid, nextSeq: replica.nextSeq, ...(before.kept ?? NONE) }
  }
  const log = await openRestored(dir, undefined, { create: false })
  try {
    const { uuid } = log
    const mark = before ?? (await markOf(log))
    const end = mark.cutTo as number
    if (end < log.firstSeq) throw trimmedTooFar(log, end)
    if (before === undefined) await markFolder(dir, mark)
    const { kept = NONE } = log.nextSeq > end ? { kept: await keep(log, end, into) } : mark
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

/** The lowest seq at which only one of two readers has a record, or each another one; infinite if there is none. */
export async function firstOther(one: AsyncIterable<LogRecord>, other: AsyncIterable<LogRecord>): Promise<number> {
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
  if (!mayHoldCopy(into)) throw otherRecords(into)
  const segmentBytes = copySegmentBytes((await inspect(log.dir)).segments)
  // Not a higher generation: the archive must never accept these records.
  const { uuid, generation } = log
  return openRestored(into, { uuid, firstSeq, generation }, { durability: 'memory', segmentBytes })
}

/** The error of a folder `into` that holds something else. */
export function otherRecords(into: string): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_NOT_EMPTY',
    `${into} holds something else than the records that were never replicated: name a new folder`,
    { path: into },
  )
}

export function trimmedTooFar({ dir, firstSeq }: Log, common: number): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_OUT_OF_RANGE',
    `${dir} begins with record ${firstSeq}, but it shares only the records before ${common} with the destination: keep the folder, and restore into a new one`,
    { path: dir },
  )
}

/** The error of a restore into the folder of an interrupted rejoin. */
export function unfinishedRejoin(folder: string): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_NOT_EMPTY',
    `${folder} holds records that were never replicated, because its rejoin was interrupted: run "durlog rejoin" again`,
    { path: folder },
  )
}
