/** Determines the record with which archiving continues, by comparing the archive's last piece with the log. */
import { DurlogError } from '../errors.js'
import type { DurableCursor, Log, ReadableLog, ReadOnlyLog } from '../index.js'
import { readCopy } from '../ship/copy.js'
import { refuseReplica } from '../support/folder-marks.js'
import { isUncut } from '../uncut.js'
import type { Bucket } from './bucket.js'
import { readFences } from './fence.js'
import { archiveRoot, HistoryNames } from './layout.js'
import { type History, listHistories, listPieces, type Manifest, type PieceEntry } from './manifest.js'
import { HEADER_BYTES, offsetOfSeq, type PieceFacts, pieceIn } from './piece.js'
import { type LocalPiece, SegmentRemoved, type Segments } from './segments.js'

export interface ArchivePosition {
  /** The generation of the log that was compared with the archive. */
  generation: number
  history: History
  /** The first seq that is not archived. */
  next: number
  /** The first seq that is not in a whole segment of the archive. */
  segmentsEnd: number
  /** The first seq of the last whole segment; `segmentsEnd` if there is none. */
  segmentsFrom: number
  /** The SHA-256 of the history's last whole segment; '' if there is none. */
  segmentsPrevious: string
  /** The SHA-256 of the history's last piece; '' if there is none. */
  previous: string
  /** Whether the archive holds no piece. */
  isEmpty: boolean
  /** The histories of the archive, with `history`. */
  histories: readonly History[]
  /** The first seq that is archived; `next` if there is none. */
  first: number
  /** If the archive does not have the history yet: the history that it continues, and the end of that one. */
  begins: { parent: History; end: number } | undefined
}

/**
 * Finds the position at which archiving continues:
 *
 * | the archive's last piece | result |
 * |---|---|
 * | there is none, but a history of the truncated log | begin with the history's first record |
 * | there is none, and the cursor is after the log's first record | ERR_DURLOG_DESTINATION_MISSING |
 * | there is none, and the cursor is at the log's first record | begin with the log's first record |
 * | there is none, and the cursor is before the log's first record | begin at the cursor: the caller reports the gap |
 * | a newer generation of the log has a history, or a fence in the newest one | ERR_DURLOG_DESTINATION_OTHER |
 * | the log holds it with the same bytes, or it ends directly before the log's first record | continue after it |
 * | it ends further before the log's first record | continue after it: the caller reports the gap |
 * | otherwise, if the log was cut after the piece was stored | continue with the first piece that differs |
 * | otherwise, if the piece ends at or after the log's end | ERR_DURLOG_DESTINATION_AHEAD |
 * | otherwise | ERR_DURLOG_DESTINATION_OTHER |
 *
 * If the log was cut after the newest history began, archiving continues in a new history. A replica begins none:
 * ERR_DURLOG_REPLICA.
 */
