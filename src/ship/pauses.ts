/** Pauses between tries: each is twice the one before, up to a limit, and off by a quarter at random. */
const FIRST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 5000

export class Pauses {
  #failures = 0
  #since = 0

  /** Failures in a row. */
  get failures(): number {
    return this.#failures
  }

  /** How long nothing has succeeded, in milliseconds of a clock that is never set. */
  get failingMs(): number {
    return this.#failures === 0 ? 0 : performance.now() - this.#since
  }

  succeeded(): void {
    this.#failures = 0
  }

  /** The pause after one more failure. */
  failed(): number {
    if (this.#failures === 0) this.#since = performance.now()
    const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(this.#failures, 16))
    this.#failures++
    return Math.round(pause * (0.75 + Math.random() / 2))
  }
}
