/** The memory of a reader's batches: one buffer serves several small batches, and two tables of records alternate. */

const BATCH_BYTES = 2 * 1024 * 1024
/** If fewer bytes of a batch's buffer are left, the next batch gets a new buffer. */
const MIN_READ_BYTES = 64 * 1024
/** The bytes of the shortest frame, which limits the number of records in a buffer. */
const MIN_FRAME_BYTES = 32
/** A buffer for a long record needs no longer a table of records than any other. */
const MAX_ENTRIES = BATCH_BYTES / MIN_FRAME_BYTES
/** Numbers that a table holds for each record: see `NativeBatch`. */
export const ENTRY_NUMBERS = 3

export class BatchMemory {
  readonly #markAsUntransferable: (memory: object) => void
  #buffer: Buffer = Buffer.alloc(0)
  #usedBytes = 0
  #needBytes = 0
  #spareEntries: Uint32Array = new Uint32Array(0)

  private constructor(markAsUntransferable: (memory: object) => void) {
    this.#markAsUntransferable = markAsUntransferable
  }

  static async make(): Promise<BatchMemory> {
    // Loaded at the first read: it takes longer than the library.
    const { markAsUntransferable } = await import('node:worker_threads')
    return new BatchMemory(markAsUntransferable)
  }

  /** Room for the next batch, until `keep` or `giveBack`. */
  take(): { buffer: Buffer; entries: Uint32Array } {
    if (this.#buffer.length - this.#usedBytes < Math.max(MIN_READ_BYTES, this.#needBytes)) {
      this.#buffer = Buffer.allocUnsafeSlow(Math.max(BATCH_BYTES, this.#needBytes))
      this.#usedBytes = 0
      // A worker continues to fill it while the caller holds records in it.
      this.#markAsUntransferable(this.#buffer.buffer)
    }
    const buffer = this.#buffer.subarray(this.#usedBytes)
    let entries = this.#spareEntries
    if (entries.length < entryNumbersFor(buffer)) entries = new Uint32Array(entryNumbersFor(this.#buffer))
    this.#spareEntries = new Uint32Array(0)
    return { buffer, entries }
  }

  /** Keeps the records in `entries` valid; the next batch follows them in the buffer. Returns the bytes they take. */
  keep(entries: Uint32Array, count: number): number {
    const last = (count - 1) * ENTRY_NUMBERS
    const usedBytes = (entries[last] as number) + (entries[last + 1] as number)
    this.#usedBytes += Math.ceil(usedBytes / 8) * 8
    this.#needBytes = 0
    return usedBytes
  }

  /** `entries` is no longer used. */
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
