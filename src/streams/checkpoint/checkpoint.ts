/**
 * Makes checkpoints, which move records from the main log to the streams' files. See docs/STREAMS.md, "Checkpoints".
 */
import { DurlogError, isCode } from '../../errors.js'
import { ofFileSystem } from '../../support/file-system-error.js'
import type { NameMap } from '../../support/name-map.js'
import { sortedBy } from '../../support/radix-sort.js'
import { TimeSlice } from '../../support/time-slice.js'
import { clock, nextTurn } from '../../timers.js'
import { FileRepair, type StepHook } from '../files/file-repair.js'
import type { OpenFolder } from '../files/open-folder.js'
import type { StreamChange, StreamsCheckpoint } from '../port/types.js'
import type { CatalogChange, CatalogHead } from '../state/catalog-records.js'
import type { MemTable, MemTableRecord } from '../state/mem-table.js'
import type { FileDisk, StreamState } from '../state/state.js'
import type { StreamTable } from '../state/table.js'
import { blockedError, missingCursor } from './checkpoint-errors.js'
import { StoreJob } from './store-job.js'
import { type FileRequest, StreamFlush } from './stream-flush.js'

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

/** The errors of files that concern every file of the folder. */
const SHARED_ERRNOS = ['ENOSPC', 'EDQUOT', 'EMFILE', 'ENFILE', 'ENOMEM']

/** The error with which a stream is blocked if `error` concerns its files alone; otherwise undefined. */
function errorOfOneStream(error: unknown): DurlogError | undefined {
  const failure = ofFileSystem(error)
  const errnoName = failure instanceof DurlogError ? failure.errnoName : undefined
  return errnoName === undefined || SHARED_ERRNOS.includes(errnoName) ? undefined : (failure as DurlogError)
}

/** The streams that a checkpoint has stored, and those that it could not store. */
class Outcome {
  readonly changes: CatalogChange[] = []
  /** The streams whose files could not be written, with the reasons. */
  readonly blocked = new Map<StreamState, DurlogError>()
  /** The position of the oldest record that the log must keep for a blocked stream. */
  keptFrom: number = Number.POSITIVE_INFINITY

  /** A request of `flush` is done, and its file is as `disk` describes. */
  done(flush: StreamFlush, request: FileRequest, disk: FileDisk): void {
    if (flush.done(request, disk)) this.changes.push(flush.change)
  }

  block(flush: StreamFlush, error: DurlogError): void {
    const { state, blockedChange } = flush
    if (!this.blocked.has(state)) this.changes.push(blockedChange)
    this.blocked.set(state, error)
    if (blockedChange.snapshot !== undefined && state.unflushed.length > 0)
      this.keptFrom = Math.min(this.keptFrom, state.unflushed.at(0))
  }

  /** The positions before `end` of the records of blocked streams, ascending. */
  async keptPositions(end: number): Promise<Float64Array> {
    const slice = new TimeSlice()
    const kept: number[] = []
    for (const { unflushed } of this.blocked.keys())
      for (let at = 0; at < unflushed.length && unflushed.at(at) < end; at++) {
        if (slice.isOver()) await slice.nextTurn()
        kept.push(unflushed.at(at))
      }
    return Float64Array.from(await sortedBy(kept, kept, slice))
  }
}

