/** A timer for an open log. */
import { clearInterval, setInterval } from '../../timers.js'

const TICK_MS = 1000

interface Ticked {
  /** Returns at once. */
  onTick(): void
}

/**
 * Calls `onTick` once a second. Returns a function that stops the timer. The timer does not keep the process alive, and
 * does not prevent the garbage collection of a log that was never closed.
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
