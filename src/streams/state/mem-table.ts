/**
 * The records that may not be in their streams' files yet, in memory. A checkpoint writes them to the files. To save
 * memory, there is no object for each record.
 */
import type { NativeRecordSlab } from '../../native/stream-files.js'
import { TimeSlice } from '../../support/time-slice.js'
import { EMPTY } from './entry.js'

/** The approximate overhead of a record in memory. */
export const RECORD_OVERHEAD_BYTES = 48
/** The numbers of entries for which a new slab has room. */
const MIN_CAPACITY = 64
const MAX_CAPACITY = 4096

/** The place of a value in memory: `bytes` from `valueAt` to `end`. */
export interface ValueSlice {
  readonly bytes: Buffer
  readonly valueAt: number
  readonly end: number
}

/** A record in the table. */
export interface MemTableRecord {
  readonly position: number
  readonly timeMs: number
  readonly data: Buffer
}

/** Entries whose bytes are in one Buffer. Without `positions`, their positions are consecutive. */
class RecordSlab implements NativeRecordSlab {
  readonly bytes: Buffer
  readonly first: number
  readonly positions: Float64Array | undefined
  count = 0
  /** For each entry, the offsets at which its value begins and ends. */
  places: Uint32Array
  /** For each entry, its time in milliseconds since 1970. */
  times: Float64Array
  /** The number of released entries, which are the first ones. */
  released = 0

  constructor(bytes: Buffer, first: number, capacity: number, positions?: Float64Array) {
    this.bytes = bytes
    this.first = first
    this.positions = positions
    this.places = new Uint32Array(2 * capacity)
    this.times = new Float64Array(capacity)
  }

  /** The index of the entry at `position`, which the slab has. */
  indexOf(position: number): number {
    const { positions } = this
    if (positions === undefined) return position - this.first
    let [low, high] = [0, positions.length - 1]
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((positions[middle] as number) <= position) low = middle
      else high = middle - 1
    }
    return low
  }

  push(start: number, end: number, timeMs: number): void {
    const at = this.count
    if (at === this.times.length) this.#grow(at + 1)
    this.places[2 * at] = start
    this.places[2 * at + 1] = end
    this.times[at] = timeMs
    this.count = at + 1
  }

  pushAll(places: Uint32Array, base: number, timeMs: number): void {
    const count = this.count + places.length / 2
    if (count > this.times.length) this.#grow(count)
    if (base === 0) this.places.set(places, 2 * this.count)
    else for (let at = 0; at < places.length; at++) this.places[2 * this.count + at] = base + (places[at] as number)
    this.times.fill(timeMs, this.count, count)
    this.count = count
  }

  /** The memory that the first `count` entries take, in bytes. */
  sizeBefore(count: number): number {
    return (count === 0 ? 0 : (this.places[2 * count - 1] as number)) + count * RECORD_OVERHEAD_BYTES
  }

  /** Replaces the arrays, because a job of a checkpoint may be reading the old ones. */
  #grow(needed: number): void {
    const { places, times } = this
    const capacity = Math.max(2 * times.length, needed, MIN_CAPACITY)
    this.places = new Uint32Array(2 * capacity)
    this.places.set(places)
    this.times = new Float64Array(capacity)
    this.times.set(times)
  }
}

export class MemTable {
  /** The memory that the records take without those of `#kept`, in bytes. */
  bytes = 0
  /** Copies of records that were released while their streams' files could not be written. */
  #kept: RecordSlab | undefined
  #slabs: RecordSlab[] = []
  #newest = new RecordSlab(EMPTY, 0, 0)
  /** The slab of the last record that was looked up. */
  #recent = this.#newest

  /** All records, the oldest first, for a checkpoint. */
  get slabs(): readonly NativeRecordSlab[] {
    return this.#kept === undefined ? this.#slabs : [this.#kept, ...this.#slabs]
  }

  /** Adds the entry at `position`, which must be greater than all earlier positions. */
  add(position: number, { bytes, valueAt, end }: ValueSlice, timeMs: number): void {
    const slab = this.#slabFor(bytes, position)
    const before = slab.sizeBefore(slab.count)
    slab.push(valueAt, end, timeMs)
    this.bytes += slab.sizeBefore(slab.count) - before
  }

