/** Changes of a log's files other than appends: trims, truncations, rotations and retention, one at a time. */
import { closedError, DurlogError, invalidArgument } from '../../errors.js'
import type { NativeFileLock } from '../../native/cursors.js'
import { waitForLock } from '../../native/lock-wait.js'
import {
  Counter,
  type NativeLog,
  type NativeRetentionPlan,
  type NativeRetentionPolicy,
  type NativeWriter,
} from '../../native/log.js'
import { native } from '../../native/native.js'
import { checkSeq } from '../../options/call-options.js'
import type { LogReads } from '../../reader/log-reads.js'
import type { WriterSource } from '../../reader/writer-source.js'
import { Turns } from '../../support/turns.js'
import { clearInterval, setInterval } from '../../timers.js'
import type { CursorOverrun } from '../../types.js'
import type { WritePipeline } from '../append/write-pipeline.js'
import { Retention, type RetentionHost } from './retention.js'
import { currentBounds, readTrimRequest, removeTrimRequest, type TrimBounds, trimRequests } from './trim-request.js'

/** How long to wait for another process that trims. */
const LOCK_WAIT_MS = 10_000

/** The open log. */
export interface ChangingLog {
  readonly dir: string
  readonly uuid: string
  readonly native: NativeWriter
  /** Undefined for a shared log, which allows only trims. */
  readonly unshared: { native: NativeLog; source: WriterSource } | undefined
  readonly pipeline: WritePipeline
  readonly reads: LogReads
  /** A cut removed `records` records. Called before any later append. */
  onCut(nextSeq: number, records: number): void
}

export interface ChangeListener {
  /** Segments were removed; `from` was the log's first seq before that. */
  onTrimmed(from: number): void
  onOverrun(overrun: CursorOverrun): void
  onRetentionFailed(error: DurlogError): void
}

export class FileChanges implements RetentionHost {
  readonly #log: ChangingLog
  readonly #listener: ChangeListener
  readonly #turns = new Turns()
  readonly #retention: Retention | undefined
  readonly #stopTicker: () => void
  /** Whether trim requests are being served. */
  #taking = false
  #closed = false

  constructor(log: ChangingLog, listener: ChangeListener, policy: NativeRetentionPolicy | undefined) {
    this.#log = log
    this.#listener = listener
    this.#retention = policy === undefined ? undefined : new Retention(this, policy)
    this.#stopTicker = startTicker(this)
    this.onTick()
  }

