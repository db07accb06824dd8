// The folder for programs that tests download. It is outside the repository, so that all clones share it.
import { homedir } from 'node:os'
import { join } from 'node:path'

/** A path in the cache: below DURLOG_CACHE if it is set, otherwise below "durlog" in the user's cache folder. */
export function cacheFolder(...names) {
  const { DURLOG_CACHE: chosen, XDG_CACHE_HOME: usual = join(homedir(), '.cache') } = process.env
  return join(chosen || join(usual, 'durlog'), ...names)
}
