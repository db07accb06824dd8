/** The histories of an archive, and the pieces of one of them in order. */
import { DurlogError } from '../errors.js'
import type { Bucket } from './bucket.js'
import { digitsOf, HistoryNames, historyFolder, seqOfKey } from './layout.js'
import { damaged, factsOf, isFence, MAX_OBJECT_BYTES, type PieceFacts, sha256Of } from './piece.js'
import { StoreFailure } from './store-errors.js'

export interface History {
  /**
   * The generation of the log whose records the history holds. A log of another generation is never archived into this
   * history, so an upload that arrives late, when the log has been truncated, changes no record of a newer history.
   */
  generation: number
  /** The first seq whose record is not the parent's. */
  from: number
  /** The generation of the history that this one continues; undefined for generation 0. */
  parent: number | undefined
  /** The id of the copy of the log that writes the history; undefined if it is unknown. */
  owner?: string | undefined
  names: HistoryNames
}

/** An object that holds a piece. */
export interface PieceEntry {
  key: string
  firstSeq: number
  bytes: number
}

/**
 * Lists the histories of an archive, oldest first. Does not read those of `known` again. The history of generation 0
 * has no object, and may have no pieces.
 */
export async function listHistories(bucket: Bucket, root: string, known: readonly History[] = []): Promise<History[]> {
  const first = { generation: 0, from: 0, parent: undefined, names: new HistoryNames(root, 0) }
  const histories: History[] = [first]
  const folder = historyFolder(root)
  for (const { key } of await bucket.list(folder)) {
    const generation = seqOfKey(folder, key)
    if (generation === undefined) continue
    const before = known.find((history) => history.generation === generation)
    if (before !== undefined) {
      histories.push(before)
      continue
    }
    const object = await bucket.getJson(key, (fields) => ({
      from: fields.whole('from'),
      // A parent is older than its history, so no history is its own ancestor.
      parent: fields.whole('parent', { max: generation - 1 }),
      owner: fields.has('owner') ? fields.uuid('owner') : undefined,
    }))
    if (object !== undefined) histories.push({ generation, ...object.value, names: new HistoryNames(root, generation) })
  }
  return histories
}

/**
 * Adds a history to the archive, which decides its `from` for every archiver. Restores use the history when it has a
 * piece. Throws ConditionFailed if there is a history of that generation.
 */
export async function addHistory(
  bucket: Bucket,
  root: string,
  { generation, from, parent, owner }: Omit<History, 'names'>,
): Promise<void> {
  const body = Buffer.from(JSON.stringify({ from, parent, owner }))
  await bucket.put(`${historyFolder(root)}${digitsOf(generation)}`, body, {
    sha256: await sha256Of(body),
    condition: { ifAbsent: true },
  })
}

/**
 * Returns the history of `generation`, by default the newest. Throws ERR_DURLOG_NOT_FOUND if there is no such history.
 */
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

/**
 * Returns the seq before which `history` has the records of the history `ancestor`; 0 if it does not continue that
 * history.
 */
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
   * The seq after the last record of the piece at `index` that belongs to the history. A piece of the parent may have
   * more records: a whole segment that was stored after the history had begun.
   */
  endOf(index: number, { lastSeq }: PieceFacts): number {
    const following = this.entries[index + 1]?.firstSeq ?? (this.isBegun ? Number.POSITIVE_INFINITY : this.history.from)
    return Math.min(lastSeq + 1, following)
  }

  /** Reads the facts of the piece at `index`. Undefined if the piece was deleted after it was listed. */
  async facts(index: number): Promise<PieceFacts | undefined> {
    return readFacts(this.#bucket, this.entries[index] as PieceEntry)
  }

  /**
   * Reads the facts of the last piece; undefined if there is none. Throws StoreFailure if it was deleted after it was
   * listed.
   */
  async last(): Promise<PieceFacts | undefined> {
    if (this.isEmpty) return undefined
    const facts = await this.facts(this.entries.length - 1)
    if (facts === undefined) throw new StoreFailure('the archive has changed')
    return facts
  }

  /** The seq after the last record of the history; undefined if no piece is archived. Throws as `last`. */
  async end(): Promise<number | undefined> {
    const last = await this.last()
    return last && this.endOf(this.entries.length - 1, last)
  }
}

