/** Fetches the batches of a reader from the core, one batch ahead of the caller. */
import { native } from '../native/native.js'
import type { NativeBatch, NativeLogReader } from '../native/reading.js'
import type { BatchMemory } from './batch-memory.js'
import type { ReadSource } from './read-source.js'

/**
 * A follower with at most this many records to read takes records that are in the page cache without a worker thread.
 */
const MAX_CACHED_RECORDS = 256
/** After this many such batches, a worker thread reads one batch, so that the event loop turns. */
const MAX_CACHED_IN_ROW = 64

export interface Fetch {
  promise: Promise<NativeBatch>
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
    const cached = mayStay ? this.reader.nextCached(buffer, entries, limit) : undefined
    this.#cachedInRow = cached === undefined ? 0 : this.#cachedInRow + 1
    const promise = cached === undefined ? this.reader.next(buffer, entries, limit) : Promise.resolve(cached)
    promise.catch(() => {}) // take() reports the error
    this.#fetch = { promise, buffer, entries, limit }
    return this.#fetch
  }

  async take(fetch: Fetch): Promise<NativeBatch> {
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
