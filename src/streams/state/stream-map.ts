/**
 * The streams of a folder by name, in the order of their creation. A stream that was not used since the folder was
 * opened is kept as its JSON from the catalog, and becomes an object at its first use. Objects need more memory and
 * more time of the garbage collector.
 */

import { TimeSlice } from '../../support/time-slice.js'
import { Arena, SLAB_BYTES } from './arena.js'
import { loadedStream, type StoredStream } from './catalog-records.js'
import { SortedNames } from './sorted-names.js'
import type { StreamState } from './state.js'

const NEWLINE = 0x0a

export class StreamMap {
  /** A stream, or the place of its JSON in `#stored`. */
  readonly #streams = new Map<string, StreamState | number>()
  readonly #stored: StoredBytes
  /** Kept from the first list on: most folders are never listed. */
  #sorted: SortedNames | undefined
  #sorting: Promise<SortedNames> | undefined

  constructor(stored: StoredBytes = new StoredBytes()) {
    this.#stored = stored
  }

  get size(): number {
    return this.#streams.size
  }

  names(): IterableIterator<string> {
    return this.#streams.keys()
  }

  get(name: string): StreamState | undefined {
    const found = this.#streams.get(name)
    if (typeof found !== 'number') return found
    const state = loadedStream(JSON.parse(this.#stored.at(found)) as StoredStream)
    this.#streams.set(name, state)
    return state
  }

  set(name: string, stream: StreamState | number): void {
    this.#streams.set(name, stream)
    this.#sorted?.add(name)
  }

  delete(name: string): void {
    this.#streams.delete(name)
    this.#sorted?.delete(name)
  }

  /** The names in ascending order, which later changes update. */
  sorted(): Promise<SortedNames> {
    this.#sorting ??= this.#sort()
    return this.#sorting
  }

  async #sort(): Promise<SortedNames> {
    const slice = new TimeSlice()
    const names = new SortedNames()
    this.#sorted = names
    for (const name of this.#streams.keys()) {
      if (slice.isOver()) await slice.nextTurn()
      // It may have been deleted meanwhile.
      if (this.#streams.has(name)) names.add(name)
    }
    return names
  }
}

/** JSON texts in a few large blocks of memory. */
export class StoredBytes {
  readonly #memory = new Arena()
  readonly #slabs: Buffer[] = []

  /** Adds a text and returns its place. */
  add(text: Buffer): number {
    const memory = this.#memory
    const bytes = memory.reserve(text.length + 1)
    if (bytes !== this.#slabs.at(-1)) this.#slabs.push(bytes)
    const { start } = memory
    memory.end = start + text.copy(bytes, start)
    bytes[memory.end++] = NEWLINE
    memory.keep()
    return (this.#slabs.length - 1) * SLAB_BYTES + start
  }

  at(place: number): string {
    const slab = this.#slabs[Math.floor(place / SLAB_BYTES)] as Buffer
    const start = place % SLAB_BYTES
    return slab.toString('utf8', start, slab.indexOf(NEWLINE, start))
  }
}
