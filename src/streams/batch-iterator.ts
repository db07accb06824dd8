/** Iterates over the items of arrays that a generator yields. A generator that yields each item takes more time. */
import { Turns } from '../turns.js'

export class BatchIterator<T> implements AsyncGenerator<T, void, undefined> {
  readonly #batches: AsyncGenerator<T[], void, undefined>
  readonly #signal: AbortSignal | undefined
  /** Calls that wait for a batch are served in the order of the calls. */
  readonly #turns = new Turns()
  #batch: T[] = []
  #at = 0

  /** `batches` must throw when it is continued after `signal` was aborted. */
  constructor(batches: AsyncGenerator<T[], void, undefined>, signal: AbortSignal | undefined) {
    this.#batches = batches
    this.#signal = signal
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<IteratorResult<T, void>> {
    if (this.#at < this.#batch.length && !this.#turns.busy && this.#signal?.aborted !== true)
      return Promise.resolve({ done: false, value: this.#batch[this.#at++] as T })
    return this.#turns.take(() => this.#advance())
  }

  async #advance(): Promise<IteratorResult<T, void>> {
    while (this.#at === this.#batch.length || this.#signal?.aborted === true) {
      this.#drop()
      const next = await this.#batches.next()
      if (next.done === true) return next
      this.#batch = next.value
    }
    return { done: false, value: this.#batch[this.#at++] as T }
  }

  return(): Promise<IteratorResult<T, void>> {
    return this.#turns.take(() => {
      this.#drop()
      return this.#batches.return() as Promise<IteratorReturnResult<void>>
    })
  }

  throw(error: unknown): Promise<IteratorResult<T, void>> {
    return this.#turns.take(() => {
      this.#drop()
      return this.#batches.throw(error) as Promise<IteratorReturnResult<void>>
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return()
  }

  #drop(): void {
    this.#batch = []
    this.#at = 0
  }
}
