/** The source of readers that deliver only replicated records. */
import type { NativeLogReader } from '../native/reading.js'
import type { ReadCounts, ReadRange, ReadSource } from '../reader/read-source.js'
import type { Truncation } from '../reader/truncation.js'
import type { Replication } from './replication.js'

export class ReplicatedSource implements ReadSource {
  readonly #source: ReadSource
  readonly #replication: Pick<Replication, 'end'>
  readonly #waiting = new Set<() => void>()

  constructor(source: ReadSource, replication: Pick<Replication, 'end'>) {
    this.#source = source
    this.#replication = replication
  }

  get dir(): string {
    return this.#source.dir
  }

  get uuid(): string {
    return this.#source.uuid
  }

  get salvage(): boolean {
    return this.#source.salvage
  }

  get counts(): ReadCounts {
    return this.#source.counts
  }

  get lastTruncation(): Truncation {
    return this.#source.lastTruncation
  }

  get ended(): boolean {
    return this.#source.ended
  }

  look(): void {
    this.#source.look()
  }

  settled(): Promise<void> {
    return this.#source.settled()
  }

  hold(): () => void {
    return this.#source.hold()
  }

  limitFor(seq: number): number {
    return Math.min(this.#source.limitFor(seq), this.#replication.end)
  }

  async range(): Promise<ReadRange> {
    const range = await this.#source.range(true)
    return { ...range, limit: Math.min(range.limit, this.#replication.end) }
  }

  seqs(): { first: number; next: number } {
    return this.#source.seqs()
  }

  followLimit(): number {
    return Math.min(this.#source.followLimit(true), this.#replication.end)
  }

  onMore(
    reader: Pick<NativeLogReader, 'poll'>,
    limit: number,
    _durableOnly: boolean,
    done: (error?: unknown) => void,
  ): () => void {
    const wake = (error?: unknown): void => {
      cancel()
      done(error)
    }
    // Also called when the log is truncated or closed.
    const cancelOther = this.#source.onMore(reader, limit, true, wake)
    this.#waiting.add(wake)
    const cancel = (): void => {
      cancelOther()
      this.#waiting.delete(wake)
    }
    return cancel
  }

  /** More records are replicated. */
  wake(): void {
    for (const wake of [...this.#waiting]) wake()
  }
}
