/** Selects the archive that a restore or a reader uses, and summarizes it. */
import { DurlogError } from '../errors.js'
import { UUID } from '../options/checks.js'
import type { Bucket } from './bucket.js'
import { inParallel } from './in-parallel.js'
import { archiveRoot, checkpointFolder } from './layout.js'
import { chooseHistory, type History, listHistories, listPieces, Manifest, unknownHistory } from './manifest.js'
import type { PieceFacts } from './piece.js'
import type { ArchiveSummary } from './types.js'

/**
 * Returns the UUID of the archived log below the bucket's prefix. Throws ERR_DURLOG_NOT_FOUND unless there is exactly
 * one.
 */
async function findUuid(bucket: Bucket): Promise<string> {
  const found = (await bucket.folders(bucket.prefix)).filter((name) => UUID.test(name))
  const [uuid, ...others] = found
  const url = bucket.urlOf(bucket.prefix)
  if (uuid === undefined) throw noneError(url)
  if (others.length === 0) return uuid
  throw new DurlogError(
    'ERR_DURLOG_NOT_FOUND',
    `${url} holds ${found.length} logs: choose one with uuid (--uuid): ${found.slice(0, 10).join(', ')}`,
  )
}

function noneError(url: string): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_NOT_FOUND',
    `${url} holds no archive of a log: check the bucket, the prefix and the endpoint`,
  )
}

export interface ChosenArchive {
  uuid: string
  root: string
  histories: History[]
  manifest: Manifest
}

/**
 * Lists the pieces of the selected archive. Throws ERR_DURLOG_NOT_FOUND if it holds none, and no checkpoint. If
 * `known` is an earlier result, leaves out most of the pieces before its last piece.
 */
export async function chooseArchive(
  bucket: Bucket,
  wanted: { uuid: string | undefined; generation: number | undefined },
  known?: ChosenArchive,
): Promise<ChosenArchive> {
  const uuid = known?.uuid ?? wanted.uuid ?? (await findUuid(bucket))
  const root = archiveRoot(bucket.prefix, uuid)
  const histories = await listHistories(bucket, root, known?.histories)
  const manifest = await chooseManifest(bucket, histories, wanted.generation, known?.manifest)
  if (manifest !== undefined) return { uuid, root, histories, manifest }
  // The main log of streams may have had no record since their checkpoint.
  if ((await bucket.list(checkpointFolder(root))).length === 0) throw noneError(bucket.urlOf(root))
  return { uuid, root, histories, manifest: new Manifest(bucket, chooseHistory(histories, undefined), [], []) }
}

/**
 * Lists the pieces of the history of `generation`, by default of the newest history that has begun or fences its
 * parent; undefined if none has.
 */
async function chooseManifest(
  bucket: Bucket,
  histories: readonly History[],
  generation: number | undefined,
  known: Manifest | undefined,
): Promise<Manifest | undefined> {
  const candidates = generation === undefined ? histories.toReversed() : [chooseHistory(histories, generation)]
  for (const history of candidates) {
    const manifest = await listPieces(bucket, histories, history, { known })
    if (manifest.isBegun || (history.owner !== undefined && !manifest.isEmpty)) return manifest
  }
  if (generation !== undefined) throw unknownHistory(histories, generation)
  return undefined
}

/** Reads the facts of every piece. Leaves out pieces that were deleted after they were listed. */
async function allFacts(manifest: Manifest): Promise<PieceFacts[]> {
  const found = await inParallel(manifest.entries, (_, index) => manifest.facts(index))
  return found.filter((facts) => facts !== undefined)
}

export async function summarize(
  bucket: Bucket,
  wanted: { uuid: string | undefined; generation: number | undefined },
): Promise<ArchiveSummary> {
  const { uuid, histories, manifest } = await chooseArchive(bucket, wanted)
  const points = (await allFacts(manifest)).map(({ firstSeq, lastSeq, records, bytes, oldestMs, newestMs }) => ({
    firstSeq,
    lastSeq,
    records,
    bytes,
    oldestMs,
    newestMs,
  }))
  const summary: ArchiveSummary = { uuid, histories: [], points }
  for (const history of histories) {
    const pieces = await listPieces(bucket, histories, history)
    const last = pieces.isBegun ? await pieces.last() : undefined
    if (last === undefined) continue
    const firstSeq = pieces.entries[0]?.firstSeq ?? 0
    const { generation, from } = history
    summary.histories.push({ generation, firstSeq, nextSeq: last.lastSeq + 1, from: Math.max(from, firstSeq) })
  }
  return summary
}
