/** Loads packages that are optional peer dependencies. */
import { DurlogError, isCode } from '../errors.js'
import { ofFileSystem } from './file-system-error.js'

/**
 * Rejects with ERR_DURLOG_UNSUPPORTED if `load` fails, or with ERR_DURLOG_TOO_MANY_FILES if the process has no free
 * descriptor to load the files. `needs` says what needs the packages; `packages` are the arguments of "npm install".
 */
export async function loadOptional<Loaded>(
  needs: string,
  packages: string,
  load: () => Promise<Loaded>,
): Promise<Loaded> {
  try {
    return await load()
  } catch (cause) {
    const known = ofFileSystem(cause)
    if (isCode(known, 'ERR_DURLOG_TOO_MANY_FILES')) throw known
    const reason = (cause as Error).message.split('\n', 1)[0]
    throw new DurlogError('ERR_DURLOG_UNSUPPORTED', `${needs}: npm install ${packages} (${reason})`, { cause })
  }
}
