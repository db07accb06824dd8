/**
 * The log of a folder of streams. Its appends call a function when they are acknowledged, instead of settling a
 * promise.
 */
import { levelCode } from '../options/call-options.js'
import type { Durability, Payload } from '../types.js'
import type { EntryGroup } from './append/core-calls.js'
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
   * Frames `bytes` from `start` to `end` as the next record. Calls `resolve`, in the order of the seqs, once the record
   * has reached the level `durability` or its commit has failed. Returns false if there is no room: `drain` resolves
   * when the caller may try again. Throws if the record can never be framed.
   */
  frame(bytes: Uint8Array, start: number, end: number, durability: Durability, resolve: Resolve): boolean {
    return this.#pipeline.frameRange(bytes, start, end, levelCode(durability), resolve)
  }

  /**
   * Removes the segments in which every cursor, including one that is created during this call, has committed all
   * records.
   */
  trimCommitted(): Promise<number> {
    return WriterLog.trimFound(this, async () => ({ before: this.nextSeq, regardless: 0 }))
  }

  /** As `frame`, for the records of a batch. */
  frameBatch(records: readonly Payload[], durability: Durability, resolve: Resolve): boolean {
    return this.#pipeline.frameBatch(records, levelCode(durability), resolve)
  }

  /** As `frame`, for the entries of a batch: see `NativeWriter.appendEntries`. */
  frameEntries(group: EntryGroup, durability: Durability, resolve: Resolve): boolean {
    return this.#pipeline.frameEntries(group, levelCode(durability), resolve)
  }
}
