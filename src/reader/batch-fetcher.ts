/** Fetches the batches of a reader from the core, one batch ahead of the caller. */
import { native } from '../native/native.js'
import { BATCH_NUMBER_COUNT, BatchNumber, type NativeLogReader } from '../native/reading.js'
import type { BatchMemory } from './batch-memory.js'
import type { ReadSource } from './read-source.js'

/**
 * A follower with at most this many records to read takes records that are in the page cache without a worker thread.
 */
const MAX_CACHED_RECORDS = 256
/** After this many such batches, a worker thread reads one batch, so that the event loop turns. */
const MAX_CACHED_IN_ROW = 64

/** A batch of records, by the members of `BatchNumber`. */
export type ReadBatch = Record<keyof typeof BatchNumber, number>

export interface Fetch {
  promise: Promise<ReadBatch>
  buffer: Buffer
  entries: Uint32Array
  limit: number
}

export class BatchFetcher {
  readonly reader: NativeLogReader
  readonly memory: BatchMemory
  readonly #follows: boolean
  /** The batch that was requested but not taken yet. */
  #fetch: Fetch | undefined
  /** The number of batches since the last batch from a worker thread. */
  #cachedInRow = 0
  /** Filled by each read of the core. */
  readonly #numbers = new Float64Array(BATCH_NUMBER_COUNT)

  private constructor(reader: NativeLogReader, memory: BatchMemory, follows: boolean) {
    this.reader = reader
    this.memory = memory
    this.#follows = follows
  }

  /** Opens a reader of the core for the log of `source`, from `seq` on. */
  static async open(
    { dir, uuid }: ReadSource,
    seq: number,
    memory: BatchMemory,
    follows: boolean,
  ): Promise<BatchFetcher> {
    return new BatchFetcher(await native.openLogReader(dir, seq, uuid), memory, follows)
  }

  /**
   * Requests the batch of records from `position` to below `limit`. If a batch is already requested, returns that one.
   */
  request(position: number, limit: number): Fetch {
    if (this.#fetch !== undefined) return this.#fetch
    const { buffer, entries } = this.memory.take()
    // The request is not limited by the option `to`: an atomic batch of which `to` includes a part is read whole.
    const isNear = limit !== -1 && limit - position <= MAX_CACHED_RECORDS
    const mayStay = this.#follows && isNear && this.#cachedInRow < MAX_CACHED_IN_ROW
    const isCached = mayStay && this.reader.nextCached(buffer, entries, limit, this.#numbers)
    this.#cachedInRow = isCached ? this.#cachedInRow + 1 : 0
    const promise = isCached ? Promise.resolve(this.#batch()) : this.#next(buffer, entries, limit)
    promise.catch(() => {}) // take() reports the error
    this.#fetch = { promise, buffer, entries, limit }
    return this.#fetch
  }

  async #next(buffer: Buffer, entries: Uint32Array, limit: number): Promise<ReadBatch> {
    await this.reader.next(buffer, entries, limit, this.#numbers)
    return this.#batch()
  }

  #batch(): ReadBatch {
    const numbers = this.#numbers
    return {
      count: numbers[BatchNumber.count] as number,
      firstSeq: numbers[BatchNumber.firstSeq] as number,
      nextSeq: numbers[BatchNumber.nextSeq] as number,
      baseTimeMs: numbers[BatchNumber.baseTimeMs] as number,
      needBytes: numbers[BatchNumber.needBytes] as number,
    }
  }

  async take(fetch: Fetch): Promise<ReadBatch> {
    try {
      const batch = await fetch.promise
      if (batch.count === 0) this.memory.giveBack(fetch.entries)
      return batch
    } finally {
      this.#fetch = undefined
    }
  }

  /** Closes the core's reader after its pending call has returned. */
  async close(): Promise<void> {
    await this.#fetch?.promise.catch(() => {})
    this.reader.close()
  }
}
