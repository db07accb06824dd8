/** Moves records from the log to the streams' files: docs/STREAMS.md, "Checkpoints". */
import { setImmediate } from 'node:timers'
import { DurlogError, ofFileSystem } from '../errors.js'
import type { DurableCursor, Log } from '../index.js'
import type { NativeStreamFiles } from '../native/stream-files.js'
import { AlignedMemory } from './aligned-memory.js'
import type { Catalog } from './catalog.js'
import type { CatalogChange, CatalogHead } from './catalog-records.js'
import { FileRepair, type StepHook } from './file-repair.js'
import type { FolderFiles } from './folder-files.js'
import { Pace } from './pace.js'
import type { FileDisk, StreamState } from './state.js'
import { StoreJob } from './store-job.js'
import { type FileRequest, StreamShare } from './stream-share.js'
import type { StreamTable } from './table.js'
import type { Tail } from './tail.js'
import type { StreamChange, StreamsCheckpoint } from './types.js'

/** Jobs at the same time. Others of libuv's four threads stay free for the log's commits. */
const LANES = 2
/** Streams that a turn of the event loop may prepare. */
const STREAMS_IN_TURN = 256
/** With more changed streams, one sync of the file system takes less time than a sync of each file. */
const SYNC_ALL_STREAMS = 32

/** Many changed streams wait for so many bytes of each on average, and at most for MAX_DUE times `checkpointBytes`. */
const BYTES_OF_STREAM = 4096
const MAX_DUE = 2

/** The bytes of records that begin a checkpoint of `changed` streams. */
export function dueBytes(checkpointBytes: number, changed: number): number {
  return Math.min(Math.max(checkpointBytes, changed * BYTES_OF_STREAM), MAX_DUE * checkpointBytes)
}

