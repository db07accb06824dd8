/** Converts the values that a caller appends to records, by the log's `encoding`. */
import { collectBatch, ownBytes } from '../options/call-options.js'
import type { ResolvedOptions } from '../options/open-options.js'
import type { Payload } from '../types.js'

export class RecordEncoder {
  readonly #codec: ResolvedOptions['codec']
  readonly #limits: ResolvedOptions['native']

  constructor({ codec, native }: ResolvedOptions) {
    this.#codec = codec
    this.#limits = native
  }

  encode(value: unknown): Payload {
    return this.#codec === undefined ? (value as Payload) : this.#codec.encode(value)
  }

  /** Also checks that `list` is an array whose records can fit into a batch. */
  encodeBatch(list: readonly unknown[]): Payload[] {
    const values = collectBatch(list, this.#limits)
    const codec = this.#codec
    if (codec === undefined) return values
    // The caller's encoding may return the same memory for each value.
    return values.map((value) => (codec.objects ? ownBytes(codec.encode(value)) : codec.encode(value)))
  }
}
