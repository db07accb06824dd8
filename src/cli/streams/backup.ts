/** Copies a folder of streams, for `backup` and `restore`. Other processes may use the folder meanwhile. */
import { existsSync } from 'node:fs'
import { readdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { DurlogError, isCode } from '../../errors.js'
import { inspect, open } from '../../index.js'
import { openRestored } from '../../open.js'
import { copyStart, problemOf } from '../../streams/files/file-io.js'
import { type FileNames, filesOf, indexBytesOf } from '../../streams/files/folder-checkpoint.js'
import { FolderFiles } from '../../streams/files/folder-files.js'
import { Catalog } from '../../streams/state/catalog.js'
import { decodeEntry, EntryKind } from '../../streams/state/entry.js'
import type { FileDisk, StreamState } from '../../streams/state/state.js'
import { syncFolder } from '../../support/durable-files.js'
import { ofFileSystem } from '../../support/file-system-error.js'
import { isBackup } from '../../support/folder-marks.js'
import { makeFolder } from '../../support/new-files.js'
import { rename } from '../../support/rename.js'
import { InputError } from '../../terminal/input-error.js'
import { copyLog, markBackup, realPath, restoreBackup } from '../backup.js'
import { logFolder } from './folder.js'

/** Keeps the main log from trimming records while its copy is made. A killed backup leaves it; the next one uses it. */
const HOLD = 'durlog-backup'
/** How often the catalog is read again because a checkpoint has removed files of the previous one. */
const MAX_PASSES = 5
/** Files are copied by this many calls at the same time. */
const CONCURRENT_COPIES = 4

export interface StreamsCopyReport {
  uuid: string
  streams: number
  files: number
  fileBytes: number
  /** The records of the main log. */
  firstSeq: number
  nextSeq: number
  /** The names of the streams whose files other programs have changed, so that records are missing. */
  changed: string[]
}

type OnProgress = (done: number, total: number) => void

/**
 * Copies the streams in `from` to the folder `target`, which is then as `from` would be after a crash: the catalog of
 * one checkpoint, the files that it describes, and the main log from before this checkpoint to its end. An earlier
 * backup in `target` is replaced when the new one is complete. Throws InputError if `target` holds anything else.
 */
export async function backupStreams(from: string, target: string, onProgress: OnProgress): Promise<StreamsCopyReport> {
  // Without a slash at its end, and a link is followed.
  const to = realPath(target)
  if (realPath(from) === to) throw new InputError(`${to} is the folder itself: name another folder`)
  const source = new FolderFiles(from)
  const { uuid } = await inspect(source.log)
  await checkTarget(to, uuid)
  const made = `${to}.durlog-new`
  // Before the files in `made` are removed: another backup may be writing them.
  const release = await holdLog(source)
  try {
    await rm(made, { recursive: true, force: true })
    const copy = new FolderFiles(made)
    await makeFolder(made)
    const report = { uuid, ...(await fillCopy(source, copy, onProgress)) }
    await copy.sync()
    await markBackup(made, from)
    await syncFolder(made)
    await replace(to, made)
    return report
  } catch (error) {
    // Its space is needed if the disk is full.
    await rm(made, { recursive: true, force: true })
    throw ofFileSystem(error, made)
  } finally {
    await release()
  }
}

/** As `backupStreams`, into a new or empty folder. A restore that was interrupted begins again: see `restoreLog`. */
export async function restoreStreams(from: string, to: string, onProgress: OnProgress): Promise<StreamsCopyReport> {
  const source = new FolderFiles(from)
  const { uuid } = await inspect(source.log)
  return restoreBackup(uuid, to, async () => {
    const copy = new FolderFiles(to)
    await copy.clear()
    const release = await holdLog(source)
    try {
      const report = { uuid, ...(await fillCopy(source, copy, onProgress)) }
      await copy.sync()
      return report
    } finally {
      await release()
    }
  })
}

async function fillCopy(
  source: FolderFiles,
  copy: FolderFiles,
  onProgress: OnProgress,
): Promise<Omit<StreamsCopyReport, 'uuid'>> {
  await copy.make()
  const { position, ...found } = await copyFiles(source, copy, onProgress)
  const { firstSeq, nextSeq } = await copyLog(source.log, copy.log, () => {}, { without: HOLD })
  if (nextSeq < position || firstSeq > position)
    throw new InputError(
      `the main log of ${source.dir} is not known to be synced up to its last checkpoint: open the streams once, for example with "durlog streams ${source.dir} stat", then repeat the command`,
    )
  const changed = await withoutDeleted(copy.log, { changed: found.changed, position })
  return { ...found, changed, firstSeq, nextSeq }
}

/** Throws InputError unless `to` is a new or empty folder, or an earlier backup of the same streams. */
async function checkTarget(to: string, uuid: string): Promise<void> {
  const names = await readdir(to).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw new InputError(`can't use ${to}: ${error.message}`)
  })
  if (names.length === 0) return
  if (!isBackup(to) || !logFolder(to).hasStreams)
    throw new InputError(`${to} is not empty and holds no backup of streams: name an empty or a new folder`)
  const found = (await inspect(new FolderFiles(to).log)).uuid
  if (found !== uuid) throw new InputError(`${to} is a backup of other streams (${found}): name another folder`)
}

