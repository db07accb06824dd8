/** The files that mark the folder of a log, or of streams, to which nothing may append. */
import { existsSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { DurlogError } from '../errors.js'

/** Marks the folder of an unfinished restore. A replica keeps it until it takes over. */
export const RESTORE_MARK = 'restoring'
/**
 * Marks a backup. A backup to which a process has appended does not continue its source any more, so the next
 * `durlog backup` would have to refuse it.
 */
export const BACKUP_MARK = 'durlog-backup'

export function isBackup(dir: string): boolean {
  return existsSync(join(dir, BACKUP_MARK))
}

/** Returns the log in `dir`, or the folder of streams that it belongs to, if it has the file `mark`. */
function marked(dir: string, mark: string): string | undefined {
  const folders = ['log', 'catalog'].includes(basename(dir)) ? [dir, dirname(dir)] : [dir]
  return folders.find((folder) => existsSync(join(folder, mark)))
}

/** Throws ERR_DURLOG_REPLICA if the log in `dir`, or the folder of streams that it belongs to, is being restored. */
export function refuseReplica(dir: string): void {
  const path = marked(dir, RESTORE_MARK)
  if (path === undefined) return
  throw new DurlogError(
    'ERR_DURLOG_REPLICA',
    `${path} is a replica, or its restore or rejoin was interrupted, so that nothing may append to it: read it with readOnly: true (durlog cat DIR), make it the writer with takeOver() (durlog promote), or run the interrupted command again`,
    { path },
  )
}

/** As `refuseReplica`. Throws ERR_DURLOG_NOT_A_LOG if it is a backup. */
export function refuseCopy(dir: string): void {
  refuseReplica(dir)
  const path = marked(dir, BACKUP_MARK)
  if (path === undefined) return
  throw new DurlogError(
    'ERR_DURLOG_NOT_A_LOG',
    `${path} is a backup, which new records would separate from its source: "durlog restore NEW ${path}" makes a log or streams of it in the folder NEW; to use this folder instead of its source, remove its file ${BACKUP_MARK}`,
    { path },
  )
}
