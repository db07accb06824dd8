/** Recognises a replica, and a folder whose restore is unfinished: nothing may append to them. */
import { existsSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { DurlogError } from '../errors.js'

/** The file that marks the folder of an unfinished restore. A replica keeps it until it takes over. */
export const RESTORE_MARK = 'restoring'

/** Throws ERR_DURLOG_REPLICA if the log in `dir`, or the folder of streams that it belongs to, is being restored. */
export function refuseReplica(dir: string): void {
  const folders = ['log', 'catalog'].includes(basename(dir)) ? [dir, dirname(dir)] : [dir]
  const path = folders.find((folder) => existsSync(join(folder, RESTORE_MARK)))
  if (path === undefined) return
  throw new DurlogError(
    'ERR_DURLOG_REPLICA',
    `${path} is a replica, or its restore or rejoin was interrupted, so that nothing may append to it: read it with readOnly: true, make it the writer with takeOver() (durlog promote), or run the interrupted command again`,
    { path },
  )
}
