/**
 * Makes room for a replica in the place of the streams of a former writer. Its folder is moved as a whole: what was
 * never replicated may be in the files of streams too, which no restore can cut at a record.
 */
import { existsSync, readdirSync, rmdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { invalidArgument } from '../errors.js'
import type { Log } from '../index.js'
import { open, openRestored } from '../open.js'
import { mainLogOf, streamsLog } from '../streams/files/main-log.js'
import { decodeEntry, EntryKind } from '../streams/state/entry.js'
import { syncFolder } from '../support/durable-files.js'
import { rename } from '../support/rename.js'
import { type MarkChecks, readMark } from '../support/restore-folder.js'
import { type KeptStream, NONE, otherRecords, type RejoinMark, type RejoinReport } from './rejoin.js'

/** Whether `rejoin` has to treat `dir` as streams: it holds them or a replica, or has been moved to `into`. */
export function holdsStreams(dir: string, into: string): boolean {
  return existsSync(streamsLog(dir)) || (!existsSync(dir) && isOfStreams(into))
}

/**
 * Moves the streams in `dir` to `into`, and reports their records that were never replicated. `endOf` returns the seq
 * of the main log before which the destination has the same records. If it was interrupted, run it again. Moves no
 * replica, into which a restore may be writing: `checks` are those of its mark.
 */
export async function rejoinStreams<M extends RejoinMark>(
  dir: string,
  into: string,
  checks: MarkChecks<M>,
  endOf: (log: Log) => Promise<number>,
): Promise<RejoinReport> {
  const isReplica = readMark(dir, checks) !== undefined
  if (isReplica && !isOfStreams(into)) {
    await using replica = await open(streamsLog(dir), { readOnly: true })
    return { uuid: replica.uuid, nextSeq: replica.nextSeq, ...NONE, streams: [] }
  }
  const isMoved = isReplica || !isOfStreams(dir)
  if (!isMoved && existsSync(into) && readdirSync(into).length > 0) throw otherRecords(into)
  const log = await openRestored(mainLogOf(isMoved ? into : dir), undefined, { create: false })
  try {
    const { uuid, nextSeq } = log
    const end = await endOf(log)
    const report = { uuid, nextSeq: end, ...NONE, streams: await keptIn(log, end) }
    if (nextSeq > end) Object.assign(report, { first: end, last: nextSeq - 1, records: nextSeq - end })
    await log.close()
    if (!isMoved) await move(dir, into)
    return report
  } finally {
    await log.close()
  }
}

function isOfStreams(dir: string): boolean {
  return mainLogOf(dir) !== dir
}

async function keptIn(log: Log, end: number): Promise<KeptStream[]> {
  const streams = new Map<string, KeptStream>()
  for await (const { seq, data } of log.read({ from: Math.max(end, log.firstSeq), salvage: false })) {
    const { kind, stream: name, seq: at } = decodeEntry(data, seq)
    if (kind !== EntryKind.append) continue
    const kept = streams.get(name) ?? { name, first: at, last: at, records: 0 }
    streams.set(name, { ...kept, last: at, records: kept.records + 1 })
  }
  return [...streams.values()]
}

async function move(dir: string, into: string): Promise<void> {
  if (existsSync(into)) rmdirSync(into)
  await rename(dir, into).catch((error: NodeJS.ErrnoException) => {
    if (!['EXDEV', 'EBUSY'].includes(error.code ?? '')) throw error
    throw invalidArgument(
      `into must be on the file system of ${dir}, which must be no mount point, because the folder is moved`,
    )
  })
  for (const folder of new Set([dir, into].map(dirname))) await syncFolder(folder)
}
