/** The histories of an archive, and the pieces of one of them in order. */
import { DurlogError } from '../errors.js'
import type { Bucket, ListedObject } from './bucket.js'
import { digitsOf, HistoryNames, historyFolder, seqOfKey } from './layout.js'
import { factsOf, type PieceFacts, sha256Of } from './piece.js'
import { StoreFailure } from './store-errors.js'

export interface History {
  /**
   * The generation of the log whose records the history holds. A log of another generation is never archived into this history, so
   * an upload that arrives late, when the log has been truncated, changes no record of a newer history.
   */
  generation: number
  /** The first seq whose record is not the parent's. */
  from: number
  /** The generation of the history that this one continues; undefined for generation 0. */
  parent: number | undefined
  names: HistoryNames
}

/** An object that holds a piece. */
export interface PieceEntry {
  key: string
  firstSeq: number
  bytes: number
}

/**
 * Lists the histories of an archive, oldest first. Does not read those of `known` again. The history of generation 0 has no object,
 * and may have no pieces.
 */
export async function listHistories(bucket: Bucket, root: string, known: readonly History[] = []): Promise<History[]> {
  const first = { generation: 0, from: 0, parent: undefined, names: new HistoryNames(root, 0) }
  const histories: History[] = [first]
  for (const { key } of await bucket.list(historyFolder(root))) {
    const generation = seqOfKey(key)
    if (generation === undefined) continue
    const before = known.find((history) => history.generation === generation)
    if (before !== undefined) {
      histories.push(before)
      continue
    }
    const object = await bucket.getJson<{ from: number; parent: number }>(key)
    if (object === undefined) continue
    const { from, parent } = object.value
    histories.push({ generation, from, parent, names: new HistoryNames(root, generation) })
  }
  return histories
}

/**
 * Adds a history to the archive, which decides its `from` for every archiver. Restores use the history when it has a piece.
 * Throws ConditionFailed if there is a history of that generation.
 */
export async function addHistory(bucket: Bucket, root: string, { generation, from, parent }: History): Promise<void> {
  const body = Buffer.from(JSON.stringify({ from, parent }))
  await bucket.put(`${historyFolder(root)}${digitsOf(generation)}`, body, {
    sha256: await sha256Of(body),
    condition: { ifAbsent: true },
  })
}

/** Returns the history of `generation`, by default the newest. Throws ERR_DURLOG_NOT_FOUND if there is no such history. */
export function chooseHistory(histories: readonly History[], generation: number | undefined): History {
  const found = generation === undefined ? histories.at(-1) : histories.find((one) => one.generation === generation)
  if (found !== undefined) return found
  throw unknownHistory(histories, generation)
}

export function unknownHistory(histories: readonly History[], generation: number | undefined): DurlogError {
  const known = histories.map((one) => one.generation).join(', ')
  return new DurlogError(
    'ERR_DURLOG_NOT_FOUND',
    `the archive has no records of generation ${generation}; it has the histories ${known}`,
  )
}

/** Returns the seq before which `history` has the records of the history `ancestor`; 0 if it does not continue that history. */
export function sharedEnd(histories: readonly History[], history: History, ancestor: number): number {
  let end = Number.POSITIVE_INFINITY
  for (let at = history; at.generation !== ancestor; at = chooseHistory(histories, at.parent)) {
    if (at.parent === undefined) return 0
    end = Math.min(end, at.from)
  }
  return end
}

/** The pieces of one history. */
export class Manifest {
  readonly history: History
  readonly entries: readonly PieceEntry[]
  /** The index of the first piece that is not shared with the parent. */
  readonly #ownAt: number
  readonly #bucket: Bucket

  constructor(bucket: Bucket, history: History, inherited: readonly PieceEntry[], own: readonly PieceEntry[]) {
    this.#bucket = bucket
    this.history = history
    this.entries = [...inherited, ...own]
    this.#ownAt = inherited.length
  }

