/** Which pieces a restore reads, how they follow each other, and where the restored log ends. */
import { DurlogError } from '../errors.js'
import { findExtent } from '../extent.js'
import { StoreFailure } from './answers.js'
import { digitsOf } from './layout.js'
import type { Manifest, PieceEntry } from './manifest.js'
import type { PieceFacts } from './piece.js'
import type { ResolvedRestore } from './restore-options.js'

/** The entries that hold records from `next` on, up to the last wanted one. */
export async function wantedPieces(
  manifest: Manifest,
  next: number,
  { to, untilMs }: Pick<ResolvedRestore, 'to' | 'untilMs'>,
): Promise<PieceEntry[]> {
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
  const from = entries.findIndex((_, at) => (entries[at + 1]?.firstSeq ?? Number.POSITIVE_INFINITY) > next)
  const wanted = from === -1 ? [] : entries.slice(from, end)
  const [first] = wanted
  if (first === undefined || first.firstSeq >= next) return wanted
  // The first one may have been restored as a whole.
  const facts = await manifest.facts(from)
  return facts === undefined || facts.lastSeq < next ? wanted.slice(1) : wanted
}

/** The last seq up to `end` at which no batch is divided. */
export async function endOfBatches(dir: string, segment: number, end: number): Promise<number> {
  const query = { offset: 0, seq: segment, endSeq: end, maxBytes: Number.MAX_SAFE_INTEGER }
  return (await findExtent(dir, `${digitsOf(segment)}.seg`, query)).nextSeq
}

/** The facts of the piece before `entry`. */
export async function factsBefore(manifest: Manifest, entry: PieceEntry): Promise<PieceFacts | undefined> {
  const at = manifest.entries.findIndex(({ key }) => key === entry.key)
  return at <= 0 ? undefined : manifest.facts(at - 1)
}

/** Whether `before` is the piece that `facts` names as the one before it. A piece that is not used as a whole need not be. */
export function follows(facts: PieceFacts, before: PieceFacts | undefined): boolean {
  return before === undefined || before.lastSeq >= facts.firstSeq || facts.previous === before.sha256
}

export function damaged(url: string): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_CORRUPT',
    `${url} is not what was archived: its checksum, or that of the object before it, differs`,
    { path: url },
  )
}
