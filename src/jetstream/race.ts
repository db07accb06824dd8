/** Waits for the first answer of several. */
import { clearInterval, clearTimeout, setInterval, setTimeout } from 'node:timers'

/**
 * Begins the first of `tries` at once, and the next one after each failure or `delayMs` without an answer. Resolves to the
 * first success and aborts the others; rejects with every error once all have failed.
 */
export function firstSuccess<T>(
  tries: readonly ((signal: AbortSignal) => Promise<T>)[],
  delayMs: number,
  signal: AbortSignal,
): Promise<T> {
  const ending = new AbortController()
  const errors: unknown[] = []
  let begun = 0
  let timer: NodeJS.Timeout | undefined
  const racing = new Promise<T>((resolve, reject) => {
    const begin = (): void => {
      clearTimeout(timer)
      const next = tries[begun++]
      if (next === undefined) return
      timer = setTimeout(begin, delayMs)
      next(ending.signal).then(resolve, (error: unknown) => {
        errors.push(error)
        if (errors.length === tries.length) reject(errors)
        else begin()
      })
    }
    const abort = (): void => reject([signal.reason])
    signal.addEventListener('abort', abort, { once: true })
    ending.signal.addEventListener('abort', () => signal.removeEventListener('abort', abort))
    if (signal.aborted) abort()
    else begin()
  })
  return racing.finally(() => {
    clearTimeout(timer)
    ending.abort()
  })
}

/** How long a question may be open before it is asked again. */
const ASK_AGAIN_MS = 1000

/**
 * Asks, and asks again each second, because the server that got the question may have stopped. The first answer counts,
 * be it a refusal. `ask` rejects when its own time is over.
 */
export function askUntilAnswered<T>(ask: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setInterval(askAgain, ASK_AGAIN_MS)
    function askAgain(): void {
      ask()
        .finally(() => clearInterval(timer))
        .then(resolve, reject)
    }
    askAgain()
  })
}
