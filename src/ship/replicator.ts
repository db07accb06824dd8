/**
 * Copies a log to a destination in sessions. A session ends with its first failure, and the next session begins after a
 * pause. A `Destination` implements the sessions for one kind of destination.
 */
import { EventEmitter } from 'node:events'
import { atCaller } from '../caller-stack.js'
import { DurlogError, type DurlogErrorCode, isCode } from '../errors.js'
import type { DurableCursor, LeaseView, Log, ReadableLog, ReadOnlyLog, WaitOptions } from '../index.js'
import type { WriterLog } from '../open.js'
import { abortable, onAbort, resolveWait } from '../options/abort-signal.js'
import type { ReplicationLink, ReplicationListener } from '../options/replication-link.js'
import { queueMicrotask } from '../timers.js'
import { Backoff } from './backoff.js'
import { ShipConflict } from './conflict.js'
import type { Destination, ReplicationSession } from './destination.js'
import { FailureFile } from './failure-file.js'
import { IdleWaiters } from './idle-waiters.js'
import { LagWatch } from './lag-watch.js'
import type { Lease } from './lease.js'
import type { ResolvedReplicatorOptions } from './options.js'
import { Rate } from './rate.js'
import { Trimmer } from './trimmer.js'
import type { ShipEvents, Shipper, ShipStats } from './types.js'

/** The longest time that `close` waits for acknowledgements. */
const CLOSE_WAIT_MS = 2000
/** Up to this many consecutive failures, the session after a conflict begins without a pause. */
const CONFLICTS_WITHOUT_PAUSE = 3

/** Errors of the log that do not end the shipper: the next session reads the log's bounds again, and may succeed. */
const TRANSIENT: readonly DurlogErrorCode[] = [
  'ERR_DURLOG_BACKPRESSURE',
  'ERR_DURLOG_TOO_MANY_FILES',
  'ERR_DURLOG_OUT_OF_MEMORY',
  'ERR_DURLOG_OUT_OF_RANGE',
  'ERR_DURLOG_CURSOR_CUT',
  'ERR_DURLOG_CURSOR_OVERRUN',
]

export class Replicator extends EventEmitter<ShipEvents> implements Shipper, ReplicationLink {
  readonly #log: Log | ReadOnlyLog
  readonly #destination: Destination
  readonly #options: ResolvedReplicatorOptions
  readonly #listener: ReplicationListener | undefined
  readonly #lease: Lease | undefined
  readonly #trimmer: Trimmer | undefined
  readonly #backoff = new Backoff()
  readonly #rate = new Rate()
  readonly #ending = new AbortController()
  #forgetSignal: () => void = () => {}
  #running: Promise<void> | undefined
  readonly #lagWatch: LagWatch
  readonly #idle: IdleWaiters
  readonly #failureFile: FailureFile
  #cursor: DurableCursor | undefined
  #state: ShipStats['state'] = 'connecting'
  #shipped = -1
  #records = 0
  #bytes = 0
  #retries = 0
  #lastError: Error | undefined
  #failure: DurlogError | undefined
  #isFirst = false
  #closing: Promise<void> | undefined

  /**
   * With `listener`, the replicator serves the option `replicate` of `log`, emits no events, and copies nothing before
   * `begin`. Until it stops, it renews `lease`, which it takes once the destination has accepted the log.
   */
  constructor(
    log: ReadableLog,
    destination: Destination,
    options: ResolvedReplicatorOptions,
    listener?: ReplicationListener,
    lease?: Lease,
  ) {
    super()
    this.#listener = listener
    this.#lease = lease
    this.#log = log as Log | ReadOnlyLog
    this.#destination = destination
    this.#options = options
    this.#failureFile = new FailureFile(log.dir, options.cursor)
    if (options.keep !== undefined)
      this.#trimmer = new Trimmer(log as WriterLog, options.keep, options.cursor, destination)
    this.#idle = new IdleWaiters(log, (seq) => this.#cursor?.commit(seq).catch(() => {}))
    this.#lagWatch = new LagWatch(log, options.laggingMs, (lag) => this.#announce('lagging', lag))
    this.#holdLease()
    if (listener === undefined) this.begin()
    const close = (): void => void this.close()
    this.#forgetSignal = onAbort(options.signal, close)
    if (options.signal?.aborted) close()
  }

