/** The calls that append: each is decided, framed and applied in one step, and acknowledged later. */
import { DurlogError } from '../errors.js'
import type { Durability } from '../index.js'
import type { FramingLog } from '../open.js'
import { decide, decideBatch, type Wanted } from './decide.js'
import { EMPTY, type Entry, encodeEntry } from './entry.js'
import type { FrameMemory } from './frame-memory.js'
import type { RequestId } from './requests.js'
import type { StreamState } from './state.js'
import { resultSeq, type StreamTable } from './table.js'
import type { StreamAppendResult } from './types.js'

/** A change of a stream. */
export interface Item extends Wanted {
  /** A string is stored as UTF-8. */
  value: Buffer | string
  /** When the record was made, if it is not now. */
  timestamp?: number | undefined
}

/** How calls reach the log. */
export interface Framing {
  log: FramingLog
  durability: Durability
  memory: FrameMemory
  onSettled: Parameters<FramingLog['frame']>[4]
}

/** Items that are stored all or not at all. */
export interface Call {
  /** The position of its last entry. */
  last: number
  /** Whether the items were stored before. Throws the refusal. */
  decide(table: StreamTable): boolean
  /** False if the log has no room: then nothing has changed. Otherwise the items are in the log, from `position` on. */
  frame(framing: Framing, table: StreamTable, position: number): boolean
  /** The items have reached the level, and readers may see them. */
  acknowledge(table: StreamTable): void
  /** The originals have reached the level. */
  repeated(): void
  /** Rejects as `rejection` does. */
  resolve(rejection: Promise<never>): void
}

let lastResolve: (value: never) => void
/** One executor for all promises. */
function capture(resolve: (value: never) => void): void {
  lastResolve = resolve
}

abstract class Promised<T> {
  readonly promise: Promise<T>
  readonly resolve: (value: T | Promise<never>) => void
  last = -1

  constructor() {
    this.promise = new Promise<T>(capture)
    this.resolve = lastResolve as (value: T | Promise<never>) => void
  }
}

/** A call with one item. */
export class SingleCall extends Promised<StreamAppendResult> implements Call {
  readonly #item: Item
  #found: StreamState | undefined
  #seq = -1

  constructor(item: Item) {
    super()
    this.#item = item
  }

  decide(table: StreamTable): boolean {
    this.#found = table.find(this.#item.stream)
    const { outcome, seq } = decide(this.#item, this.#found, table.find)
    this.#seq = seq
    return outcome === 'duplicate'
  }

  frame({ log, durability, memory, onSettled }: Framing, table: StreamTable, position: number): boolean {
    const timeMs = Math.max(Date.now(), table.lastTimeMs)
    const entry = entryOf(this.#item, this.#seq, timeMs, false, undefined)
    encodeEntry(memory, entry, this.#item.value)
    if (!log.frame(entry.bytes, entry.start, entry.end, durability, onSettled)) return false
    memory.keep(entry.end)
    this.last = position
    this.#found = table.apply(entry, position, this.#found)
    return true
  }

  acknowledge(table: StreamTable): void {
    const { kind } = this.#item
    table.acknowledged(kind, this.#seq, this.#found as StreamState)
    this.resolve({ seq: resultSeq({ kind, seq: this.#seq }), duplicate: false })
  }

  repeated(): void {
    this.resolve({ seq: this.#seq, duplicate: true })
  }
}

/** A call with any number of items, and the request that made it. */
export class BatchCall extends Promised<StreamAppendResult[]> implements Call {
  readonly #items: readonly Item[]
  readonly #request: RequestId | undefined
  #results: StreamAppendResult[] = []
  #states: StreamState[] = []

  constructor(items: readonly Item[], request: RequestId | undefined) {
    super()
    this.#items = items
    this.#request = request
  }

  decide(table: StreamTable): boolean {
    const original = this.#request === undefined ? undefined : table.requests.find(this.#request)
    if (original !== undefined) {
      this.#results = original.map((seq) => ({ seq, duplicate: false }))
      return true
    }
    const verdicts = decideBatch(this.#items, table.find)
    this.#results = verdicts.map(({ seq, outcome }) => ({ seq, duplicate: outcome === 'duplicate' }))
    const duplicates = this.#results.filter(({ duplicate }) => duplicate).length
    if (duplicates > 0 && duplicates < this.#items.length)
      throw new DurlogError(
        'ERR_DURLOG_PRODUCER_GAP',
        `${duplicates} of the batch's ${this.#items.length} appends were stored before: repeat a batch with the same appends, each with its producer`,
      )
    return duplicates > 0
  }

  frame({ log, durability, memory, onSettled }: Framing, table: StreamTable, position: number): boolean {
    const entries = this.#encode(memory, Math.max(Date.now(), table.lastTimeMs))
    const frames = entries.map(({ bytes, start, end }) => bytes.subarray(start, end))
    if (!log.frameBatch(frames, durability, onSettled)) return false
    this.last = position + entries.length - 1
    this.#states = entries.map((entry, at) => table.apply(entry, position + at, table.find(entry.stream)))
    table.remember(entries)
    return true
  }

  #encode(memory: FrameMemory, timeMs: number): Entry[] {
    return this.#items.map((item, at) => {
      const { seq } = this.#results[at] as StreamAppendResult
      const request = at === 0 ? this.#request : undefined
      const entry = entryOf(item, seq, timeMs, at < this.#items.length - 1, request)
      encodeEntry(memory, entry, item.value)
      memory.keep(entry.end)
      return entry
    })
  }

  acknowledge(table: StreamTable): void {
    for (const [at, { kind }] of this.#items.entries()) {
      const result = this.#results[at] as StreamAppendResult
      table.acknowledged(kind, result.seq, this.#states[at] as StreamState)
      result.seq = resultSeq({ kind, seq: result.seq })
    }
    this.resolve(this.#results)
  }

  repeated(): void {
    this.resolve(this.#results)
  }
}

/** Without its bytes. Each field is named: a spread would cost as much as the rest of an append. */
function entryOf(item: Item, seq: number, timeMs: number, continues: boolean, request: RequestId | undefined): Entry {
  const { kind, stream, producer, writerSeq, encoding, meta, existing, follows, timestamp } = item
  return {
    kind,
    stream,
    seq,
    // No later than now: the times of later records would be as late.
    timeMs: timestamp === undefined ? timeMs : Math.min(timestamp, timeMs),
    producer,
    request,
    writerSeq,
    encoding,
    meta,
    existing,
    follows,
    continues,
    bytes: EMPTY,
    start: 0,
    valueAt: 0,
    end: 0,
  }
}
