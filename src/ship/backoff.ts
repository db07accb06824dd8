/**
 * Exponential backoff: the pauses between attempts. Each is twice as long as the previous one, up to a limit, and
 * varies randomly by a quarter. It is longer if the destination demands that.
 */
import { DurlogError } from '../errors.js'
import { clock, wait } from '../timers.js'
import type { ShipRetry } from './types.js'

const FIRST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 2000
/** A destination that demands a longer pause may be available again before that. */
const LONGEST_DEMAND_MS = 60_000

/** Errors of a program. By name, because another realm has other classes. */
const PROGRAM_ERRORS = ['TypeError', 'RangeError', 'ReferenceError', 'SyntaxError']

/**
 * Whether `error` is a defect of a program or of its environment, which another attempt would meet again. `fetch` gives
 * a cause.
 */
export function isLasting(error: unknown): boolean {
  const { name, cause } = Object(error) as Error
  return PROGRAM_ERRORS.includes(name) && cause === undefined
}

export interface PauseOptions {
  /** Infinity without a limit. */
  retryForMs: number
  signal: AbortSignal | undefined
  onRetry?: ((retry: ShipRetry) => void) | undefined
  atOnce?: boolean
}

export class Backoff {
  #failures = 0
  #since = 0

  /** The number of consecutive failures. */
  get failures(): number {
    return this.#failures
  }

  succeeded(): void {
    this.#failures = 0
  }

  /**
   * Counts one more failure and returns the pause after it, which ends at the latest when `retryForMs` have passed. The
   * destination demanded a pause of `error.retryAfterMs`. Throws ERR_DURLOG_DESTINATION_UNREACHABLE if every attempt
   * has failed for longer than `retryForMs`, and ERR_DURLOG_IO at once if the error is lasting.
   */
  failed(error: Error & { retryAfterMs?: number | undefined }, retryForMs: number): number {
    if (isLasting(error))
      throw new DurlogError(
        'ERR_DURLOG_IO',
        `every attempt would fail in the same way: ${error.name}: ${error.message}`,
        { cause: error },
      )
    if (this.#failures === 0) this.#since = clock.now()
    const failingMs = this.#failures === 0 ? 0 : clock.now() - this.#since
    if (this.#failures > 0 && failingMs > retryForMs)
      throw new DurlogError(
        'ERR_DURLOG_DESTINATION_UNREACHABLE',
        `every attempt has failed for ${Math.round(failingMs / 1000)} s (retryForMs): ${error.message}`,
        { cause: error },
      )
    const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(this.#failures, 16))
    this.#failures++
    const demanded = Math.min(LONGEST_DEMAND_MS, error.retryAfterMs ?? 0)
    const longest = Math.max(0, retryForMs - failingMs)
    return Math.round(Math.min(longest, Math.max(demanded, pause * (0.75 + Math.random() / 2))))
  }

  /**
   * Counts one more failure, calls `onRetry`, and waits before the next attempt, at most until `signal` is aborted.
   * With `atOnce`, does not wait, and does not call `onRetry`. Throws as `failed`.
   */
  async pause(error: Error, { retryForMs, signal, onRetry, atOnce }: PauseOptions): Promise<void> {
    const pauseMs = this.failed(error, retryForMs)
    if (atOnce === true) return
    onRetry?.({ error, attempt: this.#failures, pauseMs })
    await wait(pauseMs, { signal }).catch(() => {})
  }
}

/**
 * Returns what `work` returns. Calls it again after a pause if it throws an error for which `isTransient`, up to `max`
 * times in all. Throws the reason of `signal` once it is aborted.
 */
export async function attempts<T>(
  max: number,
  work: () => Promise<T>,
  { isTransient, ...pause }: PauseOptions & { isTransient(error: unknown): boolean },
): Promise<T> {
  const backoff = new Backoff()
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!isTransient(error) || backoff.failures === max - 1) throw error
      await backoff.pause(error as Error, pause)
      pause.signal?.throwIfAborted()
    }
  }
}