export interface CheckpointContext {
  log: Log
  catalog: Catalog
  files: FolderFiles
  storage: NativeStreamFiles
  /** The log's cursor of this module: its position is that of the last checkpoint. */
  cursor: DurableCursor
  /** That of the log's, the catalog's and the cursor's steps. */
  level: 'sync' | 'full'
  encoding: CatalogHead['encoding']
  onChanged: (change: StreamChange) => void
  onStep: StepHook
  /** After so many more steps, jobs stop. Of trials. */
  stepLimit: () => number
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
  /** Whether the file system can be synced as a whole; undefined until it was tried. */
  #syncsAll: boolean | undefined

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
      const pace = new Pace()
      for (const { state, capture, disk } of changes) {
        const turn = pace.step()
        if (turn !== undefined) await turn
        if (capture !== undefined) records += disk.next - state.disk.next
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

  /** Writes the files of `frozen` in several lanes, and syncs them. */
  async #writeFiles(frozen: Map<string, StreamState>, tail: Tail, changes: CatalogChange[]): Promise<void> {
    const syncsAll = frozen.size > SYNC_ALL_STREAMS && (await this.#canSyncAll())
    const states = frozen.values()
    let failed = false
    let folderChanged = false
    const lane = async (): Promise<void> => {
      const memory = new AlignedMemory()
      while (!failed) {
        const job = new StoreJob<FileRequest>(tail)
        const taken = takeShares(states, job, tail, changes)
        if (taken.count === 0) return
        folderChanged ||= taken.folderChanged
        // Without a job this lane would take all streams in one turn of the event loop.
        if (job.isEmpty) await new Promise((resolve) => setImmediate(resolve))
        else folderChanged = (await this.#store(job, tail, memory, !syncsAll, changes)) || folderChanged
      }
    }
    const judgedLane = async (): Promise<void> => {
      try {
        await lane()
      } catch (error) {
        failed = true
        throw this.#judged(error)
      }
    }
    const ended = await Promise.allSettled(Array.from({ length: LANES }, judgedLane))
    for (const result of ended) if (result.status === 'rejected') throw result.reason
    try {
      if (syncsAll) {
        this.#context.onStep('sync all')
        await this.#context.storage.syncAll()
      } else if (folderChanged) {
        this.#context.onStep('sync folders')
        await this.#context.files.sync()
      }
    } catch (error) {
      throw this.#judged(error)
    }
  }

  /** Found out before anything is written: a sync of a file must use the descriptor that it was written with. */
  async #canSyncAll(): Promise<boolean> {
    if (this.#syncsAll !== undefined) return this.#syncsAll
    try {
      await this.#context.storage.syncAll()
      this.#syncsAll = true
    } catch (error) {
      if ((error as DurlogError).code !== 'ERR_DURLOG_UNSUPPORTED') throw this.#judged(error)
      this.#syncsAll = false
    }
    return this.#syncsAll
  }

  /** Returns whether a file was repaired, which may have changed the folders. */
  async #store(
    job: StoreJob<FileRequest>,
    tail: Tail,
    memory: AlignedMemory,
    sync: boolean,
    changes: CatalogChange[],
  ): Promise<boolean> {
    const unexpected: FileRequest[] = []
    const done = (request: FileRequest, disk: FileDisk): void => {
      if (request.share.done(request, disk)) changes.push(request.share.change)
    }
    await this.#runJob(job, sync, (request, disk) => {
      if (disk === undefined) unexpected.push(request)
      else done(request, disk)
    })
    for (const request of unexpected) {
      const { state } = request.share
      const records = request.positions.map((position) => tail.at(position))
      const disk = await new FileRepair(this.#context, memory, state, request.disk).run(records)
      const positions = request.positions.slice(disk.next - request.disk.next)
      const repaired = new StoreJob<FileRequest>(tail)
      // An earlier checkpoint that did not end may have made the new file.
      const removes = disk.first !== request.disk.first
      repaired.add({ ...request, fileName: state.fileName(disk.first), removes, disk, positions })
      await this.#runJob(repaired, sync, (_, stored) => {
        if (stored === undefined)
          throw new DurlogError('ERR_DURLOG_IO', `another program changes the file of the stream "${state.name}" now`)
        done(request, stored)
      })
    }
    return unexpected.length > 0
  }

  async #runJob(
    job: StoreJob<FileRequest>,
    sync: boolean,
    stored: Parameters<StoreJob<FileRequest>['run']>[2],
  ): Promise<void> {
    const { storage, stepLimit, onStep } = this.#context
    const { steps, stopped } = await job.run(storage, { sync, stepLimit: stepLimit() }, stored)
    for (let step = 0; step < steps; step++) onStep('store')
    if (stopped) onStep('stop')
  }

  /** A sync that failed, or a write of the device, latches. */
  #judged(error: unknown): unknown {
    const { syscall = '', code, errnoName } = error as { syscall?: string; code?: string; errnoName?: string }
    if (!/sync|flush/i.test(syscall) && code !== 'EIO' && errnoName !== 'EIO') return error
    this.latched = new DurlogError(
      'ERR_DURLOG_SYNC_FAILED',
      `a sync of a stream's file failed: ${(error as Error).message}; the records are in the log: close the folder, look at the device, and open it again`,
      { cause: error },
    )
    return this.latched
  }
}

/** Takes the next of `states` into `job`, or into `changes` if nothing of their files changes. */
function takeShares(
  states: Iterator<StreamState>,
  job: StoreJob<FileRequest>,
  tail: Tail,
  changes: CatalogChange[],
): { count: number; folderChanged: boolean } {
  let count = 0
  let folderChanged = false
  const nowMs = Date.now()
  while (count < STREAMS_IN_TURN && !job.isFull) {
    const next = states.next()
    if (next.done === true) break
    count++
    const share = new StreamShare(next.value, tail, nowMs)
    folderChanged ||= share.changesFolder
    for (const request of share.requests) job.add(request)
    if (share.requests.length === 0) changes.push(share.change)
  }
  return { count, folderChanged }
}
