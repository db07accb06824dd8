/** Divides a loop over many streams or records into turns of the event loop of about SLICE_MS each. */
import { clock, nextTurn } from '../timers.js'

/** The length of a slice. With the garbage collector it can be up to 5 ms longer. */
const SLICE_MS = 1
/** The number of steps between two calls of the clock. */
const STEPS_PER_LOOK = 32

export class TimeSlice {
  #steps = 0
  #endMs = clock.now() + SLICE_MS

  /** Must be called before each step. Returns whether this turn has no time for it: await `nextTurn` first. */
  isOver(): boolean {
    return ++this.#steps % STEPS_PER_LOOK === 0 && this.isSpent
  }

  /** Like `isOver`, for a loop with long steps: looks at the clock in each step. */
  get isSpent(): boolean {
    return clock.now() >= this.#endMs
  }

  /** Settles in the next turn of the event loop. */
  async nextTurn(): Promise<void> {
    await nextTurn()
    this.#endMs = clock.now() + SLICE_MS
  }
}
