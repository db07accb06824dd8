/** The number of events per second, over the current window and the previous one. */
import { clock } from '../timers.js'

const WINDOW_MS = 2000

export class Rate {
  #from = clock.now()
  #count = 0
  #earlierFrom = this.#from
  #earlierCount = 0

  add(count: number): void {
    this.#turn()
    this.#count += count
  }

  get perSecond(): number {
    this.#turn()
    const elapsed = clock.now() - this.#earlierFrom
    return elapsed <= 0 ? 0 : ((this.#earlierCount + this.#count) * 1000) / elapsed
  }

  #turn(): void {
    const now = clock.now()
    if (now - this.#from < WINDOW_MS) return
    const idle = now - this.#from >= 2 * WINDOW_MS
    this.#earlierFrom = idle ? now - WINDOW_MS : this.#from
    this.#earlierCount = idle ? 0 : this.#count
    this.#from = now
    this.#count = 0
  }
}
