/**
 * The calls that change streams. Each is decided, framed in the log and applied to the table in one step, and
 * acknowledged later.
 */
import { DurlogError } from '../errors.js'
import type { Durability } from '../index.js'
import type { FramingLog } from '../open.js'
import type { Arena } from './arena.js'
import { type CreationRequest, withInherited } from './creation.js'
import { checkForkStart, decide, decideBatch, type ProposedChange } from './decide.js'
import type { RequestId } from './dedup-table.js'
import { codecOf } from './encoding.js'
import { EntryKind, encodeEntry, type ValuedChange } from './entry.js'
import { encode, hold } from './items.js'
import type { ValueSlice } from './mem-table.js'
import type { StreamState } from './state.js'
import { resultSeq, type StreamTable } from './table.js'
import type { StreamAppendResult, StreamEncoding } from './types.js'

/**
 * The value of an append, not encoded, or the options of a creation. The encoding of the value, and the options that a
 * fork inherits, depend on the streams as the earlier calls leave them, and these calls may still be waiting when the
 * item is made. `encoding` is that of a stream that the append creates.
 */
type Draft = { value: unknown; encoding: StreamEncoding } | { creation: CreationRequest }

/** A change of a stream that a caller requests. */
export interface Item extends ProposedChange, ValuedChange {
  /**
   * The data with which each decision completes the item; undefined if it is complete already. A call that must wait is
   * decided again, and meanwhile a failed write may have removed what the first decision has found.
   */
  draft?: Draft | undefined
  /** The record's time, if it is not the current one. */
  timestamp?: number | undefined
}

/** The parts that calls need to frame entries in the log. */
export interface Framing {
  log: FramingLog
  durability: Durability
  memory: Arena
  onSettled: Parameters<FramingLog['frame']>[4]
}

/** A call whose items are stored all or not at all. */
export interface Call {
  /** The position of its last entry. */
  last: number
  /** Copies the values, because the call must wait and the caller may change them. Returns their number of bytes. */
  hold(): number
  /** Completes the items. Returns whether the items are already stored. Throws the refusal. */
  decide(table: StreamTable): boolean
  /**
   * Frames the items in the log, from `position` on, and applies them to the table. Returns false and changes nothing
   * if the log has no room.
   */
  frame(framing: Framing, table: StreamTable, position: number): boolean
  /** To be called when the items have reached the durability level: readers may see them. */
  acknowledge(table: StreamTable): void
  /** To be called when the originals of duplicate items have reached the durability level. */
  repeated(): void
  /** Settles the call with the rejection. */
  resolve(rejection: Promise<never>): void
}

/** A callback that is called once, with the result or with a rejected promise. It must not throw or call the log. */
export type Settle<T> = (outcome: T | Promise<never>) => void

/** A call with one item, and the request that made it. */
export class SingleCall implements Call {
  readonly resolve: Settle<StreamAppendResult>
  last = -1
  /** Undefined after it is framed, so that its value can be released. */
  #item: Item | undefined
  readonly #request: RequestId | undefined
  readonly #kind: EntryKind
  #state: StreamState | undefined
  #seq = -1
  /** The request is already stored. */
  #isRepeated = false

  constructor(item: Item, request: RequestId | undefined, resolve: Settle<StreamAppendResult>) {
    this.resolve = resolve
    this.#item = item
    this.#request = request
    this.#kind = item.kind
  }

