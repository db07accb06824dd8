/**
 * The identity of a copy of a log. All copies of a log have its UUID. The file `copy` in the folder distinguishes them,
 * so that a destination can state which copy writes to it.
 */
import { randomUUID } from 'node:crypto'
import { link, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { DurlogError } from '../errors.js'
import { UUID } from '../options/checks.js'
import { replaceSynced, syncFolder, writeSynced } from '../support/durable-files.js'
import { ofFileSystem } from '../support/file-system-error.js'

const NAME = 'copy'

export interface Copy {
  id: string
  /** The generation of the newest history that this copy has written to a destination; -1 if there is none. */
  generation: number
}

/**
 * Reads the identity of the copy in `dir`, and creates it if there is none. Several processes may do so at the same
 * time.
 */
export async function readCopy(dir: string): Promise<Copy> {
  for (;;) {
    const found = await readFile(join(dir, NAME), 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw ofFileSystem(error)
      return undefined
    })
    if (found !== undefined) return copyIn(found, join(dir, NAME))
    await create(dir)
  }
}

/**
 * As `readCopy`, for a process that holds the lock of the log or of its restore. Removes the file of another process
 * that was killed while it wrote it.
 */
export async function readLockedCopy(dir: string): Promise<Copy> {
  try {
    for (const name of await readdir(dir)) if (name.startsWith(`${NAME}.`)) await rm(join(dir, name), { force: true })
  } catch (error) {
    throw ofFileSystem(error)
  }
  return readCopy(dir)
}

function copyIn(text: string, path: string): Copy {
  try {
    const { id, generation } = JSON.parse(text) as Copy
    if (UUID.test(id) && Number.isSafeInteger(generation)) return { id, generation }
  } catch {
    // As another content.
  }
  throw new DurlogError(
    'ERR_DURLOG_CORRUPT',
    `${path}, which identifies this copy of the log, is damaged: restore the file from a backup of this folder, or make a new copy of the log with takeOver() (durlog promote)`,
    { path },
  )
}

/** Notes that the copy in `dir` writes the history of `generation`. */
export async function noteHistory(dir: string, generation: number): Promise<void> {
  const copy = await readCopy(dir)
  if (copy.generation === generation) return
  const text = JSON.stringify({ ...copy, generation } satisfies Copy)
  await replaceSynced(join(dir, NAME), text, newFile(dir))
}

/** Stores a new identity, unless another process has stored one meanwhile, which a rename would replace. */
async function create(dir: string): Promise<void> {
  const made = newFile(dir)
  try {
    await writeSynced(made, JSON.stringify({ id: randomUUID(), generation: -1 } satisfies Copy))
    await link(made, join(dir, NAME)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
    await rm(made)
    await syncFolder(dir)
  } catch (error) {
    throw ofFileSystem(error, dir)
  }
}

function newFile(dir: string): string {
  return join(dir, `${NAME}.${randomUUID()}`)
}
