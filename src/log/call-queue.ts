/** The queue of calls that cannot go to the core yet. */

import { type DurlogError, outcomeOfCall } from '../errors.js'
import { onAbort } from '../options/abort-signal.js'
import { LinkedQueue } from './linked-queue.js'

/** A call that waits for room, or for everything before it to settle. */
export interface QueuedCall {
  /** The call is not failed by a commit that fails while it waits. */
  readonly outlivesFailure: boolean
  /** Starts the call if possible; true once it may leave the queue. Runs no code of the caller. */
  admit(): boolean
  /** A commit failed; the call is no longer in the queue. */
  fail(error: DurlogError): void
}

/**
 * Calls that wait, in the order in which they were made: none starts before the one in front of it. A failure that is
 * reported while a call is being admitted takes effect after its `admit` has returned.
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
      // It has left if its signal was aborted while it was admitted.
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

  /** The queue is consistent before the first call fails: a caller's code may add to it. */
  #failAll(error: DurlogError): void {
    const failed = this.#calls.removeIf((call) => !call.outlivesFailure)
    for (const call of failed) call.fail(error)
  }

  /**
   * Calls `start` when its turn has come, and again at each `admit` while it returns undefined. With
   * `outlivesFailure` it isn't failed by a commit that fails meanwhile.
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
            reject(outcomeOfCall(error))
          }
          return true
        },
        fail: (error) => {
          if (left) return
          leave()
          reject(error)
        },
      })
    })
  }
}
