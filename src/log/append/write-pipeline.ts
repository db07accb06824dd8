/**
 * The path of every call that changes the log. A call is framed at once, or waits for room and for the earlier calls. A
 * commit starts when the current turn of the event loop has made its calls. A promise settles when its level is
 * reached. This file is long because its flags change together.
 */
import { setImmediate } from 'node:timers'
import {
  closedError,
  DurlogError,
  latchedError,
  outcomeOfCall,
  stalledError,
  terminatedError,
  withOutcome,
} from '../../errors.js'
import { LEVELS } from '../../native/levels.js'
import {
  Counter,
  type NativeFailure,
  type NativeLog,
  type NativeSharedLog,
  type NativeStall,
  type Refused,
} from '../../native/log.js'
import { type AppendCall, checkPayload } from '../../options/call-options.js'
import type { ResolvedOptions } from '../../options/open-options.js'
import type { BatchRange, LogStats, Payload } from '../../types.js'
import { Acknowledgements } from './acknowledgements.js'
import { CallQueue } from './call-queue.js'
import { CommitDelay } from './commit-delay.js'
import { ExclusiveCall } from './exclusive-call.js'
import type { Resolve } from './waiters.js'

/** The `timestamp` argument of an append without one, if another argument follows it. */
const CLOCK_TIME = -1

/** The pipeline calls these methods, but never from within a call that changes the log. */
export interface PipelineListener {
  /** The ends of the log may have moved: at memory, synced, or both. */
  onMoved(): void
  onRotated(firstSeq: number): void
  onLatched(error: DurlogError): void
  onStalled(stall: { pid: number; seq: number }): void
}

export class WritePipeline {
  /** The number of failed commits. */
  failures = 0
  readonly #dir: string
  readonly #native: NativeLog | NativeSharedLog
  readonly #counters: Float64Array
  readonly #maxRecordBytes: number
  #listener: PipelineListener = { onMoved() {}, onRotated() {}, onLatched() {}, onStalled() {} }
  readonly #acknowledgements: Acknowledgements
  readonly #held = new CallQueue(() => this.#admit())
  readonly #commitDelay: CommitDelay | undefined
  /** New calls wait in `#held`, because others wait there already or the log is closing. */
  #gated = false
  /** The core refused a write, and has made no room since then. */
  #noRoom = false
  #tickScheduled = false
  #closed = false
  /** The last value read of the core's counter of accepted calls. */
  #accepted = 0
  /** An exclusive call is running in the core, or the core is closed. */
  #suspended = false

  constructor(dir: string, native: NativeLog | NativeSharedLog, options: ResolvedOptions) {
    this.#dir = dir
    this.#native = native
    this.#counters = native.counters
    this.#maxRecordBytes = options.native.maxRecordBytes
    this.#acknowledgements = new Acknowledgements(native.counters, () => this.#settleInTurn())
    if (options.commitDelayMicros > 0)
      this.#commitDelay = new CommitDelay(options.commitDelayMicros, () => this.#startCommit())
  }

  listen(listener: PipelineListener): void {
    this.#listener = listener
  }

