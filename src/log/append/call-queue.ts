/** The queue of calls that cannot go to the core yet. */

import { atCaller, JointFailure } from '../../caller-stack.js'
import { type DurlogError, outcomeOfCall } from '../../errors.js'
import { onAbort } from '../../options/abort-signal.js'
import { LinkedQueue } from './linked-queue.js'

/** A call that waits for room, or for everything before it to settle. */
export interface QueuedCall {
  /** If a commit fails while the call waits, the call does not fail. */
  readonly outlivesFailure: boolean
  /** Starts the call if possible; true once it may leave the queue. Runs no code of the caller. */
  admit(): boolean
  /** A commit failed; the call is no longer in the queue. `rejection` makes its result. */
  fail(rejection: () => Promise<never>): void
}

/**
 * Waiting calls, in the order in which they were made: none starts before the previous one. A failure that is reported
 * while a call is being admitted takes effect after its `admit` has returned.
 */
export class CallQueue {
  readonly #calls = new LinkedQueue<QueuedCall>()
  #admitting = false
  /** The first failure reported while a call was being admitted. */
  #failure: DurlogError | undefined
  readonly #onLeft: () => void

  /** Calls `onLeft` when a signal has removed a call: the next one may be able to start. */
  constructor(onLeft: () => void) {
    this.#onLeft = onLeft
  }

  get size(): number {
    return this.#calls.size
  }

  push(call: QueuedCall): void {
    this.#calls.push(call)
  }

  /** Starts every call that can start. A nested call does nothing, as the outer one continues. */
  admit(): void {
    if (this.#admitting) return
    this.#admitting = true
    for (let admitted = true; admitted; ) {
      const call = this.#calls.peek()
      admitted = call?.admit() ?? false
      // The call has already left if its signal was aborted during `admit`.
      if (admitted && this.#calls.peek() === call) this.#calls.shift()
      const failure = this.#failure
      this.#failure = undefined
      if (failure !== undefined) {
        this.#failAll(failure)
        admitted = true
      }
    }
    this.#admitting = false
  }

  /** Fails every waiting call, except those that outlive it and one that is being admitted and starts. */
  fail(error: DurlogError): void {
    if (this.#admitting) this.#failure ??= error
    else this.#failAll(error)
  }

  /** Empties the queue before the first call fails, because the caller's code may add to it. */
  #failAll(error: DurlogError): void {
    const failed = this.#calls.removeIf((call) => !call.outlivesFailure)
    const joint = new JointFailure()
    for (const call of failed) call.fail(() => joint.rejection(error))
  }

  /**
   * Calls `start` when its turn has come, and again at each `admit` while it returns undefined. With `outlivesFailure`,
   * a commit that fails meanwhile does not fail the call.
   */
  hold<T>(start: () => Promise<T> | undefined, signal?: AbortSignal, outlivesFailure = false): Promise<T> {
    return new Promise((resolve, reject) => {
      let left = false
      const leave = (): void => {
        left = true
        unwatch()
      }
      const unwatch = onAbort(signal, () => {
        leave()
        remove()
        reject(signal?.reason)
        this.#onLeft()
      })
      const remove = this.#calls.push({
        outlivesFailure,
        admit: () => {
          try {
            const promise = start()
            if (promise === undefined) return false
            leave()
            resolve(promise)
          } catch (error) {
            leave()
            resolve(atCaller(Promise.reject(outcomeOfCall(error))))
          }
          return true
        },
        fail: (rejection) => {
          if (left) return
          leave()
          resolve(rejection())
        },
      })
    })
  }
}
