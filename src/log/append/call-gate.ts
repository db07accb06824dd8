/** Decides whether a call goes to the core at once, waits for its turn, or is the only one. */
import { closedError, type DurlogError } from '../../errors.js'
import { CallQueue } from './call-queue.js'
import { ExclusiveCall } from './exclusive-call.js'

/** The gate calls these methods, but never from within a call that changes the log. */
export interface GateHost {
  /** Whether all appends have settled. */
  isSettled(): boolean
  /** Whether every record is synced, or never will be. If not, requests a sync. */
  isSynced(): boolean
  /** A call waits, or may start now. */
  onWaiting(): void
  /** The call that was alone has ended; the waiting calls start after this. */
  onAloneEnded(): void
}

export class CallGate {
  readonly #dir: string
  readonly #host: GateHost
  readonly #held = new CallQueue(() => this.admit())
  /** Calls go to the core at once. If not, others wait already or the log is closing. */
  isOpen = true
  /** `close` was called. */
  isClosed = false
  /** A call is alone in the core, or the core is closed. */
  isSuspended = false

  constructor(dir: string, host: GateHost) {
    this.#dir = dir
    this.#host = host
  }

  get waiting(): number {
    return this.#held.size
  }

  /** As `CallQueue.hold`. */
  hold<T>(start: () => Promise<T> | undefined, signal?: AbortSignal, outlivesFailure = false): Promise<T> {
    if (this.isClosed) return Promise.reject(closedError(this.#dir))
    const promise = this.#held.hold(start, signal, outlivesFailure)
    this.isOpen = false
    this.#host.onWaiting()
    return promise
  }

  /**
   * Calls `start` at once if no call waits, else in its turn. While it returns undefined, calls it again after each
   * progress.
   */
  inOrder<T>(start: () => Promise<T> | undefined): Promise<T> {
    return (this.isOpen ? start() : undefined) ?? this.hold(start)
  }

  /**
   * Runs `work` once all earlier calls have settled; later calls wait until it has ended. With `syncedFirst`, every
   * record is synced before `work` starts, unless it never will be. After `final` work the core is not called again.
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
      // A `work` that throws rejects the promise too.
      const run = (): Promise<void> => (async () => work())().then(resolve, reject)
      this.#held.push(new ExclusiveCall(ready, run, onEnd))
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

  /** Starts every waiting call that can start. */
  admit(): void {
    this.#held.admit()
    this.#update()
  }

  /** As `CallQueue.fail`. */
  fail(error: DurlogError): void {
    this.#held.fail(error)
    this.#update()
  }

  #update(): void {
    this.isOpen = this.#held.size === 0 && !this.isClosed
  }
}