export async function findPosition(
  bucket: Bucket,
  log: Log | ReadOnlyLog,
  segments: Segments,
  cursor: DurableCursor,
): Promise<ArchivePosition> {
  const root = archiveRoot(bucket.prefix, log.uuid)
  const histories = await listHistories(bucket, root)
  const history = histories.at(-1) as History
  const manifest = await listPieces(bucket, histories, history)
  const last = await manifest.last()
  // Refresh after reading `last`: another archiver of the same log may have just stored a record that `log` does not
  // know yet.
  if (log.readOnly) await log.refresh()
  // Read before the log is compared with the archive: a truncation after that must be noticed.
  const { generation, firstSeq } = log
  // A history of a truncated log has no piece if its archiver was killed before it stored the first one.
  const isExpected = history.generation === 0 || history.from > firstSeq
  if (last === undefined && isExpected && cursor.position > firstSeq)
    throw missingError(bucket.urlOf(root), cursor.name)
  const archived = Math.max(history.generation, manifest.isBegun && last !== undefined ? last.generation : 0)
  const index = manifest.entries.length - 1
  const end = last === undefined ? beginOf(history, cursor, firstSeq) : manifest.endOf(index, last)
  const continues =
    generation >= archived &&
    (last === undefined ||
      end < firstSeq ||
      (end === firstSeq && cursor.position >= end) ||
      (await isSame(bucket, log, segments, manifest, index, last)))
  if (continues && generation === archived) {
    await refuseFenced(bucket, log, generation, history)
    return positionAfter(manifest, last, { end, generation, histories })
  }
  // A truncation that is not complete is recorded, but `generation` is still the old one.
  if (cursor.generation !== generation) throw new SegmentRemoved('the log is being truncated')
  if (generation < archived) throw olderError(log, archived)
  if (generation === archived) throw differs(log, last as PieceFacts)
  // The generation of a replica is higher than that of its writer, which a new history would fence.
  if (last !== undefined) refuseReplica(log.dir)
  await refuseFenced(bucket, log, generation, history, (await readCopy(log.dir)).id)
  const from = continues ? end : await firstDifference(bucket, log, segments, manifest)
  const begun = { generation, from, parent: history.generation, names: new HistoryNames(root, generation) }
  return {
    generation,
    history: begun,
    histories: [...histories, begun],
    first: Math.min(manifest.entries[0]?.firstSeq ?? from, from),
    next: from,
    segmentsEnd: from,
    segmentsFrom: from,
    segmentsPrevious: '',
    previous: '',
    isEmpty: last === undefined,
    begins: { parent: history, end },
  }
}

/**
 * Throws if a fence ends the history, which `log` would continue. Not only a fence at the end: a whole segment that was
 * stored after the claim may hold the seq of the fence. Lists the fences after the pieces, and a claim lists the pieces
 * after its fence, so one of the two finds the other. The copy `own` may have fenced it.
 */
async function refuseFenced(
  bucket: Bucket,
  log: Log | ReadOnlyLog,
  generation: number,
  { names }: History,
  own?: string,
): Promise<void> {
  const [fence] = (await readFences(bucket, names)).filter(({ owner }) => owner !== own)
  if (fence === undefined) return
  if (log.readOnly) await log.refresh()
  // Another archiver of this log has begun the next history.
  if (log.generation !== generation) throw new SegmentRemoved('the log was truncated')
  throw olderError(log, fence.generation)
}

/** The first seq of an archive or of a history that has no piece. */
function beginOf({ generation, from }: History, { position }: DurableCursor, firstSeq: number): number {
  if (generation > 0) return from
  return position < 0 ? firstSeq : Math.min(position, firstSeq)
}

/** The position after the `last` piece of the newest history, or at its beginning. */
async function positionAfter(
  manifest: Manifest,
  last: PieceFacts | undefined,
  { end, generation, histories }: { end: number; generation: number; histories: readonly History[] },
): Promise<ArchivePosition> {
  const { entries, history, firstOwn } = manifest
  const at = entries.findLastIndex(({ key }) => key.startsWith(history.names.log))
  const segment = at === -1 ? undefined : at === entries.length - 1 ? last : await manifest.facts(at)
  const segmentsEnd = segment === undefined ? (firstOwn?.firstSeq ?? end) : segment.lastSeq + 1
  return {
    generation,
    history,
    histories,
    first: entries[0]?.firstSeq ?? end,
    next: end,
    segmentsEnd,
    segmentsFrom: segment?.firstSeq ?? segmentsEnd,
    segmentsPrevious: segment?.sha256 ?? '',
    previous: firstOwn === undefined ? '' : (last?.sha256 ?? ''),
    isEmpty: last === undefined,
    begins: undefined,
  }
}

/** Returns the first seq of the first piece that differs from the log; of the last piece if no other one differs. */
export async function firstDifference(
  bucket: Bucket,
  log: ReadableLog,
  segments: Segments,
  manifest: Manifest,
): Promise<number> {
  // A binary search is possible, because all pieces after a piece that differs also differ.
  let low = 0
  let high = manifest.entries.length - 1
  while (low < high) {
    const middle = (low + high) >> 1
    const facts = await manifest.facts(middle)
    if (facts === undefined) throw new SegmentRemoved('the archive has changed')
    if (await isSame(bucket, log, segments, manifest, middle, facts)) low = middle + 1
    else high = middle
  }
  return manifest.entries[low]?.firstSeq ?? log.firstSeq
}

