/** Iterates over the items of arrays that a generator yields. A generator that yields each item takes more time. */
import type { Readable } from 'node:stream'
import { atCaller } from '../caller-stack.js'
import { onAbort } from '../options/abort-signal.js'
import { Turns } from '../support/turns.js'
import type { RecordBatches, RecordReader } from '../types.js'
import { ReaderBatches } from './batches.js'
import { toReadable } from './readable.js'

const DONE: IteratorReturnResult<undefined> = { done: true, value: undefined }

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

async function end({ batches, stop, forgetSignal }: Feed): Promise<void> {
  forgetSignal()
  stop.abort(CLOSED)
  // A wait that the signal has ended rejects the pending `next`; its caller handles that.
  await batches.return().catch(() => {})
}

export class BatchReader<T> implements RecordReader<T> {
  readonly #feed: Feed
  /** Calls that wait for a batch are served in the order of the calls. */
  readonly #turns = new Turns()
  #batch: T[] = []
  #at = 0
  #ended: Promise<void> | undefined

  /** `make` must return a generator that throws soon after its signal is aborted. `signal` is that of the caller. */
  constructor(make: (signal: AbortSignal) => AsyncGenerator<T[], void, undefined>, signal: AbortSignal | undefined) {
    const stop = new AbortController()
    if (signal?.aborted === true) stop.abort(signal.reason)
    const forgetSignal = onAbort(signal, () => stop.abort(signal?.reason))
    this.#feed = { batches: make(stop.signal), stop, forgetSignal }
    abandoned.register(this, this.#feed)
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<IteratorResult<T, undefined>> {
    const item = this.nextBuffered()
    if (item !== undefined) return Promise.resolve({ done: false, value: item })
    return atCaller(this.#turns.take(() => this.#advance()))
  }

  nextBuffered(): T | undefined {
    if (this.#at === this.#batch.length || this.#turns.busy || this.#feed.stop.signal.aborted) return undefined
    return this.#batch[this.#at++]
  }

  batches(maxRecords?: number): RecordBatches<T> {
    return new ReaderBatches<T>(this, (max) => this.#buffered(max), maxRecords)
  }

  readable(options?: { highWaterMark?: number | undefined }): Readable {
    return toReadable(this, options)
  }

  async return(): Promise<IteratorResult<T, undefined>> {
    await this.#end()
    return DONE
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end()
  }

  /** Takes at most `max` of the decoded records. */
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
