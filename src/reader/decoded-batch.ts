/** The decoded batch of records that a reader's caller consumes. */
import type { Codec } from '../options/encoding.js'
import type { LogRecord } from '../types.js'
import type { ReadBatch } from './batch-fetcher.js'
import { ENTRY_NUMBERS } from './batch-memory.js'
import { RecordWithValue } from './decoded-record.js'

/** Makes a Buffer over existing memory without the checks of Buffer.from, which take half of the time for a record. */
const BufferOver = (Buffer as unknown as Record<symbol, unknown>)[Symbol.species] as new (
  memory: ArrayBufferLike,
  offset: number,
  length: number,
) => Buffer

const NO_MEMORY = new ArrayBuffer(0)
const NO_ENTRIES = new Uint32Array(0)

export class DecodedBatch {
  readonly #codec: Codec | undefined
  #memory: ArrayBufferLike = NO_MEMORY
  #memoryOffset = 0
  #entries: Uint32Array<ArrayBufferLike> = NO_ENTRIES
  #firstSeq = 0
  #index = 0
  #count = 0
  #baseTimeMs = 0

  constructor(codec: Codec | undefined) {
    this.#codec = codec
  }

  /** The seq of the next record. If this batch has no more records, the seq with which the next batch begins. */
  get nextSeq(): number {
    return this.#firstSeq + this.#index
  }

  /** Takes the next record; undefined if there is none. */
  take(): LogRecord | undefined {
    const index = this.#index
    if (index >= this.#count) return undefined
    this.#index = index + 1
    return this.#record(index)
  }

  /** Takes at most `max` of the next records. */
  takeUpTo(max: number): LogRecord[] {
    const begin = this.#index
    const end = Math.min(begin + max, this.#count)
    this.#index = end
    const records: LogRecord[] = []
    for (let index = begin; index < end; index++) records.push(this.#record(index))
    return records
  }

  /** Replaces the records with the records of `batch` below `stop`. Returns the `entries` of the replaced records. */
  install(buffer: Buffer, entries: Uint32Array, batch: ReadBatch, stop: number): Uint32Array {
    const before = this.#entries
    this.#memory = buffer.buffer
    this.#memoryOffset = buffer.byteOffset
    this.#entries = entries
    this.#firstSeq = batch.firstSeq
    this.#index = 0
    this.#count = Math.min(batch.count, stop - batch.firstSeq)
    this.#baseTimeMs = batch.baseTimeMs
    return before
  }

  /** Drops the records that were not taken, and releases the memory of all. */
  drop(): void {
    this.#memory = NO_MEMORY
    this.#entries = NO_ENTRIES
    this.#firstSeq = this.nextSeq
    this.#index = 0
    this.#count = 0
  }

  /** As `drop`; the next batch begins with `nextSeq`. */
  dropUntil(nextSeq: number): void {
    this.drop()
    this.#firstSeq = nextSeq
  }

  #record(index: number): LogRecord {
    const entry = index * ENTRY_NUMBERS
    const offset = this.#memoryOffset + (this.#entries[entry] as number)
    const record = {
      seq: this.#firstSeq + index,
      data: new BufferOver(this.#memory, offset, this.#entries[entry + 1] as number),
      timestamp: this.#baseTimeMs + (this.#entries[entry + 2] as number),
    }
    return this.#codec === undefined ? record : new RecordWithValue(record, this.#codec)
  }
}
