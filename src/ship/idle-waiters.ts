/** Callers of `idle`, which wait until the destination holds every record of the log up to a seq. */
import type { ReadableLog } from '../index.js'
import { abortable } from '../options/abort-signal.js'
import { isVoid } from './voids.js'

interface IdleWaiter {
  seq: number
  resolve: () => void
  reject: (error: Error) => void
}

export class IdleWaiters {
  readonly #log: ReadableLog
  readonly #onVoid: (seq: number) => void
  readonly #waiters = new Set<IdleWaiter>()
  #shipped = -1

  /** `onVoid(seq)` is called if none of the seqs after the shipped records up to `seq` holds a record. */
  constructor(log: ReadableLog, onVoid: (seq: number) => void) {
    this.#log = log
    this.#onVoid = onVoid
  }

  /** Resolves after a call of `settle` with `seq`, or with a lower seq if the log has no record between the two. */
  wait(seq: number, signal: AbortSignal | undefined): Promise<void> {
    let waiter: IdleWaiter | undefined
    const done = new Promise<void>((resolve, reject) => {
      waiter = { seq, resolve, reject }
      this.#waiters.add(waiter)
    })
    return abortable(signal, () => done).finally(() => this.#waiters.delete(waiter as IdleWaiter))
  }

  /**
   * Reports that the destination holds every record up to `shipped`. With `nothingInFlight`, no other record is being
   * published.
   */
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

  /** Resolves a waiter if only seqs without a record are missing, because those are never acknowledged. */
  async #resolveAfterVoid(waiter: IdleWaiter): Promise<void> {
    const shipped = this.#shipped
    // A truncation may have removed the last records that the waiter waits for.
    const last = Math.min(waiter.seq, this.#log.nextSeq - 1)
    if (!(await isVoid(this.#log, shipped + 1, last)) || this.#shipped !== shipped) return
    if (last > shipped) this.#onVoid(last)
    this.#resolve(waiter)
  }

  #resolve(waiter: IdleWaiter): void {
    this.#waiters.delete(waiter)
    waiter.resolve()
  }
}
