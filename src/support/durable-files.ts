/** Brings files and folders to the device. */
import { constants, fsync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { ofFileSystem } from './file-system-error.js'
import { takeOwner } from './new-files.js'
import { rename } from './rename.js'

const syncDescriptor = promisify(fsync)

/**
 * Syncs an open file. The handles of Yarn's Plug'n'Play have no `sync`; Node's permission model refuses the sync of a
 * descriptor.
 */
export async function syncFile(file: FileHandle): Promise<void> {
  await (process.permission === undefined ? syncDescriptor(file.fd) : file.sync())
}

/** Writes a new file, or replaces the content of one, and syncs it. A reader may see a part: see `replaceSynced`. */
export async function writeSynced(path: string, text: string): Promise<void> {
  const file = await open(path, 'w', 0o600)
  try {
    takeOwner(path)
    await file.writeFile(text)
    await syncFile(file)
  } finally {
    await file.close()
  }
}

/**
 * Syncs a folder, so that created, renamed and removed files are durable. Does nothing on Windows, which cannot open a
 * folder to sync it; NTFS logs its changes in order.
 */
export async function syncFolder(path: string): Promise<void> {
  if (process.platform === 'win32') return
  const folder = await open(path, constants.O_RDONLY | constants.O_DIRECTORY)
  try {
    await syncFile(folder)
  } finally {
    await folder.close()
  }
}

/**
 * Replaces the file at `path`, or creates it, and syncs it. At any moment it has all of the old or of the new text. If
 * several processes may do so at the same time, `made` must be a unique path in the same folder. Rejects with a
 * DurlogError.
 */
export async function replaceSynced(path: string, text: string, made = `${path}.new`): Promise<void> {
  try {
    await writeSynced(made, text)
    await rename(made, path)
    await syncFolder(dirname(path))
  } catch (error) {
    throw ofFileSystem(error, path)
  }
}
