/**
 * The path of every call that changes the log. The record of a call is framed at once, or waits for room and for
 * earlier calls. A commit starts at the end of the turn of the event loop that made the calls. A promise settles once
 * its level is reached.
 */
import { closedError, type DurlogError, latchedError, stalledError, withOutcome } from '../../errors.js'
import { LEVELS } from '../../native/levels.js'
import {
  Counter,
  type NativeFailure,
  type NativeLog,
  type NativeSharedLog,
  type NativeStall,
} from '../../native/log.js'
import { type AppendCall, checkPayload } from '../../options/call-options.js'
import type { ResolvedOptions } from '../../options/open-options.js'
import { nextTick, setImmediate } from '../../timers.js'
import type { BatchRange, LogStats, Payload } from '../../types.js'
import { Acknowledgements } from './acknowledgements.js'
import { CallGate } from './call-gate.js'
import type { HeldKind } from './call-queue.js'
import { CommitDelay } from './commit-delay.js'
import { CoreCalls, type CoreEvent, type EntryGroup, noRoom, type SeqOrRefusal } from './core-calls.js'
import { HeldMemory } from './held-memory.js'
import type { Resolve } from './waiters.js'

/** The pipeline calls these methods, but never from within a call that changes the log. */
export interface PipelineListener {
  /** An append was the first one of a turn of the event loop, and reached `memory` during its call. */
  onReadable(): void
  /** The end of the records at `memory`, the end of the synced records, or both, may have moved. */
  onMoved(): void
  onRotated(firstSeq: number): void
  onLatched(error: DurlogError): void
  onStalled(stall: { pid: number; seq: number }): void
}

export class WritePipeline {
  /** The number of failed commits. */
  failures = 0
  readonly #dir: string
  /** The failure that has latched the log. */
  #latchedBy: DurlogError | undefined
  readonly #core: CoreCalls
  readonly #maxRecordBytes: number
  readonly #held = new HeldMemory('the appends that wait')
  #listener: PipelineListener = { onReadable() {}, onMoved() {}, onRotated() {}, onLatched() {}, onStalled() {} }
  readonly #acknowledgements: Acknowledgements
  readonly #gate: CallGate
  readonly #commitDelay: CommitDelay | undefined
  #tickScheduled = false

