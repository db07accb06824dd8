/**
 * A call during which no other call may run, such as a truncation. It keeps its place in the queue until it has ended.
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
   * Starts `work`, which never rejects, at the first `admit` for which `ready` is true; calls `onEnd` when it has
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
