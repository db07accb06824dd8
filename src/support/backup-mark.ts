/**
 * The file that marks a folder as a backup. A backup to which a process has appended does not continue its source any
 * more, so the next `durlog backup` would have to refuse it.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DurlogError } from '../errors.js'

export const BACKUP_MARK = 'durlog-backup'

export function isBackup(dir: string): boolean {
  return existsSync(join(dir, BACKUP_MARK))
}

/** Throws ERR_DURLOG_NOT_A_LOG if `dir` is a backup. */
export function refuseBackup(dir: string): void {
  if (!isBackup(dir)) return
  throw new DurlogError(
    'ERR_DURLOG_NOT_A_LOG',
    `${dir} is a backup, which new records would separate from its source: "durlog restore NEW ${dir}" makes a log or streams of it in the folder NEW; to use this folder instead of its source, remove its file ${BACKUP_MARK}`,
    { path: dir },
  )
}
