/**
 * A call during which no other call may run, such as a truncation. It stays in the queue, and so blocks later calls, until it
 * has ended.
 */
import type { QueuedCall } from './call-queue.js'

export class ExclusiveCall implements QueuedCall {
  /** A commit that fails before the call starts does not fail it. */
  readonly outlivesFailure = true
  readonly #ready: () => boolean
  readonly #work: () => Promise<void>
  readonly #onEnd: () => void
  #state: 'waiting' | 'running' | 'ended' = 'waiting'

  /**
   * `work` starts at the first `admit` at which `ready` returns true, and must never reject. `onEnd` is called when `work` has
   * ended.
   */
  constructor(ready: () => boolean, work: () => Promise<void>, onEnd: () => void) {
    this.#ready = ready
    this.#work = work
    this.#onEnd = onEnd
  }

  admit(): boolean {
    if (this.#state === 'waiting' && this.#ready()) {
      this.#state = 'running'
      void this.#work().then(() => {
        this.#state = 'ended'
        this.#onEnd()
      })
    }
    return this.#state === 'ended'
  }

  fail(): void {}
}
