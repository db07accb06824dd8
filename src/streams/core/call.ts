/**
 * The calls that change streams. Each is decided, framed in the log and applied to the table in one step, and
 * acknowledged later.
 */
import { DurlogError } from '../../errors.js'
import type { AppendDurability } from '../../index.js'
import type { FramingLog } from '../../open.js'
import { blockedAppend } from '../checkpoint/checkpoint-errors.js'
import {
  codecOf,
  EncodedValue,
  encode,
  type PackedValues,
  RECORD_MAX_BYTES,
  type StreamCodec,
} from '../port/encoding.js'
import type { StreamMeta } from '../port/meta.js'
import type { CreationRequest, Settle } from '../port/port.js'
import type { StreamAppendResult, StreamEncoding } from '../port/types.js'
import type { Arena } from '../state/arena.js'
import { checkForkStart, decide, decideBatch } from '../state/decide.js'
import type { RequestId } from '../state/dedup-table.js'
import { EMPTY, EntryKind, encodeEntry, type ValuedChange } from '../state/entry.js'
import type { ValueSlice } from '../state/mem-table.js'
import type { StreamState } from '../state/state.js'
import { resultSeq, type StreamTable } from '../state/table.js'
import { following, type GroupRest, type Item, valueBytes } from './items.js'

/** The limit of the records in memory whose streams' files cannot be written. */
export const BLOCKED_MAX_BYTES: number = 4 << 20

/** The parts that calls need to frame entries in the log. */
export interface EntryFraming {
  log: FramingLog
  durability: AppendDurability
  memory: Arena
  /** For entries without their values, which are needed only until they are framed. */
  heads: Arena
  onSettled: Parameters<FramingLog['frame']>[4]
}

/** A call whose items are stored all or not at all. */
export interface Call {
  /** The position of its last entry. */
  last: number
  /** The number of bytes of the values that are not framed yet. */
  readonly bytes: number
  /**
   * Completes the items. Returns whether they are already stored. Throws the refusal. `encoding` is that of streams
   * that the items create.
   */
  decide(table: StreamTable, encoding: StreamEncoding): boolean
  /**
   * Frames the items in the log, from `position` on, and applies them to the table. Returns false and changes nothing
   * if the log has no room.
   */
  frame(framing: EntryFraming, table: StreamTable, position: number): boolean
  /** To be called when the items have reached the durability level: readers may see them. */
  acknowledge(table: StreamTable): void
  /** To be called when the originals of duplicate items have reached the durability level. */
  repeated(): void
  /** Settles the call with the rejection. */
  resolve(rejection: Promise<never>): void
}

/** A call with one item, which may be the first one of a group, and the request that made it. */
export class SingleCall implements Call {
  readonly resolve: Settle<StreamAppendResult>
  last = -1
  /** Undefined after it is framed, so that its value can be released. */
  #item: Item | undefined
  readonly #request: RequestId | undefined
  readonly #kind: EntryKind
  #state: StreamState | undefined
  #seq = -1
  /** Of a framed group: the seq of its last value, and whether it ends the stream. */
  #group: { lastSeq: number; ends: boolean } | undefined
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
    const item = this.#item as Item
    const request = this.#request
    if (request !== undefined) {
      const original = table.dedup.find(request)
      this.#isRepeated = original !== undefined
      this.#seq = original?.[0] ?? -1
      if (this.#isRepeated || (this.#kind === EntryKind.delete && table.dedup.wasDecided(request))) return true
    }
    const state = table.find(item.stream)
    this.#state = state
    complete(item, state, table, encoding)
    const { outcome, seq } = decide(item, state, table.find)
    this.#seq = seq
    if (outcome === 'duplicate') return true
    checkForkStart(item, table.find)
    checkUndecided(request, table)
    checkBlocked(item.stream, table)
    return false
  }

