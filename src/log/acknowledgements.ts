/** Appends that are framed and have not reached their level: one promise each, settled oldest first. */
import { setImmediate } from 'node:timers'
import type { DurlogError } from '../errors.js'
import { Counter, type NativeFailure } from '../native/native.js'
import { Waiters } from './waiters.js'

/** Acknowledged within one turn of the event loop, at once and later: a millisecond's worth of each. */
const MAX_IMMEDIATE_IN_TURN = 4096
const MAX_SETTLED_IN_TURN = 1024
/** A level's counter has this index plus the level's code. */
const FIRST_LEVEL_COUNTER = Counter.memoryEnd

export class Acknowledgements {
  readonly #counters: Float64Array
  /** By level. */
  readonly #waiters: readonly [Waiters, Waiters, Waiters, Waiters] = [
    new Waiters(),
    new Waiters(),
    new Waiters(),
    new Waiters(),
  ]
  readonly #onTurn: () => void
  #immediateInTurn = 0
  #settledInTurn = 0
  #turnScheduled = false

  /** Calls `onTurn` in the next turn of the event loop if this one has settled as many promises as it may. */
  constructor(counters: Float64Array, onTurn: () => void) {
    this.#counters = counters
    this.#onTurn = onTurn
  }

  get size(): number {
    const [memory, async, sync, full] = this.#waiters
    return memory.size + async.size + sync.size + full.size
  }

  /** Every record below it has reached `level`. */
  end(level: number): number {
    return this.#counters[FIRST_LEVEL_COUNTER + level] as number
  }

  /** Settles with `seq` once it has reached `level`. */
  wait(seq: number, level: number): Promise<number> {
    if (this.end(level) > seq) {
      if (this.#immediateInTurn < MAX_IMMEDIATE_IN_TURN) {
        this.#immediateInTurn++
        return Promise.resolve(seq)
      }
      // A loop of awaited appends that are all acknowledged at once would never let the event loop turn.
      this.#scheduleTurn()
    }
    return (this.#waiters[level] as Waiters).wait(seq)
  }

  /** Settles promises whose level is reached, as many as this turn of the event loop may. */
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

  /** The event loop has turned: as many promises as before may be settled. */
  startTurn(): void {
    this.#settledInTurn = 0
  }

  /** Rejects the appends of a failed commit; first settles those whose level was reached before. */
  fail(failure: NativeFailure, errorFor: (seq: number) => DurlogError): void {
    // Seqs from the failed one on that have been reached since belong to other records.
    const end = failure.latched ? Number.POSITIVE_INFINITY : failure.firstSeq
    for (const [level, waiters] of this.#waiters.entries()) waiters.settle(Math.min(end, this.end(level)))
    // A latched log reaches no further level.
    const firstSeq = failure.latched ? 0 : failure.firstSeq
    for (const waiters of this.#waiters) waiters.rejectFrom(firstSeq, errorFor)
  }

  /** Settles those whose level is reached, and rejects all others. */
  giveUp(error: DurlogError): void {
    for (const [level, waiters] of this.#waiters.entries()) waiters.settle(this.end(level))
    for (const waiters of this.#waiters) waiters.rejectFrom(0, () => error)
  }

  #scheduleTurn(): void {
    if (this.#turnScheduled) return
    this.#turnScheduled = true
    setImmediate(this.#turn)
  }

  readonly #turn = (): void => {
    this.#turnScheduled = false
    this.#immediateInTurn = 0
    this.#settledInTurn = 0
    this.#onTurn()
  }
}
