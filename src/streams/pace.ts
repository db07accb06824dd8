/** Divides a loop over many streams into turns of the event loop of about TURN_MS each. */
import { setImmediate as nextTurn } from 'node:timers/promises'

/** The length of a turn. With the garbage collector it can be up to 5 ms longer. */
const TURN_MS = 1
/** The number of steps between two calls of the clock. */
const STEPS_PER_LOOK = 32

export class Pace {
  #steps = 0
  #endMs = performance.now() + TURN_MS

  /** Must be called before each step. Returns whether this turn has no time for it: await `turn` first. */
  isOver(): boolean {
    return ++this.#steps % STEPS_PER_LOOK === 0 && performance.now() >= this.#endMs
  }

  /** Settles in the next turn of the event loop. */
  async turn(): Promise<void> {
    await nextTurn()
    this.#endMs = performance.now() + TURN_MS
  }
}
