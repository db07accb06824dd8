/**
 * Appends in order: decides each append by the state that the earlier ones leave, frames it in the log in the same call, and
 * acknowledges it when it has reached the level. What cannot be framed at once holds up all later ones.
 */
import { setImmediate } from 'node:timers'
import { DurlogError } from '../errors.js'
import type { Durability, Log } from '../index.js'
import { decideBatch, type Verdict, type Wanted } from './decide.js'
import { type Entry, encodeEntry } from './entry.js'
import { FrameMemory } from './frame-memory.js'
import type { RequestId } from './requests.js'
import type { StreamState } from './state.js'
import { resultSeq, type StreamTable } from './table.js'
import type { StreamAppendResult } from './types.js'

/** An append, an end or a deletion. */
export interface Item extends Wanted {
  /** A string is stored as UTF-8. */
  value: Buffer | string
}

export interface SequencerContext {
  log: Log
  durability: Durability
  /** Records in memory beyond which appends wait for a checkpoint. */
  maxTailBytes: number
  /** Builds the table again from the catalog and the log, once no checkpoint is in progress. */
  reload(): Promise<StreamTable>
  /** Begins a checkpoint if one is due. */
  onAppended(): void
  /** Why no checkpoint can make room any more. */
  noRoom(): DurlogError | undefined
}

interface Waiting {
  items: readonly Item[]
  request: RequestId | undefined
  resolve(results: StreamAppendResult[]): void
  reject(error: unknown): void
}

export class Sequencer {
  table: StreamTable
  /** The position of the next entry. */
  position: number
  /** How often records that were framed have been given back. */
  rollbacks = 0
  readonly #context: SequencerContext
  readonly #log: Log
  readonly #memory = new FrameMemory()
  #waiting: Waiting[] = []
  /** The log holds a call. */
  #held = false
  #reloading: Promise<void> | undefined
  #inFlight = 0
  #onIdle: (() => void) | undefined
  #closed: DurlogError | undefined

  constructor(context: SequencerContext, table: StreamTable) {
    this.#context = context
    this.#log = context.log
    this.table = table
    this.position = context.log.nextSeq
  }

  /** The table is about to be replaced: it may hold what the log does not. */
  get isLoading(): boolean {
    return this.#reloading !== undefined
  }

  /** Stores all of `items` or nothing; the results are in their order. A request that was stored before is not stored again. */
  submit(items: readonly Item[], request?: RequestId): Promise<StreamAppendResult[]> {
    if (this.#closed !== undefined) return Promise.reject(this.#closed)
    if (this.#waiting.length === 0 && this.#isFree()) return this.#start(items, request)
    return new Promise((resolve, reject) => {
      this.#waiting.push({ items, request, resolve, reject })
    })
  }

  /** Starts what waits; to be called when a checkpoint has made room. */
  drain(): void {
    while (this.#waiting.length > 0 && this.#isFree()) {
      const { items, request, resolve, reject } = this.#waiting.shift() as Waiting
      this.#start(items, request).then(resolve, reject)
    }
  }

  /** Refuses further calls with `error`; settles when the earlier ones have settled. */
  async close(error: DurlogError): Promise<void> {
    this.#closed = error
    while (this.#waiting.length > 0 || this.#inFlight > 0 || this.#reloading !== undefined) {
      this.drain()
      await this.#log.sync(this.#context.durability).catch(() => {})
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  #isFull(): boolean {
    return this.table.tailBytes >= this.#context.maxTailBytes
  }

  #isFree(): boolean {
    if (this.#held || this.#reloading !== undefined) return false
    if (!this.#isFull()) return true
    this.#context.onAppended()
    return this.#context.noRoom() !== undefined
  }

  #start(items: readonly Item[], request: RequestId | undefined): Promise<StreamAppendResult[]> {
    const failed = this.#isFull() ? this.#context.noRoom() : undefined
    if (failed !== undefined) return Promise.reject(failed)
    // Records were given back, and their rejections have not run yet.
    if (this.#log.nextSeq !== this.position) return this.#afterReload(items, request)
    const original = request === undefined ? undefined : this.table.requests.find(request)
    if (original !== undefined) return this.#repeated(original)
    let verdicts: Verdict[]
    try {
      verdicts = this.#decide(items)
    } catch (error) {
      return Promise.reject(error)
    }
    if (verdicts[0]?.outcome === 'duplicate') return this.#duplicates(verdicts)
    return this.#append(items, this.#entriesOf(items, verdicts, request))
  }

  #decide(items: readonly Item[]): Verdict[] {
    const verdicts = decideBatch(items, this.table.find)
    if (verdicts.length === 1) return verdicts
    const duplicates = verdicts.filter(({ outcome }) => outcome === 'duplicate').length
    if (duplicates > 0 && duplicates < items.length)
      throw new DurlogError(
        'ERR_DURLOG_PRODUCER_GAP',
        `${duplicates} of the batch's ${items.length} appends were stored before: repeat a batch with the same appends, each with its producer`,
      )
    return verdicts
  }

  /** Once the original request has reached the level. */
  async #repeated(seqs: readonly number[]): Promise<StreamAppendResult[]> {
    await this.#log.sync(this.#context.durability)
    return seqs.map((seq) => ({ seq, duplicate: false }))
  }

  /** Once the originals have reached the level. */
  async #duplicates(verdicts: readonly Verdict[]): Promise<StreamAppendResult[]> {
    await this.#log.sync(this.#context.durability)
    return verdicts.map(({ seq }) => ({ seq, duplicate: true }))
  }

  #entriesOf(items: readonly Item[], verdicts: readonly Verdict[], id: RequestId | undefined): Entry[] {
    const timeMs = Math.max(Date.now(), this.table.lastTimeMs)
    return items.map(({ kind, stream, producer, writerSeq, encoding, meta, existing, follows, value }, at) => {
      const { seq } = verdicts[at] as Verdict
      const continues = at < items.length - 1
      const request = at === 0 ? id : undefined
      const given = { kind, stream, producer, writerSeq, encoding, meta, existing, follows }
      return encodeEntry(this.#memory, { ...given, seq, timeMs, request, continues }, value)
    })
  }

  #append(items: readonly Item[], entries: readonly Entry[]): Promise<StreamAppendResult[]> {
    const before = this.position
    const first = this.#frame(entries)
    this.#inFlight++
    if (this.#log.nextSeq === before + entries.length) {
      this.position = before + entries.length
      const states = this.#apply(entries, before)
      this.#context.onAppended()
      return first.then(
        () => this.#acknowledge(entries, states),
        (error: unknown) => this.#failed(error, true),
      )
    }
    this.#held = true
    return first.then(
      (position) => this.#framedLate(items, entries, before, position),
      (error: unknown) => {
        this.#unblock()
        return this.#failed(error, false)
      },
    )
  }

