/**
 * The streams of a folder by name. A stream that was not used since the folder was opened is kept as its JSON from the
 * catalog, and becomes an object at its first use. Objects need more memory and more time of the garbage collector.
 */

import { NameMap } from '../../support/name-map.js'
import { sortedBy } from '../../support/radix-sort.js'
import { SortedNames } from '../../support/sorted-names.js'
import { TimeSlice } from '../../support/time-slice.js'
import { Arena, SLAB_BYTES } from './arena.js'
import { loadedStream, type StoredStream } from './catalog-records.js'
import type { StreamState } from './state.js'

const NEWLINE = 0x0a

export class StreamMap {
  /** A stream, or its row in `#stored`. */
  readonly #streams = new NameMap<StreamState | number>()
  readonly #stored: StoredStreams
  /** Kept from the first list on: most folders are never listed. */
  #sorted: SortedNames | undefined
  #sorting: Promise<SortedNames> | undefined

  constructor(stored: StoredStreams = new StoredStreams(0)) {
    this.#stored = stored
  }

  get size(): number {
    return this.#streams.size
  }

  get(name: string): StreamState | undefined {
    const found = this.#streams.get(name)
    if (typeof found !== 'number') return found
    const state = this.#stored.at(found)
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

  /**
   * The names that begin with `prefix`, in the order of creation. Whether they include a stream that was created or
   * deleted meanwhile is not known.
   */
  async created(prefix: string, signal?: AbortSignal): Promise<string[]> {
    const slice = new TimeSlice()
    const names: string[] = []
    const positions: number[] = []
    for (const [name, stream] of this.#streams) {
      if (slice.isOver()) await slice.nextTurn()
      signal?.throwIfAborted()
      if (!name.startsWith(prefix)) continue
      names.push(name)
      positions.push(typeof stream === 'number' ? this.#stored.createdAt(stream) : stream.created)
    }
    return sortedBy(names, positions, slice)
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
    for (const [name] of this.#streams) {
      if (slice.isOver()) await slice.nextTurn()
      // It may have been deleted meanwhile.
      if (this.#streams.get(name) !== undefined) names.add(name)
    }
    return names
  }
}

/** Streams as JSON texts in a few large blocks of memory, each in its row. */
export class StoredStreams {
  readonly #memory = new Arena()
  readonly #slabs: Buffer[] = []
  /** The position at which the stream of each row was created. */
  readonly #created: Float64Array
  readonly #places: Float64Array

  constructor(rows: number) {
    this.#created = new Float64Array(rows)
    this.#places = new Float64Array(rows)
  }

  /** Adds a stream, whose JSON is `text`. */
  add(row: number, text: Buffer, created: number): void {
    const memory = this.#memory
    const bytes = memory.reserve(text.length + 1)
    if (bytes !== this.#slabs.at(-1)) this.#slabs.push(bytes)
    const { start } = memory
    memory.end = start + text.copy(bytes, start)
    bytes[memory.end++] = NEWLINE
    memory.keep()
    this.#created[row] = created
    this.#places[row] = (this.#slabs.length - 1) * SLAB_BYTES + start
  }

  createdAt(row: number): number {
    return this.#created[row] as number
  }

  at(row: number): StreamState {
    const place = this.#places[row] as number
    const slab = this.#slabs[Math.floor(place / SLAB_BYTES)] as Buffer
    const start = place % SLAB_BYTES
    const text = slab.toString('utf8', start, slab.indexOf(NEWLINE, start))
    return loadedStream(JSON.parse(text) as StoredStream)
  }
}
