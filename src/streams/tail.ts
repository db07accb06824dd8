/** The records that are in the log and may not be in their streams' files yet. No object is made for a record. */
import type { NativeRecordSlab } from '../native/stream-files.js'
import { EMPTY } from './entry.js'

/** The approximate overhead of a record in memory. */
const RECORD_OVERHEAD_BYTES = 48
const INITIAL_CAPACITY = 64

/** Where a value is in memory. */
export interface Place {
  readonly bytes: Buffer
  readonly valueAt: number
  readonly end: number
}

/** A record of the tail. */
export interface TailRecord {
  readonly position: number
  readonly timeMs: number
  readonly data: Buffer
  readonly length: number
}

/** Entries of successive positions whose bytes are in one Buffer. */
class Slab implements NativeRecordSlab {
  readonly bytes: Buffer
  readonly first: number
  count = 0
  /** Of each entry: where its value begins and ends. */
  places: Uint32Array = new Uint32Array(2 * INITIAL_CAPACITY)
  times: Float64Array = new Float64Array(INITIAL_CAPACITY)
  /** Entries that have been released. */
  released = 0

  constructor(bytes: Buffer, first: number) {
    this.bytes = bytes
    this.first = first
  }

  push(start: number, end: number, timeMs: number): void {
    const at = this.count
    if (at === this.times.length) this.#grow()
    this.places[2 * at] = start
    this.places[2 * at + 1] = end
    this.times[at] = timeMs
    this.count = at + 1
  }

  /** The bytes that the entries before number `count` take. */
  sizeBefore(count: number): number {
    return (count === 0 ? 0 : (this.places[2 * count - 1] as number)) + count * RECORD_OVERHEAD_BYTES
  }

  /** A job of a checkpoint may read the old arrays: they are left as they are. */
  #grow(): void {
    const { places, times } = this
    this.places = new Uint32Array(2 * places.length)
    this.places.set(places)
    this.times = new Float64Array(2 * times.length)
    this.times.set(times)
  }
}

export class Tail {
  /** The memory that the records take. */
  bytes = 0
  #slabs: Slab[] = []
  #newest = new Slab(EMPTY, 0)
  /** The slab of the last record that was looked up. */
  #recent = this.#newest

  /** For a checkpoint: all records, the oldest first. */
  get slabs(): readonly NativeRecordSlab[] {
    return this.#slabs
  }

  /** Adds the entry at `position`, which is after those of all earlier calls. */
  add(position: number, { bytes, valueAt, end }: Place, timeMs: number): void {
    let slab = this.#newest
    if (slab.bytes !== bytes || slab.first + slab.count !== position) {
      slab = new Slab(bytes, position)
      this.#newest = slab
      this.#slabs.push(slab)
    }
    const before = slab.sizeBefore(slab.count)
    slab.push(valueAt, end, timeMs)
    this.bytes += slab.sizeBefore(slab.count) - before
  }

  /** The record at `position`, which has been added and not been released. */
  at(position: number): TailRecord {
    const { bytes, places, times, first } = this.#slabOf(position)
    const index = position - first
    const data = bytes.subarray(places[2 * index], places[2 * index + 1])
    return { position, timeMs: times[index] as number, data, length: data.length }
  }

  /** As the members of `at`, without an object. */
  timeAt(position: number): number {
    const { times, first } = this.#slabOf(position)
    return times[position - first] as number
  }

  lengthAt(position: number): number {
    const { places, first } = this.#slabOf(position)
    const index = position - first
    return (places[2 * index + 1] as number) - (places[2 * index] as number)
  }

  /** The records before `position` are not needed any more. */
  releaseBefore(position: number): void {
    let gone = 0
    for (const slab of this.#slabs) {
      const count = Math.min(position - slab.first, slab.count)
      if (count <= slab.released) break
      this.bytes -= slab.sizeBefore(count) - slab.sizeBefore(slab.released)
      slab.released = count
      if (count === slab.count) gone++
    }
    this.#slabs.splice(0, gone)
    // Also if it is the newest: it would keep its memory.
    if (this.#slabs.length === 0) this.#newest = new Slab(EMPTY, 0)
    this.#recent = this.#newest
  }

  #slabOf(position: number): Slab {
    const { first, count } = this.#recent
    if (position >= first && position < first + count) return this.#recent
    let [low, high] = [0, this.#slabs.length - 1]
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((this.#slabs[middle] as Slab).first <= position) low = middle
      else high = middle - 1
    }
    this.#recent = this.#slabs[low] as Slab
    return this.#recent
  }
}
