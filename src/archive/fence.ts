/**
 * The fence at the end of a history. The writer of a history stores records by creating the object `tail/<next seq>`. A
 * copy that begins another history first creates the object of the same name, as a fence. A store creates an object
 * once, so exactly one of the two succeeds: either the fence comes first, and the upload is refused whenever it
 * arrives, or the upload comes first, and its records belong to the end that is fenced next. docs/REPLICATION.md lists
 * the possible orders.
 */
import { noteHistory, readCopy } from '../ship/copy.js'
import { fencedError } from '../ship/fenced.js'
import type { Bucket } from './bucket.js'
import { archiveRoot, digitsOf, type HistoryNames } from './layout.js'
import { addHistory, type History, listFences, listHistories, listPieces } from './manifest.js'
import { sha256Of } from './piece.js'
import { ConditionFailed, StoreFailure } from './store-errors.js'
import type { StoredFields } from './stored-fields.js'

export interface Fence {
  /** The generation of the history that continues the fenced one. */
  generation: number
  /** The id of the copy of the log that begins that history: see `readCopy`. */
  owner: string
}

export function fenceKey({ tail }: HistoryNames, end: number): string {
  return `${tail}${digitsOf(end)}`
}

/** Reads the fence with this key. Undefined if there is no object, or if it is a part. */
export async function readFence(bucket: Bucket, key: string): Promise<Fence | undefined> {
  const metadata = await bucket.head(key)
  if (metadata?.['fence'] === undefined) return undefined
  const toFence = (fields: StoredFields): Fence => ({
    generation: fields.whole('generation'),
    owner: fields.uuid('owner'),
  })
  return (await bucket.getJson(key, toFence))?.value
}

/** Reads the fences of a history, each of which ends it or is about to. */
export async function readFences(bucket: Bucket, names: HistoryNames): Promise<Fence[]> {
  const found: Fence[] = []
  for (const { key } of await listFences(bucket, names)) {
    const fence = await readFence(bucket, key)
    if (fence !== undefined) found.push(fence)
  }
  return found
}

/** Creates the fence, or returns the one that is there. Throws ConditionFailed if another object has the name. */
export async function fenceOrFind(bucket: Bucket, key: string, fence: Fence): Promise<Fence> {
  const body = Buffer.from(JSON.stringify(fence))
  try {
    await bucket.put(key, body, {
      sha256: await sha256Of(body),
      metadata: { fence: '1' },
      condition: { ifAbsent: true },
    })
    return fence
  } catch (error) {
    if (!(error instanceof ConditionFailed)) throw error
    const found = await readFence(bucket, key)
    if (found === undefined) throw error
    return found
  }
}

export interface Beginning {
  uuid: string
  /** The folder of the copy of the log that begins the history. */
  dir: string
  history: History
  /** The history that is fenced, and its end as it was listed. */
  parent: History
  end: number
}

/**
 * Begins a history: fences the end of its parent, then adds the history. The copy in `dir` owns it from then on, also
 * if this call is interrupted and repeated. Throws ERR_DURLOG_FENCED if another copy has fenced the end for the same or
 * a newer generation. Throws ConditionFailed or StoreFailure if the archive has changed: it must be listed again.
 */
export async function beginHistory(bucket: Bucket, { uuid, dir, history, parent, end }: Beginning): Promise<void> {
  const root = archiveRoot(bucket.prefix, uuid)
  const { generation } = history
  const { id: owner } = await readCopy(dir)
  const fence = await fenceOrFind(bucket, fenceKey(parent.names, end), { generation, owner })
  if (fence.owner !== owner && fence.generation >= generation) throw fencedError(fence.generation)
  // A whole segment has another name. If one was stored before the fence, its records belong to the parent.
  if ((await endOfHistory(bucket, root, parent.generation)) > end) throw new ConditionFailed('the archive has changed')
  if (fence.owner !== owner || fence.generation !== generation) {
    // The other copy may have died before it added the history.
    await addHistory(bucket, root, { ...fence, from: end, parent: parent.generation }).catch((error: unknown) => {
      if (!(error instanceof ConditionFailed)) throw error
    })
    throw new StoreFailure(`the archive has the history ${fence.generation}`)
  }
  // A copy that has fenced another seq may add its history at any later time. The store refuses one of the two
  // histories only if they have the same generation.
  const other = (await readFences(bucket, parent.names)).find(
    (one) => one.owner !== owner && one.generation !== generation,
  )
  if (other !== undefined) throw fencedError(other.generation)
  await addHistory(bucket, root, { ...history, parent: parent.generation, owner })
  await noteHistory(dir, generation)
}

/** The first seq that the archive of a history does not hold. */
async function endOfHistory(bucket: Bucket, root: string, generation: number): Promise<number> {
  const histories = await listHistories(bucket, root)
  const history = histories.find((one) => one.generation === generation)
  if (history === undefined) throw new StoreFailure('the archive has changed')
  const manifest = await listPieces(bucket, histories, history)
  return (await manifest.end()) ?? history.from
}
