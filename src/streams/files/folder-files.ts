/** The paths in a folder of streams, and the syncs of its folders. */
import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { syncFolder } from '../../support/durable-files.js'
import { makeFolder } from '../../support/new-files.js'
import type { StreamCodec } from '../port/encoding.js'
import { fileNameOf } from '../port/file-name.js'

/** The folders besides those of the two logs. */
const FOLDERS = ['streams', 'index', 'changed']

/** The name of a stream's file with its extension. */
export function recordsName(fileName: string, { lines }: Pick<StreamCodec, 'lines'>): string {
  return fileName + (lines ? '.jsonl' : '.frames')
}

export class FolderFiles {
  readonly dir: string
  readonly log: string
  readonly catalog: string
  readonly recordsFolder: string
  readonly indexFolder: string

  constructor(dir: string) {
    this.dir = dir
    this.log = join(dir, 'log')
    this.catalog = join(dir, 'catalog')
    this.recordsFolder = join(dir, 'streams')
    this.indexFolder = join(dir, 'index')
  }

  /** The path of a stream's file. `fileName` has no extension. */
  records(fileName: string, codec: Pick<StreamCodec, 'lines'>): string {
    return join(this.recordsFolder, recordsName(fileName, codec))
  }

  index(fileName: string): string {
    return join(this.indexFolder, fileName)
  }

  /** A new, unique path in `changed/`. */
  async aside(stream: string, codec: Pick<StreamCodec, 'lines'>): Promise<string> {
    await makeFolder(join(this.dir, 'changed'))
    const unique = `${Date.now()}-${randomBytes(4).toString('hex')}`
    return join(this.dir, 'changed', recordsName(`${fileNameOf(stream)}-${unique}`, codec))
  }

  /** Creates the folders and syncs the folder that contains them. */
  async make(): Promise<void> {
    for (const folder of FOLDERS) await makeFolder(join(this.dir, folder))
    await syncFolder(this.dir)
  }

  /** Removes all files, except those that mark the folder. */
  async clear(): Promise<void> {
    for (const folder of ['log', 'catalog', ...FOLDERS])
      await rm(join(this.dir, folder), { recursive: true, force: true })
  }

  /** Syncs the folders, so that created, renamed and removed files are durable. */
  async sync(): Promise<void> {
    // Users may remove it when they have looked at the changed files.
    await makeFolder(join(this.dir, 'changed'))
    for (const folder of FOLDERS) await syncFolder(join(this.dir, folder))
  }
}
