/** The calls that append: each is decided, framed and applied in one step, and acknowledged later. */
import { DurlogError } from '../errors.js'
import type { Durability } from '../index.js'
import type { FramingLog } from '../open.js'
import { checkForkStart, decide, decideBatch, type Wanted } from './decide.js'
import { type EntryKind, encodeEntry } from './entry.js'
import type { FrameMemory } from './frame-memory.js'
import type { RequestId } from './requests.js'
import type { StreamState } from './state.js'
import { resultSeq, type StreamTable } from './table.js'
import type { Place } from './tail.js'
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

/** Called once, with the result or with a rejection. It neither throws nor calls the log. */
export type Settle<T> = (outcome: T | Promise<never>) => void

/** A call with one item. */
export class SingleCall implements Call {
  readonly resolve: Settle<StreamAppendResult>
  last = -1
  /** Undefined once it is framed: until the acknowledgement nothing needs its value. */
  #item: Item | undefined
  #kind: EntryKind
  #state: StreamState | undefined
  #seq = -1

  constructor(item: Item, resolve: Settle<StreamAppendResult>) {
    this.resolve = resolve
    this.#item = item
    this.#kind = item.kind
  }

  decide(table: StreamTable): boolean {
    const item = this.#item as Item
    this.#state = table.find(item.stream)
    const { outcome, seq } = decide(item, this.#state, table.find)
    this.#seq = seq
    return outcome === 'duplicate'
  }

  frame({ log, durability, memory, onSettled }: Framing, table: StreamTable, position: number): boolean {
    const item = this.#item as Item
    const timeMs = timeOf(item, Math.max(Date.now(), table.lastTimeMs))
    encodeEntry(memory, item, this.#seq, timeMs)
    if (!log.frame(memory.bytes, memory.start, memory.end, durability, onSettled)) return false
    this.last = position
    this.#state = table.apply(item, memory, timeMs, position, this.#state)
    this.#item = undefined
    memory.keep()
    return true
  }

  acknowledge(table: StreamTable): void {
    table.acknowledged(this.#kind, this.#seq, this.#state as StreamState)
    this.resolve({ seq: resultSeq(this.#kind, this.#seq), duplicate: false })
  }

  repeated(): void {
    this.resolve({ seq: this.#seq, duplicate: true })
  }
}

/** A call with any number of items, and the request that made it. */
export class BatchCall implements Call {
  readonly resolve: Settle<StreamAppendResult[]>
  last = -1
  readonly #items: readonly Item[]
  readonly #request: RequestId | undefined
  #results: StreamAppendResult[] = []
  #states: StreamState[] = []

  constructor(items: readonly Item[], request: RequestId | undefined, resolve: Settle<StreamAppendResult[]>) {
    this.resolve = resolve
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
    for (const [at, { outcome }] of verdicts.entries())
      if (outcome === 'stored') checkForkStart(this.#items[at] as Item, table.find)
    const duplicates = this.#results.filter(({ duplicate }) => duplicate).length
    if (duplicates > 0 && duplicates < this.#items.length)
      throw new DurlogError(
        'ERR_DURLOG_PRODUCER_GAP',
        `${duplicates} of the batch's ${this.#items.length} appends were stored before: repeat a batch with the same appends, each with its producer`,
      )
    return duplicates > 0
  }

  frame({ log, durability, memory, onSettled }: Framing, table: StreamTable, position: number): boolean {
    const places = this.#encode(memory, Math.max(Date.now(), table.lastTimeMs))
    const frames = places.map(({ bytes, start, end }) => bytes.subarray(start, end))
    if (!log.frameBatch(frames, durability, onSettled)) return false
    this.last = position + places.length - 1
    this.#states = this.#items.map((item, at) => {
      const place = places[at] as Framed
      return table.apply(item, place, place.timeMs, position + at, table.find(item.stream))
    })
    if (this.#request !== undefined)
      table.requests.add(
        this.#request,
        this.#items.map(({ kind }, at) => resultSeq(kind, this.#seqAt(at))),
      )
    return true
  }

  #encode(memory: FrameMemory, nowMs: number): Framed[] {
    return this.#items.map((item, at) => {
      const request = at === 0 ? this.#request : undefined
      const timeMs = timeOf(item, nowMs)
      encodeEntry(memory, item, this.#seqAt(at), timeMs, at < this.#items.length - 1, request)
      const { bytes, start, valueAt, end } = memory
      memory.keep()
      return { bytes, start, valueAt, end, timeMs }
    })
  }

  acknowledge(table: StreamTable): void {
    for (const [at, { kind }] of this.#items.entries()) {
      const result = this.#results[at] as StreamAppendResult
      table.acknowledged(kind, result.seq, this.#states[at] as StreamState)
      result.seq = resultSeq(kind, result.seq)
    }
    this.resolve(this.#results)
  }

  repeated(): void {
    this.resolve(this.#results)
  }

  #seqAt(at: number): number {
    return (this.#results[at] as StreamAppendResult).seq
  }
}

/** The bytes of an entry of a batch. */
interface Framed extends Place {
  start: number
  timeMs: number
}

/** Not later than `nowMs`: the times of later records would be as late. */
function timeOf({ timestamp }: Item, nowMs: number): number {
  return timestamp === undefined ? nowMs : Math.min(timestamp, nowMs)
}