  begin(): void {
    this.#running ??= this.#run()
  }

  stats(): ShipStats {
    return {
      state: this.#state,
      mode: this.#destination.mode,
      shippedSeq: this.#shipped,
      lag: this.#lagWatch.lag,
      records: this.#records,
      bytes: this.#bytes,
      rate: this.#rate.perSecond,
      inFlight: this.#destination.inFlight,
      reconnects: this.#destination.reconnects,
      retries: this.#retries,
      lastError: this.#lastError,
    }
  }

  get lease(): LeaseView | undefined {
    return this.#lease?.view
  }

  flush(): void {
    this.#destination.send()
  }

  async idle(options?: WaitOptions): Promise<void> {
    const signal = resolveWait('idle', options)
    const seq = await abortable(signal, () => this.#lastSynced())
    if (this.#failure !== undefined) return atCaller(Promise.reject(this.#failure))
    if (this.#state === 'stopped') throw closedError()
    const idle = this.#idle.wait(seq, signal)
    this.#destination.flush()
    this.#settleIdle()
    await idle
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #close(): Promise<void> {
    this.#ending.abort()
    this.begin()
    await this.#destination.end(CLOSE_WAIT_MS)
    // Ends a request to a destination that does not respond.
    await this.#destination.close().catch(() => {})
    await this.#running
    this.#idle.reject(closedError())
  }

  /** Returns the last synced seq. In the log's writer, syncs every record first. */
  async #lastSynced(): Promise<number> {
    if (!this.#log.readOnly) return this.#log.sync()
    await this.#log.refresh()
    return this.#log.syncedSeq
  }

  async #run(): Promise<void> {
    try {
      if (!this.#ending.signal.aborted) await this.#openCursor()
      while (!this.#ending.signal.aborted) {
        try {
          await this.#runSession()
        } catch (error) {
          await this.#afterFailure(error as Error)
        }
      }
    } catch (error) {
      this.#fail(error as Error)
    }
    this.#lagWatch.stop()
    this.#state = 'stopped'
    this.#forgetSignal()
    await this.#lease?.close()
    await this.#trimmer?.settled()
    await this.#closeCursor()
    await this.#failureFile.settled()
    await this.#destination.close().catch((error: Error) => this.#note(error))
  }

  async #openCursor(): Promise<void> {
    const name = this.#options.cursor
    const known = await this.#log.cursors()
    this.#cursor = await this.#log.cursor(name, { from: 'first' })
    this.#isFirst = this.#cursor.position === 0 || !known.some((cursor) => cursor.name === name)
    this.#lagWatch.start(this.#cursor)
  }

  /** Syncs the position, which was committed only at `memory`, and closes the cursor. */
  async #closeCursor(): Promise<void> {
    const cursor = this.#cursor
    if (cursor === undefined) return
    try {
      if (this.#records > 0 && this.#failure === undefined) await cursor.commit(this.#shipped, { durability: 'sync' })
    } catch (error) {
      this.#note(error as Error)
    }
    await cursor.close().catch((error: Error) => this.#note(error))
  }

  async #runSession(): Promise<void> {
    const cursor = this.#cursor as DurableCursor
    const session: ReplicationSession = {
      log: this.#log,
      cursor,
      isFirst: this.#isFirst,
      signal: this.#ending.signal,
      onStart: (seq) => this.#onStart(seq),
      onReplicated: (seq, records, bytes) => this.#onReplicated(seq, records, bytes),
      onConfirmed: () => this.#settleIdle(),
      onGap: (first, last) => this.#announce('gap', first, last),
    }
    await this.#destination.run(session)
  }

  /**
   * While another process has the lease, the destination is asked again and again whether it has also taken over: its
   * claim follows later.
   */
  #holdLease(): void {
    let hasHeld = false
    this.#lease?.start((isHeld) => {
      hasHeld ||= isHeld
      if (hasHeld && !isHeld) this.#destination.check()
      return true
    })
  }

  #onStart(seq: number): void {
    this.#lease?.accepted()
    this.#acknowledge(seq)
    this.#state = 'shipping'
    // The destination has responded and holds every record, so this attempt has succeeded.
    if (seq >= this.#log.syncedSeq) this.#succeeded()
    this.#settleIdle()
  }

  #onReplicated(seq: number, records: number, bytes: number): void {
    this.#succeeded()
    this.#records += records
    this.#bytes += bytes
    this.#rate.add(records)
    this.#isFirst = false
    this.#acknowledge(seq)
    // At `memory`, the call commits before it returns. If it fails because of a cut, the next session finds that cut.
    this.#cursor?.commit(seq).catch(() => {})
    this.#announce('shipped', seq)
    this.#settleIdle(records)
  }

  #succeeded(): void {
    // An earlier process may have left a failure, and a later one has not necessarily written the file.
    if (this.#backoff.failures > 0 || this.#records === 0) this.#failureFile.succeeded()
    this.#backoff.succeeded()
  }

  #acknowledge(seq: number): void {
    this.#shipped = seq
    // A record that was cut may have been acknowledged just now, and another one may have its seq.
    if (this.#destination.isUncut) this.#listener?.onReplicated(seq)
    this.#trimmer?.acknowledged((error) => {
      this.#note(error as Error)
      // The next session fails in the same way, and ends the shipper.
      if (isCode(error, 'ERR_DURLOG_DESTINATION_REFUSED')) this.#destination.check()
    })
  }

  /** `records` is the number of records that were acknowledged just now, which `inFlight` still includes. */
  #settleIdle(records = 0): void {
    // Before the destination has responded, only the cursor's position is known, which is not proof that records are
    // shipped.
    if (this.#state !== 'shipping' || !this.#destination.isCurrent) return
    this.#idle.settle(this.#shipped, this.#destination.inFlight === records)
  }

  /** Waits before the next session. Throws if the error ends the shipper. */
  async #afterFailure(error: Error): Promise<void> {
    if (this.#ending.signal.aborted) return
    this.#note(error)
    if (error instanceof DurlogError && !TRANSIENT.includes(error.code)) throw error
    this.#destination.failed(error)
    const { failures } = this.#backoff
    await this.#backoff.pause(error, {
      retryForMs: this.#options.retryForMs,
      signal: this.#ending.signal,
      atOnce: error instanceof ShipConflict && failures < CONFLICTS_WITHOUT_PAUSE,
      onRetry: (retry) => {
        this.#failureFile.failed(error)
        this.#retries++
        this.#state = 'waiting'
        this.#listener?.onRetry(error)
        this.#announce('retry', retry)
      },
    })
  }

  #note(error: Error): void {
    this.#lastError = error
  }

  #fail(error: Error): void {
    const failure = toFailure(error)
    this.#note(failure)
    this.#failure = failure
    this.#failureFile.failed(failure, true)
    this.#idle.reject(failure)
    if (this.#listener === undefined) this.#announce('error', failure)
    else this.#listener.onFailed(failure)
  }

  /** Emits in a microtask: an error of a listener is an uncaught exception, and not a failure of the destination. */
  #announce<N extends keyof ShipEvents>(name: N, ...args: ShipEvents[N]): void {
    queueMicrotask(() => this.emit(name, ...(args as never)))
  }
}

function toFailure(error: Error): DurlogError {
  if (error instanceof DurlogError) return error
  return new DurlogError('ERR_DURLOG_IO', `the shipper failed: ${error.message}`, { cause: error })
}

function closedError(): DurlogError {
  return new DurlogError('ERR_DURLOG_CLOSED', 'the shipper has been closed; create a new one')
}
