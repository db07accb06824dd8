/** Exponential backoff: the pauses between attempts. Each is twice as long as the previous one, up to a limit, and varies randomly by a quarter. */
const FIRST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 2000

export class Backoff {
  #failures = 0
  #since = 0

  /** The number of consecutive failures. */
  get failures(): number {
    return this.#failures
  }

  /** The time since the first of these failures, in milliseconds by a monotonic clock. */
  get failingMs(): number {
    return this.#failures === 0 ? 0 : performance.now() - this.#since
  }

  succeeded(): void {
    this.#failures = 0
  }

  /** Counts one more failure and returns the pause after it. */
  failed(): number {
    if (this.#failures === 0) this.#since = performance.now()
    const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(this.#failures, 16))
    this.#failures++
    return Math.round(pause * (0.75 + Math.random() / 2))
  }
}