  #frame(entries: readonly Entry[]): Promise<number> {
    if (entries.length === 1) return this.#log.append((entries[0] as Entry).frame)
    return this.#log.appendBatch(entries.map(({ frame }) => frame)).then((range) => range.first)
  }

  #apply(entries: readonly Entry[], position: number): StreamState[] {
    const states = entries.map((entry, at) => this.table.apply(entry, position + at))
    this.table.remember(entries)
    return states
  }

  /** The log has held the call and then framed it, as nothing else was appended meanwhile: at the position that was expected. */
  async #framedLate(
    items: readonly Item[],
    entries: readonly Entry[],
    expected: number,
    position: number,
  ): Promise<StreamAppendResult[]> {
    if (position === expected) {
      this.position = position + entries.length
      const states = this.#apply(entries, position)
      this.#unblock()
      return this.#acknowledge(entries, states)
    }
    // Earlier records were given back, so it was decided by a state that never was. Every replay judges it anew.
    this.#held = false
    const reloaded = this.#reload()
    this.#settled()
    await reloaded
    if (!this.table.voids.has(position)) return this.#resultsOf(entries)
    return this.submit(items, entries[0]?.request)
  }

  #acknowledge(entries: readonly Entry[], states: readonly StreamState[]): StreamAppendResult[] {
    this.#settled()
    for (const [at, entry] of entries.entries()) this.table.acknowledged(entry, states[at] as StreamState)
    return this.#resultsOf(entries)
  }

  #resultsOf(entries: readonly Entry[]): StreamAppendResult[] {
    return entries.map((entry) => ({ seq: resultSeq(entry), duplicate: false }))
  }

  /** `applied`: the table holds what was not stored. */
  async #failed(error: unknown, applied: boolean): Promise<never> {
    this.#settled()
    const latched = ['ERR_DURLOG_SYNC_FAILED', 'ERR_DURLOG_LATCHED', 'ERR_DURLOG_CLOSED']
    const { code } = error as DurlogError
    if (applied && !latched.includes(code)) void this.#reload()
    throw error
  }

  /** Starts before everything that waits. */
  #afterReload(items: readonly Item[], request: RequestId | undefined): Promise<StreamAppendResult[]> {
    const started = new Promise<StreamAppendResult[]>((resolve, reject) => {
      this.#waiting.unshift({ items, request, resolve, reject })
    })
    void this.#reload()
    return started
  }

  /** Builds the table again when nothing is in flight. Calls wait meanwhile. */
  #reload(): Promise<void> {
    this.#reloading ??= this.#load().finally(() => {
      this.#reloading = undefined
      this.drain()
    })
    return this.#reloading
  }

  async #load(): Promise<void> {
    this.rollbacks++
    try {
      if (this.#inFlight > 0)
        await new Promise<void>((resolve) => {
          this.#onIdle = resolve
        })
      const old = this.table
      this.table = await this.#context.reload()
      this.position = this.#log.nextSeq
      old.wakeAll()
    } catch (error) {
      this.#closed ??= error as DurlogError
      for (const { reject } of this.#waiting.splice(0)) reject(error)
    }
  }

  #unblock(): void {
    this.#held = false
    this.drain()
  }

  #settled(): void {
    this.#inFlight--
    if (this.#inFlight > 0) return
    this.#onIdle?.()
    this.#onIdle = undefined
  }
}
