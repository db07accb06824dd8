/** Runs attempts that overlap, and waits for the first result. */
import { clearInterval, clearTimeout, setInterval, setTimeout } from '../timers.js'

/**
 * Starts the first of `tries` at once, and the next one after each failure, or if `delayMs` have passed without a
 * result. Resolves to the first success and aborts the other attempts. Rejects with an array of all errors once every
 * attempt has failed.
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

/** The interval at which a request without a response is repeated. */
const ASK_AGAIN_MS = 1000

/**
 * Calls `ask`, and calls it again every second until there is a response, because the server that received the request
 * may have stopped. Settles with the first result, success or failure. Each call of `ask` must have its own timeout.
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
