/** Copies of folders of streams: only the main log is copied, and a restore rebuilds the other files from it. */
import { existsSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { openRestored } from '../../open.js'
import { ofFileSystem } from '../../support/file-system-error.js'
import { makeFolderSync } from '../../support/new-files.js'
import type { StreamEncoding } from '../port/types.js'
import { Catalog, readGroupsIn } from '../state/catalog.js'
import { FolderFiles } from './folder-files.js'

/** Returns the folder of the main log of the streams in `dir`, or `dir` if it is not a folder of streams. */
export function mainLogOf(dir: string): string {
  const files = new FolderFiles(dir)
  return existsSync(files.catalog) && existsSync(files.log) ? files.log : dir
}

/**
 * Returns the encoding of the streams whose main log is in `dir`; undefined for any other log. Throws as
 * `readGroupsIn`.
 */
export async function encodingOfStreams(dir: string): Promise<StreamEncoding | undefined> {
  const files = new FolderFiles(dirname(dir))
  if (basename(dir) !== basename(files.log) || !existsSync(files.catalog)) return undefined
  let encoding: StreamEncoding | undefined
  await readGroupsIn(files.catalog, () => ({
    begin: () => {},
    add: () => {},
    commit: (head) => {
      encoding = head.encoding
    },
  }))
  return encoding
}

/** Makes the folder of a log that is restored. Throws a DurlogError. */
export function makeLogFolder(dir: string): void {
  try {
    makeFolderSync(dir)
  } catch (error) {
    throw ofFileSystem(error)
  }
}

/** Returns the folder of the main log of the streams in `dir`. */
export function streamsLog(dir: string): string {
  return new FolderFiles(dir).log
}

/** Makes the catalog of streams whose main log was restored from record 0 on. */
export async function makeCatalog(dir: string, log: string, encoding: StreamEncoding): Promise<void> {
  const path = new FolderFiles(dir).catalog
  await using catalog = await openRestored(path, undefined, { segmentBytes: 2 ** 20 })
  if (catalog.nextSeq > 0) return
  const head = { log, encoding, position: 0, lastTimeMs: 0, voids: [] }
  await new Catalog(catalog).store([], [], head, 'full')
}
