/** Runs pieces of asynchronous work in the order of their calls, a limited number at a time. */
import { LinkedQueue } from './linked-queue.js'

export class Turns {
  #free: number
  readonly #waiting = new LinkedQueue<() => void>()

  constructor(count = 1) {
    this.#free = count
  }

  /** Whether the next `take` would have to wait. */
  get busy(): boolean {
    return this.#free === 0
  }

  /** Runs `work` when its turn comes: within this call if fewer than `count` pieces of work are running. */
  async take<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--
    else await new Promise<void>((resolve) => void this.#waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#free++
      else next()
    }
  }
}
