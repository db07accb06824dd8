/**
 * Logs with appends that only the command line and restores need: several records in order, and seqs without a record.
 */
import { isCode } from '../errors.js'
import { levelCode } from '../options/call-options.js'
import type { Durability, Payload } from '../types.js'
import { appendInOrder, type Reached } from './append/append-in-order.js'
import type { WritePipeline } from './append/write-pipeline.js'
import { WriterLog, type WriterParts } from './writer-log.js'

export class OrderedLog extends WriterLog {
  protected readonly pipeline: WritePipeline

  constructor(parts: WriterParts) {
    super(parts)
    this.pipeline = parts.pipeline
  }

  /** Appends `list` in order, and nothing after the first record that fails. Never rejects. */
  appendInOrder(
    list: readonly Payload[],
    durability: Durability,
    timestamps?: readonly (number | undefined)[],
  ): Promise<Reached> {
    return appendInOrder(this.pipeline, list, levelCode(durability), timestamps)
  }
}

/** The number of seqs of one void in the file. */
const MAX_VOID_SEQS = 1024

/** A log that is being restored. */
export class RestoringLog extends OrderedLog {
  /** Appends a record at `memory`. Waits for room. */
  appendNext(data: Payload, timestamp: number): Promise<void> {
    return this.#whenRoom(() => this.appendSync(data, { durability: 'memory', timestamp }))
  }

  /**
   * Writes voids for the seqs before `end`, which hold no record. `timestamp` is that of the next record. Waits for
   * room.
   */
  async skipTo(end: number, timestamp: number): Promise<void> {
    while (this.nextSeq < end) {
      const seqs = Math.min(end - this.nextSeq, MAX_VOID_SEQS)
      await this.#whenRoom(() => this.pipeline.writeVoid(seqs, timestamp))
    }
  }

  async #whenRoom(write: () => void): Promise<void> {
    for (;;) {
      try {
        return write()
      } catch (error) {
        if (!isCode(error, 'ERR_DURLOG_BACKPRESSURE')) throw error
        await this.drain()
      }
    }
  }
}