/**
 * Whether the log holds the records of the piece at `index` that belong to the history, apart from records that were
 * trimmed.
 */
async function isSame(
  bucket: Bucket,
  log: ReadableLog,
  segments: Segments,
  manifest: Manifest,
  index: number,
  facts: PieceFacts,
): Promise<boolean> {
  const { firstSeq, lastSeq, generation, sha256 } = facts
  const end = manifest.endOf(index, facts)
  if (end <= log.firstSeq) return index < manifest.entries.length - 1 || isUncut(log, generation, end)
  if (end > log.nextSeq) return false
  const seq = Math.max(firstSeq, log.firstSeq)
  const read = async (from: number): Promise<LocalPiece | undefined> => {
    const local = await segments.find(from)
    if (local === undefined) throw new SegmentRemoved(`the segment of record ${from} was removed`)
    return segments.read(local, { seq: from, endSeq: end, maxBytes: Number.MAX_SAFE_INTEGER, compresses: false })
  }
  let found = await read(seq)
  if (found === undefined) return false
  if (seq === firstSeq && end > lastSeq && found.facts.lastSeq + 1 === end) return found.facts.sha256 === sha256
  // The log has trimmed records at the beginning of the piece, the history does not have all of the piece, or a restore
  // has divided it because it did not fit in a file: compare the rest.
  const entry = manifest.entries[index] as PieceEntry
  const object = await bucket.getWhole(entry)
  if (object === undefined) throw new SegmentRemoved('the archive has changed')
  const stored = await pieceIn(bucket.urlOf(entry.key), facts, object.body)
  const begins = offsetOfSeq(stored, firstSeq, seq)
  const ends = offsetOfSeq(stored, firstSeq, end)
  if (begins === undefined || ends === undefined) return false
  for (let at = begins; found !== undefined; ) {
    const bytes = await found.body.bytes()
    const frames = bytes.subarray(HEADER_BYTES)
    if (!stored.subarray(0, HEADER_BYTES).equals(bytes.subarray(0, HEADER_BYTES))) return false
    if (!stored.subarray(at, Math.min(at + frames.length, ends)).equals(frames)) return false
    at += frames.length
    if (at === ends) return true
    found = await read(found.facts.lastSeq + 1)
  }
  return false
}

/** Another copy of the log writes the newest history, which has this generation. */
export class Superseded extends DurlogError {
  declare readonly generation: number
}

export function olderError(log: ReadableLog, archived: number): DurlogError {
  const error = new Superseded(
    'ERR_DURLOG_DESTINATION_OTHER',
    `the archive has a history of generation ${archived} of another copy of the log, whose generation is ${log.generation}: a restored or newer copy has replaced this one there. Nothing is overwritten. Stop writing to this copy; its records that the other copy does not have are in this log only, and in the archive's older history (generation, --generation). To keep both copies, use another prefix for this one`,
  )
  return Object.assign(error, { generation: archived })
}

function differs(log: ReadableLog, last: PieceFacts): DurlogError {
  if (last.lastSeq >= log.nextSeq)
    return new DurlogError(
      'ERR_DURLOG_DESTINATION_AHEAD',
      `the archive holds record ${last.lastSeq}, but the log's next seq is ${log.nextSeq}: the log is an older copy, or another copy of it is archived there. Nothing is overwritten; restore from the archive, or use another prefix`,
    )
  return new DurlogError(
    'ERR_DURLOG_DESTINATION_OTHER',
    `the archive's records ${last.firstSeq} to ${last.lastSeq} differ from the log's, and the log was not truncated after they were archived: another copy of the log is archived there. Nothing is overwritten; use another prefix for this copy`,
  )
}

function missingError(url: string, cursor: string): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_DESTINATION_MISSING',
    `${url} is empty, but records of this log were archived before: check the bucket and the prefix. To begin a new archive, remove the log's cursor (durlog cursors DIR --remove ${cursor})`,
  )
}
