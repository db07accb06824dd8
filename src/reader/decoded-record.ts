/** A record whose value is decoded at the first access. */
import type { Codec } from '../options/encoding.js'
import type { DecodedRecord, LogRecord } from '../types.js'

export class RecordWithValue implements DecodedRecord<unknown> {
  readonly seq: number
  readonly data: Buffer
  readonly timestamp: number
  readonly #codec: Codec
  #value: unknown
  #decoded = false

  constructor({ seq, data, timestamp }: LogRecord, codec: Codec) {
    this.seq = seq
    this.data = data
    this.timestamp = timestamp
    this.#codec = codec
  }

  get value(): unknown {
    if (!this.#decoded) {
      this.#value = this.#codec.decode(this)
      this.#decoded = true
    }
    return this.#value
  }
}
