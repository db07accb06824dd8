/** One job of a checkpoint: the additions to the files of several streams, which one call of the core stores. */
import type { DurlogError } from '../../errors.js'
import {
  type NativeStreamFiles,
  type NativeStreamResult,
  STREAM_RESULT_FIELDS,
  StreamFlag,
} from '../../native/stream-files.js'
import { TimeSlice } from '../../support/time-slice.js'
import type { MemTable } from '../state/mem-table.js'
import type { PositionList } from '../state/positions.js'
import { INDEX_ENTRY_BYTES } from '../state/record-index.js'
import type { FileDisk } from '../state/state.js'

/** The limits of a job. To collect it takes about a millisecond. */
const MAX_STREAMS = 256
const MAX_RECORDS = 8192

/** An addition to one file of a stream, or its removal. */
export interface StoreRequest {
  /** The name of the file without its extension, which is also the name of its index. */
  fileName: string
  /** The file is JSON Lines; otherwise it consists of frames. */
  lines: boolean
  /** Remove the file and its index first. */
  removes: boolean
  /** The file as of the last checkpoint. */
  disk: FileDisk
  /** The positions of the records to add. */
  positions: PositionList
}

export interface StoreOptions {
  /** Sync each file, with the descriptor that has written it. */
  sync: boolean
  /** Stop after this many changes of the device. */
  stepLimit: number
}

export class StoreJob<Owner extends StoreRequest> {
  readonly #memTable: MemTable
  readonly #owners: Owner[] = []
  readonly #streams: number[] = []
  readonly #indexes: Uint8Array[] = []
  #records = 0

  constructor(memTable: MemTable) {
    this.#memTable = memTable
  }

  get isFull(): boolean {
    return this.#owners.length >= MAX_STREAMS || this.#records >= MAX_RECORDS
  }

  get isEmpty(): boolean {
    return this.#owners.length === 0
  }

  add(owner: Owner): void {
    const { lines, removes, disk, positions } = owner
    const { first, next, bytes, crc, index } = disk
    // Without records to add, the file may still need its sync and its index: `FileRepair` has kept its records.
    const hasFile = positions.length > 0 || bytes > 0
    const flags =
      (lines ? StreamFlag.lines : 0) | (removes ? StreamFlag.removes : 0) | (hasFile ? StreamFlag.hasFile : 0)
    const entries = next - first - index.length / INDEX_ENTRY_BYTES
    this.#streams.push(flags, bytes, crc, entries, index.length, positions.length)
    this.#indexes.push(index)
    this.#owners.push(owner)
    this.#records += positions.length
  }

  /**
   * Runs the job. Calls `stored` for each request with the new state of the file, with undefined if the file does not
   * have the length that `disk` says, or with the error if it could not be written.
   */
  async run(
    files: NativeStreamFiles,
    options: StoreOptions,
    stored: (owner: Owner, result: FileDisk | DurlogError | undefined) => void,
  ): Promise<Pick<NativeStreamResult, 'steps' | 'stopped'>> {
    const result = await files.store({
      names: this.#owners.map(({ fileName }) => fileName),
      streams: new Float64Array(this.#streams),
      indexes: Buffer.concat(this.#indexes),
      positions: this.#positions(),
      slabs: this.#memTable.slabs,
      ...options,
    })
    if (result.stopped) return result
    const { streams, indexes, failures } = result
    let at = 0
    const slice = new TimeSlice()
    for (const [number, owner] of this.#owners.entries()) {
      if (slice.isOver()) await slice.nextTurn()
      const field = number * STREAM_RESULT_FIELDS
      const bytes = streams[field + 1] as number
      const crc = streams[field + 2] as number
      const indexEnd = at + (streams[field + 3] as number)
      // A copy, because a part of `indexes` would keep all of it in memory.
      const index = Buffer.from(indexes.subarray(at, indexEnd))
      at = indexEnd
      const { first, next } = owner.disk
      const disk = { first, next: next + owner.positions.length, bytes, crc, index }
      stored(owner, failures[number] ?? (streams[field] === 1 ? disk : undefined))
    }
    return result
  }

  #positions(): Float64Array {
    const all = new Float64Array(this.#records)
    let at = 0
    for (const { positions } of this.#owners) {
      all.set(positions, at)
      at += positions.length
    }
    return all
  }
}
