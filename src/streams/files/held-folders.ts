/** The folders of the streams' files. The core keeps them open, so it would write into one that was moved. */
import { DurlogError } from '../../errors.js'
import { ofFileSystem } from '../../support/file-system-error.js'
import { folderIdOf } from '../../support/folder-id.js'

export class HeldFolders {
  readonly #ids: ReadonlyMap<string, string>

  private constructor(ids: ReadonlyMap<string, string>) {
    this.#ids = ids
  }

  /** The folders at `paths`, which exist. */
  static async at(paths: readonly string[]): Promise<HeldFolders> {
    const ids = new Map<string, string>()
    for (const path of paths) ids.set(path, await identityOf(path))
    return new HeldFolders(ids)
  }

  /** Throws ERR_DURLOG_FILE_CHANGED if another program has moved or replaced a folder. */
  async check(): Promise<void> {
    for (const [path, id] of this.#ids) if ((await identityOf(path)) !== id) throw changedFolder(path)
  }
}

/** As `folderIdOf`, and '' if there is no folder. */
async function identityOf(path: string): Promise<string> {
  try {
    return await folderIdOf(path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return ''
    throw ofFileSystem(error)
  }
}

function changedFolder(path: string): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_FILE_CHANGED',
    `another program has moved or replaced ${path} while it was open; no record is lost, because the main log keeps the records since the last checkpoint: put the folder back, then close the folder of streams and open it again`,
    { path },
  )
}