async function readFacts(bucket: Bucket, entry: PieceEntry): Promise<PieceFacts | undefined> {
  const metadata = await bucket.head(entry.key)
  return metadata === undefined ? undefined : factsOf(bucket.urlOf(entry.key), entry, metadata)
}

/**
 * Lists the pieces of `history` that begin before seq `before`. The first of them are shared with the parent histories.
 * If `known` is an earlier result for the history or one of its parents, leaves out most of the pieces before the last
 * piece of `known`.
 */
export async function listPieces(
  bucket: Bucket,
  histories: readonly History[],
  history: History,
  { before = Number.POSITIVE_INFINITY, known }: { before?: number; known?: Manifest | undefined } = {},
): Promise<Manifest> {
  const lists: { folders: HistoryNames; before: number; log?: string | undefined; tail?: string | undefined }[] = []
  // The history, then its parents. Each is older, so the loop ends.
  for (let at = history, end = before; ; ) {
    const isKnown = known?.history.generation === at.generation
    const log = isKnown ? known.lastOwnOf(at.names.log)?.key : undefined
    const tail = isKnown ? known.lastOwnOf(at.names.tail)?.key : undefined
    lists.unshift({ folders: at.names, before: end, log, tail })
    if (at.parent === undefined || log !== undefined || tail !== undefined) break
    end = Math.min(end, at.from)
    at = chooseHistory(histories, at.parent)
  }
  const inherited: PieceEntry[] = []
  let own: PieceEntry[] = []
  for (const { folders, before, log, tail } of lists) {
    inherited.push(...own)
    // Lists the parts first: an archiver stores a whole segment before it deletes its parts, so one of the two lists
    // has its records.
    const parts = await listParts(bucket, folders, before, tail)
    own = await merge(bucket, await listFolder(bucket, folders.log, before, log), parts)
  }
  return new Manifest(bucket, history, inherited, own)
}

/** Lists the parts of a history that begin before seq `before`, without the fence. */
export async function listParts(
  bucket: Bucket,
  { tail }: HistoryNames,
  before: number,
  from?: string,
): Promise<PieceEntry[]> {
  return (await listFolder(bucket, tail, before, from)).filter((entry) => !isFence(entry))
}

/** Lists the fences in a history: a copy of the log has ended the history there, or is about to. */
export async function listFences(bucket: Bucket, { tail }: HistoryNames): Promise<PieceEntry[]> {
  return (await listFolder(bucket, tail, Number.POSITIVE_INFINITY)).filter(isFence)
}

/** Lists the pieces in `folder` that begin before seq `before`, from the one with the key `from` on. */
export async function listFolder(bucket: Bucket, folder: string, before: number, from?: string): Promise<PieceEntry[]> {
  const entries: PieceEntry[] = []
  for (const { key, size } of await bucket.list(folder, from)) {
    const firstSeq = seqOfKey(folder, key)
    if (firstSeq === undefined || firstSeq >= before) continue
    // Memory is allocated for an object before it is read. An object without a byte has no range whose checksum is
    // checked.
    if (size < 1 || size > MAX_OBJECT_BYTES) throw damaged(bucket.urlOf(key))
    entries.push({ key, firstSeq, bytes: size })
  }
  return entries
}

/**
 * Merges whole segments (`log`) and parts (`tail`) in order, and leaves out the parts of segments that are archived
 * whole.
 */
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
    const facts = await readFacts(bucket, segment)
    const covered = facts?.lastSeq ?? segment.firstSeq
    while (at < tail.length && (tail[at] as PieceEntry).firstSeq <= covered) at++
  }
  return [...merged, ...tail.slice(at)]
}