  hold(): number {
    return hold(this.#item as Item)
  }

  decide(table: StreamTable): boolean {
    const original = this.#request === undefined ? undefined : table.dedup.find(this.#request)
    if (original !== undefined) {
      this.#seq = original[0] as number
      this.#isRepeated = true
      return true
    }
    const item = this.#item as Item
    complete(item, table)
    this.#state = table.find(item.stream)
    const { outcome, seq } = decide(item, this.#state, table.find)
    this.#seq = seq
    if (outcome === 'duplicate') return true
    checkUndecided(this.#request, table)
    return false
  }

  frame({ log, durability, memory, onSettled }: Framing, table: StreamTable, position: number): boolean {
    const item = this.#item as Item
    const timeMs = timeOf(item, Math.max(Date.now(), table.lastTimeMs))
    encodeEntry(memory, item, this.#seq, timeMs, false, this.#request)
    if (!log.frame(memory.bytes, memory.start, memory.end, durability, onSettled)) return false
    this.last = position
    this.#state = table.apply(item, memory, timeMs, position, this.#state)
    if (this.#request !== undefined) table.dedup.add(this.#request, [resultSeq(this.#kind, this.#seq)])
    this.#item = undefined
    memory.keep()
    return true
  }

  acknowledge(table: StreamTable): void {
    table.acknowledged(this.#kind, this.#seq, this.#state as StreamState)
    this.resolve({ seq: resultSeq(this.#kind, this.#seq), duplicate: false })
  }

  repeated(): void {
    this.resolve({ seq: this.#seq, duplicate: !this.#isRepeated })
  }
}

/** A call with one or more items and, if a client made it, the client's request. */
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

  hold(): number {
    return this.#items.reduce((bytes, item) => bytes + hold(item), 0)
  }

  decide(table: StreamTable): boolean {
    const original = this.#request === undefined ? undefined : table.dedup.find(this.#request)
    if (original !== undefined) {
      this.#results = original.map((seq) => ({ seq, duplicate: false }))
      return true
    }
    if (this.#items[0]?.kind === EntryKind.delete && wasDecided(this.#request, table)) {
      this.#results = [{ seq: -1, duplicate: true }]
      return true
    }
    for (const [at, item] of this.#items.entries()) complete(item, table, this.#items[at - 1])
    const verdicts = decideBatch(this.#items, table.find)
    this.#results = verdicts.map(({ seq, outcome }) => ({ seq, duplicate: outcome === 'duplicate' }))
    for (const [at, { outcome }] of verdicts.entries())
      if (outcome === 'stored') checkForkStart(this.#items[at] as Item, table.find)
    const duplicates = this.#results.filter(({ duplicate }) => duplicate).length
    if (duplicates > 0 && duplicates < this.#items.length)
      throw new DurlogError(
        'ERR_DURLOG_PRODUCER_GAP',
        `${duplicates} of the batch's ${this.#items.length} appends are already stored: to repeat a batch, pass the same appends with the same producers`,
      )
    if (duplicates > 0) return true
    checkUndecided(this.#request, table)
    return false
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
      table.dedup.add(
        this.#request,
        this.#items.map(({ kind }, at) => resultSeq(kind, this.#seqAt(at))),
      )
    return true
  }

  #encode(memory: Arena, nowMs: number): Framed[] {
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

function wasDecided(request: RequestId | undefined, table: StreamTable): boolean {
  return request !== undefined && table.dedup.wasDecided(request)
}

/**
 * Throws if an earlier owner has refused the request or found nothing to change. To carry it out now could change what
 * later requests of the same client have stored.
 */
function checkUndecided(request: RequestId | undefined, table: StreamTable): void {
  if (wasDecided(request, table))
    throw new DurlogError(
      'ERR_DURLOG_STALLED',
      'the process that had the folder open ended before it answered; the call has stored nothing, because it was refused or was a duplicate: repeat it if it is still needed',
      { outcome: 'not-written' },
    )
}

/** The bytes of one entry of a batch. */
interface Framed extends ValueSlice {
  start: number
  timeMs: number
}

/**
 * The time of an entry, at most `nowMs`. A time in the future would become the time of later entries too, because
 * `nowMs` is at least the latest time of all entries.
 */
function timeOf({ timestamp }: Item, nowMs: number): number {
  return timestamp === undefined ? nowMs : Math.min(timestamp, nowMs)
}

/** Completes an item, which follows `previous` in its batch. Throws like `encode`. */
function complete(item: Item, table: StreamTable, previous?: Item): void {
  const { draft } = item
  if (draft === undefined && !item.follows) return
  const found = table.find(item.stream)
  // It is refused.
  if (found?.softDeleted === true) return
  if (item.follows) item.encoding = (previous as Item).encoding
  else if (found !== undefined) item.encoding = found.meta.encoding
  else if (draft !== undefined && 'value' in draft) item.encoding = draft.encoding
  if (draft === undefined) return
  if ('creation' in draft) {
    item.meta = withInherited(table, item.stream, draft.creation)
    item.encoding = item.meta.encoding
    item.value = JSON.stringify(item.meta)
  } else item.value = encode(codecOf(item.encoding), draft.value)
}
