/**
 * Prevents two restores from writing to one folder: each must open a small log in the folder, whose lock is exclusive.
 */
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { DurlogError, isCode } from '../errors.js'
import { type Log, open } from '../index.js'
import { LOCK_FOLDER } from '../support/restore-folder.js'
import { segmentFile } from '../support/segment-name.js'

/** The files and folders of a lock. */
const NAMES: readonly string[] = ['lock', 'live', 'made', segmentFile(0)]

export class RestoreLock {
  readonly #path: string
  readonly #log: Log

  private constructor(path: string, log: Log) {
    this.#path = path
    this.#log = log
  }

  /** Rejects with ERR_DURLOG_LOCKED if another restore writes to `folder`. */
  static async take(folder: string): Promise<RestoreLock> {
    const path = join(folder, LOCK_FOLDER)
    try {
      return new RestoreLock(path, await open(path, { segmentBytes: 65_536, preallocate: 'none', strategy: 'pwrite' }))
    } catch (error) {
      if (!isCode(error, 'ERR_DURLOG_LOCKED')) throw error
      const { ownerPid } = error
      throw new DurlogError(
        'ERR_DURLOG_LOCKED',
        `${ownerPid === undefined ? 'another process' : `process ${ownerPid}`} is restoring into ${folder}: wait until it ends, or use another folder`,
        { path: folder, ...(ownerPid !== undefined && { ownerPid }) },
      )
    }
  }

  /** Removes the lock of a restore that was killed after it had finished. */
  static async removeLeft(folder: string): Promise<void> {
    const path = join(folder, LOCK_FOLDER)
    if (!existsSync(path)) return
    try {
      await new RestoreLock(path, await open(path, { create: false })).release()
    } catch (error) {
      // If it is locked, the restore still runs. If it is no log, the restore was killed while it removed the folder; a
      // folder with other files is not the lock of a restore.
      const names = await readdir(path).catch(() => undefined)
      if (isCode(error, 'ERR_DURLOG_LOCKED') || names?.every((name) => NAMES.includes(name)) !== true) return
      await rm(path, { recursive: true, force: true }).catch(() => {})
    }
  }

  async release(): Promise<void> {
    if (process.platform === 'win32') return this.#releaseOnWindows()
    // Removed before the lock is released, so that the log of another restore is never removed.
    await rm(this.#path, { recursive: true, force: true }).catch(() => {})
    await this.#log.close().catch(() => {})
  }

  /**
   * Windows removes no folder that is open. After the release, the rename fails if another restore has opened the
   * folder.
   */
  async #releaseOnWindows(): Promise<void> {
    await this.#log.close().catch(() => {})
    const removed = `${this.#path}-${randomUUID()}`
    const isRenamed = await rename(this.#path, removed).then(
      () => true,
      () => false,
    )
    if (isRenamed) await rm(removed, { recursive: true, force: true }).catch(() => {})
  }
}
