/**
 * A cursor that this process owns. It compares its position, and the records that its readers delivered, with the log's
 * cuts.
 */
import { atCaller } from '../caller-stack.js'
import { DurlogError, outOfRange } from '../errors.js'
import type { NativeDurableCursor } from '../native/cursors.js'
import { waitForLock } from '../native/lock-wait.js'
import { native } from '../native/native.js'
import { abortable, resolveWait } from '../options/abort-signal.js'
import { checkSeq } from '../options/call-options.js'
import { resolveCommitOptions, resolveCursorReadOptions } from '../options/cursor-options.js'
import type { LogReads } from '../reader/log-reads.js'
import type { ReadSource } from '../reader/read-source.js'
import type { Truncation } from '../reader/truncation.js'
import { clearTimeout, setTimeout } from '../timers.js'
import type {
  CommitOptions,
  CursorDurability,
  CursorLag,
  CursorReadOptions,
  DurableCursor,
  LogReader,
  WaitOptions,
} from '../types.js'
import { CursorReader, type PassedRecords } from './cursor-reader.js'

/** The log that a cursor belongs to. */
export interface CursorHost {
  readonly source: ReadSource
  readonly reads: LogReads
  /** Brings every record appended so far to `level`. Undefined if another process writes the log. */
  readonly sync: ((level: 'sync' | 'full') => Promise<number>) | undefined
}

const DONE = Promise.resolve()
/** How long to wait for a process that is trimming the log. */
const TRIM_WAIT_MS = 10_000
/** The interval at which a wait for synced records checks whether a process still writes the log. */
const WRITER_CHECK_MS = 1000
/** The least time between two proofs of positions that are only in memory. A proof reads a record. */
const PROOF_MS = 100

export class NamedCursor implements DurableCursor {
  readonly name: string
  readonly #host: CursorHost
  readonly #source: ReadSource
  readonly #native: NativeDurableCursor
  readonly #onClosed: () => void
  #position = -1
  /** The seq after the last record that a reader has delivered. */
  #delivered = 0
  /** The position before which the record's checksum is in the file. */
  #proven = 0
  /** Set until `PROOF_MS` after the last proof. */
  #proofTimer: NodeJS.Timeout | undefined
  /** The newest cut with which `#position` and `#delivered` have been compared. */
  #seen: Truncation
  /** The error with which reads and commits fail until a `seek`. */
  #failure: DurlogError | undefined
  /** The last of the calls that change the file, which run one at a time. Never rejects. */
  #turn: Promise<unknown> = DONE
  /** The position that is known to be on the device, by level. */
  #reached = { sync: 0, full: 0 }
  readonly #waiting = new Set<() => void>()
  #closing: Promise<void> | undefined

  /** `onClosed` is called once. */
  constructor(name: string, host: CursorHost, native: NativeDurableCursor, onClosed: () => void) {
    this.name = name
    this.#host = host
    this.#source = host.source
    this.#native = native
    this.#onClosed = onClosed
    this.#seen = host.source.lastTruncation
  }

  /** Takes the position from the file, or from `from` if the file has none. Static, because users must not call it. */
  static start(cursor: NamedCursor, from: 'first' | 'next' | number, signal?: AbortSignal): Promise<void> {
    return cursor.#start(from, signal)
  }

  async #start(from: 'first' | 'next' | number, signal: AbortSignal | undefined): Promise<void> {
    try {
      this.#position = this.#native.position()
    } catch (error) {
      this.#failure = error as DurlogError // the file is damaged: `position` has no other error
      return
    }
    if (this.#position === -1)
      return this.#inTurn(() => this.#place(from, signal).catch((error) => this.#discard(error)))
    this.#native.confirm()
    this.#delivered = this.#position
    this.#findCut()
    if (this.#failure === undefined) await this.#checkProof()
  }

  /**
   * Compares the last record that was proven with its checksum in the cursor's file. If they differ, the records of the
   * log were replaced by an older copy, which the list of cuts does not show. A record that was trimmed cannot be
   * compared.
   */
  async #checkProof(): Promise<void> {
    const proof = this.#native.proof()
    if (proof === undefined) return
    const found = await this.#host.reads.checksumIfHeld(proof.position - 1)
    if (found !== undefined && found !== proof.checksum) this.#failure = replacedError(this.name, proof.position - 1)
    else this.#proven = proof.position
  }

