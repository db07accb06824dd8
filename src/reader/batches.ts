/** Iterates over the records of a reader in arrays. */
import { whole } from '../options/checks.js'
import type { RecordBatches, RecordReader } from '../types.js'

/** The allowed values of `maxRecords`. */
const BATCH_RECORDS = { min: 1, max: 65_536, unit: 'records' }
const DEFAULT_BATCH_RECORDS = 1024

export class ReaderBatches<T> implements RecordBatches<T> {
  readonly #reader: RecordReader<T>
  readonly #buffered: (max: number) => T[]
  readonly #max: number

  /**
   * `buffered` takes at most `max` of the records that `reader` has decoded: none if a call of `next` is pending.
   * Throws ERR_DURLOG_INVALID_ARGUMENT.
   */
  constructor(reader: RecordReader<T>, buffered: (max: number) => T[], maxRecords: number | undefined) {
    this.#reader = reader
    this.#buffered = buffered
    this.#max = whole('maxRecords', maxRecords, BATCH_RECORDS, DEFAULT_BATCH_RECORDS)
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<T[], undefined>> {
    const records = this.#buffered(this.#max)
    if (records.length === 0) {
      const result = await this.#reader.next()
      if (result.done) return result
      records.push(result.value, ...this.#buffered(this.#max - 1))
    }
    return { done: false, value: records }
  }

  async return(): Promise<IteratorResult<T[], undefined>> {
    await this.#reader.return()
    return { done: true, value: undefined }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#reader.return()
  }
}
