/** Moves records from the log to the streams' files: docs/STREAMS.md, "Checkpoints". */
import { setImmediate } from 'node:timers'
import { DurlogError, ofFileSystem } from '../errors.js'
import type { DurableCursor, Log } from '../index.js'
import { AlignedMemory } from './aligned-memory.js'
import type { Catalog, CatalogChange, CatalogHead } from './catalog.js'
import type { FolderFiles } from './folder-files.js'
import type { StreamState } from './state.js'
import { type StepHook, StreamWriter } from './stream-writer.js'
import type { StreamTable } from './table.js'
import type { Tail } from './tail.js'
import type { StreamChange, StreamsCheckpoint } from './types.js'

/** Files that are written at the same time. Others of libuv's four threads stay free for the log's commits. */
const LANES = 2
/** Streams that a turn of the event loop may prepare without waiting for a file. */
const STREAMS_IN_TURN = 256

export interface CheckpointContext {
  log: Log
  catalog: Catalog
  files: FolderFiles
  /** The log's cursor of this module: its position is that of the last checkpoint. */
  cursor: DurableCursor
  /** That of the log's, the catalog's and the cursor's steps. */
  level: 'sync' | 'full'
  encoding: CatalogHead['encoding']
  onChanged: (change: StreamChange) => void
  onStep: StepHook
}

/** Makes one checkpoint at a time. */
export class Checkpointer {
  /** A sync of a file failed: its pages may be lost, and no sync of it can be believed. */
  latched: DurlogError | undefined
  readonly #context: CheckpointContext
  /** The log before it is in the files. */
  #position: number
  /** First seqs of the log's segments since it was opened; 0 stands for those before. */
  #segments: number[] = [0]

  constructor(context: CheckpointContext, position: number) {
    this.#context = context
    this.#position = position
    context.log.on('rotated', (firstSeq) => this.#segments.push(firstSeq))
  }

  /**
   * Stores everything that `table` holds, which is the log up to `position`. Rejects if a step fails; the streams are dirty again
   * then. `isCurrent` says whether the log has kept all of these records.
   */
  async run(table: StreamTable, position: number, isCurrent: () => boolean): Promise<StreamsCheckpoint> {
    if (this.latched !== undefined) throw this.latched
    const startMs = performance.now()
    const frozen = table.freeze()
    const { lastTimeMs } = table
    const requests = table.requests.stored()
    const changes: CatalogChange[] = []
    let records = 0
    try {
      this.#context.onStep('sync log')
      await this.#context.log.sync(this.#context.level)
      if (!isCurrent()) throw new DurlogError('ERR_DURLOG_IO', 'a write of the log failed during the checkpoint')
      await this.#writeFiles(frozen, table.tail, changes)
      this.#context.onStep('catalog')
      const { log, encoding } = this.#context
      const voids = [...table.voids].filter((at) => at < position && at >= log.firstSeq)
      const head = { log: log.uuid, encoding, position, lastTimeMs, voids, requests }
      await this.#context.catalog.store(changes, head, this.#context.level)
      this.#position = position
      for (const [at, { state, disk }] of changes.entries()) {
        if (at % STREAMS_IN_TURN === STREAMS_IN_TURN - 1) await new Promise((resolve) => setImmediate(resolve))
        records += disk.next - state.disk.next
        table.stored(state, disk)
      }
      table.tail.releaseBefore(position)
    } catch (error) {
      throw ofFileSystem(error)
    } finally {
      table.thaw()
    }
    await this.trim()
    return { position, streams: changes.length, records, durationMs: performance.now() - startMs }
  }

  /** Lets the log and the catalog trim what no file, cursor or group needs. */
  async trim(): Promise<void> {
    const { log, catalog, cursor, level, onStep } = this.#context
    onStep('trim')
    if (this.#position > 0) await cursor.commit(this.#position - 1, { durability: level })
    const cursors = await log.cursors()
    // A damaged cursor has the position -1, and keeps everything.
    const before = Math.min(...cursors.map(({ position }) => position))
    // Appends wait during a trim: only if a whole segment can go.
    const whole = this.#segments.filter((firstSeq) => firstSeq <= before)
    if (before > log.firstSeq && whole.length > 0) {
      await log.trimBefore(before)
      this.#segments = this.#segments.filter((firstSeq) => firstSeq > before)
    }
    await catalog.trim()
    onStep('done')
  }

  /** Writes the files of `frozen` in several lanes, then syncs the folders if need be. */
  async #writeFiles(frozen: Map<string, StreamState>, tail: Tail, changes: CatalogChange[]): Promise<void> {
    const states = frozen.values()
    let failed = false
    let folderChanged = false
    let inTurn = 0
    const lane = async (): Promise<void> => {
      const memory = new AlignedMemory()
      const context = { ...this.#context, memory }
      for (let next = states.next(); next.done !== true && !failed; next = states.next()) {
        const state = next.value
        const writer = new StreamWriter(context, state)
        if (++inTurn % STREAMS_IN_TURN === 0) await new Promise((resolve) => setImmediate(resolve))
        try {
          changes.push(await writeStream(writer, state, tail))
        } catch (error) {
          failed = true
          throw this.#judged(error)
        }
        folderChanged ||= writer.folderChanged
      }
    }
    const ended = await Promise.allSettled(Array.from({ length: LANES }, lane))
    for (const result of ended) if (result.status === 'rejected') throw result.reason
    if (!folderChanged) return
    this.#context.onStep('sync folders')
    try {
      await this.#context.files.sync()
    } catch (error) {
      throw this.#judged(error)
    }
  }

  /** A sync that failed, or a write of the device, latches. */
  #judged(error: unknown): unknown {
    const { syscall, code } = error as NodeJS.ErrnoException
    if (syscall !== 'fdatasync' && syscall !== 'fsync' && code !== 'EIO') return error
    this.latched = new DurlogError(
      'ERR_DURLOG_SYNC_FAILED',
      `a sync of a stream's file failed: ${(error as Error).message}; the records are in the log: close the folder, look at the device, and open it again`,
      { cause: error },
    )
    return this.latched
  }
}

/** Stores a stream as of the checkpoint's position. */
async function writeStream(writer: StreamWriter, state: StreamState, tail: Tail): Promise<CatalogChange> {
  if (state.deleted && state.capture === undefined) {
    await writer.remove()
    return { state, capture: undefined, disk: state.disk }
  }
  // Before anything is awaited: a later append leaves the capture alone, and does not change the live state it copies.
  const capture = state.capture ?? state.copy()
  state.capture = capture
  const records = state.tail.slice(0, capture.next - state.disk.next).map((position) => tail.at(position))
  if (state.replaces && state.disk.bytes === 0) await writer.remove()
  const disk = records.length === 0 ? state.disk : await writer.append(records)
  return { state, capture, disk }
}
