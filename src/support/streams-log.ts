/** Recognises the logs of a folder of streams, to which only `durlog/streams` may append. */
import { existsSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { DurlogError } from '../errors.js'

/** The cursor of `durlog/streams` in the main log of a folder. Its file marks the log. */
export const STREAMS_CURSOR = 'durlog-streams'
const MARK = `${STREAMS_CURSOR}.cursor`

/** Throws ERR_DURLOG_NOT_A_LOG if `dir` is a folder of streams, or its main log or catalog. */
export function refuseStreams(dir: string): void {
  if (existsSync(join(dir, 'log', MARK)))
    throw new DurlogError(
      'ERR_DURLOG_NOT_A_LOG',
      `${dir} contains streams, not a log: open it with openStreams() (durlog streams DIR ls), or choose another folder`,
      { path: dir },
    )
  const isCatalog = basename(dir) === 'catalog' && existsSync(join(dirname(dir), 'log', MARK))
  if (!isCatalog && !existsSync(join(dir, MARK))) return
  throw new DurlogError(
    'ERR_DURLOG_NOT_A_LOG',
    `${dir} belongs to the folder of streams ${dirname(dir)}, which another record would make unreadable: append with openStreams() (durlog streams DIR append NAME), or read it with readOnly: true (durlog cat DIR)`,
    { path: dir },
  )
}
