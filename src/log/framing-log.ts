/**
 * The log of a folder of streams. Its appends call a function when they are acknowledged, instead of settling a
 * promise.
 */
import { LEVELS } from '../native/levels.js'
import { levelCode } from '../options/call-options.js'
import type { AppendDurability, Payload } from '../types.js'
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
   * has reached the level `durability` or its commit has failed. Returns false if there is no room: `roomAt` resolves
   * when the caller may try again. Throws if the record can never be framed, or the log refuses every append.
   */
  frame(bytes: Uint8Array, start: number, end: number, durability: AppendDurability, resolve: Resolve): boolean {
    if (durability !== 'replicated') return this.#pipeline.frameRange(bytes, start, end, levelCode(durability), resolve)
    const frame = (settle: Resolve): boolean => this.#pipeline.frameRange(bytes, start, end, LEVELS.sync, settle)
    return WriterLog.replicationOf(this).frame(end - start, frame, resolve)
  }

  /**
   * Removes the segments in which every cursor, including one that is created during this call, has committed all
   * records.
   */
  trimCommitted(): Promise<number> {
    return WriterLog.trimFound(this, async () => ({ before: this.nextSeq, regardless: 0 }))
  }

  /** As `frame`, for the records of a batch. */
  frameBatch(records: readonly Payload[], durability: AppendDurability, resolve: Resolve): boolean {
    if (durability !== 'replicated') return this.#pipeline.frameBatch(records, levelCode(durability), resolve)
    let bytes = 0
    for (const data of records) bytes += data.length
    const frame = (settle: Resolve): boolean => this.#pipeline.frameBatch(records, LEVELS.sync, settle)
    return WriterLog.replicationOf(this).frame(bytes, frame, resolve)
  }

  /** As `frame`, for the entries of a batch: see `NativeWriter.appendEntries`. */
  frameEntries(group: EntryGroup, durability: AppendDurability, resolve: Resolve): boolean {
    if (durability !== 'replicated') return this.#pipeline.frameEntries(group, levelCode(durability), resolve)
    const frame = (settle: Resolve): boolean => this.#pipeline.frameEntries(group, LEVELS.sync, settle)
    return WriterLog.replicationOf(this).frame(group.values.length, frame, resolve)
  }

  /** Begins to copy the records to the destination of the option `replicate`, if the log has it. */
  replicate(): void {
    WriterLog.replicate(this)
  }

  /** Throws if no record can reach the level `durability`. */
  checkLevel(durability: AppendDurability): void {
    if (durability === 'replicated') WriterLog.replicationOf(this).checkOpen()
  }

  /** Resolves when a record may be framed at the level `durability`. */
  async roomAt(durability: AppendDurability): Promise<void> {
    await this.drain()
    if (durability === 'replicated') await WriterLog.replicationOf(this).room()
  }

  /** Resolves when every record that was framed before the call has reached the level `durability`. */
  async reachedAt(durability: AppendDurability): Promise<void> {
    const last = await this.sync(durability === 'replicated' ? 'sync' : durability)
    if (durability === 'replicated' && last >= 0) await WriterLog.replicationOf(this).raised(last)
  }

  /** Refuses later records at `replicated`, and waits for the destination for up to 2 s. */
  endReplication(): Promise<void> {
    return WriterLog.endReplication(this)
  }
}
