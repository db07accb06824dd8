/** The folder into which a log is restored. A file in it, the mark, shows that the restore is unfinished. */
import { randomUUID } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { DurlogError, isCode } from '../errors.js'
import type { NativeFileLock } from '../native/cursors.js'
import { native } from '../native/native.js'
import { replaceSynced, syncFolder } from './durable-files.js'
import { ofFileSystem } from './file-system-error.js'
import { RESTORE_MARK } from './folder-marks.js'
import { makeFolder, makeFolderSync } from './new-files.js'
import { segmentSeqs } from './segment-name.js'

/** A mark that is being written. */
const MAKING = `${RESTORE_MARK}.new`
/**
 * The folder of the lock that the restore of an archive holds. Windows renames it, with a suffix, before it is removed.
 */
export const LOCK_FOLDER: string = `${RESTORE_MARK}.lock`

/** For each member of a mark, whether it has a possible value: another program may have changed the file. */
export type MarkChecks<Mark> = { readonly [Member in keyof Mark]-?: (value: unknown) => boolean }

/**
 * Calls `restore` with the mark of an unfinished restore in this folder, whose properties a continued restore must
 * share: undefined for an empty folder. Creates the folder if it is missing. No other restore writes to it meanwhile.
 * Rejects with ERR_DURLOG_NOT_EMPTY if the folder has any other content, with ERR_DURLOG_LOCKED if another restore
 * writes to it, or as `readMark`.
 */
export async function restoreInto<Mark, Report>(
  dir: string,
  checks: MarkChecks<Mark>,
  restore: (before: Mark | undefined) => Promise<Report>,
): Promise<Report> {
  try {
    enterFolder(dir, checks)
  } catch (error) {
    await RestoreLock.removeLeft(dir)
    throw error
  }
  const lock = await RestoreLock.take(dir)
  try {
    // Checked again with the lock: another restore may have finished meanwhile.
    return await restore(enterFolder(dir, checks))
  } catch (error) {
    throw ofFileSystem(error, dir)
  } finally {
    await lock.release()
  }
}

/**
 * The mark of the folder, which is created if it is missing. Throws ERR_DURLOG_NOT_EMPTY, or as `readMark`: see
 * `restoreInto`.
 */
export function enterFolder<Mark>(dir: string, checks: MarkChecks<Mark>): Mark | undefined {
  makeEmptyFolder(dir)
  try {
    const names = readdirSync(dir).filter((name) => !name.startsWith(LOCK_FOLDER))
    if (names.includes(RESTORE_MARK)) return readMark(dir, checks)
    if (names.length === 0 || (names.length === 1 && names[0] === MAKING)) return undefined
  } catch (error) {
    throw ofFileSystem(error)
  }
  throw new DurlogError('ERR_DURLOG_NOT_EMPTY', `${dir} is not empty: restore into a new or empty folder`, {
    path: dir,
  })
}

/**
 * Whether `dir` holds a log, or streams, that is no replica. Removes the lock of a restore that was killed after it had
 * finished.
 */
export async function isNoReplica(dir: string): Promise<boolean> {
  if (!holdsNoReplica(dir)) return false
  await RestoreLock.removeLeft(dir)
  return true
}

function holdsNoReplica(dir: string): boolean {
  const holdsLog = (one: string): boolean =>
    existsSync(one) && statSync(one).isDirectory() && segmentSeqs(readdirSync(one)).length > 0
  try {
    return (holdsLog(dir) || holdsLog(join(dir, 'log'))) && !existsSync(join(dir, RESTORE_MARK))
  } catch (error) {
    throw ofFileSystem(error)
  }
}

/**
 * Returns the mark of the folder; undefined if it has none. Throws ERR_DURLOG_CORRUPT if it has not the members that
 * `checks` names.
 */
export function readMark<Mark>(dir: string, checks: MarkChecks<Mark>): Mark | undefined {
  const path = join(dir, RESTORE_MARK)
  if (!existsSync(path)) return undefined
  const mark = parsed(readFileSync(path, 'utf8'))
  const wrong = Object.entries<(value: unknown) => boolean>(checks).find(([member, isRight]) => !isRight(mark[member]))
  if (wrong === undefined) return mark as Mark
  throw new DurlogError(
    'ERR_DURLOG_CORRUPT',
    `${path}, which marks an unfinished restore or a replica, has no valid member "${wrong[0]}": it is damaged, or another kind of destination was restored. Restore into a new folder`,
    { path },
  )
}

/** A text that is not JSON has no members. */
function parsed(text: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(text))
  } catch {
    return {}
  }
}

function makeEmptyFolder(dir: string): void {
  try {
    makeFolderSync(dir)
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

/** The files and folders in the folder of a lock. */
const LOCK_NAMES: readonly string[] = ['lock', 'made']

/** Prevents two restores from writing to one folder. */
export class RestoreLock {
  readonly #path: string
  readonly #lock: NativeFileLock

  private constructor(path: string, lock: NativeFileLock) {
    this.#path = path
    this.#lock = lock
  }

  /** Rejects with ERR_DURLOG_LOCKED if another restore writes to `folder`. */
  static async take(folder: string): Promise<RestoreLock> {
    const path = join(folder, LOCK_FOLDER)
    try {
      await makeFolder(path)
      return new RestoreLock(path, await native.lockLog(path))
    } catch (error) {
      // Another restore has ended and removed the folder meanwhile.
      if (isCode(error, 'ERR_DURLOG_NOT_FOUND')) return RestoreLock.take(folder)
      if (!isCode(error, 'ERR_DURLOG_LOCKED')) throw ofFileSystem(error)
      const { ownerPid } = error
      throw new DurlogError(
        'ERR_DURLOG_LOCKED',
        `${ownerPid === undefined ? 'another process' : `process ${ownerPid}`} is restoring into ${folder}: wait until it ends, or use another folder`,
        { path: folder, ...(ownerPid !== undefined && { ownerPid }) },
      )
    }
  }

  /**
   * Removes the lock of a restore that was killed after it had finished. A folder with other files is not the lock of a
   * restore.
   */
  static async removeLeft(folder: string): Promise<void> {
    const path = join(folder, LOCK_FOLDER)
    const names = await readdir(path).catch(() => undefined)
    if (names?.every((name) => LOCK_NAMES.includes(name)) !== true) return
    // If it is locked, the restore still runs.
    const lock = await native.lockLog(path).catch(() => undefined)
    if (lock !== undefined) await new RestoreLock(path, lock).release()
  }

  async release(): Promise<void> {
    if (process.platform === 'win32') return this.#releaseOnWindows()
    // Removed before the lock is released, so that the lock of another restore is never removed.
    await rm(this.#path, { recursive: true, force: true }).catch(() => {})
    this.#lock.release()
  }

  /**
   * Windows removes no folder that is open. After the release, the rename fails if another restore has opened the
   * folder.
   */
  async #releaseOnWindows(): Promise<void> {
    this.#lock.release()
    const removed = `${this.#path}-${randomUUID()}`
    const isRenamed = await rename(this.#path, removed).then(
      () => true,
      () => false,
    )
    if (isRenamed) await rm(removed, { recursive: true, force: true }).catch(() => {})
  }
}
