/** Waits for a lock that another process or thread holds. */
import { isCode } from '../errors.js'
import { clock, wait } from '../timers.js'

const LOCK_POLL_MS = 20

/**
 * Repeats `take` while it rejects with ERR_DURLOG_LOCKED, for at most `waitMs`. Rejects with the reason of `signal`
 * once it is aborted.
 */
export async function waitForLock<T>(waitMs: number, take: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  const deadline = clock.now() + waitMs
  for (;;) {
    signal?.throwIfAborted()
    try {
      return await take()
    } catch (error) {
      const leftMs = deadline - clock.now()
      if (!isCode(error, 'ERR_DURLOG_LOCKED') || leftMs <= 0) throw error
      await wait(Math.min(LOCK_POLL_MS, leftMs))
    }
  }
}
