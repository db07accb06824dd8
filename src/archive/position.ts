/** Determines the record with which archiving continues, by comparing the archive's last piece with the log. */
import { DurlogError, isCode } from '../errors.js'
import type { DurableCursor, Log, ReadableLog, ReadOnlyLog } from '../index.js'
import type { Bucket } from './bucket.js'
import { archiveRoot, HistoryNames } from './layout.js'
import { addHistory, type History, listHistories, listPieces, type Manifest } from './manifest.js'
import { HEADER_BYTES, offsetOfSeq, type PieceFacts } from './piece.js'
import { SegmentRemoved, type Segments } from './segments.js'

export interface ArchivePosition {
  /** The generation of the log that was compared with the archive. */
  generation: number
  history: History
  /** The first seq that is not archived. */
  next: number
  /** The first seq that is not in a whole segment of the archive. */
  segmentsEnd: number
  /** The SHA-256 of the last piece before `segmentsEnd`. */
  segmentsPrevious: string
  /** The SHA-256 of the last piece. */
  previous: string
  /** Whether the archive holds no piece. */
  isEmpty: boolean
  /** Whether restores cannot find the history yet: call `addHistory` after its first piece is stored. */
  isNew: boolean
}

/**
 * Finds the position at which archiving continues:
 *
 * | the archive's last piece | result |
 * |---|---|
 * | there is none, and the cursor is after the log's first record | ERR_DURLOG_DESTINATION_MISSING |
 * | there is none, and the cursor is at the log's first record | begin with the log's first record |
 * | the log holds it with the same bytes, or it ends directly before the log's first record | continue after it |
 * | it ends further before the log's first record | continue after it: the caller reports the gap |
 * | otherwise, if the log was cut after the piece was stored | begin a new history with the first piece that differs |
 * | otherwise, if the piece ends at or after the log's end | ERR_DURLOG_DESTINATION_AHEAD |
 * | otherwise | ERR_DURLOG_DESTINATION_OTHER |
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
  // Refresh after reading `last`: another archiver of the same log may have just stored a record that `log` does not know yet.
  if (log.readOnly) await log.refresh()
  // Read before the log is compared with the archive: a truncation after that must be noticed.
  const { generation } = log
  if (last === undefined) {
    if (cursor.position > log.firstSeq) throw missingError(bucket.urlOf(root))
    const first = log.firstSeq
    const none = { segmentsPrevious: '', previous: '', isEmpty: true, isNew: false }
    return { generation, history, next: first, segmentsEnd: first, ...none }
  }
  const { firstSeq } = log
  const continues =
    last.lastSeq + 1 < firstSeq ||
    (last.lastSeq + 1 === firstSeq && cursor.position > last.lastSeq) ||
    (await isSame(bucket, log, segments, manifest, manifest.entries.length - 1, last))
  if (continues) return positionAfter(manifest, last, generation)
  // A truncation that is not complete is recorded, but `generation` is still the old one.
  if (cursor.generation !== generation) throw new SegmentRemoved('the log is being truncated')
  if (generation <= Math.max(last.generation, history.generation)) throw differs(log, last)
  return fork(bucket, log, segments, manifest, { root, generation })
}

async function positionAfter(manifest: Manifest, last: PieceFacts, generation: number): Promise<ArchivePosition> {
  const { entries, history } = manifest
  const own = entries.findLastIndex(({ key }) => key.startsWith(history.names.log))
  const segment = own === entries.length - 1 ? last : own === -1 ? undefined : await manifest.facts(own)
  const segmentsEnd = segment === undefined ? firstOwn(manifest, last) : segment.lastSeq + 1
  const before = entries.findLastIndex(({ firstSeq }) => firstSeq < segmentsEnd)
  const previous = before === -1 ? undefined : before === own ? segment : await manifest.facts(before)
  return {
    generation,
    history,
    next: last.lastSeq + 1,
    segmentsEnd,
    segmentsPrevious: previous?.sha256 ?? '',
    previous: last.sha256,
    isEmpty: false,
    isNew: false,
  }
}

/** The first seq of the history's own objects, for a history without a whole segment. */
function firstOwn({ entries, history }: Manifest, last: PieceFacts): number {
  if (history.parent !== undefined) return history.from
  return entries[0]?.firstSeq ?? last.firstSeq
}

/** Begins a new history with the first piece that differs from the log. */
async function fork(
  bucket: Bucket,
  log: ReadableLog,
  segments: Segments,
  manifest: Manifest,
  { root, generation }: { root: string; generation: number },
): Promise<ArchivePosition> {
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
  const from = manifest.entries[low]?.firstSeq ?? log.firstSeq
  const before = low === 0 ? undefined : await manifest.facts(low - 1)
  const names = new HistoryNames(root, generation)
  const history = { generation, from, parent: manifest.history.generation, names }
  // An archiver may have stored pieces of this history and died before it added the history to the archive.
  const own = await listPieces(bucket, [manifest.history], { ...history, parent: undefined })
  const sha256 = before?.sha256 ?? ''
  const position = {
    generation,
    history,
    next: from,
    segmentsEnd: from,
    segmentsPrevious: sha256,
    previous: sha256,
    isEmpty: false,
    isNew: true,
  }
  if (own.isEmpty) return position
  await addHistory(bucket, root, history)
  throw new SegmentRemoved('an archiver that was interrupted had already begun this history')
}

/** Whether the log holds the same bytes as the piece at `index`, apart from records that were trimmed. */
async function isSame(
  bucket: Bucket,
  log: ReadableLog,
  segments: Segments,
  manifest: Manifest,
  index: number,
  facts: PieceFacts,
): Promise<boolean> {
  const { firstSeq, lastSeq, generation, sha256 } = facts
  if (lastSeq < log.firstSeq)
    return index < manifest.entries.length - 1 || log.isCurrent({ uuid: log.uuid, generation, seq: lastSeq })
  if (lastSeq >= log.nextSeq) return false
  const seq = Math.max(firstSeq, log.firstSeq)
  const local = await segments.find(seq)
  if (local === undefined) throw new SegmentRemoved(`the segment of record ${seq} was removed`)
  const found = await segments
    .read(local, { seq, endSeq: lastSeq + 1, maxBytes: Number.MAX_SAFE_INTEGER })
    .catch((error: unknown) => {
      // In the log, no frame begins with `seq`.
      if (isCode(error, 'ERR_DURLOG_INVALID_ARGUMENT')) return undefined
      throw error
    })
  if (found === undefined || found.facts.lastSeq !== lastSeq) return false
  if (seq === firstSeq) return found.facts.sha256 === sha256
  // The log's records at the beginning of the piece were trimmed: compare the rest.
  const stored = await bucket.get((manifest.entries[index] as { key: string }).key)
  if (stored === undefined) throw new SegmentRemoved('the archive has changed')
  const offset = offsetOfSeq(stored.body, firstSeq, seq)
  if (offset === undefined) return false
  const bytes = await found.body.bytes()
  const sameHeader = stored.body.subarray(0, HEADER_BYTES).equals(bytes.subarray(0, HEADER_BYTES))
  return sameHeader && stored.body.subarray(offset).equals(bytes.subarray(HEADER_BYTES))
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

function missingError(url: string): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_DESTINATION_MISSING',
    `${url} is empty, but records of this log were archived before: check the bucket and the prefix. To begin a new archive, remove the log's cursor (durlog cursors DIR --remove archive)`,
  )
}
