/** Loads packages that are optional peer dependencies. */
import { DurlogError } from '../errors.js'

/**
 * Rejects with ERR_DURLOG_UNSUPPORTED if `load` fails. `needs` says what needs the packages; `packages` are the
 * arguments of "npm install".
 */
export async function loadOptional<Loaded>(
  needs: string,
  packages: string,
  load: () => Promise<Loaded>,
): Promise<Loaded> {
  try {
    return await load()
  } catch (cause) {
    const reason = (cause as Error).message.split('\n', 1)[0]
    throw new DurlogError('ERR_DURLOG_UNSUPPORTED', `${needs}: npm install ${packages} (${reason})`, { cause })
  }
}
