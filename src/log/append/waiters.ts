/** Promises that wait for a seq to reach one level, oldest first, in two parallel ring buffers. */
import { LinkedQueue } from '../../support/linked-queue.js'

/** `outcome` is the seq, or a rejected promise if the commit of the record failed. */
export type Resolve = (outcome: number | Promise<never>, seq: number) => void

// All promises share one executor: a closure for each would cost as much as the promise.
let lastResolve: Resolve
function capture(resolve: Resolve): void {
  lastResolve = resolve
}

const INITIAL_CAPACITY = 64

/** At most this many promises settle in one turn of the event loop, which takes about a millisecond. */
export const MAX_SETTLED_IN_TURN = 1024

export class Waiters {
  #resolves: (Resolve | undefined)[] = new Array(INITIAL_CAPACITY).fill(undefined)
  #seqs = new Float64Array(INITIAL_CAPACITY)
  #mask = INITIAL_CAPACITY - 1
  #head = 0
  #size = 0
  readonly #failed = new LinkedQueue<() => void>()

  get size(): number {
    return this.#size + this.#failed.size
  }

  /** The seq of the first waiter that has not failed; undefined if there is none. */
  get oldest(): number | undefined {
    return this.#size === 0 ? undefined : this.#seqs[this.#head]
  }

  /** Returns a promise for `seq`, which must not be lower than the seq of an earlier call. */
  wait(seq: number): Promise<number> {
    const promise = new Promise<number>(capture)
    this.add(seq, lastResolve)
    return promise
  }

  /** As `wait`, but calls a function instead of settling a promise. */
  add(seq: number, resolve: Resolve): void {
    if (this.#size > this.#mask) this.#grow()
    const slot = (this.#head + this.#size) & this.#mask
    this.#resolves[slot] = resolve
    this.#seqs[slot] = seq
    this.#size++
  }

  /**
   * Settles at most `limit` waiters: each whose seq is below `reached` with its seq, then the failed ones. Returns
   * their number.
   */
  settle(reached: number, limit: number = Number.POSITIVE_INFINITY): number {
    let settled = 0
    while (this.#size > 0 && settled < limit) {
      const slot = this.#head
      const seq = this.#seqs[slot] as number
      if (seq >= reached) break
      const resolve = this.#resolves[slot] as Resolve
      this.#resolves[slot] = undefined
      this.#head = (slot + 1) & this.#mask
      this.#size--
      settled++
      resolve(seq, seq)
    }
    for (; settled < limit; settled++) {
      const reject = this.#failed.shift()
      if (reject === undefined) break
      reject()
    }
    return settled
  }

  /**
   * Fails every waiter from `firstSeq` on: `settle` rejects it with the promise that `rejectionOf` then returns for its
   * seq. Later waiters may have the same seqs.
   */
  failFrom(firstSeq: number, rejectionOf: (seq: number) => Promise<never>): void {
    let kept = this.#size
    while (kept > 0 && (this.#seqs[(this.#head + kept - 1) & this.#mask] as number) >= firstSeq) kept--
    for (let i = kept; i < this.#size; i++) {
      const slot = (this.#head + i) & this.#mask
      const resolve = this.#resolves[slot] as Resolve
      const seq = this.#seqs[slot] as number
      this.#resolves[slot] = undefined
      this.#failed.push(() => resolve(rejectionOf(seq), seq))
    }
    this.#size = kept
  }

  #grow(): void {
    const capacity = this.#mask + 1
    const resolves: (Resolve | undefined)[] = new Array(capacity * 2).fill(undefined)
    const seqs = new Float64Array(capacity * 2)
    for (let i = 0; i < this.#size; i++) {
      const slot = (this.#head + i) & this.#mask
      resolves[i] = this.#resolves[slot]
      seqs[i] = this.#seqs[slot] as number
    }
    this.#resolves = resolves
    this.#seqs = seqs
    this.#mask = capacity * 2 - 1
    this.#head = 0
  }
}
