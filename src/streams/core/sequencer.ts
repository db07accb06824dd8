/**
 * Stores appends in the order of their calls. Each append is decided by the state that the earlier ones leave, and
 * framed in the log in the same step. It is acknowledged when it has reached the durability level. If the log has no
 * room for an append, all later ones wait too.
 */
import { GroupRejection } from '../../caller-stack.js'
import { type DurlogError, withOutcome } from '../../errors.js'
import type { AppendDurability } from '../../index.js'
import { LEVELS } from '../../native/levels.js'
import type { FramingLog } from '../../open.js'
import { HELD_CALL_BYTES } from '../../options/call-options.js'
import { LinkedQueue } from '../../support/linked-queue.js'
import { TimeSlice } from '../../support/time-slice.js'
import { setImmediate } from '../../timers.js'
import { checkHeld, type Settle } from '../port/port.js'
import type { StreamAppendResult, StreamEncoding } from '../port/types.js'
import { Arena } from '../state/arena.js'
import type { RequestId } from '../state/dedup-table.js'
import type { StreamTable } from '../state/table.js'
import { BatchCall, BLOCKED_MAX_BYTES, type Call, type EntryFraming, SingleCall } from './call.js'
import type { Item } from './items.js'

export interface SequencerContext {
  log: FramingLog
  durability: AppendDurability
  /** The encoding of streams that an append creates. */
  encoding: StreamEncoding
  /** If the records in memory take this many bytes, appends wait for a checkpoint. */
  maxMemTableBytes: number
  /** Loads a new table from the catalog and the log, after the checkpoint in progress has ended. */
  reload(): Promise<StreamTable>
  /** Begins a checkpoint if one is due. */
  onAppended(): void
  /** The error of the last checkpoint; undefined if it succeeded. Appends that wait for room in memory fail with it. */
  checkpointError(): DurlogError | undefined
}

/** These refusals do not wait for earlier calls. */
const AT_ONCE = [
  'ERR_DURLOG_INVALID_ARGUMENT',
  'ERR_DURLOG_RECORD_EMPTY',
  'ERR_DURLOG_RECORD_TOO_LARGE',
  'ERR_DURLOG_FENCED',
]
/** After these errors the log accepts no more records. */
const FINAL_ERRORS = ['ERR_DURLOG_SYNC_FAILED', 'ERR_DURLOG_FILE_CHANGED', 'ERR_DURLOG_LATCHED', 'ERR_DURLOG_CLOSED']
/** Settled calls are removed from the array this many at a time. */
const REMOVED_AT_ONCE = 4096

export class Sequencer {
  table: StreamTable
  /** The position of the next entry. */
  position: number
  /** How often a failed write has removed framed records from the log. */
  rollbacks = 0
  /** The error of the last write of the log that failed. */
  writeFailure: DurlogError | undefined
  readonly #context: SequencerContext
  readonly #log: FramingLog
  readonly #framing: EntryFraming
  readonly #waiting = new LinkedQueue<Call>()
  /** The bytes that the waiting calls hold, and those that wait for a sync. */
  #heldBytes = 0
  /** The framed calls, in the order of their positions; undefined if settled, as those before `#firstFramed`. */
  #framed: (Call | undefined)[] = []
  #firstFramed = 0
  /** The index after that of the call that has settled last. */
  #afterTaken = 0
  /** Calls wait until the log has room, or until the next turn of the event loop. */
  #held = false
  #reloading: Promise<void> | undefined
  /**
   * The number of calls that wait for a sync: duplicate and refused ones until all earlier calls have reached the
   * durability level, and others until they have reached a stronger one.
   */
  #answering = 0
  #onIdle: (() => void) | undefined
  #closed: DurlogError | undefined
  /** Gives the errors of refused calls the stacks of the calls. */
  readonly #rejections = new GroupRejection()

  constructor(context: SequencerContext, table: StreamTable) {
    this.#context = context
    this.#log = context.log
    this.table = table
    this.position = context.log.nextSeq
    const { log, durability } = context
    this.#framing = { log, durability, memory: new Arena(), heads: new Arena(), onSettled: this.#onSettled }
  }

  /**
   * Stores an item, or its whole group; the result is that of its first record. If `request` is already stored, stores
   * nothing. Settles when the item has reached the durability level and `level`.
   */
  submit(
    item: Item,
    request: RequestId | undefined,
    settle: Settle<StreamAppendResult>,
    level?: AppendDurability | undefined,
  ): void {
    this.#submit(new SingleCall(item, request, this.#atLevel(level, settle)), level)
  }

