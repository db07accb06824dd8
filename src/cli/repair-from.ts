/** `durlog repair --from`: fetches lost records from a backup or an archive of the same log. */
import { existsSync } from 'node:fs'
import { link, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { readArchive } from '../archive/index.js'
import { inspect, type LogRecord, open, type ReadOnlyLog, verify } from '../index.js'
import { native } from '../native/native.js'
import { openRestored } from '../open.js'
import { syncFolder } from '../support/durable-files.js'
import { makeFolder, takeOwner } from '../support/new-files.js'
import { rename } from '../support/rename.js'
import { ExitCode } from '../terminal/exit-codes.js'
import { InputError } from '../terminal/input-error.js'
import { formatSeqs } from '../terminal/output.js'
import { realPath } from './backup.js'
import { type BucketFlags, isBucket, toBucketAccess } from './bucket-flags.js'

/** The folder in which segments are made again. It is in the folder of the log, so that a rename can place them. */
const FOLDER = 'repairing'
/** The overhead of a frame in its file, at most: header and padding. */
const FRAME_BYTES = 32
const BLOCK_BYTES = 4096

/** A damaged segment. */
export interface RepairedSegment {
  segment: string
  /** The lost records of the segment, in ranges. */
  lost: { first: number; last: number }[]
  /** Whether the source has all of them, and with `apply` they were put back. */
  found: boolean
}

/** Copies of the log's records from another place. */
interface LostRecords {
  name: string
  records(from: number, to: number): AsyncIterable<LogRecord>
  close(): Promise<void>
}

/**
 * Makes each damaged segment of the log in `dir` again, from its intact records and those of `from`. A segment is
 * changed only if all of its lost records are found. With `backup`, a folder, the segments are replaced with the lock
 * of writers, and the damaged files are kept there; without it nothing is changed.
 */
export async function repairFrom(
  dir: string,
  from: string,
  flags: BucketFlags,
  backup: string | undefined,
): Promise<RepairedSegment[]> {
  const lock = backup === undefined ? undefined : await native.lockLog(dir)
  try {
    return await repairSegments(dir, from, flags, backup)
  } finally {
    if (lock !== undefined) await rm(join(dir, FOLDER), { recursive: true, force: true })
    lock?.release()
  }
}

async function repairSegments(
  dir: string,
  from: string,
  flags: BucketFlags,
  backup: string | undefined,
): Promise<RepairedSegment[]> {
  const { segments, problems: unknown, accepted, nextSeq } = await verify(dir)
  await using log = await open(dir, { readOnly: true })
  const source = await openSource(from, flags, log)
  try {
    const repaired: RepairedSegment[] = []
    for (const [at, { name, firstSeq, bytes }] of segments.entries()) {
      const problems = [...accepted, ...unknown].filter(({ segment }) => segment === name)
      if (problems.length === 0) continue
      const lost = problems
        .filter(({ lostFirst, lostLast }) => lostFirst <= lostLast)
        .map(({ lostFirst, lostLast }) => ({ first: lostFirst, last: lostLast }))
        .sort((a, b) => a.first - b.first)
      const end = Math.max(segments[at + 1]?.firstSeq ?? nextSeq, (lost.at(-1)?.last ?? -1) + 1)
      const foundBytes = await measure(log, source, lost)
      repaired.push({ segment: name, lost, found: foundBytes !== undefined })
      if (backup === undefined || foundBytes === undefined) continue
      const segmentBytes = Math.ceil((bytes + foundBytes) / BLOCK_BYTES + 16) * BLOCK_BYTES
      await makeSegment(log, source, { name, firstSeq, end, lost, segmentBytes })
      await replaceSegment(dir, name, backup)
    }
    return repaired
  } finally {
    await source.close()
  }
}

async function openSource(from: string, flags: BucketFlags, log: ReadOnlyLog): Promise<LostRecords> {
  if (isBucket(from)) {
    const access = toBucketAccess(from, flags)
    return {
      name: from,
      records: (first, to) => readArchive({ ...access, uuid: log.uuid, from: first, to }),
      close: async () => {},
    }
  }
  const copy = await open(from, { readOnly: true })
  if (copy.uuid === log.uuid)
    return {
      name: from,
      records: (first, to) =>
        copy.read({ from: Math.max(first, copy.firstSeq), to: Math.min(to, copy.nextSeq), salvage: true }),
      close: () => copy.close(),
    }
  await copy.close()
  throw new InputError(`${from} holds another log (${copy.uuid}): name a backup of ${log.dir}`)
}

/**
 * Returns the bytes that the lost records take in a file; undefined if the source does not have all of them. Throws if
 * the source has another record before or after them: then it belongs to another history of the log.
 */
async function measure(
  log: ReadOnlyLog,
  source: LostRecords,
  lost: readonly { first: number; last: number }[],
): Promise<number | undefined> {
  let bytes = 0
  for (const { first, last } of lost) {
    let next = first
    for await (const record of source.records(Math.max(first - 1, log.firstSeq), last + 2)) {
      if (record.seq < first || record.seq > last) await checkSame(log, source, record)
      else if (record.seq === next) {
        next++
        bytes += record.data.length + FRAME_BYTES
      }
    }
    if (next <= last) return undefined
  }
  return bytes
}

async function checkSame(log: ReadOnlyLog, { name }: LostRecords, { seq, timestamp, data }: LogRecord): Promise<void> {
  for await (const own of log.read({ from: seq, to: Math.min(seq + 1, log.nextSeq), salvage: true })) {
    if (own.timestamp !== timestamp || !own.data.equals(data))
      throw new InputError(
        `record ${seq} of ${name} differs from that of the log, after a truncation for example: name another backup`,
      )
  }
}

interface Made {
  name: string
  firstSeq: number
  /** The seq after the last one of the segment. */
  end: number
  lost: readonly { first: number; last: number }[]
  segmentBytes: number
}

/** Makes the segment in the folder FOLDER. */
async function makeSegment(log: ReadOnlyLog, source: LostRecords, made: Made): Promise<void> {
  const { name, firstSeq, end, segmentBytes } = made
  const dir = join(log.dir, FOLDER)
  await rm(dir, { recursive: true, force: true })
  const copy = await openRestored(
    dir,
    { uuid: log.uuid, firstSeq, generation: Math.max(0, log.generation) },
    { durability: 'memory', segmentBytes, preallocate: 'none', strategy: 'pwrite' },
  )
  let lastTimestamp = 0
  try {
    for await (const { seq, data, timestamp } of merged(log, source, made)) {
      await copy.skipTo(seq, timestamp)
      await copy.appendNext(data, timestamp)
      lastTimestamp = timestamp
    }
    await copy.skipTo(end, lastTimestamp)
    await copy.sync('full')
  } finally {
    await copy.close()
  }
  const { state, segments } = await verify(dir)
  if (state !== 'clean' || segments.length !== 1 || segments[0]?.name !== name)
    throw new InputError(
      `the segment ${name} cannot be made again with ${formatSeqs(firstSeq, end)}: the device may be failing; run "durlog doctor ${log.dir}"`,
    )
}

/** The intact records of the segment and the lost ones of the source, in order. */
async function* merged(
  log: ReadOnlyLog,
  source: LostRecords,
  { firstSeq, end, lost }: Made,
): AsyncGenerator<LogRecord> {
  const waiting = lost.values()
  let range = waiting.next()
  for await (const record of log.read({ from: firstSeq, to: Math.min(end, log.nextSeq), salvage: true })) {
    for (; range.done !== true && range.value.first < record.seq; range = waiting.next())
      yield* source.records(range.value.first, range.value.last + 1)
    yield record
  }
  for (; range.done !== true; range = waiting.next()) yield* source.records(range.value.first, range.value.last + 1)
}

/** Puts the segment in the place of the damaged one, which it keeps in `backup`. */
async function replaceSegment(dir: string, name: string, backup: string): Promise<void> {
  await makeFolder(backup)
  try {
    await link(join(dir, name), join(backup, name))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error
    throw new InputError(`${backup} is on another file system: name a folder next to ${dir} with --backup`)
  }
  await syncFolder(backup)
  const made = join(dir, FOLDER, name)
  takeOwner(made)
  await rename(made, join(dir, name))
  await syncFolder(dir)
}

/** Throws InputError if the command cannot use `from`. */
export async function checkSource(dir: string, from: string): Promise<void> {
  if (isBucket(from)) return
  if (!existsSync(from)) throw new InputError(`there is no folder ${from}`, ExitCode.noLog)
  await inspect(from)
  if (realPath(from) === realPath(dir))
    throw new InputError('--from names a backup, not the log itself', ExitCode.usage)
}
