/** Callers that wait until the destination has every record of the log up to some seq. */
import type { ReadableLog } from '../index.js'
import { isVoid } from './voids.js'

interface Waiter {
  seq: number
  resolve: () => void
  reject: (error: Error) => void
}

export class IdleWaiters {
  readonly #log: ReadableLog
  readonly #onVoid: (seq: number) => void
  readonly #waiters = new Set<Waiter>()
  #shipped = -1

  /** Calls `onVoid(seq)` if only seqs without a record follow the shipped ones, up to `seq`. */
  constructor(log: ReadableLog, onVoid: (seq: number) => void) {
    this.#log = log
    this.#onVoid = onVoid
  }

  /** Settles after a call of `settle` with `seq`, or with a lower one if there is no record between. */
  wait(seq: number): Promise<void> {
    return new Promise((resolve, reject) => this.#waiters.add({ seq, resolve, reject }))
  }

  /** Every record up to `shipped` is in the destination; with `nothingInFlight` no other one is being published. */
  settle(shipped: number, nothingInFlight: boolean): void {
    this.#shipped = shipped
    for (const waiter of this.#waiters) {
      if (shipped >= waiter.seq) this.#resolve(waiter)
      else if (nothingInFlight) void this.#resolveAfterVoid(waiter)
    }
  }

  reject(error: Error): void {
    for (const { reject } of this.#waiters) reject(error)
    this.#waiters.clear()
  }

  /** Seqs without a record are never acknowledged. */
  async #resolveAfterVoid(waiter: Waiter): Promise<void> {
    const shipped = this.#shipped
    if (!(await isVoid(this.#log, shipped + 1, waiter.seq)) || this.#shipped !== shipped) return
    this.#onVoid(waiter.seq)
    this.#resolve(waiter)
  }

  #resolve(waiter: Waiter): void {
    this.#waiters.delete(waiter)
    waiter.resolve()
  }
}
