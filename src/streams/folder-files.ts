/** Where the files of a folder of streams are, and how folders reach the device. */
import { randomBytes } from 'node:crypto'
import { mkdir, open } from 'node:fs/promises'
import { join } from 'node:path'
import type { StreamCodec } from './encoding.js'
import { fileNameOf } from './file-name.js'

export class FolderFiles {
  readonly dir: string

  constructor(dir: string) {
    this.dir = dir
  }

  get log(): string {
    return join(this.dir, 'log')
  }

  get catalog(): string {
    return join(this.dir, 'catalog')
  }

  get recordsFolder(): string {
    return join(this.dir, 'streams')
  }

  get indexFolder(): string {
    return join(this.dir, 'index')
  }

  /** `fileName`: that of the stream, without an extension. */
  records(fileName: string, { lines }: Pick<StreamCodec, 'lines'>): string {
    return join(this.dir, 'streams', fileName + (lines ? '.jsonl' : '.frames'))
  }

  index(fileName: string): string {
    return join(this.dir, 'index', fileName)
  }

  /** A new path in `changed/`. */
  aside(stream: string, { lines }: Pick<StreamCodec, 'lines'>): string {
    const unique = `${Date.now()}-${randomBytes(4).toString('hex')}`
    return join(this.dir, 'changed', `${fileNameOf(stream)}-${unique}${lines ? '.jsonl' : '.frames'}`)
  }

  /** Makes the folders, durably. */
  async make(): Promise<void> {
    for (const folder of ['streams', 'index', 'changed'])
      await mkdir(join(this.dir, folder), { recursive: true, mode: 0o700 })
    await syncFolder(this.dir)
  }

  /** Created, renamed and removed files are on the device. */
  async sync(): Promise<void> {
    for (const folder of ['streams', 'index', 'changed']) await syncFolder(join(this.dir, folder))
  }
}

/** Windows cannot open a folder for that; NTFS logs its changes in order. */
async function syncFolder(path: string): Promise<void> {
  if (process.platform === 'win32') return
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
