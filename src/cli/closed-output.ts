/**
 * Notices that the reader of stdout has closed it. Node notices only when it writes, which a follower may not do for a
 * long time.
 */
import { native } from '../native/native.js'

const CHECK_MS = 250

/** Calls `end` once when the reader of stdout has closed it. Returns a function that stops waiting for that. */
export function onOutputClosed(end: () => void): () => void {
  const { fd } = process.stdout
  if (fd === undefined) return () => {}
  const check = (): void => {
    if (!native.hasNoReader(fd)) return
    clearInterval(timer)
    end()
  }
  const timer = setInterval(check, CHECK_MS).unref()
  return () => clearInterval(timer)
}
