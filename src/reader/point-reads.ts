/** Reads single records by seq, and delays trims and truncations of this process until those reads have ended. */
import { DurlogError } from '../errors.js'
import { native } from '../native/native.js'
import type { NativePointReader } from '../native/reading.js'
import type { LogRecord } from '../types.js'
import type { ReadSource } from './read-source.js'

/**
 * The number of consecutive reads that this thread makes from the page cache. Such a read takes less time than a
 * handover to a worker, but a caller that awaits one record after another would block the event loop without a limit.
 */
const MAX_CACHED_IN_ROW = 64

export class PointReads {
  readonly #native: NativePointReader
  readonly #source: ReadSource
  /** Settles when the change in progress has ended, also if it has failed. */
  #change: Promise<unknown> | undefined
  #reading = 0
  /** The number of records since the last record that a worker read. */
  #cachedInRow = 0
  /** Settles when `#reading` is 0. */
  #idle: Promise<void> | undefined
  #onIdle: (() => void) | undefined

  /** With `own`, this process alone writes the log. */
  constructor(source: ReadSource, own: boolean) {
    this.#native = native.pointReader(source.dir, own, source.uuid)
    this.#source = source
  }

  get(seq: number): Promise<LogRecord> {
    return this.#read(() => {
      const limit = this.#source.limitFor(seq)
      const end = this.#source.seqs().next
      const record = this.#cachedInRow < MAX_CACHED_IN_ROW ? this.#native.getCached(seq, end) : undefined
      this.#cachedInRow = record === undefined ? 0 : this.#cachedInRow + 1
      return record === undefined ? this.#native.get(seq, limit, end) : Promise.resolve(record)
    })
  }

  /** The seq of the first record at or after `timeMs`; the log's next seq if there is none. */
  seqAt(timeMs: number): Promise<number> {
    return this.#read(async () => {
      for (let range = await this.#source.range(false); ; ) {
        const { first, next } = range
        try {
          return await this.#native.seqAt(timeMs, first, next)
        } catch (error) {
          // Try again if another process has trimmed the log meanwhile.
          range = await this.#source.range(false)
          if (range.first === first) throw error
        }
      }
    })
  }

  /** Starts `read` once no change is in progress. The next change waits until `read` has ended. */
  async #read<T>(read: () => Promise<T>): Promise<T> {
    while (this.#change !== undefined) await this.#change
    this.#reading++
    try {
      return await read()
    } finally {
      this.#reading--
      if (this.#reading === 0) {
        this.#idle = undefined
        this.#onIdle?.()
      }
    }
  }

  getSync(seq: number): LogRecord {
    if (this.#change !== undefined)
      throw new DurlogError(
        'ERR_DURLOG_BACKPRESSURE',
        'the log is being trimmed or truncated: use "get", or try again later',
      )
    return this.#native.getSync(seq, this.#source.limitFor(seq), this.#source.seqs().next)
  }

  /**
   * Makes a change that removes or cuts segments. The change waits for reads that have begun, and later reads wait for
   * the change. So no read uses a file while it is cut, and no removed file stays open.
   */
  async during<T>(change: () => Promise<T>): Promise<T> {
    const made = this.close().then(change)
    this.#change = made.catch(() => {})
    try {
      return await made
    } finally {
      this.#change = undefined
    }
  }

  /** Resolves when every read has settled and no file is open. */
  async close(): Promise<void> {
    if (this.#reading > 0) {
      this.#idle ??= new Promise((onIdle) => {
        this.#onIdle = onIdle
      })
      await this.#idle
    }
    await this.#native.forget()
  }
}
