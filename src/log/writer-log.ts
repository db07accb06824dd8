/** A log that this process writes: frames appends, settles promises, keeps what waits in order. */
import { EventEmitter } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import { closedError, DurlogError, invalidArgument, latchedError, outcomeOfCall, withOutcome } from '../errors.js'
import { LEVELS } from '../native/levels.js'
import { Counter, type NativeFailure, type NativeLog, type Refused } from '../native/native.js'
import {
  checkPayload,
  checkSeq,
  collectBatch,
  levelCode,
  resolveAppendOptions,
  resolveSyncLevel,
  resolveWritableOptions,
} from '../options/call-options.js'
import { shown } from '../options/checks.js'
import type { ResolvedOptions } from '../options/open-options.js'
import { LogReads } from '../reader/log-reads.js'
import { WriterSource } from '../reader/writer-source.js'
import type {
  AppendOptions,
  BatchRange,
  Durability,
  Log,
  LogEvents,
  LogReader,
  LogRecord,
  LogRecovery,
  LogStats,
  Payload,
  ReadableOptions,
  ReadOptions,
  WritableOptions,
} from '../types.js'
import { CallQueue } from './call-queue.js'
import { toRecovery } from './recovery-report.js'
import { Waiters } from './waiters.js'
import { makeWritable, type Reached } from './writable.js'

/** A level's counter has this index plus the level's code. */
const FIRST_LEVEL_COUNTER = Counter.memoryEnd
/** Acknowledged within one turn of the event loop, at once and later: a millisecond's worth of each. */
const MAX_IMMEDIATE_IN_TURN = 4096
const MAX_SETTLED_IN_TURN = 1024

export class WriterLog extends EventEmitter<LogEvents> implements Log {
  readonly dir: string
  readonly uuid: string
  readonly readOnly = false
  readonly recovery: LogRecovery

