/**
 * The timeout for an acknowledgement. A stream whose leader died never sends one, so the first timeout is short. But a
 * slow stream must get enough time at some point, so each timeout that expires doubles the next one, up to a limit.
 */
const SHORTEST_MS = 2000
/** The timeout is at least this many times the longest recent wait for an acknowledgement. */
const SAFETY_FACTOR = 4
/** Each acknowledgement multiplies the longest recent wait by this factor, so that old waits lose their influence. */
const FADING = 0.99

export class AckTimeout {
  readonly #limitMs: number
  #longestMs = 0
  #unanswered = 0

  constructor(limitMs: number) {
    this.#limitMs = limitMs
  }

  get ms(): number {
    const wanted = Math.max(SHORTEST_MS, SAFETY_FACTOR * this.#longestMs) * 2 ** Math.min(this.#unanswered, 10)
    return Math.round(Math.min(this.#limitMs, wanted))
  }

  answered(afterMs: number): void {
    this.#unanswered = 0
    this.#longestMs = Math.max(afterMs, FADING * this.#longestMs)
  }

  unanswered(): void {
    this.#unanswered++
  }
}
