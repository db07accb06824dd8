/** The promises of appends that are framed and have not reached their level, settled oldest first. */
import { GroupRejection } from '../../caller-stack.js'
import type { DurlogError } from '../../errors.js'
import { Counter, type NativeFailure } from '../../native/log.js'
import { clock, setImmediate } from '../../timers.js'
import { MAX_SETTLED_IN_TURN, type Resolve, Waiters } from './waiters.js'

/** The time that calls which settle at once may take in one turn of the event loop. */
const MAX_IMMEDIATE_MS = 1
/** The clock is read each time the cost of calls reaches this. A call costs 1 for each record and 1 for each KiB. */
const COST_PER_LOOK = 64
const BYTES_PER_COST = 1024
/** The index of a level's counter is this plus the level's code. */
const FIRST_LEVEL_COUNTER = Counter.memoryEnd

export class Acknowledgements {
  readonly #counters: Float64Array
  /** Indexed by the level's code. */
  readonly #waiters: readonly [Waiters, Waiters, Waiters, Waiters] = [
    new Waiters(),
    new Waiters(),
    new Waiters(),
    new Waiters(),
  ]
  readonly #onTurn: () => void
  /** The number of syncs that wait. */
  #syncs = 0
  /** The total cost of the calls that settled at once after the clock was last read. */
  #cost = 0
  /**
   * The time after which no call settles at once in this turn; undefined until the clock has been read in this turn.
   */
  #deadline: number | undefined
  /** Resolve functions of the calls that wait for the next turn. */
  #yielding: (() => void)[] = []
  #settledInTurn = 0
  #turnScheduled = false

  /** If a turn of the event loop has settled its largest number of promises, `onTurn` is called in the next turn. */
  constructor(counters: Float64Array, onTurn: () => void) {
    this.#counters = counters
    this.#onTurn = onTurn
  }

  get size(): number {
    const [memory, async, sync, full] = this.#waiters
    return memory.size + async.size + sync.size + full.size
  }

  /** The number of appends that wait. */
  get appends(): number {
    return this.size - this.#syncs
  }

  /** Returns the exclusive end of the records that have reached `level`. */
  end(level: number): number {
    return this.#counters[FIRST_LEVEL_COUNTER + level] as number
  }

  /** Whether appends wait for `level`. They may have reached it, and settle in a later turn of the event loop. */
  hasWaiters(level: number): boolean {
    return (this.#waiters[level] as Waiters).size > 0
  }

  /** Resolves with `seq` once that record has reached `level`. `bytes` and `records` are the size of the append. */
  wait(seq: number, level: number, bytes: number, records: number): Promise<number> {
    if (this.end(level) > seq && this.#mayContinue(records + bytes / BYTES_PER_COST)) return Promise.resolve(seq)
    return (this.#waiters[level] as Waiters).wait(seq)
  }

  /** Calls `resolve` once `seq` has reached `level` or its commit has failed. `resolve` must not call the log. */
  notify(seq: number, level: number, resolve: Resolve): void {
    ;(this.#waiters[level] as Waiters).add(seq, resolve)
  }

  /** Resolves once every record up to `last` has reached `level`, after the appends that waited for it before. */
  reached(last: number, level: number): Promise<unknown> {
    this.#syncs++
    return new Promise((resolve) => {
      this.notify(last, level, (outcome) => {
        this.#syncs--
        resolve(outcome)
      })
    })
  }

  /** Resolves at once, or in the next turn of the event loop if the calls of this turn have used up its time. */
  turn(): Promise<void> {
    return this.turnAfter(0) ?? Promise.resolve()
  }

  /**
   * After an append of `bytes`: undefined if this turn of the event loop may make more appends; otherwise resolves in
   * the next.
   */
  turnAfter(bytes: number): Promise<void> | undefined {
    if (this.#mayContinue(1 + bytes / BYTES_PER_COST)) return undefined
    return new Promise((resolve) => this.#yielding.push(resolve))
  }

  /**
   * Whether a call may settle at once. Without a limit, a loop of awaited calls that settle at once would block the
   * event loop.
   */
  #mayContinue(cost: number): boolean {
    this.#cost += cost
    if (this.#cost < COST_PER_LOOK) return true
    const now = clock.now()
    this.#deadline ??= now + MAX_IMMEDIATE_MS
    this.#scheduleTurn()
    this.#cost = 0
    if (now < this.#deadline) return true
    this.#cost = COST_PER_LOOK
    this.#settledInTurn = MAX_SETTLED_IN_TURN
    return false
  }

  /** Settles the promises whose level is reached, at most MAX_SETTLED_IN_TURN in one turn of the event loop. */
  settle(): void {
    for (let level = 0; level < this.#waiters.length; level++) {
      const waiters = this.#waiters[level] as Waiters
      if (waiters.size === 0) continue
      const room = MAX_SETTLED_IN_TURN - this.#settledInTurn
      const settled = waiters.settle(this.end(level), room)
      this.#settledInTurn += settled
      if (settled === room) this.#scheduleTurn()
    }
  }

  /** Called once in each turn of the event loop that follows a call of `settle`. */
  startTurn(): void {
    if (!this.#turnScheduled) this.#settledInTurn = 0
  }

  /** Rejects the appends of a failed commit, in as many turns of the event loop as `settle` takes. */
  fail(failure: NativeFailure, errorFor: (seq: number) => DurlogError): void {
    // A counter beyond `failure.firstSeq` counts later records: the seqs of the failed ones have been assigned again.
    const undone = !failure.latched && !failure.stored
    this.#failFrom((level) => (undone ? failure.firstSeq : this.end(level)), errorFor)
  }

  /** Settles the appends whose level is reached, and rejects all others. */
  giveUp(error: DurlogError): void {
    this.#failFrom(
      (level) => this.end(level),
      () => error,
    )
  }

  #failFrom(firstSeqOf: (level: number) => number, errorFor: (seq: number) => DurlogError): void {
    const group = new GroupRejection()
    for (const [level, waiters] of this.#waiters.entries())
      waiters.failFrom(firstSeqOf(level), (seq) => group.rejection(errorFor(seq)))
    this.settle()
  }

  #scheduleTurn(): void {
    if (this.#turnScheduled) return
    this.#turnScheduled = true
    setImmediate(this.#turn)
  }

  readonly #turn = (): void => {
    this.#turnScheduled = false
    this.#cost = 0
    this.#deadline = undefined
    this.#settledInTurn = 0
    const yielding = this.#yielding
    this.#yielding = []
    for (const resolve of yielding) resolve()
    if (this.size > 0) this.#onTurn()
  }
}
