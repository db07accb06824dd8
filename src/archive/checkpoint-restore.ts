/** Restores the files and the catalog of a folder of streams from a checkpoint of the archive. */
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { isCode } from '../errors.js'
import { beginFolder, contentsOf, finishFolder } from '../streams/files/folder-checkpoint.js'
import type { StoredStream } from '../streams/state/catalog-records.js'
import { syncFile } from '../support/durable-files.js'
import { SAFE_FLAGS, takeOwner } from '../support/new-files.js'
import type { Bucket } from './bucket.js'
import type { CheckpointManifest, Slice } from './checkpoint-format.js'
import { checkpointsOf, listCheckpoints, noCheckpointError, streamsOf } from './checkpoints.js'
import type { ChosenArchive } from './choose.js'
import { inParallel } from './in-parallel.js'
import { packFolder } from './layout.js'
import { damaged, sha256Of } from './piece.js'
import { readRange } from './ranges.js'
import { StoreFailure } from './store-errors.js'

export interface LoadOptions {
  /** The restored log ends here or later. */
  end: number
  retryForMs: number
  signal: AbortSignal | undefined
  /** Called with the bytes of each pack and those of all packs. */
  onRead: (bytes: number, total: number) => void
}

/** The part of the main log that a loaded checkpoint needs. */
export interface LoadedCheckpoint {
  /** The first seq of the piece that holds the record `from`. */
  first: number
  from: number
}

/**
 * Restores the newest whole checkpoint that the restore can use into `folder`. Undefined if there is none, and the
 * archive holds the main log from record 0 on. Throws ERR_DURLOG_DESTINATION_GAP or ERR_DURLOG_CORRUPT if it does not,
 * and StoreFailure if the archive has changed.
 */
export async function loadCheckpoint(
  bucket: Bucket,
  { root, histories, manifest }: ChosenArchive,
  folder: string,
  options: LoadOptions,
): Promise<LoadedCheckpoint | undefined> {
  const { whole } = await listCheckpoints(bucket, root)
  const usable = checkpointsOf(whole, histories, manifest.history)
  // Without a piece, a checkpoint needs none.
  const archiveEnd = (await manifest.end()) ?? Number.POSITIVE_INFINITY
  let failure: unknown
  for (const { manifest: checkpoint } of usable.toReversed()) {
    const { from, head } = checkpoint
    const first = manifest.isEmpty
      ? head.position
      : manifest.entries.findLast(({ firstSeq }) => firstSeq <= from)?.firstSeq
    if (first === undefined || first > from || head.position > Math.min(archiveEnd, options.end)) continue
    try {
      await load(bucket, root, checkpoint, folder, options)
      return { first, from }
    } catch (error) {
      // An older checkpoint may be whole.
      if (!isCode(error, 'ERR_DURLOG_CORRUPT')) throw error
      failure ??= error
    }
  }
  const first = manifest.entries[0]?.firstSeq ?? 0
  if (first === 0 && !manifest.isEmpty) return undefined
  throw failure ?? noCheckpointError(bucket.urlOf(root), first, usable[0])
}

/** A part of a pack, and its place in a file. */
interface Placed {
  path: string
  at: number
  slice: Slice
}

async function load(
  bucket: Bucket,
  root: string,
  checkpoint: CheckpointManifest,
  folder: string,
  { retryForMs, signal, onRead }: LoadOptions,
): Promise<void> {
  await beginFolder(folder)
  const { streams, placed, paths } = await place(bucket, root, checkpoint, folder)
  const packs = [...placed.keys()]
  const total = packs.reduce((sum, pack) => sum + (checkpoint.packs.get(pack)?.bytes ?? 0), 0)
  await inParallel(packs, async (pack) => {
    const key = `${packFolder(root)}${pack}`
    const length = checkpoint.packs.get(pack)?.bytes ?? 0
    const into = Buffer.allocUnsafeSlow(Math.max(length, 65_536))
    const object = await readRange(bucket, { entry: { key }, offset: 0, length }, into, signal, retryForMs)
    if (object === undefined) throw new StoreFailure(`${bucket.urlOf(key)} was deleted: the archive has changed`)
    if ((await sha256Of(object.body)) !== pack) throw damaged(bucket.urlOf(key))
    await write(object.body, placed.get(pack) ?? [])
    onRead(length, total)
  })
  await inParallel([...paths], async (path) => {
    const file = await open(path, constants.O_RDWR | SAFE_FLAGS)
    await syncFile(file).finally(() => file.close())
  })
  await finishFolder(folder, { head: checkpoint.head, streams })
}

/** Reads the streams of a checkpoint, and finds the place of each slice. Throws ERR_DURLOG_CORRUPT. */
async function place(
  bucket: Bucket,
  root: string,
  checkpoint: CheckpointManifest,
  folder: string,
): Promise<{ streams: StoredStream[]; placed: Map<string, Placed[]>; paths: Set<string> }> {
  const streams: StoredStream[] = []
  const placed = new Map<string, Placed[]>()
  const paths = new Set<string>()
  const left = new Map([...checkpoint.packs].map(([pack, { bytes }]) => [pack, bytes]))
  for await (const some of streamsOf(bucket, root, checkpoint)) {
    for (const { stream, files } of some) {
      streams.push(stream)
      const expected = contentsOf(folder, stream)
      if (files.length !== expected.length) throw damaged(bucket.urlOf(root))
      for (const [number, file] of expected.entries()) {
        for (const kind of ['index', 'records'] as const) {
          const { path, bytes } = file[kind]
          let at = 0
          for (const slice of files[number]?.[kind] ?? []) {
            // No byte of a pack is used twice, so the files are not longer than the packs.
            const rest = (left.get(slice.pack) ?? 0) - slice.length
            left.set(slice.pack, rest)
            const end = slice.offset + slice.length
            const isInside = rest >= 0 && end <= (checkpoint.packs.get(slice.pack)?.bytes ?? 0)
            if (!isInside || at + slice.length > bytes) throw damaged(bucket.urlOf(`${packFolder(root)}${slice.pack}`))
            const parts = placed.get(slice.pack) ?? []
            placed.set(slice.pack, parts)
            parts.push({ path, at, slice })
            paths.add(path)
            at += slice.length
          }
        }
      }
    }
  }
  return { streams, placed, paths }
}

async function write(pack: Buffer, parts: readonly Placed[]): Promise<void> {
  for (const { path, at, slice } of parts) {
    const file = await open(path, constants.O_RDWR | constants.O_CREAT | SAFE_FLAGS, 0o600)
    try {
      takeOwner(path)
      for (let done = 0; done < slice.length; ) {
        const from = slice.offset + done
        done += (await file.write(pack, from, slice.length - done, at + done)).bytesWritten
      }
    } finally {
      await file.close()
    }
  }
}
