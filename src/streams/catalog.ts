/** The catalog: the state of each stream as of the last checkpoint, in a small log. See docs/FORMAT.md, "The catalog". */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { DurlogError } from '../errors.js'
import type { Log } from '../index.js'
import {
  type CatalogChange,
  type CatalogHead,
  goneText,
  loadedStream,
  type StoredRecord,
  streamText,
} from './catalog-records.js'
import { Pace } from './pace.js'
import type { StreamState } from './state.js'

const FORMAT_VERSION = 1
/** A stream with the most producers, whose ids JSON escapes, fits into a segment. */
export const CATALOG_SEGMENT_BYTES: number = 8 << 20
/** Records, and characters of them, that are written at once. A batch must fit into the smallest segment of the catalog. */
const SLICE_RECORDS = 256
const SLICE_LENGTH = 1 << 15
/** Records that are read at once. */
const BATCH_RECORDS = 256
const BEGIN = JSON.stringify({ kind: 'begin' } satisfies StoredRecord)
/** Dead records that the catalog may hold besides as many as there are streams. */
const SLACK_RECORDS = 4096

/** An entry of a group. */
interface Found {
  seq: number
  name: string
  /** Undefined if the stream was deleted. */
  state: StreamState | undefined
}

/** The state that the newest complete group leaves. */
export interface CatalogState {
  head: CatalogHead | undefined
  /** The oldest first; without the sources of forks. */
  streams: Map<string, StreamState>
}

export class Catalog {
  readonly #log: Log
  /** The seq of each stream's newest entry in a complete group, and the stream of each such entry. */
  readonly #live = new Map<string, number>()
  readonly #names = new Map<number, string>()
  /** No record before it is live. */
  #liveFrom = 0

  constructor(log: Log) {
    this.#log = log
  }

  /** Throws ERR_DURLOG_CORRUPT, or ERR_DURLOG_VERSION if a newer durlog has written it. */
  async load(): Promise<CatalogState> {
    this.#live.clear()
    this.#names.clear()
    const streams = new Map<string, StreamState>()
    const pace = new Pace()
    let head: CatalogHead | undefined
    let group: Found[] = []
    for await (const batch of this.#log.read().batches(BATCH_RECORDS)) {
      for (const { seq, data } of batch) {
        const turn = pace.step()
        if (turn !== undefined) await turn
        const record = this.#parse(data, seq)
        if (record.kind === 'begin') {
          // The previous group has no commit: a crash ended it.
          group = []
        } else if (record.kind !== 'commit') {
          group.push({ seq, name: record.name, state: record.kind === 'gone' ? undefined : loadedStream(record) })
        } else {
          if (record.version > FORMAT_VERSION)
            throw new DurlogError('ERR_DURLOG_VERSION', `a newer durlog wrote the catalog in ${this.#log.dir}: upgrade`)
          await this.#apply(group, streams, pace)
          group = []
          head = record
        }
      }
    }
    return { head, streams: await oldestFirst(streams, pace) }
  }

