/** The calls that the readers of logs, cursors, streams and archives have in common. */
import type { Readable } from 'node:stream'
import type { RecordBatches, RecordReader } from '../types.js'
import { ReaderBatches } from './batches.js'
import { toReadable } from './readable.js'

export const DONE: IteratorReturnResult<undefined> = { done: true, value: undefined }

/** The part that differs between readers. It is no method of the reader, because users must not call it. */
interface ReaderPart<T> {
  /** As `next`, if `nextBuffered` has returned undefined. */
  nextLater(): Promise<IteratorResult<T, undefined>>
  /** Takes at most `max` of the decoded records: none if a call of `next` is pending. */
  take(max: number): T[]
}

export abstract class BufferedReader<T> implements RecordReader<T> {
  readonly #part: ReaderPart<T>

  constructor(part: ReaderPart<T>) {
    this.#part = part
  }

  abstract nextBuffered(): T | undefined
  abstract return(): Promise<IteratorResult<T, undefined>>

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<IteratorResult<T, undefined>> {
    const record = this.nextBuffered()
    return record === undefined ? this.#part.nextLater() : Promise.resolve({ done: false, value: record })
  }

  batches(maxRecords?: number): RecordBatches<T> {
    return new ReaderBatches<T>(this, (max) => this.#part.take(max), maxRecords)
  }

  readable(options?: { highWaterMark?: number | undefined }): Readable {
    return toReadable(this, options)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return()
  }
}
