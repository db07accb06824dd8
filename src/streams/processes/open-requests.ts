/** The unanswered requests of one kind, in the order of their calls. */
import type { DurlogError } from '../../errors.js'
import type { Frame } from './frames.js'

export interface Request {
  readonly frame: Buffer
  onAnswer(frame: Frame): void
  reject(error: DurlogError): void
}

export class OpenRequests {
  readonly #requests = new Map<number, Request>()
  /** For each request, the number of ticks for which the owner was stalled since the request. */
  readonly #ticks = new Map<number, number>()

  get size(): number {
    return this.#requests.size
  }

  /** The number of the oldest request. */
  get oldest(): number | undefined {
    return this.#requests.keys().next().value
  }

  get frames(): Buffer[] {
    return [...this.#requests.values()].map(({ frame }) => frame)
  }

  add(id: number, request: Request): void {
    this.#requests.set(id, request)
  }

  /** Removes and returns an answered request; undefined if it has already failed. */
  take(id: number): Request | undefined {
    const request = this.#requests.get(id)
    this.#requests.delete(id)
    if (this.#ticks.size > 0) this.#ticks.delete(id)
    return request
  }

  /**
   * To be called for each tick for which the owner is stalled: rejects the requests that have waited for `max` such
   * ticks.
   */
  tick(max: number, error: () => DurlogError): void {
    for (const id of this.#requests.keys()) {
      const ticks = (this.#ticks.get(id) ?? 0) + 1
      this.#ticks.set(id, ticks)
      if (ticks >= max) this.take(id)?.reject(error())
    }
  }

  rejectAll(error: () => DurlogError): void {
    for (const id of this.#requests.keys()) this.take(id)?.reject(error())
  }
}
