/** Logs with appends that only the command line and restores need: several records in order, and seqs without a record. */
import { levelCode } from '../options/call-options.js'
import type { Durability, Payload } from '../types.js'
import { appendInOrder, type Reached } from './append/append-in-order.js'
import type { WritePipeline } from './append/write-pipeline.js'
import { WriterLog, type WriterParts } from './writer-log.js'

export class OrderedLog extends WriterLog {
  readonly #pipeline: WritePipeline

  constructor(parts: WriterParts) {
    super(parts)
    this.#pipeline = parts.pipeline
  }

  /** Appends `list` in order, and nothing after the first record that fails. Never rejects. */
  appendInOrder(
    list: readonly Payload[],
    durability: Durability,
    timestamps?: readonly (number | undefined)[],
  ): Promise<Reached> {
    return appendInOrder(this.#pipeline, list, levelCode(durability), timestamps)
  }
}

/** A log that is being restored. */
export class RestoringLog extends OrderedLog {
  readonly #pipeline: WritePipeline

  constructor(parts: WriterParts) {
    super(parts)
    this.#pipeline = parts.pipeline
  }

  /** Writes a void: 1 to 1024 seqs without a record. `timestamp` is that of the next record. Throws like `write`. */
  writeVoid(seqs: number, timestamp: number): void {
    this.#pipeline.writeVoid(seqs, timestamp)
  }
}
