/**
 * The memory of a reader's batches: one buffer holds several small batches, and two tables of records are used in turn.
 */
import { memoryGuard } from '../support/record-memory.js'

const BATCH_BYTES = 2 * 1024 * 1024
/** If at most this many bytes, or a quarter of the buffer, are left, the next batch gets a new buffer. */
const MIN_READ_BYTES = 64 * 1024
/** The buffer of a follower that has waited for a record. There may be thousands of followers. */
const WAITING_BYTES = 16 * 1024
/** While records follow without a wait, each new buffer is this many times as large as the last one. */
const GROWTH = 8
/** The bytes of the shortest frame, which limits the number of records in a buffer. */
const MIN_FRAME_BYTES = 32
/**
 * The most records of a batch. A caller that takes buffered records without waiting keeps the event loop from turning
 * until the batch is consumed.
 */
const MAX_ENTRIES = 8192
/** The count of numbers that a table holds for each record: see `NativeLogReader.next`. */
export const ENTRY_NUMBERS = 3

export class BatchMemory {
  readonly #guard: (memory: ArrayBufferLike) => void
  #buffer: Buffer = Buffer.alloc(0)
  #newBytes = BATCH_BYTES
  #usedBytes = 0
  #needBytes = 0
  #spareEntries: Uint32Array = new Uint32Array(0)

  private constructor(guard: (memory: ArrayBufferLike) => void) {
    this.#guard = guard
  }

  static async make(): Promise<BatchMemory> {
    return new BatchMemory(await memoryGuard())
  }

  /** Returns memory for the next batch, which it may use until `keep` or `giveBack`. */
  take(): { buffer: Buffer; entries: Uint32Array } {
    const { length } = this.#buffer
    if (length - this.#usedBytes <= Math.max(Math.min(MIN_READ_BYTES, length / 4), this.#needBytes)) {
      this.#buffer = Buffer.allocUnsafeSlow(Math.max(this.#newBytes, this.#needBytes))
      this.#usedBytes = 0
      this.#newBytes = Math.min(this.#newBytes * GROWTH, BATCH_BYTES)
      // The caller may hold records of this buffer while a worker thread fills the rest of it for the next batch.
      this.#guard(this.#buffer.buffer)
    }
    const buffer = this.#buffer.subarray(this.#usedBytes)
    let entries = this.#spareEntries
    if (entries.length < entryNumbersFor(buffer)) entries = new Uint32Array(entryNumbersFor(this.#buffer))
    this.#spareEntries = new Uint32Array(0)
    return { buffer, entries }
  }

  /**
   * Keeps the records in `entries` valid: the next batch is placed after them in the buffer. Returns the bytes that
   * they take.
   */
  keep(entries: Uint32Array, count: number): number {
    const last = (count - 1) * ENTRY_NUMBERS
    const usedBytes = (entries[last] as number) + (entries[last + 1] as number)
    this.#usedBytes += Math.ceil(usedBytes / 8) * 8
    this.#needBytes = 0
    return usedBytes
  }

  /** To be called before a wait for records. Returns true if it has released a large buffer. */
  rest(): boolean {
    this.#newBytes = WAITING_BYTES
    if (this.#buffer.length <= WAITING_BYTES) return false
    this.#buffer = Buffer.alloc(0)
    this.#usedBytes = 0
    this.#spareEntries = new Uint32Array(0)
    return true
  }

  /** Returns a table that is no longer used. */
  giveBack(entries: Uint32Array): void {
    if (entries.length > 0) this.#spareEntries = entries
  }

  /** The next batch must have room for a record of `bytes`. */
  needs(bytes: number): void {
    this.#needBytes = bytes
  }
}

function entryNumbersFor(buffer: Uint8Array): number {
  return Math.min(Math.ceil(buffer.length / MIN_FRAME_BYTES), MAX_ENTRIES) * ENTRY_NUMBERS
}
