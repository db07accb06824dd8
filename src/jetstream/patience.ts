/**
 * How long to wait for an acknowledgement. A stream whose leader died never sends it, so the first wait is short. A slow
 * stream must not be asked the same thing for ever, so each wait in vain doubles the next one, up to a limit.
 */
const SHORTEST_MS = 2000
/** Of the longest wait that succeeded lately. */
const SAFETY_FACTOR = 4
/** With each answer the longest wait counts this much less. */
const FADING = 0.99

export class Patience {
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
