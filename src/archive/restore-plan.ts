/**
 * Determines the pieces that a restore reads, checks that they follow each other, and finds the end of the restored
 * log.
 */
import { findExtent } from '../extent.js'
import { segmentFile } from '../support/segment-name.js'
import { readBoundary } from './boundary.js'
import type { Bucket } from './bucket.js'
import { readCursors } from './cursors.js'
import type { History, Manifest, PieceEntry } from './manifest.js'
import type { PieceFacts } from './piece.js'
import type { ResolvedRestore } from './restore-options.js'
import { StoreFailure } from './store-errors.js'

type RestoreEnd = Pick<ResolvedRestore, 'to' | 'untilMs'>

/** Returns the index after the last piece that holds records before the end of the restore. */
async function endOfPieces(manifest: Manifest, { to, untilMs }: RestoreEnd): Promise<number> {
  const { entries } = manifest
  let end = entries.findLastIndex(({ firstSeq }) => firstSeq < to) + 1
  if (untilMs !== Number.POSITIVE_INFINITY) {
    let low = 0
    let high = end
    while (low < high) {
      const middle = (low + high) >> 1
      const facts = await manifest.facts(middle)
      if (facts === undefined) throw new StoreFailure('the archive has changed')
      if (facts.newestMs >= untilMs) high = middle
      else low = middle + 1
    }
    end = Math.min(end, low + 1)
  }
  return end
}

/** Returns a seq that is not after the end of the restore, as close to it as is known without reading a piece. */
export async function knownEnd(manifest: Manifest, wanted: RestoreEnd): Promise<number> {
  if (wanted.untilMs === Number.POSITIVE_INFINITY) return wanted.to
  const end = await endOfPieces(manifest, wanted)
  return Math.min(wanted.to, manifest.entries[end - 1]?.firstSeq ?? 0)
}

/** Returns the pieces that hold the records from `next` on, up to the end of the restore. */
export async function wantedPieces(manifest: Manifest, next: number, wantedEnd: RestoreEnd): Promise<PieceEntry[]> {
  const { entries } = manifest
  const end = await endOfPieces(manifest, wantedEnd)
  const from = entries.findIndex((_, at) => (entries[at + 1]?.firstSeq ?? Number.POSITIVE_INFINITY) > next)
  const wanted = from === -1 ? [] : entries.slice(from, end)
  const [first] = wanted
  if (first === undefined || first.firstSeq >= next) return wanted
  // All records of the first piece may already be restored.
  const facts = await manifest.facts(from)
  return facts === undefined || facts.lastSeq < next ? wanted.slice(1) : wanted
}

/** Returns the seq before which the history has held every record, according to its objects that are not pieces. */
export async function provenEnd(bucket: Bucket, { names }: History): Promise<number> {
  const { seq } = await readCursors(bucket, names.cursors)
  // The parts up to the boundary were deleted, because their segment is archived whole.
  return Math.max(seq + 1, (await readBoundary(bucket, names.boundary)) + 1)
}

/**
 * Returns the first seq before `proven` that the pieces lack at their end and that is to be restored; undefined if
 * there is none.
 */
export async function missingFrom(
  manifest: Manifest,
  proven: number,
  { to, untilMs }: RestoreEnd,
): Promise<number | undefined> {
  const last = await manifest.last()
  if (last === undefined) return undefined
  const end = manifest.endOf(manifest.entries.length - 1, last)
  return end < Math.min(proven, to) && last.newestMs < untilMs ? end : undefined
}

/** Returns the highest seq up to `end` at which the log can end without dividing a batch. */
export async function endOfBatches(dir: string, segment: number, end: number): Promise<number> {
  const query = { offset: 0, seq: segment, endSeq: end, maxBytes: Number.MAX_SAFE_INTEGER }
  return (await findExtent(dir, segmentFile(segment), query)).nextSeq
}

/** The facts of the piece before `entry`. */
export async function factsBefore(manifest: Manifest, entry: PieceEntry): Promise<PieceFacts | undefined> {
  const at = manifest.entries.findIndex(({ key }) => key === entry.key)
  return at <= 0 ? undefined : manifest.facts(at - 1)
}

/**
 * Whether the piece `facts` follows the piece `before`: it must contain the checksum of that piece. True without this
 * check if `before` is unknown, if the two pieces overlap, or if the piece is the first one of its history.
 */
export function follows(facts: PieceFacts, before: PieceFacts | undefined): boolean {
  return (
    before === undefined ||
    facts.previous === '' ||
    before.lastSeq >= facts.firstSeq ||
    facts.previous === before.sha256
  )
}
