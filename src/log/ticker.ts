/** A timer for a log that is open. */
import { clearInterval, setInterval } from 'node:timers'

const TICK_MS = 1000

interface Ticked {
  /** Returns at once. */
  onTick(): void
}

/**
 * Calls `onTick` once a second. Keeps neither the process alive nor a log that was never closed and is not used any
 * more. Returns a function that stops it.
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