  /** As `submit`, for appends of one value each: all are stored, or none. The results have the order of `items`. */
  submitBatch(items: readonly Item[], request?: RequestId, level?: AppendDurability): Promise<StreamAppendResult[]> {
    return new Promise((resolve) => this.#submit(new BatchCall(items, request, this.#atLevel(level, resolve)), level))
  }

  /** Calls `settle` with a result when the log's records have reached `level` too. */
  #atLevel<T>(level: AppendDurability | undefined, settle: Settle<T>): Settle<T> {
    if (level === undefined || !isAbove(level, this.#context.durability)) return settle
    return (outcome) => {
      if (outcome instanceof Promise) settle(outcome)
      else void this.#raise(level, outcome, settle)
    }
  }

  async #raise<T>(level: AppendDurability, result: T, settle: Settle<T>): Promise<void> {
    this.#beginAnswer(HELD_CALL_BYTES)
    try {
      await this.#log.reachedAt(level)
      settle(result)
    } catch (error) {
      settle(this.#rejections.rejection(error as DurlogError))
    }
    this.#endAnswer(HELD_CALL_BYTES)
  }

  /**
   * Returns whether the log has all records of the table. If a failed write has removed some of them, begins to load
   * the table again.
   */
  refresh(): boolean {
    if (this.#reloading === undefined && this.#log.nextSeq !== this.position) void this.#reload()
    return this.#reloading === undefined
  }

  /**
   * Starts waiting calls, as far as the time of this turn of the event loop allows. Must be called when a checkpoint
   * has made room.
   */
  drain(): void {
    const slice = new TimeSlice()
    for (let call = this.#waiting.peek(); call !== undefined; call = this.#waiting.peek()) {
      // It is released when it is framed.
      const bytes = HELD_CALL_BYTES + call.bytes
      if (!this.#start(call)) return
      this.#waiting.shift()
      this.#heldBytes -= bytes
      if (!slice.isSpent) continue
      this.#held = true
      setImmediate(this.#release)
      return
    }
  }

  readonly #release = (): void => {
    this.#held = false
    this.drain()
  }

  /** Refuses waiting and further calls with `error`: the folder could not be opened again with their records. */
  refuse(error: DurlogError): void {
    this.#closed ??= error
    void this.#refuseWaiting(error)
  }

  /** Refuses further calls with `error`. Settles when all earlier calls have settled. */
  async close(error: DurlogError): Promise<void> {
    this.#closed = error
    if (this.#context.durability === 'replicated') await this.#log.endReplication()
    await this.#until(() => this.#waiting.size === 0 && this.#areFramedSettled && this.#reloading === undefined)
    // Appends at a stronger level than that of the folder may wait for a destination that is away.
    if (!this.#isIdle) await this.#log.endReplication()
    await this.#until(() => this.#isIdle)
  }

  async #until(isDone: () => boolean): Promise<void> {
    while (!isDone()) {
      this.drain()
      await this.#log.reachedAt(this.#context.durability).catch(() => {})
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  #submit(call: Call, level: AppendDurability | undefined): void {
    const refusal = this.#closed ?? this.#refusalAt(level)
    if (refusal !== undefined) call.resolve(this.#rejections.rejection(refusal))
    else if (this.#waiting.size > 0 || !this.#start(call)) this.#hold(call)
  }

  /** Why there is no room for another call, or no record can reach `level`. */
  #refusalAt(level: AppendDurability | undefined): DurlogError | undefined {
    try {
      checkHeld(this.#heldBytes)
      if (level !== undefined) this.#log.checkLevel(level)
      return undefined
    } catch (error) {
      return error as DurlogError
    }
  }

  #hold(call: Call): void {
    this.#heldBytes += HELD_CALL_BYTES + call.bytes
    this.#waiting.push(call)
  }

  /** Returns false if the call must wait. */
  #start(call: Call): boolean {
    if (this.#held || !this.refresh()) return false
    const { maxMemTableBytes } = this.#context
    const { memTable, blockedBytes } = this.table
    // If no file can be written, each new stream becomes blocked with its first records.
    const areManyBlocked = blockedBytes >= maxMemTableBytes + BLOCKED_MAX_BYTES
    if (areManyBlocked || memTable.bytes >= maxMemTableBytes) {
      this.#context.onAppended()
      const failed = areManyBlocked ? this.table.blockedBy : this.#context.checkpointError()
      if (failed !== undefined) call.resolve(this.#notWritten(failed))
      return failed !== undefined
    }
    try {
      if (call.decide(this.table, this.#context.encoding)) {
        void this.#answer(call)
        return true
      }
      if (call.frame(this.#framing, this.table, this.position)) {
        this.position = call.last + 1
        this.#framed.push(call)
        this.#context.onAppended()
        return true
      }
    } catch (error) {
      if (AT_ONCE.includes((error as DurlogError).code)) call.resolve(this.#rejections.rejection(error as DurlogError))
      else void this.#answer(call, error as DurlogError)
      return true
    }
    this.#awaitRoom()
    return false
  }

  /**
   * Answers a duplicate or refused call after all earlier calls have reached the durability level. Until then their
   * records cannot be read, and a failed write may remove those on which the decision depends.
   */
  async #answer(call: Call, refusal?: DurlogError): Promise<void> {
    const bytes = HELD_CALL_BYTES + call.bytes
    this.#beginAnswer(bytes)
    try {
      await this.#log.reachedAt(this.#context.durability)
      if (refusal === undefined) call.repeated()
      else call.resolve(this.#rejections.rejection(refusal))
    } catch (error) {
      const failure = error as DurlogError
      call.resolve(refusal === undefined ? this.#rejections.rejection(failure) : this.#notWritten(failure))
    }
    this.#endAnswer(bytes)
  }

  /** A call that holds `bytes` bytes begins to wait for a sync. */
  #beginAnswer(bytes: number): void {
    this.#answering++
    this.#heldBytes += bytes
  }

  #endAnswer(bytes: number): void {
    this.#answering--
    this.#heldBytes -= bytes
    this.#settled()
  }

  #awaitRoom(): void {
    this.#held = true
    this.#log.roomAt(this.#context.durability).then(this.#release, this.#release)
  }

  /** Calls settle in the order of their positions. */
  readonly #onSettled = (outcome: number | Promise<never>, position: number): void => {
    if (typeof outcome !== 'number') {
      this.#onFailed(outcome, position)
      return
    }
    this.#take(this.#firstFramed).acknowledge(this.table)
    this.#settled()
  }

  /** Takes the framed call with the index `at`. */
  #take(at: number): Call {
    const call = this.#framed[at] as Call
    // Release the call and its value early: the garbage collector copies what lives long.
    this.#framed[at] = undefined
    this.#afterTaken = at + 1
    while (this.#firstFramed < this.#framed.length && this.#framed[this.#firstFramed] === undefined) this.#firstFramed++
    if (this.#firstFramed >= REMOVED_AT_ONCE) {
      this.#framed.splice(0, this.#firstFramed)
      this.#afterTaken -= this.#firstFramed
      this.#firstFramed = 0
    }
    return call
  }

  #onFailed(rejection: Promise<never>, position: number): void {
    // Calls that fail together follow each other. A search for each of them would take quadratic time.
    let at = this.#afterTaken
    if ((this.#framed[at]?.last ?? Number.POSITIVE_INFINITY) > position) at = this.#firstFramed
    while (this.#framed[at]?.last !== position) at++
    this.#take(at).resolve(rejection)
    // The table contains records that were not stored.
    rejection.catch((error: DurlogError) => {
      this.writeFailure = error
      // A record that is not replicated is in the log.
      const isStored = this.#log.nextSeq === this.position
      if (isStored || FINAL_ERRORS.includes(error.code)) this.table.forgetDeletions()
      else void this.#reload()
    })
    this.#settled()
  }

  /** Replaces the table when no call is in flight. Meanwhile calls wait. */
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
      if (!this.#isIdle)
        await new Promise<void>((resolve) => {
          this.#onIdle = resolve
        })
      const old = this.table
      this.table = await this.#context.reload()
      this.position = this.#log.nextSeq
      old.wakeAll()
    } catch (error) {
      // The next call tries again.
      this.table.forgetDeletions()
      void this.#refuseWaiting(error as DurlogError)
    }
  }

  /** Never rejects. */
  async #refuseWaiting(error: DurlogError): Promise<void> {
    const slice = new TimeSlice()
    for (const call of this.#waiting.removeIf(() => true)) {
      this.#heldBytes -= HELD_CALL_BYTES + call.bytes
      if (slice.isOver()) await slice.nextTurn()
      call.resolve(this.#notWritten(error))
    }
  }

  get #isIdle(): boolean {
    return this.#areFramedSettled && this.#answering === 0
  }

  get #areFramedSettled(): boolean {
    return this.#firstFramed === this.#framed.length
  }

  #settled(): void {
    if (this.#onIdle === undefined || !this.#isIdle) return
    this.#onIdle()
    this.#onIdle = undefined
  }

  /** The rejection of a call that has stored nothing because of `error`. */
  #notWritten(error: DurlogError): Promise<never> {
    return this.#rejections.rejection(withOutcome(error, 'not-written'))
  }
}

/** Whether a record that has reached the level `reached` may not have reached `level` yet. */
function isAbove(level: AppendDurability, reached: AppendDurability): boolean {
  if (level === 'replicated') return reached !== 'replicated'
  return LEVELS[level] > LEVELS[reached === 'replicated' ? 'sync' : reached]
}
