/** Claims the next generation of an archived log for a copy that has been restored to the archive's end. */
import type { ReadableLog } from '../index.js'
import { readLockedCopy } from '../ship/copy.js'
import { claimedError } from '../ship/fenced.js'
import type { Bucket } from './bucket.js'
import type { ChosenArchive } from './choose.js'
import { beginHistory, fenceKey, readFence, readFences } from './fence.js'
import { closeGate } from './gates.js'
import { HistoryNames } from './layout.js'
import type { History } from './manifest.js'
import { newGeneration } from './restore-target.js'
import { ConditionFailed } from './store-errors.js'

export interface ClaimTarget {
  bucket: Bucket
  /** The folder of the restored log. */
  dir: string
  /** The end of the restored log. */
  end: number
}

/**
 * Claims the next generation and returns it. An interrupted claim of the same copy is continued. Throws
 * ERR_DURLOG_FENCED if another copy has the claim: with `force`, only if that copy has replicated a record or the claim
 * is made at this moment. Throws ConditionFailed or StoreFailure if the archive has changed: it must be restored to its
 * new end first.
 */
export async function claimNext(
  chosen: ChosenArchive,
  { bucket, dir, end }: ClaimTarget,
  force: boolean,
): Promise<number> {
  const { uuid, root, manifest } = chosen
  const { id } = await readLockedCopy(dir)
  const parent = manifest.history
  if (!manifest.isBegun && parent.owner !== undefined) {
    if (parent.owner === id) return parent.generation
    if (!force) throw claimedError(parent.generation)
  }
  const fence = await readFence(bucket, fenceKey(parent.names, end))
  if (fence !== undefined && fence.owner !== id && !force) throw claimedError(fence.generation)
  const isOwn = fence?.owner === id
  // The same generation as that of a claim at another end: the store then accepts one of the two histories.
  const claimed = (await readFences(bucket, parent.names)).filter((one) => one.owner !== fence?.owner)
  const generation = isOwn
    ? fence.generation
    : Math.max(await newGeneration(chosen), (fence?.generation ?? 0) + 1, ...claimed.map((one) => one.generation))
  const history = { generation, from: end, parent: parent.generation, names: new HistoryNames(root, generation) }
  try {
    await beginHistory(bucket, { uuid, dir, history, parent, end })
  } catch (error) {
    // The writer was faster, and may be so each time.
    if (error instanceof ConditionFailed) await closeGate(bucket, parent.names, { generation, owner: id })
    throw error
  }
  return generation
}

/** Whether the copy with this `id`, which holds `log`, writes `history`. An older copy of its folder has its id. */
export function isOwner(log: ReadableLog, id: string, { owner, generation }: History): boolean {
  return owner === id && generation <= log.generation
}