export interface CheckpointContext
  extends Pick<OpenFolder, 'log' | 'catalog' | 'cursor' | 'files' | 'folders' | 'storage'> {
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
  /** Every record before this position is in the streams' files or belongs to a blocked stream. */
  #position: number
  /** The position of the oldest record that belongs to a blocked stream. */
  #keptFrom = Number.POSITIVE_INFINITY
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
   * of `table`. A stream whose files cannot be written is blocked: its records stay in the log, and `failure` is the
   * reason.
   */
  async run(
    table: StreamTable,
    position: number,
    checkCurrent: () => void,
  ): Promise<StreamsCheckpoint & { failure: DurlogError | undefined }> {
    if (this.latched !== undefined) throw this.latched
    const startMs = clock.now()
    const dirty = table.beginCheckpoint()
    const { lastTimeMs } = table
    const requests = table.dedup.stored()
    const outcome = new Outcome()
    const { changes, blocked } = outcome
    let records = 0
    try {
      this.#context.onStep('sync log')
      await this.#context.log.sync(this.#context.level)
      checkCurrent()
      await this.#writeFiles(dirty, table.memTable, outcome)
      // If the same streams are still blocked, there is nothing new to store.
      if (position > this.#position || changes.length > blocked.size) {
        await this.#context.folders.check()
        this.#context.onStep('catalog')
        const { log, encoding } = this.#context
        const voids = [...table.voids].filter((at) => at < position && at >= log.firstSeq)
        const head = { log: log.uuid, encoding, position, lastTimeMs, voids }
        await this.#context.catalog.store(changes, requests, head, this.#context.level)
        this.#position = position
        const slice = new TimeSlice()
        for (const { state, snapshot, disk } of changes) {
          if (slice.isOver()) await slice.nextTurn()
          if (blocked.has(state)) continue
          if (snapshot !== undefined) records += disk.next - state.disk.next
          table.stored(state, snapshot && disk)
        }
        await table.memTable.releaseBefore(position, await outcome.keptPositions(position))
      }
      this.#keptFrom = outcome.keptFrom
      await table.block(blocked)
    } catch (error) {
      const failure = ofFileSystem(error)
      // The main log and the catalog stay latched, so the next checkpoint would write the files in vain.
      if (isLatching(failure)) this.latched ??= failure
      throw failure
    } finally {
      await table.endCheckpoint()
    }
    await this.trim()
    const [failure] = blocked.values()
    return { position, streams: changes.length - blocked.size, records, durationMs: clock.now() - startMs, failure }
  }

  /** Removes the segments of the log and of the catalog that neither the files nor a cursor needs. */
  async trim(): Promise<void> {
    const { log, catalog, cursor, level, onStep } = this.#context
    onStep('trim')
    const stored = Math.min(this.#position, this.#keptFrom)
    if (stored > 0) await cursor.commit(stored - 1, { durability: level })
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
  async #writeFiles(dirty: NameMap<StreamState>, memTable: MemTable, outcome: Outcome): Promise<void> {
    const syncsAll = dirty.size > SYNC_ALL_STREAMS && (await this.#canSyncAll())
    const states = dirty[Symbol.iterator]()
    let failed = false
    let folderChanged = false
    const worker = async (): Promise<void> => {
      while (!failed) {
        const job = new StoreJob<FileRequest>(memTable)
        const taken = await takeFlushes(states, job, memTable, outcome.changes)
        if (taken.count === 0) return
        folderChanged ||= taken.folderChanged
        if (!job.isEmpty) folderChanged = (await this.#store(job, memTable, !syncsAll, outcome)) || folderChanged
        await nextTurn()
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
   * Runs `job`. If files are not as the last checkpoint left them, repairs them and stores their records again. Blocks
   * the streams whose files cannot be written. Returns whether the folders may have changed otherwise than the flushes
   * say.
   */
  async #store(job: StoreJob<FileRequest>, memTable: MemTable, sync: boolean, outcome: Outcome): Promise<boolean> {
    const unexpected: FileRequest[] = []
    await this.#runJob(job, sync, (request, result) => {
      if (result === undefined) unexpected.push(request)
      else if (result instanceof Error) this.#block(outcome, request, result)
      else outcome.done(request.flush, request, result)
    })
    for (const request of unexpected) {
      try {
        outcome.done(request.flush, request, await this.#repair(request, memTable, sync))
      } catch (error) {
        this.#block(outcome, request, error)
      }
    }
    return unexpected.length > 0
  }

  /** Repairs the file of `request`, stores its records, and returns the state of the file. */
  async #repair(request: FileRequest, memTable: MemTable, sync: boolean): Promise<FileDisk> {
    const { state } = request.flush
    const slice = new TimeSlice()
    const records: MemTableRecord[] = []
    for (const position of request.positions) {
      if (slice.isOver()) await slice.nextTurn()
      records.push(memTable.at(position))
    }
    const disk = await new FileRepair(this.#context, state, request.disk).run(records)
    const positions = request.positions.slice(disk.next - request.disk.next)
    const repaired = new StoreJob<FileRequest>(memTable)
    // The new file may exist already, from a checkpoint that did not end.
    const removes = disk.first !== request.disk.first
    repaired.add({ ...request, fileName: state.fileName(disk.first), removes, disk, positions })
    let stored: FileDisk | DurlogError | undefined
    await this.#runJob(repaired, sync, (_, result) => {
      stored = result
    })
    if (stored instanceof Error) throw stored
    if (stored === undefined)
      throw new DurlogError(
        'ERR_DURLOG_IO',
        `another program is changing the file of the stream "${state.name}": end that program, then call checkpoint again`,
      )
    return stored
  }

  /** Blocks the stream of `request` if `error` concerns its files alone. Throws all other errors. */
  #block(outcome: Outcome, { flush }: FileRequest, error: unknown): void {
    const failure = this.#latchIfSyncFailed(error)
    const own = failure === error ? errorOfOneStream(error) : undefined
    if (own === undefined) throw failure
    outcome.block(flush, blockedError(flush.state.name, own))
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
async function takeFlushes(
  states: Iterator<[string, StreamState], void>,
  job: StoreJob<FileRequest>,
  memTable: MemTable,
  changes: CatalogChange[],
): Promise<{ count: number; folderChanged: boolean }> {
  let count = 0
  let folderChanged = false
  const nowMs = Date.now()
  while (count < STREAMS_IN_TURN && !job.isFull) {
    const next = states.next()
    if (next.done === true) break
    count++
    const [, state] = next.value
    const flush = await StreamFlush.plan(state, memTable, nowMs)
    folderChanged ||= flush.changesFolder
    for (const request of flush.requests) job.add(request)
    if (flush.requests.length === 0) changes.push(flush.change)
  }
  return { count, folderChanged }
}