  /** Like `add`, for successive entries whose values are at `places` plus `base`. */
  addAll(position: number, bytes: Buffer, places: Uint32Array, base: number, timeMs: number): void {
    const slab = this.#slabFor(bytes, position)
    const before = slab.sizeBefore(slab.count)
    slab.pushAll(places, base, timeMs)
    this.bytes += slab.sizeBefore(slab.count) - before
  }

  /** Returns the record at `position`, which must have been added and not released. */
  at(position: number): MemTableRecord {
    const slab = this.#slabOf(position)
    const { bytes, places, times } = slab
    const index = slab.indexOf(position)
    const data = bytes.subarray(places[2 * index], places[2 * index + 1])
    return { position, timeMs: times[index] as number, data }
  }

  /** The time, and the length of the data, of the record at `position`, without creating an object. */
  timeAt(position: number): number {
    const slab = this.#slabOf(position)
    return slab.times[slab.indexOf(position)] as number
  }

  lengthAt(position: number): number {
    const slab = this.#slabOf(position)
    const { places } = slab
    const index = slab.indexOf(position)
    return (places[2 * index + 1] as number) - (places[2 * index] as number)
  }

  /**
   * Releases the records before `position` except those at the positions `kept`, which are ascending. Copies these, so
   * that they keep no other record in memory.
   */
  async releaseBefore(position: number, kept: Float64Array): Promise<void> {
    let copied: RecordSlab | undefined
    if (kept.length > 0) {
      const slice = new TimeSlice()
      let size = 0
      for (const at of kept) {
        if (slice.isOver()) await slice.nextTurn()
        size += this.lengthAt(at)
      }
      copied = new RecordSlab(Buffer.allocUnsafe(size), kept[0] as number, kept.length, kept)
      let end = 0
      for (const at of kept) {
        if (slice.isOver()) await slice.nextTurn()
        const { data, timeMs } = this.at(at)
        const start = end
        end += data.copy(copied.bytes, start)
        copied.push(start, end, timeMs)
      }
    }
    this.#release(position)
    // A slab that has later records too was not released. If it has all of the copied ones, they are not needed.
    this.#kept =
      copied !== undefined && copied.first < (this.#slabs[0]?.first ?? Number.POSITIVE_INFINITY) ? copied : undefined
  }

  #release(position: number): void {
    let empty = 0
    for (const slab of this.#slabs) {
      const count = Math.min(position - slab.first, slab.count)
      if (count <= slab.released) break
      this.bytes -= slab.sizeBefore(count) - slab.sizeBefore(slab.released)
      slab.released = count
      if (count === slab.count) empty++
    }
    this.#slabs.splice(0, empty)
    // Replace the newest slab too if it is released, because it would keep its memory.
    if (this.#slabs.length === 0) this.#newest = new RecordSlab(EMPTY, 0, 0)
    this.#recent = this.#newest
  }

  /** The slab to which the entry at `position` is added. */
  #slabFor(bytes: Buffer, position: number): RecordSlab {
    const newest = this.#newest
    if (newest.bytes === bytes && newest.first + newest.count === position) return newest
    // The slabs of similar appends have as many entries.
    const capacity = Math.min(Math.max(newest.count, MIN_CAPACITY), MAX_CAPACITY)
    this.#newest = new RecordSlab(bytes, position, capacity)
    this.#slabs.push(this.#newest)
    return this.#newest
  }

  #slabOf(position: number): RecordSlab {
    const { first, count } = this.#recent
    if (position >= first && position < first + count) return this.#recent
    if (this.#kept !== undefined && position < (this.#slabs[0]?.first ?? Number.POSITIVE_INFINITY)) return this.#kept
    let [low, high] = [0, this.#slabs.length - 1]
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((this.#slabs[middle] as RecordSlab).first <= position) low = middle
      else high = middle - 1
    }
    this.#recent = this.#slabs[low] as RecordSlab
    return this.#recent
  }
}
