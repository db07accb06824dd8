/**
 * Makes checkpoints, which move records from the main log to the streams' files. See docs/STREAMS.md, "Checkpoints".
 */
import { DurlogError, isCode } from '../errors.js'
import { ofFileSystem } from '../file-system-error.js'
import { clock, setImmediate } from '../timers.js'
import type { CatalogChange, CatalogHead } from './catalog-records.js'
import { missingCursor } from './checkpoint-errors.js'
import { FileRepair, type StepHook } from './file-repair.js'
import type { MemTable } from './mem-table.js'
import type { OpenFolder } from './open-folder.js'
import type { FileDisk, StreamState } from './state.js'
import { StoreJob } from './store-job.js'
import { type FileRequest, StreamFlush } from './stream-flush.js'
import type { StreamTable } from './table.js'
import { TimeSlice } from './time-slice.js'
import type { StreamChange, StreamsCheckpoint } from './types.js'

/** Jobs that run at the same time. The other two of libuv's four threads stay free for commits of the log. */
const CONCURRENT_JOBS = 2
/** The number of streams that a turn of the event loop prepares. */
const STREAMS_IN_TURN = 256
/** If more streams have changed, one sync of the file system takes less time than a sync of each file. */
const SYNC_ALL_STREAMS = 32

/**
 * With many changed streams a checkpoint waits for this many bytes per stream, but for at most MAX_DUE times
 * `checkpointBytes`.
 */
const BYTES_OF_STREAM = 4096
const MAX_DUE = 2

/** The number of bytes of records after which a checkpoint begins if `changed` streams have changed. */
export function dueBytes(checkpointBytes: number, changed: number): number {
  return Math.min(Math.max(checkpointBytes, changed * BYTES_OF_STREAM), MAX_DUE * checkpointBytes)
}

/** Whether a log of the folder is latched. */
function isLatching(error: unknown): error is DurlogError {
  const codes = ['ERR_DURLOG_SYNC_FAILED', 'ERR_DURLOG_FILE_CHANGED', 'ERR_DURLOG_LATCHED'] as const
  return codes.some((code) => isCode(error, code))
}

export interface CheckpointContext extends Pick<OpenFolder, 'log' | 'catalog' | 'cursor' | 'files' | 'storage'> {
  /** The durability of the syncs of the log and of the catalog, and of the cursor's position. */
  level: 'sync' | 'full'
  encoding: CatalogHead['encoding']
  onChanged: (change: StreamChange) => void
  onStep: StepHook
  /** Trials only: the number of steps after which jobs stop. */
  stepLimit: () => number
}

/** Makes checkpoints, one at a time. */
export class Checkpointer {
  /**
   * Set by a failed sync of a file or of a log. The system may have discarded the pages that it could not write, and a
   * later sync would not report that.
   */
  latched: DurlogError | undefined
  readonly #context: CheckpointContext
  /** Every record before this position is in the streams' files. */
  #position: number
  /** The first seqs of the segments that the log has begun since it was opened. 0 represents the earlier segments. */
  #segments: number[] = [0]
  /** Whether one sync of the whole file system can replace the syncs of the files. Undefined until it was tried. */
  #syncsAll: boolean | undefined

