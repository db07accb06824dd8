/**
 * The owner of new files and folders. A process of root that works in the folder of another user would otherwise leave
 * files there that the user cannot open. The core does the same for the files that it creates.
 */
import { closeSync, constants, existsSync, fchownSync, fstatSync, mkdir, mkdirSync, openSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import process from 'node:process'
import { promisify } from 'node:util'

/** Opening a log loads this file, and node:fs/promises takes time to load. */
const makeDirectory = promisify(mkdir)

/** Symbolic links are not followed, and a FIFO is not waited for. 0 on Windows, which has no such flags. */
export const SAFE_FLAGS: number = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)

/** Gives a new file or folder of root the owner and the group of the folder that contains it. Best effort. */
export function takeOwner(path: string): void {
  // Only root may give a file to another user. Undefined on Windows.
  if (process.geteuid?.() !== 0) return
  try {
    const { uid, gid } = statSync(dirname(path))
    const made = openSync(path, constants.O_RDONLY | SAFE_FLAGS)
    try {
      const { uid: madeUid, gid: madeGid } = fstatSync(made)
      if (madeUid !== uid || madeGid !== gid) fchownSync(made, uid, gid)
    } finally {
      closeSync(made)
    }
  } catch {
    // The file can be used by root, as before.
  }
}

/** Creates a folder, and its parents, if they are missing. Only this user and the owner of the parent can enter it. */
export async function makeFolder(path: string): Promise<void> {
  const first = await makeDirectory(path, { recursive: true, mode: 0o700 }).catch((error) => throwReason(path, error))
  takeOwners(first, path)
}

/** As `makeFolder`. */
export function makeFolderSync(path: string): void {
  try {
    takeOwners(mkdirSync(path, { recursive: true, mode: 0o700 }), path)
  } catch (error) {
    throwReason(path, error)
  }
}

/** With `recursive`, mkdir reports ENOENT for reasons that it does not know, such as a read-only file system. */
function throwReason(path: string, error: unknown): never {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
    let missing = resolve(path)
    while (!existsSync(dirname(missing)) && missing !== dirname(missing)) missing = dirname(missing)
    mkdirSync(missing, 0o700)
  }
  throw error
}

/** Like `takeOwner`, for the folders that one call of mkdir has created: from `first`, if it is set, to `last`. */
function takeOwners(first: string | undefined, last: string): void {
  if (first === undefined || process.geteuid?.() !== 0) return
  const made: string[] = []
  for (let path = resolve(last); path.length >= first.length; path = dirname(path)) {
    made.unshift(path)
    if (path === dirname(path)) break
  }
  for (const path of made) takeOwner(path)
}
