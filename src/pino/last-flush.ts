/** Flushes logs when the process or the worker thread is about to end, when promises no longer settle. */
import { writeSync } from 'node:fs'

const flushes = new Set<() => void>()

function flushAll(): void {
  for (const flush of flushes) {
    try {
      flush()
    } catch (error) {
      // Not thrown: no handler can run any more, and this error must not replace the one that ends the process.
      writeSync(2, `durlog: the last lines of a log may be lost: ${(error as Error).message}\n`)
    }
  }
}

/**
 * `uncaughtExceptionMonitor` fires before an uncaught exception ends the process, even if a handler then keeps it
 * alive.
 */
const ENDS = ['exit', 'uncaughtExceptionMonitor'] as const

/** Calls `flush` at each of these events, until the returned function is called. */
export function flushAtEnd(flush: () => void): () => void {
  if (flushes.size === 0) for (const end of ENDS) process.on(end, flushAll)
  flushes.add(flush)
  return () => {
    flushes.delete(flush)
    if (flushes.size === 0) for (const end of ENDS) process.off(end, flushAll)
  }
}