  /** The last entry of `folder` that is not shared with the parent; undefined if there is none. */
  lastOwnOf(folder: string): PieceEntry | undefined {
    return this.entries.slice(this.#ownAt).findLast(({ key }) => key.startsWith(folder))
  }

  /** Whether the history has own pieces. */
  get isBegun(): boolean {
    return this.#ownAt < this.entries.length
  }

  /** The first piece that is not shared with the parent. */
  get firstOwn(): PieceEntry | undefined {
    return this.entries[this.#ownAt]
  }

  get isEmpty(): boolean {
    return this.entries.length === 0
  }

  /**
   * The seq after the last record of the piece at `index` that belongs to the history. A piece of the parent may have more records:
   * a whole segment that was stored after the history had begun.
   */
  endOf(index: number, { lastSeq }: PieceFacts): number {
    const following = this.entries[index + 1]?.firstSeq ?? (this.isBegun ? Number.POSITIVE_INFINITY : this.history.from)
    return Math.min(lastSeq + 1, following)
  }

  /** Reads the facts of the piece at `index`. Undefined if the piece was deleted after it was listed. */
  async facts(index: number): Promise<PieceFacts | undefined> {
    const { key, firstSeq } = this.entries[index] as PieceEntry
    return factsOfKey(this.#bucket, key, firstSeq)
  }

  /** Reads the facts of the last piece; undefined if there is none. Throws StoreFailure if it was deleted after it was listed. */
  async last(): Promise<PieceFacts | undefined> {
    if (this.isEmpty) return undefined
    const facts = await this.facts(this.entries.length - 1)
    if (facts === undefined) throw new StoreFailure('the archive has changed')
    return facts
  }
}

async function factsOfKey(bucket: Bucket, key: string, firstSeq: number): Promise<PieceFacts | undefined> {
  const object = await bucket.head(key)
  return object === undefined ? undefined : factsOf(bucket.urlOf(key), firstSeq, object)
}

/**
 * Lists the pieces of `history` that begin before seq `before`. The first of them are shared with the parent histories. If `known`
 * is an earlier result for the history or one of its parents, leaves out most of the pieces before the last piece of `known`.
 */
export async function listPieces(
  bucket: Bucket,
  histories: readonly History[],
  history: History,
  { before = Number.POSITIVE_INFINITY, known }: { before?: number; known?: Manifest | undefined } = {},
): Promise<Manifest> {
  const { parent, from, names } = history
  const isKnown = known?.history.generation === history.generation
  const lastLog = isKnown ? known.lastOwnOf(names.log) : undefined
  const lastTail = isKnown ? known.lastOwnOf(names.tail) : undefined
  const shared = async (generation: number): Promise<readonly PieceEntry[]> => {
    const options = { before: Math.min(from, before), known }
    return (await listPieces(bucket, histories, chooseHistory(histories, generation), options)).entries
  }
  const isContinued = lastLog !== undefined || lastTail !== undefined
  const inherited = parent === undefined || isContinued ? [] : await shared(parent)
  // Lists the parts first: an archiver stores a whole segment before it deletes its parts, so one of the two lists has its records.
  const tail = toEntries(await bucket.list(names.tail, lastTail?.key), before)
  const log = toEntries(await bucket.list(names.log, lastLog?.key), before)
  const own = await merge(bucket, log, tail)
  return new Manifest(bucket, history, inherited, own)
}

function toEntries(listed: readonly ListedObject[], before: number): PieceEntry[] {
  return listed.flatMap(({ key, size }) => {
    const firstSeq = seqOfKey(key)
    return firstSeq === undefined || firstSeq >= before ? [] : [{ key, firstSeq, bytes: size }]
  })
}

/** Merges whole segments (`log`) and parts (`tail`) in order, and leaves out the parts of segments that are archived whole. */
async function merge(bucket: Bucket, log: readonly PieceEntry[], tail: readonly PieceEntry[]): Promise<PieceEntry[]> {
  const merged: PieceEntry[] = []
  let at = 0
  for (const [index, segment] of log.entries()) {
    for (; at < tail.length && (tail[at] as PieceEntry).firstSeq < segment.firstSeq; at++) {
      merged.push(tail[at] as PieceEntry)
    }
    merged.push(segment)
    const next = log[index + 1]?.firstSeq ?? Number.POSITIVE_INFINITY
    if (at === tail.length || (tail[at] as PieceEntry).firstSeq >= next) continue
    const facts = await factsOfKey(bucket, segment.key, segment.firstSeq)
    const covered = facts?.lastSeq ?? segment.firstSeq
    while (at < tail.length && (tail[at] as PieceEntry).firstSeq <= covered) at++
  }
  return [...merged, ...tail.slice(at)]
}
