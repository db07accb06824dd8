/** The records that a destination outside this machine has acknowledged, and the appends that wait for that. */
import { closedError, DurlogError, type DurlogErrorDetails, isCode, withOutcome } from '../errors.js'
import { onAbort } from '../options/abort-signal.js'
import { checkPayload, HELD_CALL_BYTES } from '../options/call-options.js'
import type { ResolvedOptions } from '../options/open-options.js'
import type { ReplicationLink, ReplicationListener } from '../options/replication-link.js'
import { LinkedQueue } from '../support/linked-queue.js'
import { clearTimeout, nextTurn, setImmediate, setTimeout } from '../timers.js'
import type { Log, Payload, ReplicationStall, ReplicationStats } from '../types.js'
import { CallQueue } from './append/call-queue.js'
import { HeldMemory } from './append/held-memory.js'
import { MAX_SETTLED_IN_TURN, type Resolve, Waiters } from './append/waiters.js'

/** The longest time that `close` waits for acknowledgements. */
const CLOSE_WAIT_MS = 2000
/** A stall is reported after this time without an acknowledgement while appends wait. */
const STALLED_MS = 10_000
const CLOSED_BEFORE = 'the log was closed before'

interface ReplicationWaiter {
  seq: number
  resolve: () => void
  reject: (error: DurlogError) => void
}

export interface ReplicationHost {
  /** `replicatedSeq` has increased. */
  onReplicated(): void
  onStalled(stall: ReplicationStall): void
  /** Nothing more will be replicated. */
  onFailed(error: DurlogError): void
}

export class Replication implements ReplicationListener {
  readonly #log: Log
  readonly #host: ReplicationHost
  readonly #maxRecordBytes: number
  readonly #maxWaitingBytes: number
  readonly #link: ReplicationLink
  /** The first seq that is not acknowledged. */
  #end = 0
  /** In the order of their seqs. */
  readonly #waiters = new LinkedQueue<ReplicationWaiter>()
  /** Rejects the calls that have failed, in the order of their seqs. */
  readonly #failed = new LinkedQueue<() => void>()
  /** The records of a folder of streams that wait. */
  readonly #frames = new Waiters()
  /** The appends that were made and wait for the destination, and their bytes. */
  #appends = 0
  #bytes = 0
  /** The appends that are made when there is room. */
  readonly #queue = new CallQueue(() => this.#queue.admit())
  readonly #held = new HeldMemory('the appends that wait for the destination')
  #failure: DurlogError | undefined
  #isClosing = false
  /** Nothing more is replicated, because the log is closed. */
  #isClosed = false
  #lastError: Error | undefined
  #stallTimer: NodeJS.Timeout | undefined
  #isStalled = false
  /** Calls whose records are replicated settle in the next turn of the event loop. */
  #isSettling = false
  /** Called when no append waits for the destination. */
  #onIdle: () => void = () => {}

  constructor(log: Log, { replicate, native }: ResolvedOptions, host: ReplicationHost) {
    if (replicate === undefined) throw new TypeError('a log without the option replicate')
    this.#log = log
    this.#host = host
    this.#maxRecordBytes = native.maxRecordBytes
    this.#maxWaitingBytes = native.maxPendingBytes
    this.#link = replicate.start(log, this)
  }

  begin(): void {
    this.#link.begin()
  }

  get end(): number {
    return this.#end
  }

