// The folder for programs that tests download: outside the repository, so that a fresh clone finds them again.
import { homedir } from 'node:os'
import { join } from 'node:path'

/** DURLOG_CACHE if it is set, or the user's cache folder. */
export function cacheFolder(...names) {
  const { DURLOG_CACHE: chosen, XDG_CACHE_HOME: usual = join(homedir(), '.cache') } = process.env
  return join(chosen || join(usual, 'durlog'), ...names)
}