  frame(framing: EntryFraming, table: StreamTable, position: number): boolean {
    const item = this.#item as Item
    const timeMs = timeOf(item, Math.max(Date.now(), table.lastTimeMs))
    if (item.rest !== undefined) {
      if (!this.#frameGroup(item, item.rest, framing, table, timeMs, position)) return false
    } else {
      const { log, durability, memory, onSettled } = framing
      encodeEntry(memory, item, this.#seq, timeMs, false, this.#request)
      if (!log.frame(memory.bytes, memory.start, memory.end, durability, onSettled)) return false
      this.last = position
      this.#state = table.apply(item, memory, timeMs, position, this.#state)
      memory.keep()
    }
    if (this.#request !== undefined) table.dedup.add(this.#request, [resultSeq(this.#kind, this.#seq)])
    this.#item = undefined
    return true
  }

  #frameGroup(
    item: Item,
    { values, end }: GroupRest,
    { log, durability, memory, heads, onSettled }: EntryFraming,
    table: StreamTable,
    timeMs: number,
    position: number,
  ): boolean {
    const isAppend = item.kind === EntryKind.append
    const next = this.#seq + values.length
    const later = following(EntryKind.append, item)
    // The values are not part of the heads.
    if (isAppend) item.value = EMPTY
    heads.start = 0
    const head = (change: ValuedChange, seq: number, request?: RequestId): Buffer => {
      encodeEntry(heads, change, seq, timeMs, false, request)
      const { bytes, start } = heads
      heads.keep()
      return bytes.subarray(start, heads.end)
    }
    const first = head(item, this.#seq, this.#request)
    const group = {
      first,
      following: head(later, isAppend ? this.#seq + 1 : this.#seq),
      end: EMPTY,
      values: values.bytes,
      // The first entry of a creation has no value.
      places: isAppend ? values.places : withNone(values.places),
    }
    later.kind = EntryKind.end
    if (end) group.end = head(later, next)
    if (!log.frameEntries(group, durability, onSettled)) return false
    const base = memory.copy(values.bytes)
    const bytes = base === undefined ? values.bytes : memory.bytes
    const place = (at: number, placeEnd = at): ValueSlice => {
      return { bytes, valueAt: (base ?? 0) + at, end: (base ?? 0) + placeEnd }
    }
    const firstAt = values.places[0] ?? 0
    const firstPlace = place(firstAt, isAppend ? (values.places[1] as number) : firstAt)
    const state = table.apply(item, firstPlace, timeMs, position, this.#state)
    const places = isAppend ? values.places.subarray(2) : values.places
    if (places.length > 0) table.applyValues(state, { bytes, places, base: base ?? 0 }, timeMs, position + 1)
    this.last = position + places.length / 2
    if (end) table.apply(later, place(values.bytes.length), timeMs, ++this.last, state)
    this.#state = state
    this.#group = { lastSeq: next - 1, ends: end }
    return true
  }

  acknowledge(table: StreamTable): void {
    const state = this.#state as StreamState
    const group = this.#group
    if (group === undefined) table.acknowledged(this.#kind, this.#seq, state)
    else {
      table.acknowledged(EntryKind.append, group.lastSeq, state)
      if (group.ends) table.acknowledged(EntryKind.end, group.lastSeq + 1, state)
    }
    this.resolve({ seq: resultSeq(this.#kind, this.#seq), duplicate: false })
  }

  repeated(): void {
    this.resolve({ seq: this.#seq, duplicate: !this.#isRepeated })
  }
}

/** A call that appends one value each to one or more streams, and the request that made it. */
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
    for (const item of this.#items) complete(item, table.find(item.stream), table, encoding)
    const verdicts = decideBatch(this.#items, table.find)
    this.#results = verdicts.map(({ seq, outcome }) => ({ seq, duplicate: outcome === 'duplicate' }))
    const duplicates = this.#results.filter(({ duplicate }) => duplicate).length
    if (duplicates > 0 && duplicates < this.#items.length)
      throw new DurlogError(
        'ERR_DURLOG_PRODUCER_GAP',
        `${duplicates} of the batch's ${this.#items.length} appends are already stored: to repeat a batch, pass the same appends with the same producers`,
      )
    if (duplicates > 0) return true
    checkUndecided(this.#request, table)
    for (const { stream } of this.#items) checkBlocked(stream, table)
    return false
  }

  frame({ log, durability, memory, onSettled }: EntryFraming, table: StreamTable, position: number): boolean {
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
        this.#results.map(({ seq }) => seq),
      )
    return true
  }

  #encode(memory: Arena, nowMs: number): Framed[] {
    return this.#items.map((item, at) => {
      const request = at === 0 ? this.#request : undefined
      const timeMs = timeOf(item, nowMs)
      encodeEntry(
        memory,
        item,
        (this.#results[at] as StreamAppendResult).seq,
        timeMs,
        at < this.#items.length - 1,
        request,
      )
      const { bytes, start, valueAt, end } = memory
      memory.keep()
      return { bytes, start, valueAt, end, timeMs }
    })
  }

  acknowledge(table: StreamTable): void {
    for (const [at, { seq }] of this.#results.entries())
      table.acknowledged(EntryKind.append, seq, this.#states[at] as StreamState)
    this.resolve(this.#results)
  }

  repeated(): void {
    this.resolve(this.#results)
  }
}

/**
 * Throws if an earlier owner has refused the request or found nothing to change. To carry it out now could change what
 * later requests of the same client have stored.
 */
function checkUndecided(request: RequestId | undefined, table: StreamTable): void {
  if (request !== undefined && table.dedup.wasDecided(request))
    throw new DurlogError(
      'ERR_DURLOG_STALLED',
      'the process that had the folder open ended before it answered; the call has stored nothing, because it was refused or was a duplicate: repeat it if it is still needed',
      { outcome: 'not-written' },
    )
}

/** Throws if the stream's files cannot be written and the memory for the records of such streams is full. */
function checkBlocked(stream: string, table: StreamTable): void {
  const { blockedBytes } = table
  if (blockedBytes < BLOCKED_MAX_BYTES) return
  const error = table.find(stream)?.blocked
  if (error !== undefined) throw blockedAppend(error, blockedBytes)
}

/** `places`, after the place of an empty value. */
function withNone(places: Uint32Array): Uint32Array {
  const all = new Uint32Array(places.length + 2)
  all.set(places, 2)
  return all
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
 * Completes an item of the stream `found`, if it exists. `encoding` is that of a stream that the item creates. Throws
 * like `encode`.
 */
function complete(item: Item, found: StreamState | undefined, table: StreamTable, encoding: StreamEncoding): void {
  const { draft, rest } = item
  // Otherwise it is refused.
  if (draft === undefined || found?.softDeleted === true || (found === undefined && item.mustExist)) return
  if (draft instanceof EncodedValue) {
    item.encoding = found?.meta.encoding ?? encoding
    item.value = encode(codecOf(item.encoding), draft)
  } else {
    item.meta = withInherited(table, item.stream, draft)
    item.encoding = item.meta.encoding
    item.value = JSON.stringify(item.meta)
  }
  if (rest !== undefined) checkValues(rest.values, codecOf(item.encoding))
}

/** Checks packed values as `encode` does. */
function checkValues(values: PackedValues, codec: StreamCodec): void {
  const checked = values.bytes.length > RECORD_MAX_BYTES ? values.length : Math.min(values.length, 1)
  for (let at = 0; at < checked; at++) encode(codec, values.at(at))
}

/** The options of a creation, with those that a fork gets from its source. */
function withInherited(
  table: StreamTable,
  name: string,
  { meta, forkAnywhere, encodingNamed }: CreationRequest,
): StreamMeta {
  const { fork } = meta
  const source = fork === undefined ? undefined : table.find(fork.stream)
  if (fork === undefined || source === undefined) return meta
  const ownExpiry = meta.ttlMs !== undefined || meta.expiresAtMs !== undefined
  const earlier = table.find(name)?.meta.fork
  const seq = earlier?.stream === fork.stream ? earlier.seq : source.next
  return {
    encoding: encodingNamed ? meta.encoding : source.meta.encoding,
    contentType: meta.contentType ?? source.meta.contentType,
    ttlMs: ownExpiry ? meta.ttlMs : source.meta.ttlMs,
    expiresAtMs: ownExpiry ? meta.expiresAtMs : source.meta.expiresAtMs,
    fork: forkAnywhere ? { ...fork, seq } : fork,
    retention: meta.retention ?? source.meta.retention,
  }
}
