/**
 * The flush of one stream by a checkpoint: the files to which it adds records from memory, and the files that it
 * removes.
 */

import { codecOf } from '../port/encoding.js'
import type { StreamLimits } from '../port/types.js'
import type { CatalogChange } from '../state/catalog-records.js'
import type { MemTable } from '../state/mem-table.js'
import type { PositionList } from '../state/positions.js'
import { INDEX_BLOCK_RECORDS, INDEX_ENTRY_BYTES } from '../state/record-index.js'
import { allFiles, dropFiles, leftFiles, type PlannedFile, planFiles } from '../state/retention.js'
import { type FileDisk, NO_DISK, type StreamDisk, type StreamSnapshot, type StreamState } from '../state/state.js'
import type { StoreRequest } from './store-job.js'

/** An addition to one file of the stream, or the removal of a file. */
export interface FileRequest extends StoreRequest {
  flush: StreamFlush
  /** The index of the file in `#files`; -1 if the file is removed. */
  at: number
}

export class StreamFlush {
  readonly state: StreamState
  /** The state of the stream to store; undefined if the stream was deleted. */
  readonly #snapshot: StreamSnapshot | undefined
  /** The requests, in the order in which they must be done. */
  readonly requests: FileRequest[] = []
  /** The stream's files after the checkpoint, the oldest first. */
  readonly #files: FileDisk[] = []
  /** The first seqs of files that belong to the stream in the catalog, but not any more after this checkpoint. */
  readonly #dropped: number[] = []
  /** The number of requests that are not done. */
  #missing = 0

  private constructor(state: StreamState) {
    this.state = state
    if (state.removed && state.snapshot === undefined) return
    // Set before the first await: a later change of the stream copies its state only if no copy is set.
    this.#snapshot = state.snapshot ?? state.takeSnapshot()
    state.snapshot = this.#snapshot
  }

  static async plan(state: StreamState, memTable: MemTable, nowMs: number): Promise<StreamFlush> {
    const flush = new StreamFlush(state)
    await flush.#plan(memTable, nowMs)
    flush.#missing = flush.requests.length
    return flush
  }

  async #plan(memTable: MemTable, nowMs: number): Promise<void> {
    const snapshot = this.#snapshot
    const { state } = this
    if (snapshot === undefined) {
      this.#files.push(NO_DISK)
      for (const name of await allFiles(state, memTable)) this.#remove(name)
      return
    }
    for (const name of await leftFiles(state, memTable)) this.#remove(name)
    const positions = state.unflushed.first(snapshot.next - state.disk.next)
    const { retention } = state.meta
    if (retention === undefined) this.#add(state.disk, positions)
    else this.#retain(snapshot, retention, await planFiles(state, positions, memTable), nowMs)
  }

  /** The change for the catalog; valid when all requests are done. */
  get change(): CatalogChange {
    return { state: this.state, snapshot: this.#snapshot, disk: this.#disk() }
  }

  /** The change for the catalog if a request has failed: the stream keeps its files. */
  get blockedChange(): CatalogChange {
    return { state: this.state, snapshot: this.#snapshot, disk: this.state.disk }
  }

  #disk(): StreamDisk {
    const newest = this.#files.at(-1) as FileDisk
    if (this.state.meta.retention === undefined) return newest
    return {
      ...newest,
      older: this.#files.slice(0, -1),
      dropped: this.#dropped.length === 0 ? undefined : this.#dropped,
    }
  }

  /**
   * Whether files are created or removed. A checkpoint that did not end may have created the file without syncing the
   * folder. So the folder must be synced unless the catalog already lists the file with a length.
   */
  get changesFolder(): boolean {
    return this.requests.some(
      ({ removes, disk, positions }) => removes || createsIndex(disk, positions) || disk.bytes === 0,
    )
  }

  /** Stores that the request is done and its file is as `disk` describes. Returns whether all requests are done. */
  done({ at }: FileRequest, disk: FileDisk): boolean {
    const times = this.#files[at]?.times
    if (at !== -1) this.#files[at] = times === undefined ? disk : { ...disk, times }
    return --this.#missing === 0
  }

  /** Drops old files of `files`, and adds the others. */
  #retain(snapshot: StreamSnapshot, limits: StreamLimits, files: PlannedFile[], nowMs: number): void {
    const { state } = this
    // The forks need the records. The log may still lose the deletion of a fork that was deleted after the checkpoint
    // began.
    const dropped = Math.max(snapshot.forks, state.forks) > 0 ? [] : dropFiles(files, limits, nowMs)
    for (const { disk } of dropped) {
      // A file that the catalog contains is removed only by the next checkpoint: until this one is complete, a restart
      // still needs it.
      if (disk.bytes > 0) this.#dropped.push(disk.first)
      else this.#remove(state.fileName(disk.first))
    }
    const [oldest] = files
    for (const { disk, positions: added, times } of files) this.#add({ ...disk, times }, added)
    snapshot.first = oldest?.disk.first ?? 0
  }

  /** Adds a file of the stream and, if there are any, a request to add the records at `positions` to it. */
  #add(disk: FileDisk, positions: PositionList): void {
    const at = this.#files.push(disk) - 1
    if (positions.length > 0) this.#request(this.state.fileName(disk.first, true), false, disk, positions, at)
  }

  #remove(fileName: string): void {
    this.#request(fileName, true, NO_DISK, [], -1)
  }

  #request(fileName: string, removes: boolean, disk: FileDisk, positions: PositionList, at: number): void {
    const { lines } = codecOf(this.state.meta.encoding)
    this.requests.push({ flush: this, fileName, lines, removes, disk, positions, at })
  }
}

function createsIndex({ index, first, next }: FileDisk, positions: PositionList): boolean {
  const inMemory = index.length / INDEX_ENTRY_BYTES
  return next - first === inMemory && inMemory + positions.length >= INDEX_BLOCK_RECORDS
}
