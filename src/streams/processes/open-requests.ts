/** The requests of one kind that the owner has not answered, in the order of their calls. */
import type { DurlogError } from '../../errors.js'
import type { Frame } from './frames.js'

export interface Request {
  readonly frame: Buffer
  onAnswer(frame: Frame): void
  reject(error: DurlogError): void
}

export class OpenRequests {
  readonly #requests = new Map<number, Request>()
  /** By request: how long the owner was stalled since. */
  readonly #ticks = new Map<number, number>()

  get size(): number {
    return this.#requests.size
  }

  /** The number of the oldest one. */
  get oldest(): number | undefined {
    return this.#requests.keys().next().value
  }

  get frames(): Buffer[] {
    return [...this.#requests.values()].map(({ frame }) => frame)
  }

  add(id: number, request: Request): void {
    this.#requests.set(id, request)
  }

  /** Removes a request that was answered; undefined if it has failed meanwhile. */
  take(id: number): Request | undefined {
    const request = this.#requests.get(id)
    this.#requests.delete(id)
    if (this.#ticks.size > 0) this.#ticks.delete(id)
    return request
  }

  /** The owner was stalled for one more tick: rejects the requests for which it was for `max`. */
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
