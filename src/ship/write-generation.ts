import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { openRestored } from '../open.js'
import { syncFolder } from '../support/durable-files.js'
import { makeFolderSync } from '../support/new-files.js'
import { rename } from '../support/rename.js'
import { LOCK_FOLDER } from '../support/restore-folder.js'

/** Gives the log in `dir` its generation: makes another log with that generation, and takes its list of truncations. */
export async function writeGeneration(
  folder: string,
  dir: string,
  { uuid, generation }: { uuid: string; generation: number },
): Promise<void> {
  const made = join(folder, LOCK_FOLDER, 'made')
  rmSync(made, { recursive: true, force: true })
  makeFolderSync(made)
  const options = { segmentBytes: 65_536, preallocate: 'none', strategy: 'pwrite' } as const
  const log = await openRestored(made, { uuid, firstSeq: 0, generation }, options)
  await log.close()
  await rename(join(made, 'cuts'), join(dir, 'cuts'))
  await syncFolder(dir)
}
