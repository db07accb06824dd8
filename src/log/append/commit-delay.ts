import { clock, setImmediate, setTimeout } from '../../timers.js'

/** Waits for more appends to join a commit before it starts: `commitDelayMicros`. */
export class CommitDelay {
  readonly #micros: number
  readonly #start: () => void
  #waiting = false

  constructor(micros: number, start: () => void) {
    this.#micros = micros
    this.#start = start
  }

  /** Starts a commit after the delay, unless a commit is already waiting for its delay. */
  request(): void {
    if (this.#waiting) return
    this.#waiting = true
    if (this.#micros >= 1000) {
      setTimeout(this.#startNow, Math.round(this.#micros / 1000))
      return
    }
    // Timers have a resolution of one millisecond. For a shorter delay, check the clock in every turn of the event
    // loop.
    const due = clock.now() + this.#micros / 1000
    const turn = (): void => {
      if (clock.now() >= due) this.#startNow()
      else setImmediate(turn)
    }
    setImmediate(turn)
  }

  readonly #startNow = (): void => {
    this.#waiting = false
    this.#start()
  }
}