  constructor(dir: string, native: NativeLog | NativeSharedLog, options: ResolvedOptions) {
    this.#dir = dir
    this.#core = new CoreCalls(dir, native, (event) => this.#onEvent(event))
    this.#maxRecordBytes = options.native.maxRecordBytes
    this.#acknowledgements = new Acknowledgements(native.counters, () => this.#settleInTurn())
    this.#gate = new CallGate(dir, {
      isSettled: () => this.#acknowledgements.size === 0,
      isSynced: () => this.#isSynced(),
      onWaiting: () => this.#scheduleTick(),
      onAloneEnded: () => this.#core.takeEvents(),
    })
    if (options.commitDelayMicros > 0)
      this.#commitDelay = new CommitDelay(options.commitDelayMicros, () => this.#startCommit())
  }

  checkOpen(): void {
    if (this.#gate.isClosed) throw this.#refusal()
  }

  listen(listener: PipelineListener): void {
    this.#listener = listener
  }

  append(data: Payload, call: AppendCall, signal: AbortSignal | undefined): Promise<number> {
    const framed = this.#gate.isOpen ? this.frame(data, call) : undefined
    if (framed !== undefined) return framed
    return this.#whenRoom([data], ([own]) => this.frame(own as Payload, call), signal)
  }

  appendBatch(records: readonly Payload[], call: AppendCall, signal: AbortSignal | undefined): Promise<BatchRange> {
    const framed = this.#gate.isOpen ? this.#frameBatch(records, call) : undefined
    if (framed !== undefined) return framed
    return this.#whenRoom(records, (own) => this.#frameBatch(own, call), signal)
  }

  /**
   * Frames the records when their turn has come and there is room. Until then the call holds a copy, because the caller
   * may change the records after the call. Throws if the records can never be framed, or if waiting calls hold too
   * much.
   */
  #whenRoom<T>(
    records: readonly Payload[],
    frame: (own: readonly Payload[]) => Promise<T> | undefined,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    let bytes = 0
    for (const data of records) bytes += checkPayload(data, this.#maxRecordBytes)
    if (this.#gate.isClosed || this.#gate.refusedBy !== undefined) throw this.#refusal()
    const { records: own, release } = this.#held.hold(records, bytes)
    return this.#gate.hold(() => frame(own), 'append', { signal, onLeft: release })
  }

  /** As `FramingLog.frame`. */
  frameRange(bytes: Uint8Array, start: number, end: number, level: number, resolve: Resolve): boolean {
    return this.#mayFrame() && this.#notified(this.#core.appendRange(bytes, start, end, level), level, resolve)
  }

  /** As `FramingLog.frameBatch`. */
  frameBatch(records: readonly Payload[], level: number, resolve: Resolve): boolean {
    const call = { level, timestamp: undefined, expectedSeq: undefined }
    return this.#mayFrame() && this.#notified(this.#core.appendBatch(records, call), level, resolve)
  }

  /** As `FramingLog.frameEntries`. */
  frameEntries(group: EntryGroup, level: number, resolve: Resolve): boolean {
    return this.#mayFrame() && this.#notified(this.#core.appendEntries(group, level), level, resolve)
  }

  /** Throws if the log refuses every append: the caller would wait for room forever. */
  #mayFrame(): boolean {
    const refusal = this.#gate.refusedBy
    if (refusal !== undefined) throw refusal
    return this.#gate.isOpen
  }

  #notified(seq: SeqOrRefusal, level: number, resolve: Resolve): boolean {
    if (!this.#tickScheduled) this.#appended(seq)
    if (typeof seq === 'number') this.#acknowledgements.notify(seq, level, resolve)
    return typeof seq === 'number'
  }

  write(data: Payload): number {
    if (!this.#gate.isOpen) throw this.#refusal()
    const seq = this.#core.write(data)
    if (!this.#tickScheduled) this.#appended(seq)
    return this.#accepted(seq)
  }

  writeBatch(list: readonly Payload[]): BatchRange {
    return this.#now(() => this.#core.writeBatch(list))
  }

  appendSync(data: Payload, level: number, timestamp: number | undefined): number {
    return this.#now(() => this.#core.appendSync(data, level, timestamp))
  }

  /** As `NativeLog.writeVoid`. */
  writeVoid(seqs: number, timestamp: number): void {
    this.#now(() => this.#core.writeVoid(seqs, timestamp))
  }

  /** Makes a call that cannot wait: it completes before it returns, or throws. */
  #now<T extends number | BatchRange>(call: () => T | string): T {
    if (!this.#gate.isOpen) throw this.#refusal()
    try {
      return this.#accepted(call())
    } finally {
      this.#scheduleTick()
    }
  }

  drain(): Promise<void> {
    if (this.#gate.isOpen && this.#core.hasRoom()) return this.#acknowledgements.turn()
    return this.#gate.hold(() => (this.#core.hasRoom() ? Promise.resolve() : undefined), 'drain')
  }

  async sync(level: number): Promise<number> {
    await this.inOrder<unknown>(() => {
      this.#core.look()
      const last = this.#core.nextSeq - 1
      if (this.#core.counter(Counter.latched) !== 0) throw latchedError(this.#dir, this.#latchedBy)
      const isReached = this.#acknowledgements.end(level) > last
      if (isReached && !this.#acknowledgements.hasWaiters(level)) return this.#acknowledgements.turn()
      if (!isReached) this.#core.requestSync(level)
      this.#scheduleTick()
      return this.#acknowledgements.reached(last, level)
    }, 'sync')
    return this.#acknowledgements.end(level) - 1
  }

  flushSync(level: number): number {
    const gate = this.#gate
    if (gate.isSuspended)
      throw gate.isClosed ? closedError(this.#dir) : noRoom('a trim, a truncation or a rotation is running')
    for (let waiting = Number.POSITIVE_INFINITY; gate.waiting < waiting; ) {
      waiting = gate.waiting
      try {
        this.#core.flushSync(level)
      } finally {
        this.#scheduleTick()
      }
      gate.admitAll()
      if (gate.isSuspended) break
    }
    if (gate.waitingAppends > 0) throw noRoom('appends wait for a trim, a truncation or a rotation')
    return this.#acknowledgements.end(level) - 1
  }

  /** As `CallGate.inOrder`. */
  inOrder<T>(start: () => Promise<T> | undefined, kind: HeldKind): Promise<T> {
    return this.#gate.inOrder(start, kind)
  }

  /** As `CallGate.refuseAppends`. */
  refuseAppends(error: DurlogError): void {
    this.#gate.refuseAppends(error)
  }

  /** Resolves once every record up to `seq` has reached `level`. */
  async reached(seq: number, level: number): Promise<void> {
    if (this.#acknowledgements.end(level) <= seq) await this.sync(level)
  }

  /** As `CallGate.alone`. */
  alone<T>(work: () => Promise<T>, options?: { syncedFirst?: boolean }): Promise<T> {
    return this.#gate.alone(work, options)
  }

  /** Runs `work` as the last call: later calls fail with ERR_DURLOG_CLOSED. */
  close(work: () => Promise<void>): Promise<void> {
    return this.#gate.close(work)
  }

  /** As `Acknowledgements.turnAfter`. */
  turnAfter(bytes: number): Promise<void> | undefined {
    return this.#acknowledgements.turnAfter(bytes)
  }

  /** Frames a record in the core and returns its promise. Returns undefined if the core has no room. */
  frame(data: Payload, call: AppendCall): Promise<number> | undefined {
    const seq = this.#core.append(data, call)
    return typeof seq === 'number' ? this.#acknowledged(seq, call.level, data.length) : undefined
  }

  #frameBatch(records: readonly Payload[], call: AppendCall): Promise<BatchRange> | undefined {
    const last = this.#core.appendBatch(records, call)
    if (typeof last !== 'number') return undefined
    const first = last - records.length + 1
    let bytes = 0
    for (const data of records) bytes += data.length
    return this.#acknowledged(last, call.level, bytes, records.length).then(() => ({ first, last }))
  }

  pending(): Pick<LogStats, 'pendingBytes' | 'pendingAppends' | 'waitingForRoom'> {
    return {
      pendingBytes: this.#core.counter(Counter.pendingBytes),
      pendingAppends: this.#acknowledgements.appends + this.#gate.waitingAppends,
      waitingForRoom: this.#gate.waitingAppends,
    }
  }

  /** Called when a job of the core has ended; if jobs end quickly, many times in one turn of the event loop. */
  onProgress(): void {
    this.#core.takeEvents()
    this.#settleInTurn()
  }

  #accepted<T extends number | BatchRange>(result: T | string): T {
    if (typeof result === 'string') throw noRoom(result)
    return result
  }

  #acknowledged(seq: number, level: number, bytes: number, records = 1): Promise<number> {
    if (!this.#tickScheduled) this.#appended(seq)
    return this.#acknowledgements.wait(seq, level, bytes, records)
  }

  #isSynced(): boolean {
    const last = this.#core.nextSeq - 1
    if (this.#core.counter(Counter.syncedEnd) > last || this.#core.counter(Counter.latched) !== 0) return true
    this.#core.requestSync(LEVELS.sync)
    // If the sync fails, the call that waits for it runs anyway: the core then refuses that call, or syncs during it.
    this.#scheduleTick()
    this.#acknowledgements.reached(last, LEVELS.sync).catch(() => {})
    return false
  }

  #settle(): void {
    this.#acknowledgements.settle()
    if (this.#gate.waiting > 0) this.#gate.admit()
  }

  #settleInTurn(): void {
    this.#settle()
    this.#scheduleTick()
  }

  /**
   * Schedules the next commit for the end of this turn of the event loop, so that it includes the appends of other
   * callbacks, such as those of a server's other connections, and of code that awaited promises settled in this turn.
   */
  #scheduleTick(): void {
    if (this.#tickScheduled) return
    this.#tickScheduled = true
    setImmediate(this.#tick)
  }

  /** To be called after the first append of a turn. */
  #appended(seq: SeqOrRefusal): void {
    this.#scheduleTick()
    // A record in a map can be read at once, so its followers need not wait for the end of the turn.
    if (typeof seq === 'number' && this.#acknowledgements.end(LEVELS.memory) > seq) nextTick(this.#onReadable)
  }

  readonly #onReadable = (): void => this.#listener.onReadable()

  readonly #tick = (): void => {
    this.#tickScheduled = false
    this.#acknowledgements.startTurn()
    this.#settle()
    if (this.#commitDelay !== undefined && !this.#gate.isClosed) this.#commitDelay.request()
    else this.#startCommit()
    this.#listener.onMoved()
  }

  #startCommit(): void {
    if (!this.#gate.isSuspended) this.#core.pump()
  }

  #onEvent(event: CoreEvent): void {
    if ('error' in event) this.#onFailed(event)
    else if ('stalledPid' in event) this.#onStalled(event)
    else nextTick(() => this.#listener.onRotated(event.firstSeq))
  }

  #onFailed(failure: NativeFailure): void {
    this.failures++
    const unknown = withOutcome(failure.error, 'unknown')
    const notWritten = withOutcome(failure.error, 'not-written')
    this.#acknowledgements.fail(failure, (seq) => (seq < failure.unknownBefore ? unknown : notWritten))
    this.#gate.fail(notWritten)
    this.#scheduleTick()
    if (!failure.latched) return
    this.#latchedBy = failure.error
    nextTick(() => this.#listener.onLatched(failure.error))
  }

  /** If the log is closing and the stall lasts, rejects the calls that wait for the stalled process. */
  #onStalled({ stalledPid: pid, firstSeq: seq, lasts }: NativeStall): void {
    nextTick(() => this.#listener.onStalled({ pid, seq }))
    if (!this.#gate.isClosed || this.#gate.isSuspended || !lasts) return
    const error = stalledError(pid, seq)
    this.failures++
    this.#acknowledgements.giveUp(withOutcome(error, 'unknown'))
    this.#gate.fail(withOutcome(error, 'not-written'))
    this.#scheduleTick()
  }

  /** The error of a call that cannot wait, while other calls wait or the log is closed. */
  #refusal(): DurlogError {
    if (this.#gate.isClosed) return closedError(this.#dir)
    return this.#gate.refusedBy ?? noRoom(`calls waiting for room: ${this.#gate.waiting}`)
  }
}
