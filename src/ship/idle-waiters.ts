/** Callers of `idle`, which wait until the destination holds every record of the log up to a seq. */
import { GroupRejection } from '../caller-stack.js'
import type { DurlogError } from '../errors.js'
import type { ReadableLog } from '../index.js'
import { abortable } from '../options/abort-signal.js'
import { LinkedQueue } from '../support/linked-queue.js'
import { PacedWork } from '../support/paced-work.js'
import { isVoid } from './voids.js'

interface IdleWaiter {
  seq: number
  settle: (result: undefined | Promise<never>) => void
}

export class IdleWaiters {
  readonly #log: ReadableLog
  readonly #onVoid: (seq: number) => void
  /** The lowest seq first: an acknowledgement visits only the waiters that it resolves. */
  readonly #waiters = new LinkedQueue<IdleWaiter>()
  /** One event may settle many. */
  readonly #work = new PacedWork()
  #shipped = -1

  /** `onVoid(seq)` is called if none of the seqs after the shipped records up to `seq` holds a record. */
  constructor(log: ReadableLog, onVoid: (seq: number) => void) {
    this.#log = log
    this.#onVoid = onVoid
  }

  /** Resolves after a call of `settle` with `seq`, or with a lower seq if the log has no record between the two. */
  wait(seq: number, signal: AbortSignal | undefined): Promise<void> {
    let leave = (): void => {}
    const done = new Promise<undefined>((settle) => {
      leave = this.#waiters.insertAfter((other) => other.seq <= seq, { seq, settle })
    })
    return abortable(signal, () => done).finally(leave)
  }

  /**
   * Reports that the destination holds every record up to `shipped`. With `nothingInFlight`, no other record is being
   * published.
   */
  settle(shipped: number, nothingInFlight: boolean): void {
    this.#shipped = shipped
    this.#resolveTo(shipped)
    if (nothingInFlight) void this.#resolveAfterVoids()
  }

  reject(error: DurlogError): void {
    const rejections = new GroupRejection()
    for (let next = this.#waiters.shift(); next !== undefined; next = this.#waiters.shift()) {
      const { settle } = next
      this.#work.run(() => settle(rejections.rejection(error)))
    }
  }

  #resolveTo(seq: number): void {
    for (let next = this.#waiters.peek(); next !== undefined && next.seq <= seq; next = this.#waiters.peek()) {
      this.#waiters.shift()
      this.#resolve(next)
    }
  }

  #resolve({ settle }: IdleWaiter): void {
    this.#work.run(() => settle(undefined))
  }

  /** Resolves the waiters for which only seqs without a record are missing, because those are never acknowledged. */
  async #resolveAfterVoids(): Promise<void> {
    const shipped = this.#shipped
    for (let next = this.#waiters.peek(); next !== undefined; next = this.#waiters.peek()) {
      // A truncation may have removed the last records that the waiter waits for.
      const last = Math.min(next.seq, this.#log.nextSeq - 1)
      if (!(await isVoid(this.#log, shipped + 1, last)) || this.#shipped !== shipped) return
      if (last > shipped) this.#onVoid(last)
      this.#resolveTo(last)
      if (this.#waiters.peek() !== next) continue
      this.#waiters.shift()
      this.#resolve(next)
    }
  }
}