  /** A group can hold all streams. */
  async #apply(group: readonly Found[], streams: Map<string, StreamState>, pace: Pace): Promise<void> {
    for (const { seq, name, state } of group) {
      const turn = pace.step()
      if (turn !== undefined) await turn
      if (state === undefined) streams.delete(name)
      else streams.set(name, state)
      this.#note(name, state === undefined ? undefined : seq)
    }
  }

  /**
   * Stores a group at `level`: `changed` and `head`. Moves some of the oldest live entries to the end if the catalog has
   * become long.
   */
  async store(
    changed: readonly CatalogChange[],
    head: Omit<CatalogHead, 'version'>,
    level: 'sync' | 'full' = 'sync',
  ): Promise<void> {
    const log = this.#log
    const groupStart = log.nextSeq
    /** The new entry of each stream; undefined if it was deleted. */
    const newSeqs = new Map<string, number | undefined>()
    const writer = new SliceWriter(log)
    writer.put(BEGIN)
    for (const { state, capture, disk } of changed) {
      const text = capture === undefined ? goneText(state.name) : streamText(state, capture, disk)
      if (!writer.hasRoom(text.length)) await writer.flush()
      const seq = writer.put(text)
      newSeqs.set(state.name, capture === undefined ? undefined : seq)
    }
    const liveFrom = await this.#moveOldest(groupStart, writer, newSeqs)
    await writer.flush()
    await log.append(JSON.stringify({ kind: 'commit', version: FORMAT_VERSION, ...head }), { durability: level })
    const pace = new Pace()
    for (const [name, seq] of newSeqs) {
      const turn = pace.step()
      if (turn !== undefined) await turn
      this.#note(name, seq)
    }
    this.#liveFrom = liveFrom
  }

  /** Removes what no group needs any more. */
  async trim(): Promise<void> {
    if (this.#liveFrom > this.#log.firstSeq) await this.#log.trimBefore(this.#liveFrom)
  }

  close(): Promise<void> {
    return this.#log.close()
  }

  /** Copies live entries from the beginning of the catalog; returns the seq before which none is live then. */
  async #moveOldest(
    groupStart: number,
    writer: SliceWriter,
    newSeqs: Map<string, number | undefined>,
  ): Promise<number> {
    const from = Math.max(this.#liveFrom, this.#log.firstSeq)
    if (groupStart - from <= 2 * this.#live.size + SLACK_RECORDS) return from
    // Twice what this group has added, so that the catalog becomes shorter.
    const end = Math.min(from + 2 * newSeqs.size + SLICE_RECORDS, groupStart)
    for await (const { seq, data } of this.#log.read({ from, to: end })) {
      const name = this.#names.get(seq)
      if (name === undefined || newSeqs.has(name)) continue
      if (!writer.hasRoom(data.length)) await writer.flush()
      newSeqs.set(name, writer.put(data))
    }
    return end
  }

  /** The newest entry of the stream is `seq`; undefined: it has none. */
  #note(name: string, seq: number | undefined): void {
    this.#names.delete(this.#live.get(name) ?? -1)
    if (seq === undefined) this.#live.delete(name)
    else {
      this.#live.set(name, seq)
      this.#names.set(seq, name)
    }
  }

  #parse(data: Buffer, seq: number): StoredRecord {
    try {
      return JSON.parse(data.toString()) as StoredRecord
    } catch (cause) {
      const message = `record ${seq} of the catalog in ${this.#log.dir} is not JSON`
      throw new DurlogError('ERR_DURLOG_CORRUPT', message, { lostFirst: seq, lostLast: seq, cause })
    }
  }
}

async function oldestFirst(streams: ReadonlyMap<string, StreamState>, pace: Pace): Promise<Map<string, StreamState>> {
  const byCreation = new Map<number, StreamState>()
  // Sorting numbers takes a tenth of the time of sorting objects.
  const positions = new Float64Array(streams.size)
  for (const state of streams.values()) {
    const turn = pace.step()
    if (turn !== undefined) await turn
    positions[byCreation.size] = state.created
    byCreation.set(state.created, state)
  }
  const sorted = new Map<string, StreamState>()
  for (const created of positions.sort()) {
    const turn = pace.step()
    if (turn !== undefined) await turn
    const state = byCreation.get(created) as StreamState
    sorted.set(state.name, state)
  }
  return sorted
}

/** Appends records a slice at a time, so that neither memory nor a turn of the event loop holds all of them. */
class SliceWriter {
  readonly #log: Log
  #records: (string | Buffer)[] = []
  #length = 0
  #next: number

  constructor(log: Log) {
    this.#log = log
    this.#next = log.nextSeq
  }

  /** Whether a record of `length` fits before a `flush`. A record with many producers may need a segment for itself. */
  hasRoom(length: number): boolean {
    return this.#records.length < SLICE_RECORDS && (this.#length === 0 || this.#length + length <= SLICE_LENGTH)
  }

  /** Returns the record's seq. */
  put(record: string | Buffer): number {
    this.#records.push(record)
    this.#length += record.length
    return this.#next++
  }

  async flush(): Promise<void> {
    const records = this.#records
    if (records.length === 0) return
    this.#records = []
    this.#length = 0
    await this.#log.appendBatch(records, { durability: 'memory' })
    // At `memory` it may have settled at once: let the event loop turn.
    await nextTurn()
  }
}
