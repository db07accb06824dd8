/** Gives errors that are reported after a call has returned the stack of the call. */
import { DurlogError } from './errors.js'

/** So many calls that fail together get an error each, which takes about 10 us. The others share one. */
const MAX_OWN_ERRORS = 1024

/**
 * The result of `work`. If it rejects with a DurlogError, rejects with a copy whose stack names the functions that await
 * the result. The core's errors have no stack, and an error that several calls share cannot name the caller of each.
 */
export async function atCaller<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    // A promise that was resolved with this one is linked to it in the next microtask. V8 finds its awaiters only then.
    await undefined
    throw error instanceof DurlogError ? new DurlogError(error.code, error.message, error) : error
  }
}

/** Calls that fail together: `rejection` is the result of one of them. */
export class JointFailure {
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
