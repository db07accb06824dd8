/** The folder into which a log is restored. A file in it, the mark, shows that the restore is unfinished. */
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { DurlogError, isCode } from '../errors.js'
import { replaceSynced, syncFolder } from './durable-files.js'
import { ofFileSystem } from './file-system-error.js'
import { takeOwners } from './new-files.js'
import { RESTORE_MARK } from './replica.js'

/** A mark that is being written. */
const MAKING = `${RESTORE_MARK}.new`
/**
 * The folder of the lock that the restore of an archive holds. Windows renames it, with a suffix, before it is removed.
 */
export const LOCK_FOLDER: string = `${RESTORE_MARK}.lock`

/**
 * Returns the mark of an unfinished restore in this folder, whose properties a continued restore must share. Undefined
 * for an empty folder. Creates the folder if it is missing. Throws ERR_DURLOG_NOT_EMPTY if the folder has any other
 * content.
 */
export function enterFolder<Mark>(dir: string): Mark | undefined {
  makeFolder(dir)
  const names = readdirSync(dir).filter((name) => !name.startsWith(LOCK_FOLDER))
  if (names.includes(RESTORE_MARK)) return readMark(dir)
  if (names.length === 0 || (names.length === 1 && names[0] === MAKING)) return undefined
  throw new DurlogError('ERR_DURLOG_NOT_EMPTY', `${dir} is not empty: restore into a new or empty folder`, {
    path: dir,
  })
}

/** Whether a restore may use the folder: it is missing, empty, or holds an unfinished restore. */
export function mayFollow(dir: string): boolean {
  try {
    enterFolder(dir)
    return true
  } catch (error) {
    if (isCode(error, 'ERR_DURLOG_NOT_EMPTY')) return false
    throw error
  }
}

/** Returns the mark of the folder; undefined if it has none. */
export function readMark<Mark>(dir: string): Mark | undefined {
  const path = join(dir, RESTORE_MARK)
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Mark) : undefined
}

function makeFolder(dir: string): void {
  try {
    takeOwners(mkdirSync(dir, { recursive: true, mode: 0o700 }), dir)
  } catch (error) {
    const isFile = ['EEXIST', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')
    if (!isFile) throw ofFileSystem(error)
    const message = `${dir} or one of its parents is a file: restore into a new or empty folder`
    throw new DurlogError('ERR_DURLOG_NOT_EMPTY', message, { path: dir })
  }
}

/** Writes the mark and syncs it, so that it is on the device before the first record. */
export async function markFolder(dir: string, mark: object): Promise<void> {
  await replaceSynced(join(dir, RESTORE_MARK), JSON.stringify(mark))
}

/** Removes the mark, which makes the folder an ordinary log. */
export async function unmarkFolder(dir: string): Promise<void> {
  await rm(join(dir, RESTORE_MARK), { force: true })
  await syncFolder(dir)
}
