/**
 * The records of streams in a catalog that is being loaded. They are kept as numbers and bytes, because the garbage
 * collector would have to move objects.
 */

import { TimeSlice } from '../../support/time-slice.js'
import type { StoredStream } from './catalog-records.js'
import type { StreamState } from './state.js'
import { StoredBytes, StreamMap } from './stream-map.js'

/** The base of the radix sort. */
const DIGITS = 2048

export interface LoadedStreams {
  /** The streams in the order of their creation. `source` of forks is not set yet. */
  streams: StreamMap
  /** The streams that were created with options, or whose files are behind, in the order of their creation. */
  withOptions: StreamState[]
}

export class CatalogRows {
  readonly #firstSeq: number
  /**
   * For each record, by its seq: the position at which its stream was created, and the place of its JSON in `#bytes`.
   */
  readonly #created: Float64Array
  readonly #places: Float64Array
  readonly #bytes = new StoredBytes()
  readonly #withOptions = new Set<string>()

  /** The records have the seqs from `firstSeq` to `nextSeq` - 1. */
  constructor(firstSeq: number, nextSeq: number) {
    this.#firstSeq = firstSeq
    this.#created = new Float64Array(nextSeq - firstSeq)
    this.#places = new Float64Array(nextSeq - firstSeq)
  }

  /** Adds the record `seq`, whose JSON is `text` and whose content is `stream`. */
  add(seq: number, text: Buffer, { name, created, meta, kept }: StoredStream): void {
    const row = seq - this.#firstSeq
    this.#created[row] = created
    this.#places[row] = this.#bytes.add(text)
    if (typeof meta !== 'string' || kept !== undefined) this.#withOptions.add(name)
  }

  /** Returns the streams whose newest records are `live`. */
  async streams(live: ReadonlyMap<string, number>): Promise<LoadedStreams> {
    const slice = new TimeSlice()
    const names: string[] = []
    const created = new Float64Array(live.size)
    for (const [name, seq] of live) {
      if (slice.isOver()) await slice.nextTurn()
      created[names.length] = this.#created[seq - this.#firstSeq] as number
      names.push(name)
    }
    const streams = new StreamMap(this.#bytes)
    const withOptions: StreamState[] = []
    for (const at of await ascending(created, slice)) {
      if (slice.isOver()) await slice.nextTurn()
      const name = names[at] as string
      streams.set(name, this.#places[(live.get(name) as number) - this.#firstSeq] as number)
      if (this.#withOptions.has(name)) withOptions.push(streams.get(name) as StreamState)
    }
    return { streams, withOptions }
  }
}

/**
 * Returns the indexes of `keys` in the order of the keys. A radix sort that pauses for the event loop; a call of `sort`
 * would block it.
 */
async function ascending(keys: Float64Array, slice: TimeSlice): Promise<Uint32Array> {
  let from = new Uint32Array(keys.length)
  let to = new Uint32Array(keys.length)
  for (let at = 0; at < keys.length; at++) from[at] = at
  let more = true
  for (let unit = 1; more; unit *= DIGITS) {
    const digitOf = (index: number): number => Math.floor((keys[index] as number) / unit) % DIGITS
    const ends = new Uint32Array(DIGITS)
    more = false
    for (const index of from) {
      if (slice.isOver()) await slice.nextTurn()
      ;(ends[digitOf(index)] as number)++
      more ||= (keys[index] as number) >= unit * DIGITS
    }
    for (let digit = 1; digit < DIGITS; digit++) (ends[digit] as number) += ends[digit - 1] as number
    for (let at = from.length - 1; at >= 0; at--) {
      if (slice.isOver()) await slice.nextTurn()
      const index = from[at] as number
      to[--(ends[digitOf(index)] as number)] = index
    }
    ;[from, to] = [to, from]
  }
  return from
}