  /**
   * Makes an append of `records`, and waits until its last record is replicated. If the appends that wait already have
   * `maxPendingBytes`, it is made when there is room again, and holds a copy of its records meanwhile.
   */
  append<T>(
    records: readonly Payload[],
    make: (own: readonly Payload[]) => Promise<T>,
    lastOf: (result: T) => number,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    let bytes = 0
    for (const data of records) bytes += checkPayload(data, this.#maxRecordBytes)
    this.checkOpen()
    const start = (own: readonly Payload[]): Promise<T> | undefined =>
      this.#hasRoom(bytes) ? this.#make(() => make(own), lastOf, bytes, signal) : undefined
    const started = this.#queue.size === 0 ? start(records) : undefined
    if (started !== undefined) return started
    const { records: own, release } = this.#held.hold(records, bytes)
    return this.#queue.hold(() => start(own), 'append', { signal, onLeft: release })
  }

  /** Resolves when every record up to `seq` is replicated. */
  reached(seq: number, signal?: AbortSignal): Promise<void> {
    if (seq < this.#end) return Promise.resolve()
    if (this.#failure !== undefined) return Promise.reject(withOutcome(this.#failure, 'unknown'))
    if (this.#isClosing) return Promise.reject(this.#notReplicated(seq, CLOSED_BEFORE))
    return new Promise((resolve, reject) => {
      const remove = this.#waiters.insertAfter((other) => other.seq <= seq, {
        seq,
        resolve: () => {
          unwatch()
          resolve()
        },
        reject: (error) => {
          unwatch()
          reject(error)
        },
      })
      const abort = (): void => {
        remove()
        reject(this.#notReplicated(seq, 'the signal was aborted before', { cause: signal?.reason }))
      }
      const unwatch = onAbort(signal, abort)
      if (signal?.aborted === true) {
        unwatch()
        abort()
        return
      }
      this.#stallTimer ??= this.#startTimer()
      this.#link.flush()
    })
  }

  /** As `reached`, for an append that was made at another level: `close` waits for it too. */
  raised(seq: number): Promise<void> {
    return this.#make(
      () => Promise.resolve(),
      () => seq,
      0,
      undefined,
    )
  }

  /**
   * Makes an append of `bytes` bytes: `frame` passes the record to the log, and returns false if it has no room. Calls
   * `resolve`, in the order of the seqs, once the record is replicated or its commit has failed. Returns false if there
   * is no room: see `room`. Throws if nothing more is replicated.
   */
  frame(bytes: number, frame: (resolve: Resolve) => boolean, resolve: Resolve): boolean {
    this.checkOpen()
    if (!this.#hasRoom(bytes)) return false
    const settle: Resolve = (outcome, seq) => {
      this.#release(bytes)
      resolve(outcome, seq)
    }
    if (!frame((outcome, seq) => (typeof outcome === 'number' ? this.#await(seq, settle) : settle(outcome, seq))))
      return false
    this.#bytes += HELD_CALL_BYTES + bytes
    this.#appends++
    return true
  }

  /** Resolves when an append may be made. */
  async room(): Promise<void> {
    this.checkOpen()
    if (this.#hasRoom(1)) return
    await this.#queue.hold(() => (this.#hasRoom(1) ? Promise.resolve() : undefined), 'append')
  }

  /** Calls `resolve` when every record up to `seq`, which is synced, is replicated. */
  #await(seq: number, resolve: Resolve): void {
    // The earlier ones may have reached the destination and settle in a later turn of the event loop.
    if (seq < this.#end && this.#frames.size === 0) resolve(seq, seq)
    else if (this.#failure !== undefined) resolve(Promise.reject(withOutcome(this.#failure, 'unknown')), seq)
    else if (this.#isClosed) resolve(Promise.reject(this.#notReplicated(seq, CLOSED_BEFORE)), seq)
    else {
      this.#frames.add(seq, resolve)
      this.#stallTimer ??= this.#startTimer()
      this.#link.flush()
    }
  }

  /** Throws if nothing more is replicated. */
  checkOpen(): void {
    if (this.#isClosing) throw closedError(this.#log.dir)
    if (this.#failure !== undefined) throw withOutcome(this.#failure, 'not-written')
  }

  stats(): ReplicationStats {
    return {
      ...this.#link.stats(),
      lease: this.#link.lease,
      replicatedSeq: this.#end - 1,
      waitingAppends: this.#appends + this.#queue.size,
      waitingBytes: this.#bytes + this.#held.bytes,
      stalled: this.#isStalled,
      fenced: isCode(this.#failure, 'ERR_DURLOG_FENCED'),
      failure: this.#failure,
    }
  }

  onReplicated(seq: number): void {
    if (seq < this.#end) return
    this.#end = seq + 1
    this.#lastError = undefined
    this.#isStalled = false
    if (!this.#isSettling) this.#settleInTurn()
    clearTimeout(this.#stallTimer)
    this.#stallTimer = this.#isIdle ? undefined : this.#startTimer()
    this.#host.onReplicated()
  }

  /** Settles at most MAX_SETTLED_IN_TURN calls whose records are replicated; the others in later turns. */
  #settleInTurn(): void {
    this.#isSettling = this.#settle(MAX_SETTLED_IN_TURN) === MAX_SETTLED_IN_TURN
    if (this.#isSettling) setImmediate(() => this.#settleInTurn())
  }

  /** Settles at most `limit` calls: those whose records are replicated, then the failed ones. Returns their number. */
  #settle(limit: number): number {
    let settled = 0
    for (let first = this.#waiters.peek(); first !== undefined && first.seq < this.#end; first = this.#waiters.peek()) {
      if (settled === limit) return settled
      this.#waiters.shift()
      first.resolve()
      settled++
    }
    for (; settled < limit; settled++) {
      const reject = this.#failed.shift()
      if (reject === undefined) break
      reject()
    }
    return settled + this.#frames.settle(this.#end, limit - settled)
  }

  onRetry(error: Error): void {
    this.#lastError = error
  }

  onFailed(error: DurlogError): void {
    if (this.#failure !== undefined) return
    this.#failure = error
    this.#rejectFrom(0, () => withOutcome(error, 'unknown'))
    this.#queue.fail(withOutcome(error, 'not-written'))
    this.#host.onFailed(error)
  }

  /** The log was truncated: `nextSeq` is its end now. */
  onCut(nextSeq: number): void {
    this.#rejectFrom(nextSeq, (seq) => this.#notReplicated(seq, 'the record was truncated before'))
    this.#end = Math.min(this.#end, nextSeq)
  }

  /** Refuses later appends. Waits for acknowledgements for up to 2 s, then stops replicating. */
  async close(): Promise<void> {
    this.#isClosing = true
    this.#queue.fail(closedError(this.#log.dir))
    if (this.#appends > 0) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, CLOSE_WAIT_MS)
        this.#onIdle = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
    try {
      await this.#link.close()
    } finally {
      this.#isClosed = true
      this.#rejectFrom(0, (seq) => this.#notReplicated(seq, CLOSED_BEFORE))
      while (this.#isSettling) await nextTurn()
    }
  }

  #hasRoom(bytes: number): boolean {
    return this.#bytes === 0 || this.#bytes + HELD_CALL_BYTES + bytes <= this.#maxWaitingBytes
  }

  async #make<T>(
    make: () => Promise<T>,
    lastOf: (result: T) => number,
    bytes: number,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    this.#bytes += HELD_CALL_BYTES + bytes
    this.#appends++
    try {
      const result = await make()
      await this.reached(lastOf(result), signal)
      return result
    } finally {
      this.#release(bytes)
    }
  }

  #release(bytes: number): void {
    this.#bytes -= HELD_CALL_BYTES + bytes
    this.#appends--
    this.#queue.admit()
    if (this.#appends === 0) this.#onIdle()
  }

  /** The lowest seq that waits; Infinity if there is none. */
  get #oldestWaiting(): number {
    const none = Number.POSITIVE_INFINITY
    return Math.min(this.#waiters.peek()?.seq ?? none, this.#frames.oldest ?? none)
  }

  get #isIdle(): boolean {
    return this.#waiters.size === 0 && this.#frames.size === 0
  }

  /** First settles the calls whose records are replicated. */
  #rejectFrom(firstSeq: number, errorFor: (seq: number) => DurlogError): void {
    this.#settle(Number.POSITIVE_INFINITY)
    // Removed at once: the seqs of records that were cut are assigned again.
    for (const { seq, reject } of this.#waiters.removeIf((waiter) => waiter.seq >= firstSeq))
      this.#failed.push(() => reject(errorFor(seq)))
    this.#frames.failFrom(firstSeq, (seq) => Promise.reject(errorFor(seq)))
    if (!this.#isSettling) this.#settleInTurn()
    if (!this.#isIdle) return
    clearTimeout(this.#stallTimer)
    this.#stallTimer = undefined
  }

  #startTimer(): NodeJS.Timeout {
    return setTimeout(() => {
      if (this.#isIdle) return
      this.#isStalled = true
      this.#host.onStalled({ seq: this.#oldestWaiting, ms: STALLED_MS, error: this.#lastError })
    }, STALLED_MS).unref()
  }

  #notReplicated(seq: number, reason: string, details: DurlogErrorDetails = {}): DurlogError {
    const last = this.#lastError === undefined ? '' : ` (${this.#lastError.message})`
    return new DurlogError(
      'ERR_DURLOG_NOT_REPLICATED',
      `record ${seq} is synced here, and the destination has not acknowledged it: ${reason}${last}. It may be there; await reached(${seq}, 'replicated'), or read the log after the next open`,
      { outcome: 'unknown', ...details },
    )
  }
}
