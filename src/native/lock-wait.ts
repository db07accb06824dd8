/** Waits for a lock that another process or thread holds. */
import { setTimeout } from 'node:timers'
import { isCode } from '../errors.js'

const LOCK_POLL_MS = 20

/** Repeats `take` while it rejects with ERR_DURLOG_LOCKED, for at most `waitMs`. */
export async function waitForLock<T>(waitMs: number, take: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + waitMs
  for (;;) {
    try {
      return await take()
    } catch (error) {
      const leftMs = deadline - performance.now()
      if (!isCode(error, 'ERR_DURLOG_LOCKED') || leftMs <= 0) throw error
      await new Promise((resolve) => setTimeout(resolve, Math.min(LOCK_POLL_MS, leftMs)))
    }
  }
}