  onTick(): void {
    if (!this.ended) this.#log.native.checkFiles()
    this.#retention?.onTick()
    if (this.#taking || this.ended) return
    this.#taking = true
    const taken = (): void => {
      this.#taking = false
    }
    this.#takeRequests().then(taken, (error: unknown) => {
      taken()
      if (this.ended) return
      if (!(error instanceof DurlogError)) throw error
      this.onRetentionFailed(error)
    })
  }

  /** Serves every request, even if one of them fails; then throws the first error. */
  async #takeRequests(): Promise<void> {
    // In a turn, so that the folder is not open any more when `close` resolves.
    const names = await this.#turns.take(() => trimRequests(this.#log.dir))
    const failures: unknown[] = []
    for (const name of names) await this.#takeRequest(name).catch((error: unknown) => failures.push(error))
    if (failures.length > 0) throw failures[0]
  }

  /**
   * Serves the request, then removes it. If the process dies in between, the request is served again later, which has
   * no effect because its segments are already removed.
   */
  async #takeRequest(name: string): Promise<void> {
    const { dir, uuid, native, unshared } = this.#log
    const request = readTrimRequest(dir, uuid, name)
    if (request === undefined || this.ended) return
    // A shared log cannot be rotated by a call, so its active segment stays.
    if (request.seal && unshared !== undefined) {
      const { before } = await currentBounds(dir, request)
      if (before >= (native.counters[Counter.nextSeq] as number)) await this.rotate()
    }
    await this.#turns.take(async () => this.#trimWithin(await currentBounds(dir, request)))
    removeTrimRequest(dir, name)
  }

  get firstSeq(): number {
    return this.#log.native.counters[Counter.firstSeq] as number
  }

  get ended(): boolean {
    return this.#closed || this.#log.native.counters[Counter.latched] !== 0
  }

  async trimBefore(seq: number): Promise<number> {
    checkSeq('seq', seq)
    return this.trimFound(async () => ({ before: seq, regardless: seq }))
  }

  /** Like `trimBefore`. `find` is called after all earlier changes of the files, directly before the trim. */
  async trimFound(find: () => Promise<TrimBounds>): Promise<number> {
    const trim = (): Promise<number> => this.#turns.take(async () => this.#trimWithin(await find()))
    if (this.#log.unshared !== undefined) return this.#log.pipeline.alone(trim)
    // In a shared log, appends do not wait for a trim, because another member may delay the trim.
    if (this.#closed) throw closedError(this.#log.dir)
    return trim()
  }

  async truncateAfter(seq: number): Promise<number> {
    checkSeq('seq', seq, -1)
    const { pipeline, reads } = this.#log
    const { native, source } = this.#unshared('truncateAfter')
    const cut = async (): Promise<number> => {
      const { next } = source.seqs()
      const nextSeq = await source.cut(reads.during(() => native.truncateAfter(seq)))
      this.#log.onCut(nextSeq, next - nextSeq)
      return nextSeq
    }
    // With `syncedFirst`, because the core would otherwise sync in the call and block this thread.
    return pipeline.alone(() => this.#turns.take(cut), { syncedFirst: true })
  }

  async rotate(): Promise<number> {
    const { native } = this.#unshared('rotate')
    return this.#log.pipeline.alone(() => this.#turns.take(() => native.rotate()), { syncedFirst: true })
  }

  async applyRetention(): Promise<number> {
    if (this.#retention === undefined) throw invalidArgument('applyRetention needs the option "retention" of open')
    return this.#retention.applyRetention()
  }

  /**
   * Appends continue during the pass, because it removes neither the active segment nor a segment that is not synced.
   */
  retainOnce(policy: NativeRetentionPolicy): Promise<NativeRetentionPlan> {
    return this.#turns.take(async () => {
      if (this.#closed) throw closedError(this.#log.dir)
      return this.#retain(policy)
    })
  }

  retainAlone(policy: NativeRetentionPolicy): Promise<NativeRetentionPlan> {
    const retain = (): Promise<NativeRetentionPlan> => this.retainOnce(policy)
    return this.#log.pipeline.alone(retain)
  }

  onOverrun(overrun: CursorOverrun): void {
    this.#listener.onOverrun(overrun)
  }

  onRetentionFailed(error: DurlogError): void {
    this.#listener.onRetentionFailed(error)
  }

  /** A segment has been sealed. */
  onRotated(): void {
    this.#retention?.onRotated()
  }

  /** Runs `closeFiles` as the last change. */
  close(closeFiles: () => Promise<void>): Promise<void> {
    this.#closed = true
    this.#stopTicker()
    const close = (): Promise<void> => {
      this.#log.unshared?.source.beforeClose()
      return closeFiles()
    }
    return this.#log.pipeline.close(() => this.#turns.take(close))
  }

  async #trimWithin({ before, regardless }: TrimBounds): Promise<number> {
    if (regardless >= before) return this.#trim(before)
    await this.#retain({ before: regardless, passedBefore: before, maxBytes: -1, maxAgeMs: -1, keepForCursors: true })
    return this.firstSeq
  }

  /**
   * A cursor that is placed during a pass waits for its end: the pass may have read the positions of the cursors
   * already.
   */
  async #retain(policy: NativeRetentionPolicy): Promise<NativeRetentionPlan> {
    const { dir, unshared } = this.#log
    const lock = policy.keepForCursors && (await this.#lockTrims(dir))
    try {
      const plan = await (unshared?.native.planRetention(policy) ?? native.planRetention(dir, policy))
      if (plan.before > this.firstSeq) await this.#trim(plan.before)
      return plan
    } finally {
      if (lock) lock.release()
    }
  }

  /** Stops waiting for another process when the log is being closed, because `close` waits for this change. */
  #lockTrims(dir: string): Promise<NativeFileLock> {
    let tried = false
    return waitForLock(LOCK_WAIT_MS, async () => {
      if (tried && this.#closed) throw closedError(dir)
      tried = true
      return native.lockTrims(dir)
    })
  }

  async #trim(seq: number): Promise<number> {
    const from = this.firstSeq
    const firstSeq = await this.#log.reads.during(() => this.#log.native.trimBefore(seq))
    if (firstSeq > from) this.#listener.onTrimmed(from)
    return firstSeq
  }

  #unshared(method: string): { native: NativeLog; source: WriterSource } {
    if (this.#log.unshared !== undefined) return this.#log.unshared
    throw new DurlogError(
      'ERR_DURLOG_UNSUPPORTED',
      `${method} is not possible in a shared log: close the log in every process, then open it without "shared"`,
    )
  }
}

const TICK_MS = 1000

interface Ticked {
  /** Returns at once. */
  onTick(): void
}

/**
 * Calls `onTick` once a second. Returns a function that stops the timer. The timer does not keep the process alive, and
 * does not prevent the garbage collection of a log that was never closed.
 */
function startTicker(ticked: Ticked): () => void {
  const weak = new WeakRef(ticked)
  const timer = setInterval(() => {
    const alive = weak.deref()
    if (alive === undefined) clearInterval(timer)
    else alive.onTick()
  }, TICK_MS)
  timer.unref()
  return () => clearInterval(timer)
}
