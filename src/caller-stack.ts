/** Gives errors that are reported after a call has returned the stack of the call. */
import { DurlogError } from './errors.js'

/** If more calls than this fail together, the later ones share one error: a separate error takes about 10 us. */
const MAX_OWN_ERRORS = 1024

/**
 * Returns the result of `work`. If `work` rejects with a DurlogError, rejects with a copy of that error whose stack
 * names the functions that await the result. The core's errors have no stack, and the stack of an error that several
 * calls share cannot name every caller.
 */
export async function atCaller<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    // If the caller resolved another promise with this promise, V8 links the two in the next microtask. Before that it
    // cannot find the functions that await the other promise.
    await undefined
    throw error instanceof DurlogError ? new DurlogError(error.code, error.message, error) : error
  }
}

/**
 * The rejections of calls that fail together. Call `rejection` once for each call: it returns the result of that call.
 */
export class GroupRejection {
  #own = 0
  #error: DurlogError | undefined
  #rejection: Promise<never> | undefined

  rejection(error: DurlogError): Promise<never> {
    if (this.#rejection === undefined || this.#error !== error || this.#own < MAX_OWN_ERRORS) {
      this.#own++
      this.#error = error
      this.#rejection = atCaller(Promise.reject(error))
    }
    return this.#rejection
  }
}
