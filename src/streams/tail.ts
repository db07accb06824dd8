/** The records that are in the log and may not be in their streams' files yet. No object is made for a record. */
import { EMPTY, type Entry } from './entry.js'

/** The approximate overhead of a record in memory. */
const RECORD_OVERHEAD_BYTES = 48

/** A record of the tail. */
export interface TailRecord {
  readonly position: number
  readonly timeMs: number
  /** The value is `bytes` from `start` to `end`. */
  readonly bytes: Buffer
  readonly start: number
  readonly end: number
  readonly data: Buffer
  readonly length: number
}

/** Entries of successive positions whose bytes are in one Buffer. */
class Slab {
  readonly bytes: Buffer
  readonly first: number
  /** Of each entry: where its value begins and ends, and its time. */
  readonly starts: number[] = []
  readonly ends: number[] = []
  readonly times: number[] = []
  /** Entries that have been released. */
  released = 0

  constructor(bytes: Buffer, first: number) {
    this.bytes = bytes
    this.first = first
  }

  /** The bytes that the entries before number `count` take. */
  sizeBefore(count: number): number {
    return (count === 0 ? 0 : (this.ends[count - 1] as number)) + count * RECORD_OVERHEAD_BYTES
  }
}

export class Tail {
  /** The memory that the records take. */
  bytes = 0
  #slabs: Slab[] = []
  #newest = new Slab(EMPTY, 0)
  /** The slab of the last record that was looked up. */
  #recent = this.#newest

  /** Adds the entry at `position`, which is after those of all earlier calls. */
  add(position: number, { bytes, valueAt, end, timeMs }: Entry): void {
    let slab = this.#newest
    if (slab.bytes !== bytes || slab.first + slab.starts.length !== position) {
      slab = new Slab(bytes, position)
      this.#newest = slab
      this.#slabs.push(slab)
    }
    const count = slab.starts.length
    const before = slab.sizeBefore(count)
    slab.starts.push(valueAt)
    slab.ends.push(end)
    slab.times.push(timeMs)
    this.bytes += slab.sizeBefore(count + 1) - before
  }

  /** The record at `position`, which has been added and not been released. */
  at(position: number): TailRecord {
    const slab = this.#slabOf(position)
    const index = position - slab.first
    const [start, end] = [slab.starts[index] as number, slab.ends[index] as number]
    const { bytes } = slab
    const length = end - start
    return {
      position,
      timeMs: slab.times[index] as number,
      bytes,
      start,
      end,
      length,
      data: bytes.subarray(start, end),
    }
  }

  /** Passes the place and the time of the record at `position` to `take`. */
  describe(position: number, take: (bytes: Buffer, start: number, end: number, timeMs: number) => void): void {
    const slab = this.#slabOf(position)
    const index = position - slab.first
    take(slab.bytes, slab.starts[index] as number, slab.ends[index] as number, slab.times[index] as number)
  }

  /** The records before `position` are not needed any more. */
  releaseBefore(position: number): void {
    let gone = 0
    for (const slab of this.#slabs) {
      const count = Math.min(position - slab.first, slab.starts.length)
      if (count <= slab.released) break
      this.bytes -= slab.sizeBefore(count) - slab.sizeBefore(slab.released)
      slab.released = count
      if (count === slab.starts.length) gone++
    }
    this.#slabs.splice(0, gone)
    // Also if it is the newest: it would keep its memory.
    if (this.#slabs.length === 0) this.#newest = new Slab(EMPTY, 0)
    this.#recent = this.#newest
  }

  #slabOf(position: number): Slab {
    const { first, starts } = this.#recent
    if (position >= first && position < first + starts.length) return this.#recent
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
