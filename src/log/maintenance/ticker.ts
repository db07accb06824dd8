/** A timer for an open log. */
import { clearInterval, setInterval } from 'node:timers'

const TICK_MS = 1000

interface Ticked {
  /** Returns at once. */
  onTick(): void
}

/**
 * Calls `onTick` once a second, and returns a function that stops it. Does not keep the process alive, and allows an
 * unused log that was never closed to be collected.
 */
export function startTicker(ticked: Ticked): () => void {
  const weak = new WeakRef(ticked)
  const timer = setInterval(() => {
    const alive = weak.deref()
    if (alive === undefined) clearInterval(timer)
    else alive.onTick()
  }, TICK_MS)
  timer.unref()
  return () => clearInterval(timer)
}