/** Returns a function that ends the hold. Without a hold, a trim makes the copy fail; it never makes it incomplete. */
async function holdLog({ dir, log: path }: FolderFiles): Promise<() => Promise<void>> {
  // A backup has no checkpoints, and must not be changed.
  if (isBackup(dir)) return async () => {}
  const log = await open(path, { readOnly: true })
  try {
    const cursor = await log.cursor(HOLD)
    return async () => {
      await cursor.close()
      await log.removeCursor(HOLD)
      await log.close()
    }
  } catch (error) {
    await log.close()
    if (error instanceof DurlogError && error.errnoName === 'EROFS') return async () => {}
    throw isCode(error, 'ERR_DURLOG_LOCKED')
      ? new InputError(`another backup of ${dir} is running: wait until it ends`)
      : error
  }
}

/** Returns the `changed` streams that the main log does not delete: the checkpoint of a deletion removes the file. */
async function withoutDeleted(
  dir: string,
  { changed, position }: Pick<Copied, 'changed' | 'position'>,
): Promise<string[]> {
  const names = new Set(changed)
  if (names.size === 0) return []
  await using log = await open(dir, { readOnly: true })
  for await (const { seq, data } of log.read({ from: position })) {
    const { kind, stream } = decodeEntry(data, seq)
    if (kind === EntryKind.delete) names.delete(stream)
  }
  return [...names]
}

type Copied = Pick<StreamsCopyReport, 'streams' | 'files' | 'fileBytes' | 'changed'> & { position: number }

/** Copies the catalog and the files that it describes. */
async function copyFiles(source: FolderFiles, copy: FolderFiles, onProgress: OnProgress): Promise<Copied> {
  /** The content of each copied file, as the catalog describes it. */
  const copied = new Map<string, { file: FileNames; disk: FileDisk }>()
  for (let pass = 1; ; pass++) {
    const { position, states } = await copyCatalog(source, copy)
    const files = states.flatMap((state) =>
      filesOf(state).map(({ names, disk }) => ({ stream: state.name, file: names, disk })),
    )
    const changed = new Set<string>()
    const waiting = files.values()
    let done = 0
    const work = async (): Promise<void> => {
      for (const { stream, file, disk } of waiting) {
        const earlier = copied.get(file.records)?.disk
        if (earlier?.bytes !== disk.bytes || earlier.crc !== disk.crc) {
          copied.set(file.records, { file, disk })
          if (!(await copyFile(source, copy, file, disk))) changed.add(stream)
        }
        onProgress(++done, files.length)
      }
    }
    await Promise.all(Array.from({ length: CONCURRENT_COPIES }, work))
    // If a checkpoint has removed or replaced the files, the next catalog does not need them.
    if (changed.size > 0 && pass < MAX_PASSES) {
      for (const { stream, file } of files) if (changed.has(stream)) copied.delete(file.records)
      continue
    }
    const current = new Set(files.map(({ file }) => file.records))
    for (const [records, { file }] of copied) if (!current.has(records)) await removeFile(copy, file)
    const fileBytes = files.reduce((sum, { disk }) => sum + disk.bytes, 0)
    return { position, streams: states.length, files: files.length, fileBytes, changed: [...changed] }
  }
}

async function copyCatalog(
  source: FolderFiles,
  copy: FolderFiles,
): Promise<{ position: number; states: StreamState[] }> {
  for (let attempt = 1; ; attempt++) {
    await rm(copy.catalog, { recursive: true, force: true })
    try {
      await copyLog(source.catalog, copy.catalog, () => {})
      break
    } catch (error) {
      // A checkpoint has trimmed the catalog meanwhile.
      if (!isCode(error, 'ERR_DURLOG_OUT_OF_RANGE') || attempt === MAX_PASSES) throw error
    }
  }
  await using log = await openRestored(copy.catalog, undefined, { create: false })
  const { head, streams } = await new Catalog(log).load()
  const states: StreamState[] = []
  for (const name of await streams.created('')) states.push(streams.get(name) as StreamState)
  return { position: head?.position ?? 0, states }
}

/**
 * Copies a file and its index. Returns whether the source has the content that the catalog describes. If it has not, a
 * checkpoint has removed or replaced the file, or another program has changed it.
 */
async function copyFile(source: FolderFiles, copy: FolderFiles, file: FileNames, disk: FileDisk): Promise<boolean> {
  const { bytes, crc } = disk
  const indexBytes = indexBytesOf(disk)
  await removeFile(copy, file)
  try {
    // The index first: a checkpoint that replaces a file by one of another stream replaces the index afterwards.
    if (indexBytes > 0) await copyStart(source.index(file.index), copy.index(file.index), indexBytes)
    return (
      (await copyStart(join(source.recordsFolder, file.records), join(copy.recordsFolder, file.records), bytes)) === crc
    )
  } catch (error) {
    if (problemOf(error, file.records) === undefined) throw error
    return false
  }
}

async function removeFile(copy: FolderFiles, { records, index }: FileNames): Promise<void> {
  await rm(join(copy.recordsFolder, records), { force: true })
  await rm(copy.index(index), { force: true })
}

/** Puts the folder `made` in the place of `to`. */
async function replace(to: string, made: string): Promise<void> {
  const earlier = `${to}.durlog-old`
  await rm(earlier, { recursive: true, force: true })
  try {
    const hasEarlier = existsSync(to)
    if (hasEarlier) await rename(to, earlier)
    try {
      await rename(made, to)
    } catch (error) {
      if (hasEarlier) await rename(earlier, to)
      throw error
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EBUSY') throw error
    throw new InputError(`${to} is in use, or the root of a file system: name a folder in it`)
  }
  await syncFolder(dirname(to))
  await rm(earlier, { recursive: true, force: true })
}
