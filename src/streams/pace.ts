/** Divides a loop over many streams into turns of the event loop. */
import { setImmediate as nextTurn } from 'node:timers/promises'

const TURN_MS = 2
/** Steps between two looks at the clock. */
const STEPS_PER_LOOK = 32

export class Pace {
  #steps = 0
  #endMs = performance.now() + TURN_MS

  /** Call it before each step. Undefined if this turn has time for the step; otherwise await it first. */
  step(): Promise<void> | undefined {
    if (++this.#steps % STEPS_PER_LOOK !== 0 || performance.now() < this.#endMs) return undefined
    return this.#turn()
  }

  async #turn(): Promise<void> {
    await nextTurn()
    this.#endMs = performance.now() + TURN_MS
  }
}
