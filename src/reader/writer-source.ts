import { Counter, type NativeLog } from '../native/log.js'
import { native } from '../native/native.js'
import { LaterCuts } from './later-cuts.js'
import { checkHeld, type ReadCounts, type ReadRange, type ReadSource } from './read-source.js'
import { Truncation } from './truncation.js'

/**
 * The source of a log that only this process writes. Its bounds are the core's counters; `wake` notifies its followers.
 */
export class WriterSource implements ReadSource {
  readonly dir: string
  readonly uuid: string
  readonly salvage: boolean
  readonly counts: ReadCounts = { readRecords: 0, readBytes: 0 }
  readonly #counters: Float64Array
  readonly #waiting = new Set<() => void>()
  lastTruncation: Truncation = new Truncation(Number.POSITIVE_INFINITY)
  ended = false
  #cutting: Promise<unknown> = Promise.resolve()
  readonly #laterCuts = new LaterCuts()
  /** The lowest next seq after a cut by another writer. */
  #cutEnd = Number.POSITIVE_INFINITY

  constructor(dir: string, salvage: boolean, { uuid, counters }: NativeLog) {
    this.dir = dir
    this.uuid = uuid
    this.salvage = salvage
    this.#counters = counters
  }

  hold(): () => void {
    return this.#laterCuts.hold()
  }

  /** The log is about to be closed. Must be called before other writers can open it. */
  beforeClose(): void {
    if (!this.#laterCuts.hasReaders) return
    try {
      this.#laterCuts.begin(() => native.openLivePage(this.dir, () => {}))
    } catch {
      // Without a file descriptor for the page, the readers find no later cut.
    }
  }

  look(): void {
    const cut = this.#laterCuts.take()
    if (cut === Number.POSITIVE_INFINITY) return
    this.#cutEnd = Math.min(this.#cutEnd, cut)
    this.lastTruncation = this.lastTruncation.followedBy(cut)
  }

  async settled(): Promise<void> {
    await this.#cutting
  }

  limitFor(seq: number): number {
    const limit = this.followLimit(false)
    checkHeld(seq, this.#counters[Counter.firstSeq] as number, limit)
    return limit
  }

  async range(durableOnly: boolean): Promise<ReadRange> {
    const pendingEnd = Math.min(this.#counters[Counter.nextSeq] as number, this.#cutEnd)
    return { limit: this.followLimit(durableOnly), pendingEnd, ...this.seqs() }
  }

  seqs(): { first: number; next: number } {
    return { first: this.#counters[Counter.firstSeq] as number, next: this.followLimit(false) }
  }

  followLimit(durableOnly: boolean): number {
    return Math.min(this.#counters[durableOnly ? Counter.syncedEnd : Counter.memoryEnd] as number, this.#cutEnd)
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
