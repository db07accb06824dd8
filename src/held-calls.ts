import { Deque } from './deque.js'
import { type DurlogError, outcomeOfCall } from './errors.js'

/** A call that waits for its turn: for room, or for everything before it to settle. */
export interface HeldCall {
  /** Goes on if it can; true once it needs its place no more. */
  admit(): boolean
  /** A commit failed; true if the call failed with it. */
  fail(error: DurlogError): boolean
}

/** Held calls, in the order in which they were made: none goes on before the one in front of it. */
export class HeldCalls {
  #calls = new Deque<HeldCall>()
  #admitting = false
  readonly #onLeft: () => void

  /** Calls `onLeft` when one has given up its place, which may be what the next one waits for. */
  constructor(onLeft: () => void) {
    this.#onLeft = onLeft
  }

  get size(): number {
    return this.#calls.size
  }

  push(call: HeldCall): void {
    this.#calls.push(call)
  }

  /** Lets go on whatever can; false where that is being done already, by somebody who calls this. */
  admit(): boolean {
    if (this.#admitting) return false
    this.#admitting = true
    while (this.#calls.peek()?.admit()) this.#calls.shift()
    this.#admitting = false
    return true
  }

  /** Drops every call that fails with the commit that failed. */
  fail(error: DurlogError): void {
    const kept = new Deque<HeldCall>()
    for (let call = this.#calls.shift(); call !== undefined; call = this.#calls.shift()) {
      if (!call.fail(error)) kept.push(call)
    }
    this.#calls = kept
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
        signal?.removeEventListener('abort', onAbort)
      }
      const onAbort = (): void => {
        leave()
        reject(signal?.reason)
        this.#onLeft()
      }
      signal?.addEventListener('abort', onAbort)
      this.push({
        admit: () => {
          if (left) return true
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
          if (left) return true
          if (outlivesFailure) return false
          leave()
          reject(error)
          return true
        },
      })
    })
  }
}
