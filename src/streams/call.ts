/**
 * The calls that change streams. Each is decided, framed in the log and applied to the table in one step, and
 * acknowledged later.
 */
import { DurlogError } from '../errors.js'
import type { Durability } from '../index.js'
import type { FramingLog } from '../open.js'
import type { Arena } from './arena.js'
import { withInherited } from './creation.js'
import { checkForkStart, decide, decideBatch } from './decide.js'
import type { RequestId } from './dedup-table.js'
import { codecOf, EncodedValue, encode } from './encoding.js'
import { EntryKind, encodeEntry } from './entry.js'
import { type Item, valueBytes } from './items.js'
import type { ValueSlice } from './mem-table.js'
import type { Settle } from './port/port.js'
import type { StreamState } from './state.js'
import { resultSeq, type StreamTable } from './table.js'
import type { StreamAppendResult, StreamEncoding } from './types.js'

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
  /** The number of bytes of the values that are not framed yet. */
  readonly bytes: number
  /**
   * Completes the items. Returns whether they are already stored. Throws the refusal. `encoding` is that of streams that
   * the items create.
   */
  decide(table: StreamTable, encoding: StreamEncoding): boolean
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

  get bytes(): number {
    return this.#item === undefined ? 0 : valueBytes(this.#item)
  }

  decide(table: StreamTable, encoding: StreamEncoding): boolean {
    const original = this.#request === undefined ? undefined : table.dedup.find(this.#request)
    if (original !== undefined) {
      this.#seq = original[0] as number
      this.#isRepeated = true
      return true
    }
    const item = this.#item as Item
    complete(item, table, encoding)
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

  get bytes(): number {
    return this.#items.reduce((bytes, item) => bytes + valueBytes(item), 0)
  }

  decide(table: StreamTable, encoding: StreamEncoding): boolean {
    const original = this.#request === undefined ? undefined : table.dedup.find(this.#request)
    if (original !== undefined) {
      this.#results = original.map((seq) => ({ seq, duplicate: false }))
      return true
    }
    if (this.#items[0]?.kind === EntryKind.delete && wasDecided(this.#request, table)) {
      this.#results = [{ seq: -1, duplicate: true }]
      return true
    }
    for (const [at, item] of this.#items.entries()) complete(item, table, encoding, this.#items[at - 1])
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

/**
 * Completes an item, which follows `previous` in its batch. `encoding` is that of a stream that the item creates. Throws
 * like `encode`.
 */
function complete(item: Item, table: StreamTable, encoding: StreamEncoding, previous?: Item): void {
  const { draft } = item
  if (draft === undefined && !item.follows) return
  const found = table.find(item.stream)
  // It is refused.
  if (found?.softDeleted === true || (found === undefined && item.mustExist)) return
  if (draft instanceof EncodedValue || item.follows) {
    item.encoding = item.follows ? (previous as Item).encoding : (found?.meta.encoding ?? encoding)
    if (draft instanceof EncodedValue) item.value = encode(codecOf(item.encoding), draft)
  } else if (draft !== undefined) {
    item.meta = withInherited(table, item.stream, draft)
    item.encoding = item.meta.encoding
    item.value = JSON.stringify(item.meta)
  }
}
