/** A Node stream that appends. */
import { Writable } from 'node:stream'
import type { Payload } from '../types.js'
import type { Reached } from './append-in-order.js'

/** Appends in order, and nothing after the first that fails. */
export type AppendInOrder = (list: readonly Payload[]) => Promise<Reached>
type WriteCallback = (error?: Error | null) => void

/** A stream that makes each chunk one record. */
export function makeWritable(append: AppendInOrder, highWaterMark: number): Writable {
  return new RecordWritable(append, highWaterMark)
}

/** Node gives a group of chunks one result; each chunk's callback gets its own. */
class RecordWritable extends Writable {
  readonly #append: AppendInOrder
  /** Chunks taken by `write`, and how many have reached their level. */
  #taken = 0
  #reached = 0

  constructor(append: AppendInOrder, highWaterMark: number) {
    super({ highWaterMark })
    this.#append = append
  }

  override write(chunk: unknown, callback?: WriteCallback): boolean
  override write(chunk: unknown, encoding: BufferEncoding, callback?: WriteCallback): boolean
  override write(chunk: unknown, encoding?: BufferEncoding | WriteCallback, callback?: WriteCallback): boolean {
    const told = typeof encoding === 'function' ? encoding : callback
    const index = this.#taken
    const own = told && ((error?: Error | null) => told(index < this.#reached ? null : error))
    const more = super.write(chunk, (typeof encoding === 'string' ? encoding : undefined) as BufferEncoding, own)
    this.#taken++
    return more
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: WriteCallback): void {
    this.#store([chunk], callback)
  }

  /** Chunks that came while earlier ones were pending are appended as one group. */
  override _writev(chunks: { chunk: Buffer }[], callback: WriteCallback): void {
    this.#store(
      chunks.map(({ chunk }) => chunk),
      callback,
    )
  }

  #store(chunks: Buffer[], callback: WriteCallback): void {
    this.#append(chunks).then(({ reached, failure }) => {
      this.#reached += reached
      callback(failure === undefined ? null : (failure.error as Error))
    }, callback)
  }
}
