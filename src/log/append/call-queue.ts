/** The queue of calls that cannot go to the core yet. */

import { atCaller, GroupRejection } from '../../caller-stack.js'
import { type DurlogError, outcomeOfCall } from '../../errors.js'
import { onAbort } from '../../options/abort-signal.js'
import { LinkedQueue } from '../../support/linked-queue.js'
import { TimeSlice } from '../../support/time-slice.js'
import { queueMicrotask, setImmediate } from '../../timers.js'

/** A call that waits for room, or for all earlier calls to settle. */
export interface QueuedCall {
  /** Whether the call stays in the queue if a commit fails while it waits. */
  readonly outlivesFailure: boolean
  /** Starts the call if possible. Returns true once the call may leave the queue. Runs no code of the caller. */
  admit(): boolean
  /** Ends the call with the result of `rejection`, because a commit failed. The call is no longer in the queue. */
  fail(rejection: () => Promise<never>): void
}

export type HeldKind = 'append' | 'sync' | 'drain'

export interface HoldOptions {
  /** Removes the call from the queue when it is aborted. */
  signal?: AbortSignal | undefined
  /** Is called once, when the call has left the queue. */
  onLeft?(): void
}

/**
 * Waiting calls, in the order in which they were made: no call starts before an earlier one. A failure that is reported
 * while a call is being admitted takes effect after the `admit` of that call has returned.
 */
export class CallQueue {
  readonly #calls = new LinkedQueue<QueuedCall>()
  #admitting = false
  /** The calls of this turn have used up its time: no call starts before the next turn. */
  #resting = false
  /** The first failure reported while a call was being admitted. */
  #failure: DurlogError | undefined
  readonly #onReady: () => void
  /** The number of waiting appends. */
  appends = 0

  /**
   * `onReady` is called when the next call may be able to start: an aborted signal has removed a call, or a new turn of
   * the event loop has begun after `admit` used up the time of one.
   */
  constructor(onReady: () => void) {
    this.#onReady = onReady
  }

  get size(): number {
    return this.#calls.size
  }

  push(call: QueuedCall): void {
    this.#calls.push(call)
  }

  /**
   * Starts the calls that can start, as far as the time of this turn allows; `onReady` continues. A nested invocation
   * does nothing, because the outer one continues.
   */
  admit(): void {
    if (!this.#resting && this.#calls.size > 0) this.#admitWithin(new TimeSlice())
  }

  /** Starts every call that can start. */
  admitAll(): void {
    this.#admitWithin(undefined)
  }

  #admitWithin(slice: TimeSlice | undefined): void {
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
        void this.#failAll(failure)
        admitted = true
      }
      if (admitted && slice?.isSpent) {
        this.#rest()
        admitted = false
      }
    }
    this.#admitting = false
  }

  #rest(): void {
    this.#resting = true
    setImmediate(() => {
      this.#resting = false
      this.#onReady()
    })
  }

  /** Fails every waiting call, except calls with `outlivesFailure` and a call that is being admitted and starts. */
  fail(error: DurlogError): void {
    if (this.#admitting) this.#failure ??= error
    else void this.#failAll(error)
  }

  /** Empties the queue before the first call fails, because the caller's code may add to it. Never rejects. */
  async #failAll(error: DurlogError): Promise<void> {
    const failed = this.#calls.removeIf((call) => !call.outlivesFailure)
    const group = new GroupRejection()
    const slice = new TimeSlice()
    for (const call of failed) {
      if (slice.isOver()) await slice.nextTurn()
      call.fail(() => group.rejection(error))
    }
  }

  /**
   * Calls `start` when its turn has come, and again at each `admit` until it returns a promise. A commit that fails
   * while the call waits fails it, unless it is a drain.
   */
  hold<T>(start: () => Promise<T> | undefined, kind: HeldKind, { signal, onLeft }: HoldOptions = {}): Promise<T> {
    const count = kind === 'append' ? 1 : 0
    this.appends += count
    return new Promise((resolve, reject) => {
      let left = false
      const leave = (): void => {
        left = true
        this.appends -= count
        onLeft?.()
        unwatch()
      }
      const unwatch = onAbort(signal, () => {
        const wasNext = this.#calls.peek() === call
        leave()
        remove()
        reject(signal?.reason)
        // After the other calls with this signal have left too: none of them may start.
        if (wasNext) queueMicrotask(this.#onReady)
      })
      const call: QueuedCall = {
        outlivesFailure: kind === 'drain',
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
      }
      const remove = this.#calls.push(call)
    })
  }
}
