import { Counter } from '../native/log.js'
import { checkHeld, type ReadCounts, type ReadSource } from './read-source.js'
import { Truncation } from './truncation.js'

/** The source of a log that only this process writes. Its bounds are the core's counters; `wake` notifies its followers. */
export class WriterSource implements ReadSource {
  readonly dir: string
  readonly salvage: boolean
  readonly counts: ReadCounts = { readRecords: 0, readBytes: 0 }
  readonly #counters: Float64Array
  readonly #waiting = new Set<() => void>()
  lastTruncation: Truncation = new Truncation(Number.POSITIVE_INFINITY)
  ended = false
  #cutting: Promise<unknown> = Promise.resolve()

  constructor(dir: string, salvage: boolean, counters: Float64Array) {
    this.dir = dir
    this.salvage = salvage
    this.#counters = counters
  }

  look(): void {}

  async settled(): Promise<void> {
    await this.#cutting
  }

  limitFor(seq: number): number {
    const limit = this.#counters[Counter.memoryEnd] as number
    checkHeld(seq, this.#counters[Counter.firstSeq] as number, limit)
    return limit
  }

  async range(durableOnly: boolean): Promise<{ first: number; limit: number; next: number }> {
    return { ...this.seqs(), limit: this.followLimit(durableOnly) }
  }

  seqs(): { first: number; next: number } {
    const first = this.#counters[Counter.firstSeq] as number
    return { first, next: this.#counters[Counter.memoryEnd] as number }
  }

  followLimit(durableOnly: boolean): number {
    return this.#counters[durableOnly ? Counter.syncedEnd : Counter.memoryEnd] as number
  }

  onMore(_reader: unknown, _limit: number, _durableOnly: boolean, done: () => void): () => void {
    this.#waiting.add(done)
    return () => this.#waiting.delete(done)
  }

  wake(): void {
    if (this.#waiting.size === 0) return
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const done of waiting) done()
  }

  /** Awaits `truncation` and returns its result. Notifies the readers before the promise of the caller settles. */
  async cut(truncation: Promise<number>): Promise<number> {
    this.#cutting = truncation.catch(() => {})
    const nextSeq = await truncation
    this.lastTruncation = this.lastTruncation.followedBy(nextSeq)
    this.wake()
    return nextSeq
  }

  end(): void {
    this.ended = true
    this.wake()
  }
}