  readonly #native: NativeLog
  readonly #counters: Float64Array
  readonly #level: number
  readonly #options: ResolvedOptions
  /** By level: appends that are framed and have not reached it. */
  readonly #waiters: readonly [Waiters, Waiters, Waiters, Waiters] = [
    new Waiters(),
    new Waiters(),
    new Waiters(),
    new Waiters(),
  ]
  readonly #held = new CallQueue(() => this.#admit())
  /** Calls go by way of `#held`: something waits there, or the log is closing. */
  #gated = false
  /** Commits that failed. */
  #failures = 0
  /** The core refused a write and has made no room since. */
  #noRoom = false
  #tickScheduled = false
  #pumpDelayed = false
  #immediateInTurn = 0
  #settledInTurn = 0
  #turnScheduled = false
  #announcedSyncedEnd: number
  #closing: Promise<void> | undefined
  #closed = false
  /** The core is busy with what must be alone, or closed. */
  #suspended = false
  readonly #source: WriterSource
  readonly #reads: LogReads

  constructor(dir: string, native: NativeLog, options: ResolvedOptions) {
    super()
    this.dir = dir
    this.uuid = native.uuid
    this.recovery = toRecovery(native.recovery)
    this.#native = native
    this.#counters = native.counters
    this.#level = options.level
    this.#options = options
    this.#announcedSyncedEnd = this.#counter(Counter.syncedEnd)
    this.#source = new WriterSource(dir, options.salvage, native.counters)
    this.#reads = new LogReads(this.#source, true)
  }

  get firstSeq(): number {
    return this.#counter(Counter.firstSeq)
  }

  get nextSeq(): number {
    return this.#counter(Counter.nextSeq)
  }

  get syncedSeq(): number {
    return this.#counter(Counter.syncedEnd) - 1
  }

  append(data: Payload, options?: AppendOptions): Promise<number> {
    let level = this.#level
    try {
      let signal: AbortSignal | undefined
      if (options !== undefined) ({ level, signal } = resolveAppendOptions(options, level))
      if (this.#gated || signal !== undefined) return this.#appendHeld(data, level, signal)
      return this.#frame(data, level) ?? this.#hold(() => this.#frame(data, level))
    } catch (error) {
      return Promise.reject(outcomeOfCall(error))
    }
  }

  appendBatch(list: readonly Payload[], options?: AppendOptions): Promise<BatchRange> {
    try {
      const { level, signal } = resolveAppendOptions(options, this.#level)
      const records = collectBatch(list, this.#options.native)
      signal?.throwIfAborted()
      const now = this.#gated ? undefined : this.#frameBatch(records, level)
      if (now !== undefined) return now
      for (const data of records) checkPayload(data, this.#options.native.maxRecordBytes)
      return this.#hold(() => this.#frameBatch(records, level), signal)
    } catch (error) {
      return Promise.reject(outcomeOfCall(error))
    }
  }

  write(data: Payload, options?: undefined): number {
    if (options !== undefined) throw invalidArgument(`write takes a record and no options; got ${shown(options)}`)
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
    if (!refused) return this.nextSeq - 1
    this.#noRoom = true
    throw this.#refusal()
  }

  appendSync(data: Payload, options?: { durability?: Durability | undefined }): number {
    const level = options === undefined ? this.#level : resolveSyncLevel(options, this.#level)
    if (this.#gated) throw this.#refusal()
    let refused: Refused
    try {
      refused = this.#native.appendSync(data, level)
    } catch (error) {
      throw outcomeOfCall(error)
    } finally {
      this.#takeEvents()
      this.#scheduleTick()
    }
    if (!refused) return this.nextSeq - 1
    this.#noRoom = true
    throw this.#refusal()
  }

  drain(): Promise<void> {
    if (!this.#gated && !this.#noRoom) return Promise.resolve()
    return this.#hold(() => (this.#noRoom ? undefined : Promise.resolve()), undefined, true)
  }

  async sync(durability: Durability = 'sync'): Promise<number> {
    const level = levelCode(durability)
    const reach = (): Promise<number> => {
      const last = this.nextSeq - 1
      if (this.#counter(Counter.latched) !== 0) throw latchedError(this.dir)
      if (this.#counter(FIRST_LEVEL_COUNTER + level) > last) return Promise.resolve(last)
      this.#native.requestSync(level)
      return this.#framed(last, level)
    }
    await (this.#gated ? this.#hold(reach) : reach())
    return this.#counter(FIRST_LEVEL_COUNTER + level) - 1
  }

  read(options?: ReadOptions): LogReader {
    return this.#reads.read(options)
  }

  readable(options?: ReadableOptions): Readable {
    return this.#reads.readable(options)
  }

  get(seq: number): Promise<LogRecord> {
    return this.#reads.get(seq)
  }

  getSync(seq: number): LogRecord {
    return this.#reads.getSync(seq)
  }

  writable(options?: WritableOptions): Writable {
    const { level, highWaterMark } = resolveWritableOptions(options, this.#level)
    return makeWritable((list) => this.#appendInOrder(list, level), highWaterMark)
  }

  async trimBefore(seq: number): Promise<number> {
    checkSeq('seq', seq)
    return this.#alone(() => this.#reads.during(() => this.#native.trimBefore(seq)))
  }

  async truncateAfter(seq: number): Promise<number> {
    checkSeq('seq', seq, -1)
    const cut = async (): Promise<number> => {
      const nextSeq = await this.#source.cut(this.#reads.during(() => this.#native.truncateAfter(seq)))
      this.#announcedSyncedEnd = Math.min(this.#announcedSyncedEnd, nextSeq)
      return nextSeq
    }
    // What stays is synced before: the core would do it in the call, and block this thread.
    return this.#alone(cut, { syncedFirst: true })
  }

  stats(): LogStats {
    const framed = this.#pendingCount()
    return {
      ...this.#native.stats(),
      pendingBytes: this.#counter(Counter.pendingBytes),
      pendingAppends: framed + this.#held.size,
      waitingForRoom: this.#held.size,
    }
  }

  close(): Promise<void> {
    if (this.#closing === undefined) {
      const close = async (): Promise<void> => {
        try {
          await this.#native.close()
        } catch (error) {
          throw outcomeOfCall(error)
        } finally {
          await this.#reads.close()
        }
      }
      this.#closing = this.#alone(close, { final: true }).finally(() => this.#source.end())
      this.#closed = true
      this.#gated = true
      this.#reads.refuse()
    }
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** A job of the core is done: called on the log's own thread, between two turns of the event loop. */
  onProgress(): void {
    this.#noRoom = false
    this.#settledInTurn = 0
    this.#takeEvents()
    this.#settle()
    // Behind the continuations of what has just settled: what they append joins the next group. A
    // tick that is scheduled already would run before them.
    queueMicrotask(this.#continued)
  }

  #counter(index: number): number {
    return this.#counters[index] as number
  }

  #pendingCount(): number {
    const [memory, async, sync, full] = this.#waiters
    return memory.size + async.size + sync.size + full.size
  }

  /** The promise of a framed append. */
  #framed(seq: number, level: number): Promise<number> {
    if (!this.#tickScheduled) this.#scheduleTick()
    if ((this.#counters[FIRST_LEVEL_COUNTER + level] as number) > seq) {
      if (this.#immediateInTurn < MAX_IMMEDIATE_IN_TURN) {
        this.#immediateInTurn++
        return Promise.resolve(seq)
      }
      // A loop of awaited appends that are all acknowledged at once would never let the event loop turn.
      this.#scheduleTurn()
    }
    return (this.#waiters[level] as Waiters).wait(seq)
  }

  #frame(data: Payload, level: number): Promise<number> | undefined {
    let refused: Refused
    try {
      refused = this.#native.append(data, level)
    } finally {
      this.#takeEvents()
    }
    return refused ? undefined : this.#framed(this.nextSeq - 1, level)
  }

  #frameBatch(records: readonly Payload[], level: number): Promise<BatchRange> | undefined {
    let refused: Refused
    try {
      refused = this.#native.appendBatch(records, level)
    } finally {
      this.#takeEvents()
    }
    if (refused) return undefined
    const last = this.nextSeq - 1
    const first = last - records.length + 1
    return this.#framed(last, level).then(() => ({ first, last }))
  }

  /**
   * Appends `list` in order, and nothing behind the first that fails; settles with how many have reached their
   * level, and what the next one failed with.
   */
  async #appendInOrder(list: readonly Payload[], level: number): Promise<Reached> {
    let reached = 0
    while (reached < list.length) {
      const framed: Promise<number>[] = []
      const failures = this.#failures
      // The core frames nothing in a call that comes upon a failed commit, so that it is told first. What is left
      // goes on only if none of the framed ones failed with it.
      const frameRest = (): Promise<void> | undefined => {
        for (let next = reached + framed.length; next < list.length; next++) {
          const promise = this.#frame(list[next] as Payload, level)
          if (promise === undefined) return this.#failures === failures ? undefined : Promise.resolve()
          promise.catch(() => {}) // looked at below
          framed.push(promise)
        }
        return Promise.resolve()
      }
      let failure: { error: unknown } | undefined
      try {
        await ((this.#gated ? undefined : frameRest()) ?? this.#hold(frameRest))
      } catch (error) {
        failure = { error: outcomeOfCall(error) }
      }
      for (const promise of framed) {
        try {
          await promise
        } catch (error) {
          return { reached, failure: { error } }
        }
        reached++
      }
      if (failure !== undefined) return { reached, failure }
    }
    return { reached, failure: undefined }
  }

  #appendHeld(data: Payload, level: number, signal: AbortSignal | undefined): Promise<number> {
    signal?.throwIfAborted()
    const now = this.#gated ? undefined : this.#frame(data, level)
    if (now !== undefined) return now
    checkPayload(data, this.#options.native.maxRecordBytes)
    return this.#hold(() => this.#frame(data, level), signal)
  }

  /**
   * Calls `start` when its turn has come, and again after each progress while it returns undefined. With
   * `outlivesFailure` it isn't failed by a commit that fails meanwhile.
   */
  #hold<T>(start: () => Promise<T> | undefined, signal?: AbortSignal, outlivesFailure = false): Promise<T> {
    if (this.#closed) return Promise.reject(closedError(this.dir))
    const promise = this.#held.hold(start, signal, outlivesFailure)
    this.#gated = true
    this.#scheduleTick()
    return promise
  }

  /**
   * Runs `work` once everything before it has settled; what comes after it waits until it is done. After
   * what is `final` the core is not called again.
   */
  #alone<T>(work: () => Promise<T>, { final = false, syncedFirst = false } = {}): Promise<T> {
    if (this.#closed) return Promise.reject(closedError(this.dir))
    return new Promise((resolve, reject) => {
      let state: 'waiting' | 'running' | 'done' = 'waiting'
      let wantsSync = syncedFirst
      const leave = (): void => {
        state = 'done'
        this.#suspended = final
        this.#takeEvents()
        this.#admit()
        this.#scheduleTick()
      }
      const admit = (): boolean => {
        if (state !== 'waiting' || this.#pendingCount() > 0) return state === 'done'
        if (wantsSync) {
          wantsSync = false
          if (this.#startSync()) return false
        }
        state = 'running'
        this.#suspended = true
        // What throws in the call rejects like what fails later.
        void (async () => work())().then(resolve, reject).finally(leave)
        return false
      }
      this.#held.push({ admit, outlivesFailure: true, fail: () => {} })
      this.#gated = true
      this.#admit()
      this.#scheduleTick()
    })
  }

  /** Asks for everything so far to be synced; false if it is, or never will be. */
  #startSync(): boolean {
    const last = this.nextSeq - 1
    if (this.syncedSeq >= last || this.#counter(Counter.latched) !== 0) return false
    this.#native.requestSync(LEVELS.sync)
    // Who asked finds out by the counters, and the core refuses what a failure makes impossible.
    this.#framed(last, LEVELS.sync).catch(() => {})
    return true
  }

  #admit(): void {
    this.#held.admit()
    this.#gated = this.#held.size > 0 || this.#closed
  }

  #settle(): void {
    for (let level = 0; level < this.#waiters.length; level++) {
      const waiters = this.#waiters[level] as Waiters
      if (waiters.size === 0) continue
      const room = MAX_SETTLED_IN_TURN - this.#settledInTurn
      const settled = waiters.settle(this.#counter(FIRST_LEVEL_COUNTER + level), room)
      this.#settledInTurn += settled
      if (settled === room) this.#scheduleTurn()
    }
    if (this.#held.size > 0) this.#admit()
  }

  /** What this turn of the event loop may not acknowledge any more, the next one does. */
  #scheduleTurn(): void {
    if (this.#turnScheduled) return
    this.#turnScheduled = true
    setImmediate(this.#turn)
  }

  readonly #turn = (): void => {
    this.#turnScheduled = false
    this.#immediateInTurn = 0
    this.#settledInTurn = 0
    this.#settle()
    queueMicrotask(this.#continued)
  }

  /** The next commit starts once this turn has made its appends, and what they lead to, theirs. */
  #scheduleTick(): void {
    if (this.#tickScheduled) return
    this.#tickScheduled = true
    process.nextTick(this.#tick)
  }

  readonly #continued = (): void => this.#scheduleTick()

  readonly #tick = (): void => {
    this.#tickScheduled = false
    this.#settle()
    if (!this.#suspended) this.#pump()
    this.#source.wake()
    const synced = this.#counter(Counter.syncedEnd)
    if (synced > this.#announcedSyncedEnd) {
      this.#announcedSyncedEnd = synced
      this.emit('synced', synced - 1)
    }
  }

  #pumpNow(): void {
    this.#native.pump()
    this.#takeEvents()
  }

  #pump(): void {
    const { commitDelayMicros } = this.#options
    if (commitDelayMicros === 0 || this.#closed) {
      this.#pumpNow()
      return
    }
    if (this.#pumpDelayed) return
    this.#pumpDelayed = true
    const pump = (): void => {
      this.#pumpDelayed = false
      if (!this.#suspended) this.#pumpNow()
    }
    if (commitDelayMicros >= 1000) {
      setTimeout(pump, Math.round(commitDelayMicros / 1000))
      return
    }
    // Timers count whole milliseconds; for less, let the event loop turn until it is time.
    const due = performance.now() + commitDelayMicros / 1000
    const turn = (): void => {
      if (performance.now() >= due) pump()
      else setImmediate(turn)
    }
    setImmediate(turn)
  }

  /**
   * Follows every call that may commit, before what the call appended is waited for: its seq may be one that a
   * failed group has given back.
   */
  #takeEvents(): void {
    if ((this.#counters[Counter.events] as number) === 0) return
    for (const event of this.#native.takeEvents()) {
      if ('error' in event) this.#onFailed(event)
      else process.nextTick(() => this.emit('rotated', event.firstSeq))
    }
  }

  #onFailed(failure: NativeFailure): void {
    // Seqs from the failed one on that have been reached since belong to other records.
    const end = failure.latched ? Number.POSITIVE_INFINITY : failure.firstSeq
    for (const [level, waiters] of this.#waiters.entries())
      waiters.settle(Math.min(end, this.#counter(FIRST_LEVEL_COUNTER + level)))
    this.#noRoom = false
    this.#failures++
    const unknown = withOutcome(failure.error, 'unknown')
    const notWritten = withOutcome(failure.error, 'not-written')
    const errorFor = (seq: number): DurlogError => (seq < failure.unknownBefore ? unknown : notWritten)
    // Once latched, what is still to be reached never will be.
    const firstSeq = failure.latched ? 0 : failure.firstSeq
    for (const waiters of this.#waiters) waiters.rejectFrom(firstSeq, errorFor)
    this.#held.fail(notWritten)
    this.#gated = this.#held.size > 0 || this.#closed
    this.#scheduleTick()
    if (failure.latched) process.nextTick(() => this.emit('latched', failure.error))
  }

  #refusal(): DurlogError {
    if (this.#closed) return closedError(this.dir)
    return new DurlogError(
      'ERR_DURLOG_BACKPRESSURE',
      `no room for now: ${this.#counter(Counter.pendingBytes)} bytes and ${this.#held.size} calls wait for the device; "await log.drain()" and try again`,
    )
  }
}
