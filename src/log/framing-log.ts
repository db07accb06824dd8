/** A log that folders of streams append to: without a promise for each record. */
import { levelCode } from '../options/call-options.js'
import type { Durability, Payload } from '../types.js'
import type { Resolve } from './append/waiters.js'
import type { WritePipeline } from './append/write-pipeline.js'
import { WriterLog, type WriterParts } from './writer-log.js'

export class FramingLog extends WriterLog {
  readonly #pipeline: WritePipeline

  constructor(parts: WriterParts) {
    super(parts)
    this.#pipeline = parts.pipeline
  }

  /**
   * Frames `bytes` from `start` to `end` as the next record, and calls `resolve` once it has reached the level `durability` or
   * its commit has failed, in the order of the seqs. False if it cannot be framed now: `drain` settles when it may. Throws if it
   * can never be.
   */
  frame(bytes: Uint8Array, start: number, end: number, durability: Durability, resolve: Resolve): boolean {
    return this.#pipeline.frameRange(bytes, start, end, levelCode(durability), resolve)
  }

  /** As `frame`, for the records of a batch. */
  frameBatch(records: readonly Payload[], durability: Durability, resolve: Resolve): boolean {
    return this.#pipeline.frameBatch(records, levelCode(durability), resolve)
  }
}
