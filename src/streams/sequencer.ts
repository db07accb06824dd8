/**
 * Appends in order: decides each append by the state that the earlier ones leave, frames it in the log in the same call, and
 * acknowledges it when it has reached the level. A call for which the log has no room holds up all later ones.
 */
import { setImmediate } from 'node:timers'
import type { DurlogError } from '../errors.js'
import type { Durability } from '../index.js'
import type { FramingLog } from '../open.js'
import { BatchCall, type Call, type Framing, type Item, type Settle, SingleCall } from './call.js'
import { FrameMemory } from './frame-memory.js'
import type { RequestId } from './requests.js'
import type { StreamTable } from './table.js'
import type { StreamAppendResult } from './types.js'

export type { Item } from './call.js'

export interface SequencerContext {
  log: FramingLog
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

/** After these errors the log takes no more records. */
const FINAL_ERRORS = ['ERR_DURLOG_SYNC_FAILED', 'ERR_DURLOG_LATCHED', 'ERR_DURLOG_CLOSED']
/** Calls that have left the queue are removed from the array in steps of so many. */
const REMOVED_AT_ONCE = 4096

let lastResolve: (value: never) => void
/** One executor for all promises. */
function capture(resolve: (value: never) => void): void {
  lastResolve = resolve
}

export class Sequencer {
  table: StreamTable
  /** The position of the next entry. */
  position: number
  /** How often records that were framed have been given back. */
  rollbacks = 0
  readonly #context: SequencerContext
  readonly #log: FramingLog
  readonly #framing: Framing
  #waiting: Call[] = []
  /** The calls in the log that have not settled, from `#firstFramed` on, in the order of their positions. */
  #framed: (Call | undefined)[] = []
  #firstFramed = 0
  /** Calls wait for room in the log. */
  #held = false
  #reloading: Promise<void> | undefined
  /** Calls that wait for their originals. */
  #repeating = 0
  #onIdle: (() => void) | undefined
  #closed: DurlogError | undefined

  constructor(context: SequencerContext, table: StreamTable) {
    this.#context = context
    this.#log = context.log
    this.table = table
    this.position = context.log.nextSeq
    const { log, durability } = context
    this.#framing = { log, durability, memory: new FrameMemory(), onSettled: this.#onSettled }
  }

  /** The table is about to be replaced: it may hold what the log does not. */
  get isLoading(): boolean {
    return this.#reloading !== undefined
  }

  append(item: Item): Promise<StreamAppendResult> {
    const promise = new Promise<StreamAppendResult>(capture)
    this.appendThen(item, lastResolve as Settle<StreamAppendResult>)
    return promise
  }

  /** As `append`, with a function in place of a promise. */
  appendThen(item: Item, settle: Settle<StreamAppendResult>): void {
    this.#submit(new SingleCall(item, settle))
  }

  /** Stores all of `items` or nothing; the results are in their order. A request that was stored before is not stored again. */
  submit(items: readonly Item[], request?: RequestId): Promise<StreamAppendResult[]> {
    const promise = new Promise<StreamAppendResult[]>(capture)
    this.submitThen(items, request, lastResolve as Settle<StreamAppendResult[]>)
    return promise
  }

  /** As `submit`, with a function in place of a promise. */
  submitThen(items: readonly Item[], request: RequestId | undefined, settle: Settle<StreamAppendResult[]>): void {
    this.#submit(new BatchCall(items, request, settle))
  }

  /** Starts what waits; to be called when a checkpoint has made room. */
  drain(): void {
    let started = 0
    while (started < this.#waiting.length && this.#isFree()) {
      if (!this.#start(this.#waiting[started] as Call)) break
      started++
    }
    this.#waiting.splice(0, started)
  }

  /** Refuses further calls with `error`; settles when the earlier ones have settled. */
  async close(error: DurlogError): Promise<void> {
    this.#closed = error
    while (this.#waiting.length > 0 || !this.#isIdle() || this.#reloading !== undefined) {
      this.drain()
      await this.#log.sync(this.#context.durability).catch(() => {})
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  #submit(call: Call): void {
    if (this.#closed !== undefined) call.resolve(Promise.reject(this.#closed))
    else if (this.#waiting.length > 0 || !this.#isFree() || !this.#start(call)) this.#waiting.push(call)
  }

  #isFull(): boolean {
    return this.table.tail.bytes >= this.#context.maxTailBytes
  }

  #isFree(): boolean {
    if (this.#held || this.#reloading !== undefined) return false
    if (!this.#isFull()) return true
    this.#context.onAppended()
    return this.#context.noRoom() !== undefined
  }

  /** False if the call must wait. */
  #start(call: Call): boolean {
    const failed = this.#isFull() ? this.#context.noRoom() : undefined
    if (failed !== undefined) {
      call.resolve(Promise.reject(failed))
      return true
    }
    // Records were given back, and the table still holds them.
    if (this.#log.nextSeq !== this.position) {
      void this.#reload()
      return false
    }
    try {
      if (call.decide(this.table)) {
        void this.#repeat(call)
        return true
      }
      if (call.frame(this.#framing, this.table, this.position)) {
        this.position = call.last + 1
        this.#framed.push(call)
        this.#context.onAppended()
        return true
      }
    } catch (error) {
      call.resolve(Promise.reject(error))
      return true
    }
    this.#awaitRoom()
    return false
  }

  /** Once the originals have reached the level. */
  async #repeat(call: Call): Promise<void> {
    this.#repeating++
    try {
      await this.#log.sync(this.#context.durability)
      call.repeated()
    } catch (error) {
      call.resolve(Promise.reject(error))
    }
    this.#repeating--
    this.#settled()
  }

  #awaitRoom(): void {
    this.#held = true
    const freed = (): void => {
      this.#held = false
      this.drain()
    }
    this.#log.drain().then(freed, freed)
  }

  /** Calls reach the level in the order of their positions. */
  readonly #onSettled = (outcome: number | Promise<never>, position: number): void => {
    if (typeof outcome !== 'number') {
      this.#onFailed(outcome, position)
      return
    }
    const call = this.#framed[this.#firstFramed] as Call
    // A settled call keeps its value no longer than it must: the collector would copy it.
    this.#framed[this.#firstFramed++] = undefined
    if (this.#firstFramed === REMOVED_AT_ONCE) {
      this.#framed.splice(0, this.#firstFramed)
      this.#firstFramed = 0
    }
    call.acknowledge(this.table)
    this.#settled()
  }

  #onFailed(rejection: Promise<never>, position: number): void {
    const at = this.#framed.findIndex((call, index) => index >= this.#firstFramed && call?.last === position)
    const [call] = this.#framed.splice(at, 1)
    ;(call as Call).resolve(rejection)
    // The table holds records that are not stored.
    rejection.catch(({ code }: DurlogError) => {
      if (!FINAL_ERRORS.includes(code)) void this.#reload()
    })
    this.#settled()
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
      if (!this.#isIdle())
        await new Promise<void>((resolve) => {
          this.#onIdle = resolve
        })
      const old = this.table
      this.table = await this.#context.reload()
      this.position = this.#log.nextSeq
      old.wakeAll()
    } catch (error) {
      this.#closed ??= error as DurlogError
      for (const call of this.#waiting.splice(0)) call.resolve(Promise.reject(error))
    }
  }

  #isIdle(): boolean {
    return this.#firstFramed === this.#framed.length && this.#repeating === 0
  }

  #settled(): void {
    if (this.#onIdle === undefined || !this.#isIdle()) return
    this.#onIdle()
    this.#onIdle = undefined
  }
}