  /**
   * Proves a position that was committed in memory: at once if the last proof is older than `PROOF_MS`, otherwise when
   * it is. So a commit costs no read, and a process that is killed leaves a proof of nearly its position.
   */
  #proveSoon(): void {
    // A failure is not reported: the position itself is stored.
    void this.#inTurn(() => this.#prove()).catch(() => {})
    const proving = this.#position
    this.#proofTimer = setTimeout(() => {
      this.#proofTimer = undefined
      if (this.#position !== proving && this.#closing === undefined) this.#proveSoon()
    }, PROOF_MS)
    this.#proofTimer.unref()
  }

  /** Stores the checksum of the record before the position. */
  async #prove(): Promise<void> {
    const position = this.#position
    if (position <= this.#proven || this.#failure !== undefined) return
    const checksum = await this.#host.reads.checksumIfHeld(position - 1)
    if (checksum === undefined) return
    this.#native.prove(position, checksum)
    this.#proven = position
  }

  get position(): number {
    return this.#position
  }

  get generation(): number {
    this.#checkOpen()
    return this.#native.newestGeneration()
  }

  get lag(): CursorLag {
    this.#checkOpen()
    this.#source.look()
    const { first, next } = this.#source.seqs()
    const from = Math.max(this.#position, first)
    if (this.#position === -1 || from >= next) return { records: 0, bytes: 0, ms: 0 }
    return { records: next - from, ...native.measure(this.#source.dir, from, next - 1) }
  }

  read(options?: CursorReadOptions): LogReader {
    this.#checkOpen()
    const checked = resolveCursorReadOptions(options)
    this.#compare()
    const from = this.#position
    const reader = this.#host.reads.read(from === -1 ? checked : { ...checked, from })
    const isClosed = (): boolean => this.#closing !== undefined
    const cursor: PassedRecords = {
      isClosed,
      isCurrent: () => !isClosed() && this.#source.lastTruncation === this.#seen && this.#failure === undefined,
      check: () => this.#checkReady(),
      onClose: (end) => {
        this.#waiting.add(end)
        return () => this.#waiting.delete(end)
      },
      pass: (end) => this.#pass(end),
      explain: (error, seq) => this.#explain(error, seq),
    }
    return new CursorReader(reader, cursor, from, checked.follow ?? false)
  }

  commit(seq: number, options?: CommitOptions): Promise<void> {
    try {
      if (options === undefined) return this.#commit(seq, 'memory')
      const { durability, signal } = resolveCommitOptions(options)
      return abortable(signal, () => this.#commit(seq, durability))
    } catch (error) {
      return Promise.reject(error)
    }
  }

  #commit(seq: number, durability: CursorDurability): Promise<void> {
    try {
      checkSeq('seq', seq)
      this.#checkReady()
      if (seq >= this.#delivered && seq >= this.#source.seqs().next) return atCaller(this.#commitAhead(seq, durability))
      if (seq >= this.#position) this.#commitMemory(seq)
      return durability === 'memory' ? DONE : atCaller(this.#commitSynced(seq, durability))
    } catch (error) {
      return atCaller(Promise.reject(error))
    }
  }

  async seek(seq: number, options?: WaitOptions): Promise<void> {
    checkSeq('seq', seq)
    const signal = options === undefined ? undefined : resolveWait('seek', options)
    await abortable(signal, () => atCaller(this.#inTurn(() => this.#place(seq, signal))))
  }

  close(): Promise<void> {
    if (this.#closing === undefined) {
      this.#closing = this.#turn.then(async () => {
        // A failure is not reported: the position itself is stored.
        await this.#prove().catch(() => {})
        this.#native.close()
        this.#onClosed()
      })
      for (const wake of this.#waiting) wake()
    }
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #commitMemory(seq: number): void {
    this.#native.commit(seq + 1, this.#source.followLimit(true))
    this.#position = seq + 1
    if (this.#proofTimer === undefined) this.#proveSoon()
  }

  /** Commits a record after the log's end that this process last saw: finds the current end first. */
  async #commitAhead(seq: number, durability: CursorDurability): Promise<void> {
    const { next } = await this.#source.range(false)
    if (seq >= next) throw outOfRange(`cannot commit ${seq}: the log's next seq is ${next}`)
    this.#checkReady()
    if (seq >= this.#position) this.#commitMemory(seq)
    if (durability !== 'memory') await this.#commitSynced(seq, durability)
  }

  async #commitSynced(seq: number, level: 'sync' | 'full'): Promise<void> {
    if (this.#reached[level] > seq) return
    await this.#recordSynced(seq, level, () => this.#checkReady())
    await this.#inTurn(async () => {
      if (this.#reached[level] > seq) return
      await this.#prove()
      const reached = await this.#native.sync(this.#source.followLimit(true), level === 'full')
      this.#reached.sync = reached
      if (level === 'full') this.#reached.full = reached
    })
    this.#checkReady()
  }

  /**
   * Resolves when record `seq` of the log has reached `level` (in a log that another process writes: `sync`). Rejects
   * if `check` throws meanwhile, or if no process writes the log.
   */
  async #recordSynced(seq: number, level: 'sync' | 'full', check: () => void): Promise<void> {
    if (this.#host.sync !== undefined) {
      if (level === 'full' || this.#source.followLimit(true) <= seq) await this.#host.sync(level)
      // The limit, which is stored with the position, must include the record.
      this.#source.look()
      return
    }
    for (;;) {
      this.#source.look()
      check()
      const limit = this.#source.followLimit(true)
      if (limit > seq) return
      if (await this.#moreSynced(limit)) continue
      // Before the end is read: a writer that has closed the log meanwhile has synced its records.
      const hasWriter = await native.hasWriter(this.#source.dir)
      await this.#source.range(true)
      check()
      if (!hasWriter && this.#source.followLimit(true) <= seq) throw notSynced(seq)
    }
  }

  /** Resolves to true when there may be synced records from `limit` on, and to false after WRITER_CHECK_MS. */
  #moreSynced(limit: number): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const noReader = { poll: () => true } // a wait for synced records uses no reader
      const stop = this.#source.onMore(noReader, limit, true, (error) => {
        forget()
        if (error === undefined) resolve(true)
        else reject(error)
      })
      const end = (isNews: boolean): void => {
        forget()
        stop()
        resolve(isNews)
      }
      const wake = (): void => end(true)
      const timer = setTimeout(() => end(false), WRITER_CHECK_MS)
      const forget = (): void => {
        clearTimeout(timer)
        this.#waiting.delete(wake)
      }
      this.#waiting.add(wake)
    })
  }

  /**
   * Sets the position to `to`, if necessary after pending appends. The records before the position are synced first:
   * after another boot, the cursor would be before those that were not. Starts again if the log is cut, or trimmed
   * beyond the position, meanwhile.
   */
  async #place(to: 'first' | 'next' | number, signal?: AbortSignal): Promise<void> {
    if (typeof to === 'number' && to > this.#source.seqs().next) await this.#host.sync?.('sync').catch(() => {})
    for (;;) {
      this.#source.look()
      const seen = this.#source.lastTruncation
      const generation = this.#native.currentGeneration()
      const { first, next } = await this.#source.range(false)
      if (seen !== this.#source.lastTruncation) continue
      const position = to === 'first' ? first : to === 'next' ? next : to
      if (position < first)
        throw outOfRange(`the cursor cannot continue at ${position}: records before ${first} were trimmed`)
      if (position > next) throw outOfRange(`the cursor cannot continue at ${position}: the log's next seq is ${next}`)
      await this.#recordSynced(position - 1, 'sync', () => {
        this.#checkOpen()
        signal?.throwIfAborted()
      })
      if (seen !== this.#source.lastTruncation) continue
      const checksum = position > first ? await this.#host.reads.checksumIfHeld(position - 1) : undefined
      if (seen !== this.#source.lastTruncation) continue
      await this.#native.place(position, this.#source.followLimit(true), generation, checksum)
      this.#proven = checksum === undefined ? 0 : position
      // A commit may have moved the position forward while it was being synced.
      this.#position = this.#delivered = this.#native.position()
      this.#seen = seen
      this.#failure = undefined
      this.#reached = { sync: 0, full: 0 }
      // A trim that is in progress may not have seen the position; later ones honour it.
      await waitForLock(TRIM_WAIT_MS, async () => {
        this.#checkOpen()
        await native.checkTrims(this.#source.dir)
      })
      if ((await this.#source.range(false)).first <= position) return this.#native.confirm()
    }
  }

  /** Removes the file of a new cursor whose creation has failed with `error`, when the cursor is closed. */
  #discard(error: unknown): never {
    this.#native.discard()
    throw error
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(() => {
      this.#checkOpen()
      return work()
    })
    this.#turn = turn.catch(() => {})
    return turn
  }

  #pass(end: number): void {
    this.#checkReady()
    if (end > this.#delivered) this.#delivered = end
  }

  /** Compares the cursor with the cuts of the log. Throws if the cursor is closed or needs a `seek`. */
  #checkReady(): void {
    this.#checkOpen()
    this.#compare()
    if (this.#failure !== undefined) throw this.#failure
  }

  /**
   * Compares the cursor with the cuts since the last comparison. Must run before a record is delivered or committed.
   */
  #compare(): void {
    if (this.#source.lastTruncation === this.#seen || this.#failure !== undefined) return
    this.#findCut()
  }

  #findCut(): void {
    const seen = this.#source.lastTruncation
    const reached = Math.max(this.#delivered, this.#position)
    try {
      const lowest = Math.min(this.#native.findCut(reached), this.#seen.lowestLater())
      this.#seen = seen
      if (lowest < reached) this.#failure = cutError(this.name, lowest, reached)
    } catch (error) {
      // An error other than damage may be temporary, so it does not become the cursor's state.
      if (!(error instanceof DurlogError) || error.code !== 'ERR_DURLOG_CORRUPT') throw error
      this.#failure = error
    }
  }

  async #explain(error: DurlogError, seq: number): Promise<DurlogError> {
    if (this.#closing === undefined) this.#compare()
    if (this.#failure !== undefined) return this.#failure
    if (error.code !== 'ERR_DURLOG_OUT_OF_RANGE' || this.#source.ended) return error
    const { first } = await this.#source.range(false)
    return seq < first ? trimmedError(this.name, seq, first) : error
  }

  #checkOpen(): void {
    if (this.#closing !== undefined)
      throw new DurlogError('ERR_DURLOG_CLOSED', `the cursor "${this.name}" has been closed; open it again`)
  }
}

function cutError(name: string, cut: number, reached: number): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_CURSOR_CUT',
    `records ${cut} to ${reached - 1}, which the cursor "${name}" had delivered or committed, were cut from the log, and other records may have their seqs: call "seek" with the seq at which to continue`,
    { lostFirst: cut, lostLast: reached - 1 },
  )
}

function replacedError(name: string, seq: number): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_CURSOR_CUT',
    `the log's record ${seq} is not the one that the cursor "${name}" has passed: an older copy of the log was put back. Call "seek" with the seq at which to continue`,
    { lostFirst: seq, lostLast: seq },
  )
}

function trimmedError(name: string, from: number, first: number): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_CURSOR_OVERRUN',
    `records ${from} to ${first - 1}, which the cursor "${name}" had not read, were trimmed: seek to ${first} to continue`,
    { lostFirst: from, lostLast: first - 1 },
  )
}

function notSynced(seq: number): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_OUT_OF_RANGE',
    `record ${seq} is not known to be synced, and no process has the log open for writing: open it, or continue the restore, and repeat the call. syncedSeq is the last record that is known to be synced`,
  )
}
