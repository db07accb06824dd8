/** Decides whether a call goes to the core at once, waits for its turn, or runs alone. */
import { closedError, type DurlogError, withOutcome } from '../../errors.js'
import { CallQueue, type HeldKind, type HoldOptions } from './call-queue.js'

/** The gate calls these methods, but never from within a call that changes the log. */
export interface GateHost {
  /** Whether all appends have settled. */
  isSettled(): boolean
  /** Whether every record is synced, or can never be synced because the log is latched. If neither, requests a sync. */
  isSynced(): boolean
  /** A call waits, or may be able to start now. */
  onWaiting(): void
  /** The call that ran alone has ended. The waiting calls start after this method returns. */
  onAloneEnded(): void
}

export class CallGate {
  readonly #dir: string
  readonly #host: GateHost
  readonly #held = new CallQueue(() => this.admit())
  /** Whether calls go to the core at once. False while calls wait or once the log is closing. */
  isOpen = true
  /** Whether `close` was called. */
  isClosed = false
  /** The failure because of which every append is refused; undefined while appends are accepted. */
  #refusing: DurlogError | undefined
  /** Whether a call runs alone in the core, or the core is closed. */
  isSuspended = false

  constructor(dir: string, host: GateHost) {
    this.#dir = dir
    this.#host = host
  }

  /** A new error for an append that is refused; undefined while appends are accepted. */
  get refusedBy(): DurlogError | undefined {
    return this.#refusing && withOutcome(this.#refusing, 'not-written')
  }

  get waiting(): number {
    return this.#held.size
  }

  get waitingAppends(): number {
    return this.#held.appends
  }

  /** As `CallQueue.hold`. */
  hold<T>(start: () => Promise<T> | undefined, kind: HeldKind, options?: HoldOptions): Promise<T> {
    if (this.isClosed) return Promise.reject(closedError(this.#dir))
    const refusal = kind === 'append' ? this.refusedBy : undefined
    if (refusal !== undefined) return Promise.reject(refusal)
    const promise = this.#held.hold(start, kind, options)
    this.isOpen = false
    this.#host.onWaiting()
    return promise
  }

  /**
   * Calls `start` at once if no call waits, otherwise in its turn. If `start` returns undefined, calls it again after
   * each progress of the log until it returns a promise.
   */
  inOrder<T>(start: () => Promise<T> | undefined, kind: HeldKind): Promise<T> {
    return (this.isOpen ? start() : undefined) ?? this.hold(start, kind)
  }

  /**
   * Runs `work` once all earlier calls have settled; later calls wait until it has ended. With `syncedFirst`, `work`
   * starts only after every record is synced, or after that sync has failed. With `final`, the core is not called after
   * `work`.
   */
  alone<T>(work: () => Promise<T>, options: { syncedFirst?: boolean; final?: boolean } = {}): Promise<T> {
    if (this.isClosed) return Promise.reject(closedError(this.#dir))
    let { syncedFirst: wantsSync = false } = options
    const ready = (): boolean => {
      if (!this.#host.isSettled()) return false
      const synced = !wantsSync || this.#host.isSynced()
      wantsSync = false
      if (synced) this.isSuspended = true
      return synced
    }
    const onEnd = (): void => {
      this.isSuspended = options.final ?? false
      this.#host.onAloneEnded()
      this.admit()
      this.#host.onWaiting()
    }
    return new Promise((resolve, reject) => {
      // In an async function, so that an exception of `work` rejects the promise too.
      const run = (): Promise<void> => (async () => work())().then(resolve, reject)
      let state: 'waiting' | 'running' | 'ended' = 'waiting'
      this.#held.push({
        // If a commit fails before `work` starts, `work` is not rejected.
        outlivesFailure: true,
        fail: () => {},
        admit: () => {
          if (state === 'waiting' && ready()) {
            state = 'running'
            void run().then(() => {
              state = 'ended'
              onEnd()
            })
          }
          // `work` stays in the queue until it has ended, so that later calls wait for it.
          return state === 'ended'
        },
      })
      this.isOpen = false
      this.admit()
      this.#host.onWaiting()
    })
  }

  /** Runs `work` as the last call: later calls fail with ERR_DURLOG_CLOSED. */
  close(work: () => Promise<void>): Promise<void> {
    const closed = this.alone(work, { final: true })
    this.isClosed = true
    this.isOpen = false
    return closed
  }

  /** Refuses later appends because of `error`. Other calls, and the appends that wait, continue. */
  refuseAppends(error: DurlogError): void {
    this.#refusing = error
    this.#update()
  }

  /** As `CallQueue.admit`. */
  admit(): void {
    this.#held.admit()
    this.#update()
  }

  /** As `CallQueue.admitAll`. */
  admitAll(): void {
    this.#held.admitAll()
    this.#update()
  }

  /** As `CallQueue.fail`. */
  fail(error: DurlogError): void {
    this.#held.fail(error)
    this.#update()
  }

  #update(): void {
    this.isOpen = this.#held.size === 0 && !this.isClosed && this.#refusing === undefined
  }
}
