/** Iterates over the items of arrays that a generator yields. A generator that yields each item takes more time. */
import { atCaller } from '../caller-stack.js'
import { onAbort } from '../options/abort-signal.js'
import { Turns } from '../support/turns.js'
import { BufferedReader, DONE } from './buffered-reader.js'

type Generator<T> = AsyncGenerator<T[], void, undefined>

/** The reason of an abort that no caller sees. One error for all, because making an error takes time. */
const CLOSED = new Error('the reader was closed')

/**
 * The generator of a reader, and the signal that ends its waits. Must not refer to the reader: then no abandoned reader
 * would be collected.
 */
class Feed<T> {
  /** Whether the generator's signal is aborted. The signal has the same property, which takes longer than a record. */
  isStopped = false
  readonly batches: Generator<T>
  readonly #stop = new AbortController()
  readonly #forgetSignal: () => void
  #hasReturned = false

  constructor(make: (signal: AbortSignal) => Generator<T>, signal: AbortSignal | undefined) {
    if (signal?.aborted === true) this.#abort(signal.reason)
    this.#forgetSignal = onAbort(signal, () => this.#abort(signal?.reason))
    this.batches = make(this.#stop.signal)
  }

  throwIfStopped(): void {
    this.#stop.signal.throwIfAborted()
  }

  /** To be called when the generator has returned: then `end` does nothing, because an abort takes 20 us. */
  returned(): void {
    this.#hasReturned = true
    this.#forgetSignal()
  }

  async end(): Promise<void> {
    if (this.#hasReturned) return
    this.#forgetSignal()
    this.#abort(CLOSED)
    // A wait that the signal has ended rejects the pending `next`; its caller handles that.
    await this.batches.return().catch(() => {})
  }

  #abort(reason: unknown): void {
    this.isStopped = true
    this.#stop.abort(reason)
  }
}

/** Ends the generators of readers that their callers have abandoned without `return`. */
const abandoned = new FinalizationRegistry<Feed<unknown>>((feed) => void feed.end())

export class BatchReader<T> extends BufferedReader<T> {
  readonly #feed: Feed<T>
  /** Calls that wait for a batch are served in the order of the calls. */
  readonly #turns = new Turns()
  #batch: T[] = []
  #at = 0
  #ended: Promise<void> | undefined

  /** `make` must return a generator that throws soon after its signal is aborted. `signal` is that of the caller. */
  constructor(make: (signal: AbortSignal) => Generator<T>, signal: AbortSignal | undefined) {
    super({ nextLater: () => this.#nextLater(), take: (max) => this.#buffered(max) })
    this.#feed = new Feed(make, signal)
    abandoned.register(this, this.#feed, this)
  }

  #nextLater(): Promise<IteratorResult<T, undefined>> {
    return atCaller(this.#turns.take(() => this.#advance()))
  }

  nextBuffered(): T | undefined {
    if (this.#at === this.#batch.length || this.#turns.busy || this.#feed.isStopped) return undefined
    return this.#batch[this.#at++]
  }

  async return(): Promise<IteratorResult<T, undefined>> {
    await this.#end()
    return DONE
  }

  #buffered(max: number): T[] {
    if (this.#turns.busy || this.#feed.isStopped) return []
    const taken = this.#batch.slice(this.#at, this.#at + max)
    this.#at += taken.length
    return taken
  }

  async #advance(): Promise<IteratorResult<T, undefined>> {
    const feed = this.#feed
    while (this.#ended === undefined) {
      if (this.#at < this.#batch.length && !feed.isStopped) return { done: false, value: this.#batch[this.#at++] as T }
      this.#drop()
      try {
        feed.throwIfStopped()
        const next = await feed.batches.next()
        if (next.done === true) {
          feed.returned()
          await this.#end()
        } else this.#batch = next.value
      } catch (error) {
        if (this.#ended !== undefined) break
        await this.#end()
        throw error
      }
    }
    return DONE
  }

  #end(): Promise<void> {
    this.#drop()
    abandoned.unregister(this)
    this.#ended ??= this.#feed.end()
    return this.#ended
  }

  #drop(): void {
    this.#batch = []
    this.#at = 0
  }
}
