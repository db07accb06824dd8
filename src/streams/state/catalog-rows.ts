/**
 * The records of streams in a catalog that is being loaded. They are kept as numbers and bytes, because the garbage
 * collector would have to move objects.
 */

import { sortedBy } from '../../support/radix-sort.js'
import { TimeSlice } from '../../support/time-slice.js'
import type { StoredStream } from './catalog-records.js'
import type { StreamState } from './state.js'
import { StoredStreams, StreamMap } from './stream-map.js'

export interface LoadedStreams {
  /** `source` of forks is not set yet. */
  streams: StreamMap
  /** The streams that were created with options, or whose files are behind, in the order of their creation. */
  withOptions: StreamState[]
}

export class CatalogRows {
  readonly #firstSeq: number
  readonly #stored: StoredStreams
  readonly #withOptions = new Set<string>()

  /** The records have the seqs from `firstSeq` to `nextSeq` - 1. */
  constructor(firstSeq: number, nextSeq: number) {
    this.#firstSeq = firstSeq
    this.#stored = new StoredStreams(nextSeq - firstSeq)
  }

  /** Adds the record `seq`, whose JSON is `text` and whose content is `stream`. */
  add(seq: number, text: Buffer, { name, created, meta, kept }: StoredStream): void {
    this.#stored.add(seq - this.#firstSeq, text, created)
    if (typeof meta !== 'string' || kept !== undefined) this.#withOptions.add(name)
  }

  /** Returns the streams whose newest records are `live`. */
  async streams(live: Iterable<[string, number]>): Promise<LoadedStreams> {
    const slice = new TimeSlice()
    const streams = new StreamMap(this.#stored)
    const withOptions: StreamState[] = []
    const created: number[] = []
    for (const [name, seq] of live) {
      if (slice.isOver()) await slice.nextTurn()
      streams.set(name, seq - this.#firstSeq)
      if (!this.#withOptions.has(name)) continue
      const state = streams.get(name) as StreamState
      withOptions.push(state)
      created.push(state.created)
    }
    return { streams, withOptions: await sortedBy(withOptions, created, slice) }
  }
}
