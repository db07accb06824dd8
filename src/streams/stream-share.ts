/** The part of a checkpoint that belongs to one stream: what it adds to which files, and which files it removes. */
import type { CatalogChange } from './catalog-records.js'
import { codecOf } from './encoding.js'
import { INDEX_BLOCK_RECORDS, INDEX_ENTRY_BYTES } from './record-index.js'
import { allFiles, dropFiles, leftFiles, planFiles } from './retention.js'
import { type FileDisk, NO_DISK, type StreamCapture, type StreamDisk, type StreamState } from './state.js'
import type { StoreRequest } from './store-job.js'
import type { Tail } from './tail.js'
import type { StreamLimits } from './types.js'

/** An addition to one file of the stream, or its removal. */
export interface FileRequest extends StoreRequest {
  share: StreamShare
  /** The number of the file in the stream; -1 if it is removed. */
  at: number
}

export class StreamShare {
  readonly state: StreamState
  /** The stream as of the checkpoint's position. Undefined: it was deleted. */
  readonly #capture: StreamCapture | undefined
  /** In the order in which they must be done. */
  readonly requests: FileRequest[] = []
  /** The stream's files after the checkpoint, the oldest first. */
  readonly #files: FileDisk[] = []
  /** First seqs of files in the catalog that the stream does not have any more. */
  readonly #dropped: number[] = []
  /** Requests that are not done. */
  #missing: number

  constructor(state: StreamState, tail: Tail, nowMs: number) {
    this.state = state
    if (state.deleted && state.capture === undefined) {
      this.#files.push(NO_DISK)
      for (const name of allFiles(state, tail)) this.#remove(name)
    } else {
      // Before anything is awaited: a later append leaves the capture alone, and does not change the live state it copies.
      const capture = state.capture ?? state.copy()
      state.capture = capture
      this.#capture = capture
      for (const name of leftFiles(state)) this.#remove(name)
      const positions = state.tail.slice(0, capture.next - state.disk.next)
      const { retention } = state.meta
      if (retention !== undefined) capture.first = this.#retain(retention, positions, tail, nowMs)
      else this.#add(state.disk, positions)
    }
    this.#missing = this.requests.length
  }

  /** For the catalog, when all requests are done. The share itself is not needed any more then. */
  get change(): CatalogChange {
    return { state: this.state, capture: this.#capture, disk: this.#disk() }
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

  /** Whether files are created or removed. They may exist in the folder's pages only, from a checkpoint that did not end. */
  get changesFolder(): boolean {
    return this.requests.some(
      ({ removes, disk, positions }) => removes || createsIndex(disk, positions) || disk.bytes === 0,
    )
  }

  /** The request is done, and its file is as `disk` says. Returns whether all requests are done. */
  done({ at }: FileRequest, disk: FileDisk): boolean {
    const times = this.#files[at]?.times
    if (at !== -1) this.#files[at] = times === undefined ? disk : { ...disk, times }
    return --this.#missing === 0
  }

  /** Divides the records at `positions` into files and drops old files; returns the first seq that is kept. */
  #retain(limits: StreamLimits, positions: readonly number[], tail: Tail, nowMs: number): number {
    const { state } = this
    const files = planFiles(state, positions, tail)
    // Its forks need its records.
    const dropped = state.forks > 0 ? [] : dropFiles(files, limits, nowMs)
    for (const { disk } of dropped) {
      // Until the catalog has this group, a restart needs the files of the previous one.
      if (disk.bytes > 0) this.#dropped.push(disk.first)
      else this.#remove(state.fileName(disk.first))
    }
    const [oldest] = files
    for (const { disk, positions: added, times } of files) this.#add({ ...disk, times }, added)
    return oldest?.disk.first ?? 0
  }

  /** Adds a file of the stream, to which the records at `positions` are to be added. */
  #add(disk: FileDisk, positions: readonly number[]): void {
    const at = this.#files.push(disk) - 1
    if (positions.length > 0) this.#request(this.state.fileName(disk.first, true), false, disk, positions, at)
  }

  #remove(fileName: string): void {
    this.#request(fileName, true, NO_DISK, [], -1)
  }

  #request(fileName: string, removes: boolean, disk: FileDisk, positions: readonly number[], at: number): void {
    const { lines } = codecOf(this.state.meta.encoding)
    this.requests.push({ share: this, fileName, lines, removes, disk, positions, at })
  }
}

function createsIndex({ index, first, next }: FileDisk, positions: readonly number[]): boolean {
  const inMemory = index.length / INDEX_ENTRY_BYTES
  return next - first === inMemory && inMemory + positions.length >= INDEX_BLOCK_RECORDS
}
