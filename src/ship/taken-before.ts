import { DurlogError } from '../errors.js'
import type { ReadableLog } from '../index.js'
import { open } from '../open.js'
import { mainLogOf } from '../streams/files/main-log.js'
import { isBackup } from '../support/folder-marks.js'
import { isNoReplica } from '../support/restore-folder.js'

export interface TakenBefore {
  uuid: string
  firstSeq: number
  nextSeq: number
  generation: number
  resumed: false
}

/**
 * Returns the report of a takeover that is repeated, so that a caller that does not know the result of the first one
 * may call it again. Undefined if `dir` holds a replica, or nothing. `generationOf` returns the generation of the
 * destination's writer if that is the copy that holds this log. Rejects with ERR_DURLOG_NOT_EMPTY if it is another one.
 */
export async function takenBefore(
  dir: string,
  generationOf: (log: ReadableLog) => Promise<number | undefined>,
): Promise<TakenBefore | undefined> {
  if (!(await isNoReplica(dir))) return undefined
  if (isBackup(dir)) throw notEmpty(dir, 'is a backup and no replica: take over in a new folder')
  await using log = await open(mainLogOf(dir), { readOnly: true })
  const { uuid, firstSeq, nextSeq } = log
  const generation = await generationOf(log)
  if (generation !== undefined) return { uuid, firstSeq, nextSeq, generation, resumed: false }
  throw notEmpty(
    dir,
    'holds a log that can be written, but is not the writer of the destination: if another copy has taken over, run "durlog rejoin"; otherwise take over in a new folder',
  )
}

function notEmpty(dir: string, reason: string): DurlogError {
  return new DurlogError('ERR_DURLOG_NOT_EMPTY', `${dir} ${reason}`, { path: dir })
}
