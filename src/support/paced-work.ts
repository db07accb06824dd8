/** Runs short pieces of work in the order of their calls, for about a millisecond in each turn of the event loop. */
import { nextTick, queueMicrotask, setImmediate } from '../timers.js'
import { LinkedQueue } from './linked-queue.js'
import { TimeSlice } from './time-slice.js'

export class PacedWork {
  readonly #waiting = new LinkedQueue<() => void>()
  #slice = new TimeSlice()
  #isRunning = false

  /** Runs `piece`: within this call if no other piece waits and this turn has time left. */
  run(piece: () => void): void {
    this.#waiting.push(piece)
    if (this.#isRunning) return
    this.#isRunning = true
    this.#continue()
  }

  readonly #continue = (): void => {
    if (this.#slice.isSpent) setImmediate(this.#beginSlice)
    else this.#runNext()
  }

  readonly #beginSlice = (): void => {
    this.#slice = new TimeSlice()
    this.#runNext()
  }

  readonly #runNext = (): void => {
    const piece = this.#waiting.shift()
    this.#isRunning = piece !== undefined
    if (piece === undefined) return
    try {
      piece()
    } finally {
      // The next one begins after all that this one continues in this turn, so that the time of that counts too.
      queueMicrotask(this.#runLater)
    }
  }

  readonly #runLater = (): void => nextTick(this.#continue)
}
