/** Divides a loop over many streams into turns of the event loop of about TURN_MS each. */
import { setImmediate as nextTurn } from 'node:timers/promises'

/** The length of a turn. With the garbage collector it can be up to 5 ms longer. */
const TURN_MS = 1
/** The number of steps between two calls of the clock. */
const STEPS_PER_LOOK = 32

export class Pace {
  #steps = 0
  #endMs = performance.now() + TURN_MS

  /**
   * Must be called before each step. Returns undefined if the step may run in this turn, otherwise a promise to await
   * before the step.
   */
  step(): Promise<void> | undefined {
    if (++this.#steps % STEPS_PER_LOOK !== 0 || performance.now() < this.#endMs) return undefined
    return this.#turn()
  }

  async #turn(): Promise<void> {
    await nextTurn()
    this.#endMs = performance.now() + TURN_MS
  }
}
