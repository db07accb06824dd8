/** The checkpoints of an archive: which ones are there, which one a restore uses, and their streams. */
import { createHash } from 'node:crypto'
import { DurlogError, isCode } from '../errors.js'
import type { Bucket } from './bucket.js'
import { type ArchivedStream, type CheckpointManifest, toManifest, toStreams } from './checkpoint-format.js'
import { inParallel } from './in-parallel.js'
import { checkpointFolder, packFolder, seqOfKey } from './layout.js'
import { type History, sharedEnd } from './manifest.js'
import { damaged, sha256Of } from './piece.js'
import { StoreFailure } from './store-errors.js'

export interface StoredCheckpoint {
  key: string
  number: number
  manifest: CheckpointManifest
}

export interface ListedCheckpoints {
  /** The checkpoints whose objects are all there, the oldest first. */
  whole: StoredCheckpoint[]
  /** The others: objects are missing, or the object of the checkpoint could not be read. */
  broken: { key: string; number: number; isRead: boolean }[]
  /** The number of the next checkpoint. */
  next: number
  /** The lengths of the packs, by their SHA-256, as they were listed after the checkpoints. */
  packs: Map<string, number>
}

/**
 * Lists the checkpoints of an archive. `known` has those that were read before: their objects never change. Throws
 * ERR_DURLOG_VERSION if a newer durlog has stored one.
 */
export async function listCheckpoints(
  bucket: Bucket,
  root: string,
  known: Map<string, CheckpointManifest> = new Map(),
): Promise<ListedCheckpoints> {
  const folder = checkpointFolder(root)
  const listed = (await bucket.list(folder)).flatMap(({ key }) => {
    const number = seqOfKey(folder, key)
    return number === undefined ? [] : [{ key, number }]
  })
  const found = await inParallel(listed, async ({ key, number }) => {
    const manifest = known.get(key) ?? (await readManifest(bucket, key))
    if (manifest !== undefined) known.set(key, manifest)
    return { key, number, manifest }
  })
  for (const key of known.keys()) if (!listed.some((one) => one.key === key)) known.delete(key)
  const packs = listed.length === 0 ? new Map<string, number>() : await listPacks(bucket, root)
  const isWhole = ({ packs: needed }: CheckpointManifest): boolean =>
    [...needed].every(([sha256, { bytes }]) => packs.get(sha256) === bytes)
  const whole: StoredCheckpoint[] = []
  const broken: ListedCheckpoints['broken'] = []
  for (const { key, number, manifest } of found) {
    if (manifest !== undefined && isWhole(manifest)) whole.push({ key, number, manifest })
    else broken.push({ key, number, isRead: manifest !== undefined })
  }
  return { whole, broken, next: (listed.at(-1)?.number ?? -1) + 1, packs }
}

async function listPacks(bucket: Bucket, root: string): Promise<Map<string, number>> {
  const folder = packFolder(root)
  const packs = new Map<string, number>()
  for (const { key, size } of await bucket.list(folder)) {
    const name = key.slice(folder.length)
    if (/^[0-9a-f]{64}$/.test(name)) packs.set(name, size)
  }
  return packs
}

/** Reads the object of a checkpoint; undefined if it was deleted or is damaged: an older checkpoint may be whole. */
async function readManifest(bucket: Bucket, key: string): Promise<CheckpointManifest | undefined> {
  const object = await bucket.get(key)
  if (object === undefined) return undefined
  if (object.metadata['sha256'] !== (await sha256Of(object.body))) return undefined
  try {
    return toManifest(bucket.fieldsIn(key, object.body))
  } catch (error) {
    if (isCode(error, 'ERR_DURLOG_CORRUPT') || error instanceof StoreFailure) return undefined
    throw error
  }
}

/** The checkpoints whose records `history` has, the oldest first. */
export function checkpointsOf(
  whole: readonly StoredCheckpoint[],
  histories: readonly History[],
  history: History,
): StoredCheckpoint[] {
  return whole.filter(
    ({ manifest: { generation, head } }) => head.position <= sharedEnd(histories, history, generation),
  )
}

/** Yields the streams of a checkpoint, a bucket at a time. Throws ERR_DURLOG_CORRUPT or StoreFailure. */
export async function* streamsOf(
  bucket: Bucket,
  root: string,
  { buckets }: CheckpointManifest,
): AsyncGenerator<ArchivedStream[]> {
  for (const { sha256, slice } of buckets) {
    const key = `${packFolder(root)}${slice.pack}`
    const into = Buffer.allocUnsafeSlow(Math.max(slice.length, 65_536))
    const object = await bucket.get(key, { offset: slice.offset, length: slice.length, into })
    if (object === undefined) throw new StoreFailure(`${bucket.urlOf(key)} was deleted: the archive has changed`)
    if (createHash('sha256').update(object.body).digest('hex') !== sha256) throw damaged(bucket.urlOf(key))
    yield toStreams(bucket.fieldsIn(key, object.body))
  }
}

/** The error if no checkpoint of the archive, whose first piece has the seq `first`, is before the end of a restore. */
export function noCheckpointError(url: string, first: number, oldest: StoredCheckpoint | undefined): DurlogError {
  const kept =
    oldest === undefined
      ? 'it has no whole checkpoint'
      : `its oldest checkpoint has the records of the main log before ${oldest.manifest.head.position}: restore a later state`
  if (first === 0)
    return new DurlogError('ERR_DURLOG_DESTINATION_GAP', `${url} holds no record of the streams: ${kept}`)
  return new DurlogError(
    'ERR_DURLOG_DESTINATION_GAP',
    `${url} does not have the records 0 to ${first - 1} of the main log any more, and no checkpoint of the streams that the restore can use; ${kept}`,
    { lostFirst: 0, lostLast: first - 1 },
  )
}