  append(data: Payload, call: AppendCall, signal: AbortSignal | undefined): Promise<number> {
    const framed = this.#gated ? undefined : this.frame(data, call)
    if (framed !== undefined) return framed
    checkPayload(data, this.#maxRecordBytes)
    return this.#hold(() => this.frame(data, call), signal)
  }

  appendBatch(records: readonly Payload[], call: AppendCall, signal: AbortSignal | undefined): Promise<BatchRange> {
    const framed = this.#gated ? undefined : this.#frameBatch(records, call)
    if (framed !== undefined) return framed
    for (const data of records) checkPayload(data, this.#maxRecordBytes)
    return this.#hold(() => this.#frameBatch(records, call), signal)
  }

  /** As `FramingLog.frame`. */
  frameRange(bytes: Uint8Array, start: number, end: number, level: number, resolve: Resolve): boolean {
    if (this.#gated) return false
    let refused: Refused
    try {
      refused = this.#native.appendRange(bytes, start, end, level)
    } catch (error) {
      throw outcomeOfCall(error)
    } finally {
      this.#takeEvents()
    }
    return this.#notified(refused, level, resolve)
  }

  /** As `FramingLog.frameBatch`. */
  frameBatch(records: readonly Payload[], level: number, resolve: Resolve): boolean {
    if (this.#gated) return false
    let refused: Refused
    try {
      refused = this.#native.appendBatch(records, level)
    } catch (error) {
      throw outcomeOfCall(error)
    } finally {
      this.#takeEvents()
    }
    return this.#notified(refused, level, resolve)
  }

  #notified(refused: Refused, level: number, resolve: Resolve): boolean {
    if (!this.#tickScheduled) this.#scheduleTick()
    this.#noRoom ||= refused !== undefined
    if (refused !== undefined) return false
    this.#acknowledgements.notify(this.#acceptedSeq(), level, resolve)
    return true
  }

  write(data: Payload): number {
    if (this.#gated) throw this.#refusal()
    let refused: Refused
    try {
      refused = this.#native.write(data)
    } catch (error) {
      throw outcomeOfCall(error)
    } finally {
      this.#takeEvents()
    }
    if (!this.#tickScheduled) this.#scheduleTick()
    return this.#seqUnless(refused)
  }

  writeBatch(list: readonly Payload[]): BatchRange {
    if (this.#gated) throw this.#refusal()
    const first = this.#inCall(() => this.#native.writeBatch(list))
    const last = this.#seqUnless(typeof first === 'string' ? first : undefined)
    return { first: first as number, last }
  }

  appendSync(data: Payload, level: number, timestamp: number | undefined): number {
    if (this.#gated) throw this.#refusal()
    const append = (): Refused =>
      timestamp === undefined ? this.#native.appendSync(data, level) : this.#native.appendSync(data, level, timestamp)
    return this.#seqUnless(this.#inCall(append))
  }

  /** As `NativeLog.writeVoid`. */
  writeVoid(seqs: number, timestamp: number): void {
    const native = this.#native
    if (native.shared) throw new DurlogError('ERR_DURLOG_UNSUPPORTED', 'a log that is restored is not shared')
    if (this.#gated) throw this.#refusal()
    this.#seqUnless(this.#inCall(() => native.writeVoid(seqs, timestamp)))
  }

  /** Makes a call of the core that does its work before it returns. */
  #inCall<T>(call: () => T): T {
    try {
      return call()
    } catch (error) {
      throw outcomeOfCall(error)
    } finally {
      this.#takeEvents()
      this.#scheduleTick()
    }
  }

  drain(): Promise<void> {
    if (!this.#gated && !this.#noRoom) return this.#acknowledgements.turn()
    return this.#hold(() => (this.#noRoom ? undefined : Promise.resolve()), undefined, true)
  }

  async sync(level: number): Promise<number> {
    await this.inOrder(() => {
      if (this.#native.shared) this.#native.look()
      const last = this.#nextSeq - 1
      if (this.#counter(Counter.latched) !== 0) throw latchedError(this.#dir)
      if (this.#acknowledgements.end(level) > last) return this.#acknowledgements.turn()
      this.#native.requestSync(level)
      return this.#acknowledged(last, level).then(() => {})
    })
    return this.#acknowledgements.end(level) - 1
  }

  flushSync(level: number): number {
    if (this.#suspended)
      throw this.#closed ? closedError(this.#dir) : noRoom('a trim, a truncation or a rotation is running')
    for (let waiting = Number.POSITIVE_INFINITY; this.#held.size < waiting; ) {
      waiting = this.#held.size
      this.#inCall(() => this.#native.flushSync(level))
      this.#acceptedSeq()
      // There is room now for the waiting calls.
      this.#noRoom = false
      this.#admit()
      if (this.#suspended) break
    }
    return this.#acknowledgements.end(level) - 1
  }

  /**
   * Calls `start` at once if no call waits, else in its turn. While it returns undefined, calls it again after each
   * progress.
   */
  inOrder<T>(start: () => Promise<T> | undefined): Promise<T> {
    return (this.#gated ? undefined : start()) ?? this.#hold(start)
  }

  /** As `Acknowledgements.turnAfter`. */
  turnAfter(bytes: number): Promise<void> | undefined {
    return this.#acknowledgements.turnAfter(bytes)
  }

  /** Frames a record in the core and returns its promise; undefined if the core has no room. */
  frame(data: Payload, { level, timestamp, expectedSeq }: AppendCall): Promise<number> | undefined {
    let refused: Refused
    try {
      if (expectedSeq !== undefined) refused = this.#native.append(data, level, timestamp ?? CLOCK_TIME, expectedSeq)
      else if (timestamp !== undefined) refused = this.#native.append(data, level, timestamp)
      else refused = this.#native.append(data, level)
    } catch (error) {
      throw this.#withConflict(error, expectedSeq)
    } finally {
      this.#takeEvents()
    }
    return refused === undefined ? this.#acknowledged(this.#acceptedSeq(), level, data.length) : undefined
  }

  /**
   * Runs `work` once all earlier calls have settled; later calls wait until it has ended. With `syncedFirst`, every
   * record is synced before `work` starts, unless it never will be. After `final` work the core is not called again.
   */
  alone<T>(work: () => Promise<T>, options: { syncedFirst?: boolean; final?: boolean } = {}): Promise<T> {
    if (this.#closed) return Promise.reject(closedError(this.#dir))
    let { syncedFirst: wantsSync = false } = options
    const ready = (): boolean => {
      if (this.#acknowledgements.size > 0) return false
      const synced = !wantsSync || this.#isSynced()
      wantsSync = false
      if (synced) this.#suspended = true
      return synced
    }
    const onEnd = (): void => {
      this.#suspended = options.final ?? false
      this.#takeEvents()
      this.#admit()
      this.#scheduleTick()
    }
    return new Promise((resolve, reject) => {
      // A `work` that throws rejects the promise too.
      const run = (): Promise<void> => (async () => work())().then(resolve, reject)
      this.#held.push(new ExclusiveCall(ready, run, onEnd))
      this.#gated = true
      this.#admit()
      this.#scheduleTick()
    })
  }

  /** Runs `work` as the last call: later calls fail with ERR_DURLOG_CLOSED. */
  close(work: () => Promise<void>): Promise<void> {
    const closed = this.alone(work, { final: true })
    this.#closed = true
    this.#gated = true
    return closed
  }

  pending(): Pick<LogStats, 'pendingBytes' | 'pendingAppends' | 'waitingForRoom'> {
    return {
      pendingBytes: this.#counter(Counter.pendingBytes),
      pendingAppends: this.#acknowledgements.size + this.#held.size,
      waitingForRoom: this.#held.size,
    }
  }

  /** Called when a job of the core is done, on the log's own thread, between two turns of the event loop. */
  onProgress(): void {
    this.#noRoom = false
    this.#acknowledgements.startTurn()
    this.#takeEvents()
    this.#settleInTurn()
  }

  get #nextSeq(): number {
    return this.#counters[Counter.nextSeq] as number
  }

  #counter(index: number): number {
    return this.#counters[index] as number
  }

  /** Adds both seqs to the error if the core has refused the expected one: the counters hold the next seq. */
  #withConflict(error: unknown, expectedSeq: number | undefined): unknown {
    const conflict = error instanceof DurlogError && error.code === 'ERR_DURLOG_SEQ_CONFLICT'
    return conflict && expectedSeq !== undefined ? seqConflict(this.#nextSeq, expectedSeq) : error
  }

  /** The last seq of the log, after a call that was not refused. Throws if the core has not done the call. */
  #acceptedSeq(): number {
    const accepted = this.#counter(Counter.accepted)
    if (accepted === this.#accepted) throw terminatedError(this.#dir)
    this.#accepted = accepted
    return this.#nextSeq - 1
  }

  #seqUnless(refused: Refused): number {
    if (refused === undefined) return this.#acceptedSeq()
    this.#noRoom = true
    throw noRoom(refused)
  }

  #acknowledged(seq: number, level: number, bytes = 0, records = 1): Promise<number> {
    if (!this.#tickScheduled) this.#scheduleTick()
    return this.#acknowledgements.wait(seq, level, bytes, records)
  }

  #frameBatch(
    records: readonly Payload[],
    { level, timestamp, expectedSeq }: AppendCall,
  ): Promise<BatchRange> | undefined {
    let refused: Refused
    try {
      if (expectedSeq !== undefined)
        refused = this.#native.appendBatch(records, level, timestamp ?? CLOCK_TIME, expectedSeq)
      else refused = this.#native.appendBatch(records, level, timestamp ?? CLOCK_TIME)
    } catch (error) {
      throw this.#withConflict(error, expectedSeq)
    } finally {
      this.#takeEvents()
    }
    if (refused !== undefined) return undefined
    const last = this.#acceptedSeq()
    const first = last - records.length + 1
    let bytes = 0
    for (const data of records) bytes += data.length
    return this.#acknowledged(last, level, bytes, records.length).then(() => ({ first, last }))
  }

  /** As `CallQueue.hold`. */
  #hold<T>(start: () => Promise<T> | undefined, signal?: AbortSignal, outlivesFailure = false): Promise<T> {
    if (this.#closed) return Promise.reject(closedError(this.#dir))
    const promise = this.#held.hold(start, signal, outlivesFailure)
    this.#gated = true
    this.#scheduleTick()
    return promise
  }

  /** Whether every record so far is synced, or never will be. If not, requests a sync. */
  #isSynced(): boolean {
    const last = this.#nextSeq - 1
    if (this.#counter(Counter.syncedEnd) > last || this.#counter(Counter.latched) !== 0) return true
    this.#native.requestSync(LEVELS.sync)
    // If the sync fails, the core refuses the call, or syncs within it.
    this.#acknowledged(last, LEVELS.sync).catch(() => {})
    return false
  }

  #admit(): void {
    this.#held.admit()
    this.#gated = this.#held.size > 0 || this.#closed
  }

  #settle(): void {
    this.#acknowledgements.settle()
    if (this.#held.size > 0) this.#admit()
  }

  #settleInTurn(): void {
    this.#settle()
    this.#scheduleTick()
  }

  /**
   * Schedules the next commit for when this turn of the event loop has made its appends: those of other callbacks, as of a
   * server's connections, and those of the continuations of settled promises.
   */
  #scheduleTick(): void {
    if (this.#tickScheduled) return
    this.#tickScheduled = true
    setImmediate(this.#tick)
  }

  readonly #tick = (): void => {
    this.#tickScheduled = false
    this.#settle()
    if (this.#commitDelay !== undefined && !this.#closed) this.#commitDelay.request()
    else this.#startCommit()
    this.#listener.onMoved()
  }

  #startCommit(): void {
    if (this.#suspended) return
    this.#native.pump()
    this.#takeEvents()
  }

  /**
   * Call it after every call that may commit, before waiting for the appended record: a failed group may have freed the
   * record's seq for reuse.
   */
  #takeEvents(): void {
    if ((this.#counters[Counter.events] as number) === 0) return
    for (const event of this.#native.takeEvents()) {
      if ('error' in event) this.#onFailed(event)
      else if ('stalledPid' in event) this.#onStalled(event)
      else process.nextTick(() => this.#listener.onRotated(event.firstSeq))
    }
  }

  #onFailed(failure: NativeFailure): void {
    this.#noRoom = false
    this.failures++
    const unknown = withOutcome(failure.error, 'unknown')
    const notWritten = withOutcome(failure.error, 'not-written')
    this.#acknowledgements.fail(failure, (seq) => (seq < failure.unknownBefore ? unknown : notWritten))
    this.#held.fail(notWritten)
    this.#gated = this.#held.size > 0 || this.#closed
    this.#scheduleTick()
    if (failure.latched) process.nextTick(() => this.#listener.onLatched(failure.error))
  }

  /** If the log is closing, gives up the calls that wait for another process that makes no progress. */
  #onStalled({ stalledPid: pid, firstSeq: seq, lasts }: NativeStall): void {
    process.nextTick(() => this.#listener.onStalled({ pid, seq }))
    if (!this.#closed || this.#suspended || !lasts) return
    const error = stalledError(pid, seq)
    this.#noRoom = false
    this.failures++
    this.#acknowledgements.giveUp(withOutcome(error, 'unknown'))
    this.#held.fail(withOutcome(error, 'not-written'))
    this.#scheduleTick()
  }

  /** The error of a call that may not wait, while other calls wait. */
  #refusal(): DurlogError {
    return this.#closed ? closedError(this.#dir) : noRoom(`calls waiting for room: ${this.#held.size}`)
  }
}

function seqConflict(nextSeq: number, seq: number): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_SEQ_CONFLICT',
    `the next record gets seq ${nextSeq}, not ${seq} (expectedSeq): read the records appended meanwhile, then decide again`,
    { nextSeq },
  )
}

function noRoom(reason: string): DurlogError {
  return new DurlogError('ERR_DURLOG_BACKPRESSURE', `no room for now: ${reason}; "await log.drain()" and try again`)
}