  constructor(context: CheckpointContext, position: number) {
    this.#context = context
    this.#position = position
    context.log.on('rotated', (firstSeq) => this.#segments.push(firstSeq))
  }

  /**
   * Stores the state of `table`, which contains the records of the log before `position`. Rejects if a step fails; then
   * the changed streams remain part of the next checkpoint. `checkCurrent` throws unless the log still has all records
   * of `table`.
   */
  async run(table: StreamTable, position: number, checkCurrent: () => void): Promise<StreamsCheckpoint> {
    if (this.latched !== undefined) throw this.latched
    const startMs = clock.now()
    const dirty = table.beginCheckpoint()
    const { lastTimeMs } = table
    const requests = table.dedup.stored()
    const changes: CatalogChange[] = []
    let records = 0
    try {
      this.#context.onStep('sync log')
      await this.#context.log.sync(this.#context.level)
      checkCurrent()
      await this.#writeFiles(dirty, table.memTable, changes)
      this.#context.onStep('catalog')
      const { log, encoding } = this.#context
      const voids = [...table.voids].filter((at) => at < position && at >= log.firstSeq)
      const head = { log: log.uuid, encoding, position, lastTimeMs, voids }
      await this.#context.catalog.store(changes, requests, head, this.#context.level)
      this.#position = position
      const slice = new TimeSlice()
      for (const { state, snapshot, disk } of changes) {
        if (slice.isOver()) await slice.nextTurn()
        if (snapshot !== undefined) records += disk.next - state.disk.next
        table.stored(state, disk)
      }
      table.memTable.releaseBefore(position)
    } catch (error) {
      const failure = ofFileSystem(error)
      // The main log and the catalog stay latched, so the next checkpoint would write the files in vain.
      if (isLatching(failure)) this.latched ??= failure
      throw failure
    } finally {
      table.endCheckpoint()
    }
    await this.trim()
    return { position, streams: changes.length, records, durationMs: clock.now() - startMs }
  }

  /** Removes the segments of the log and of the catalog that neither the files nor a cursor needs. */
  async trim(): Promise<void> {
    const { log, catalog, cursor, level, onStep } = this.#context
    onStep('trim')
    if (this.#position > 0) await cursor.commit(this.#position - 1, { durability: level })
    const cursors = await log.cursors()
    // Without it, a trim would also remove records that are not in the files yet.
    if (!cursors.some(({ name }) => name === cursor.name)) throw missingCursor(log.dir)
    const before = Math.min(...cursors.map(({ position }) => position))
    // Appends wait during a trim. So trim only if it removes a segment.
    const whole = this.#segments.filter((firstSeq) => firstSeq <= before)
    if (before > log.firstSeq && whole.length > 0) {
      const firstSeq = await log.trimCommitted()
      this.#segments = this.#segments.filter((later) => later > firstSeq)
    }
    await catalog.trim()
    onStep('done')
  }

  /** Writes the files of the streams in `dirty`, with CONCURRENT_JOBS jobs at a time, and syncs them. */
  async #writeFiles(dirty: Map<string, StreamState>, memTable: MemTable, changes: CatalogChange[]): Promise<void> {
    const syncsAll = dirty.size > SYNC_ALL_STREAMS && (await this.#canSyncAll())
    const states = dirty.values()
    let failed = false
    let folderChanged = false
    const worker = async (): Promise<void> => {
      while (!failed) {
        const job = new StoreJob<FileRequest>(memTable)
        const taken = takeFlushes(states, job, memTable, changes)
        if (taken.count === 0) return
        folderChanged ||= taken.folderChanged
        // Without a job nothing has been awaited yet: give the event loop a turn.
        if (job.isEmpty) await new Promise((resolve) => setImmediate(resolve))
        else folderChanged = (await this.#store(job, memTable, !syncsAll, changes)) || folderChanged
      }
    }
    const latchingWorker = async (): Promise<void> => {
      try {
        await worker()
      } catch (error) {
        failed = true
        throw this.#latchIfSyncFailed(error)
      }
    }
    const ended = await Promise.allSettled(Array.from({ length: CONCURRENT_JOBS }, latchingWorker))
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
      throw this.#latchIfSyncFailed(error)
    }
  }

  /**
   * Must be called before a file is written: without a sync of the whole file system, each file must be synced with the
   * descriptor that has written it.
   */
  async #canSyncAll(): Promise<boolean> {
    if (this.#syncsAll !== undefined) return this.#syncsAll
    try {
      await this.#context.storage.syncAll()
      this.#syncsAll = true
    } catch (error) {
      if ((error as DurlogError).code !== 'ERR_DURLOG_UNSUPPORTED') throw this.#latchIfSyncFailed(error)
      this.#syncsAll = false
    }
    return this.#syncsAll
  }

  /**
   * Runs `job`. If files are not as the last checkpoint left them, repairs them and stores their records again. Returns
   * whether it did, because a repair may change the folders.
   */
  async #store(
    job: StoreJob<FileRequest>,
    memTable: MemTable,
    sync: boolean,
    changes: CatalogChange[],
  ): Promise<boolean> {
    const unexpected: FileRequest[] = []
    const done = (request: FileRequest, disk: FileDisk): void => {
      if (request.flush.done(request, disk)) changes.push(request.flush.change)
    }
    await this.#runJob(job, sync, (request, disk) => {
      if (disk === undefined) unexpected.push(request)
      else done(request, disk)
    })
    for (const request of unexpected) {
      const { state } = request.flush
      const records = request.positions.map((position) => memTable.at(position))
      const disk = await new FileRepair(this.#context, state, request.disk).run(records)
      const positions = request.positions.slice(disk.next - request.disk.next)
      const repaired = new StoreJob<FileRequest>(memTable)
      // The new file may exist already, from a checkpoint that did not end.
      const removes = disk.first !== request.disk.first
      repaired.add({ ...request, fileName: state.fileName(disk.first), removes, disk, positions })
      await this.#runJob(repaired, sync, (_, stored) => {
        if (stored === undefined)
          throw new DurlogError(
            'ERR_DURLOG_IO',
            `another program is changing the file of the stream "${state.name}": end that program, then call checkpoint again`,
          )
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

  /**
   * Returns the error to throw. After a failed sync or a device error (EIO) it is ERR_DURLOG_SYNC_FAILED, which all
   * later checkpoints throw too.
   */
  #latchIfSyncFailed(error: unknown): unknown {
    const { syscall = '', code, errnoName } = error as { syscall?: string; code?: string; errnoName?: string }
    if (!/sync|flush/i.test(syscall) && code !== 'EIO' && errnoName !== 'EIO') return error
    this.latched = new DurlogError(
      'ERR_DURLOG_SYNC_FAILED',
      `a sync of a stream's file failed: ${(error as Error).message}; no record is lost, because all are in the main log: close the folder, check the device, and open the folder again`,
      { cause: error },
    )
    return this.latched
  }
}

/**
 * Adds the requests of the next streams to `job`. Streams whose files do not change are added to `changes` at once.
 * `count` is the number of streams taken.
 */
function takeFlushes(
  states: Iterator<StreamState>,
  job: StoreJob<FileRequest>,
  memTable: MemTable,
  changes: CatalogChange[],
): { count: number; folderChanged: boolean } {
  let count = 0
  let folderChanged = false
  const nowMs = Date.now()
  while (count < STREAMS_IN_TURN && !job.isFull) {
    const next = states.next()
    if (next.done === true) break
    count++
    const flush = new StreamFlush(next.value, memTable, nowMs)
    folderChanged ||= flush.changesFolder
    for (const request of flush.requests) job.add(request)
    if (flush.requests.length === 0) changes.push(flush.change)
  }
  return { count, folderChanged }
}
