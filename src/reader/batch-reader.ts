/** Iterates over the items of arrays that a generator yields. A generator that yields each item takes more time. */
import { atCaller } from '../caller-stack.js'
import { onAbort } from '../options/abort-signal.js'
import { Turns } from '../support/turns.js'
import { BufferedReader, DONE } from './buffered-reader.js'

/** The generator of a reader, and the signal that ends its waits. */
interface Feed {
  readonly batches: AsyncGenerator<unknown[], void, undefined>
  readonly stop: AbortController
  readonly forgetSignal: () => void
}

/** Ends the generators of readers that their callers have abandoned without `return`. */
const abandoned = new FinalizationRegistry<Feed>((feed) => void end(feed))

/** The reason of an abort that no caller sees. One error for all, because making an error takes time. */
const CLOSED = new Error('the reader was closed')

/** Not in the constructor of the reader, whose closures hold it: then no abandoned reader would be collected. */
function begin(make: (signal: AbortSignal) => Feed['batches'], signal: AbortSignal | undefined): Feed {
  const stop = new AbortController()
  if (signal?.aborted === true) stop.abort(signal.reason)
  const forgetSignal = onAbort(signal, () => stop.abort(signal?.reason))
  return { batches: make(stop.signal), stop, forgetSignal }
}

async function end({ batches, stop, forgetSignal }: Feed): Promise<void> {
  forgetSignal()
  stop.abort(CLOSED)
  // A wait that the signal has ended rejects the pending `next`; its caller handles that.
  await batches.return().catch(() => {})
}

export class BatchReader<T> extends BufferedReader<T> {
  readonly #feed: Feed
  /** Calls that wait for a batch are served in the order of the calls. */
  readonly #turns = new Turns()
  #batch: T[] = []
  #at = 0
  #ended: Promise<void> | undefined

  /** `make` must return a generator that throws soon after its signal is aborted. `signal` is that of the caller. */
  constructor(make: (signal: AbortSignal) => AsyncGenerator<T[], void, undefined>, signal: AbortSignal | undefined) {
    super({ nextLater: () => this.#nextLater(), take: (max) => this.#buffered(max) })
    this.#feed = begin(make, signal)
    abandoned.register(this, this.#feed)
  }

  #nextLater(): Promise<IteratorResult<T, undefined>> {
    return atCaller(this.#turns.take(() => this.#advance()))
  }

  nextBuffered(): T | undefined {
    if (this.#at === this.#batch.length || this.#turns.busy || this.#feed.stop.signal.aborted) return undefined
    return this.#batch[this.#at++]
  }

  async return(): Promise<IteratorResult<T, undefined>> {
    await this.#end()
    return DONE
  }

  #buffered(max: number): T[] {
    const { aborted } = this.#feed.stop.signal
    if (this.#turns.busy || aborted) return []
    const taken = this.#batch.slice(this.#at, this.#at + max)
    this.#at += taken.length
    return taken
  }

  async #advance(): Promise<IteratorResult<T, undefined>> {
    const { batches, stop } = this.#feed
    while (this.#ended === undefined) {
      if (this.#at < this.#batch.length && !stop.signal.aborted)
        return { done: false, value: this.#batch[this.#at++] as T }
      this.#drop()
      try {
        stop.signal.throwIfAborted()
        const next = await batches.next()
        if (next.done === true) await this.#end()
        else this.#batch = next.value as T[]
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
    this.#ended ??= end(this.#feed)
    return this.#ended
  }

  #drop(): void {
    this.#batch = []
    this.#at = 0
  }
}
