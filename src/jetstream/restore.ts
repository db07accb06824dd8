/** Restores a log from a stream, with the same seqs, timestamps and UUID. */
import { DurlogError } from '../errors.js'
import type { Log, LogRecord, ReadableLog } from '../index.js'
import { openRestored, type RestoringLog } from '../open.js'
import { onAbort } from '../options/abort-signal.js'
import { parseWhole } from '../options/amounts.js'
import { resolveDir } from '../options/call-options.js'
import { Backoff } from '../ship/backoff.js'
import { ShipConflict } from '../ship/conflict.js'
import { readCopy, readLockedCopy } from '../ship/copy.js'
import { claimedError } from '../ship/fenced.js'
import { Lease } from '../ship/lease.js'
import { resolveForce } from '../ship/options.js'
import { recordCrc } from '../ship/record-crc.js'
import { unfinishedRejoin } from '../ship/rejoin.js'
import { resolveStandBy, type StandByCalls, standByUntilTaken } from '../ship/stand-by.js'
import { takenBefore } from '../ship/taken-before.js'
import { lastRecord } from '../ship/voids.js'
import { writeGeneration } from '../ship/write-generation.js'
import { makeCatalog, makeLogFolder, streamsLog } from '../streams/files/main-log.js'
import type { StreamEncoding } from '../streams/port/types.js'
import { isNoReplica, markFolder, restoreInto, unmarkFolder } from '../support/restore-folder.js'
import { clock } from '../timers.js'
import { AckTimeout } from './ack-timeout.js'
import { Assembler, EarlierRecord, type RestoredRecord } from './assembler.js'
import { announceClaim, announcedGeneration, type NoticePlace } from './claim-notice.js'
import { consume } from './consume.js'
import { gapInStream } from './gap.js'
import { isOwn } from './is-own.js'
import { claimHeaders, endOf, Header } from './message.js'
import { NatsLease } from './nats-lease.js'
import { type LiveLink, NatsLink, withLink } from './nats-link.js'
import { publishAfter } from './publish-after.js'
import { headerLines } from './raw-headers.js'
import { StreamMissing } from './refusals.js'
import {
  MARK_CHECKS,
  nothingThere,
  type ResolvedRestoreOptions,
  resolveRestoreOptions,
  STAND_BY_NAMES,
  type StreamRestoreMark,
  type StreamSeen,
  TAKE_OVER_NAMES,
} from './restore-options.js'
import { findStream, missingError, type StreamFacts } from './stream.js'
import { crcIn, type Located, StreamSeqs, timeIn } from './stream-seqs.js'
import type { RestoreOptions, RestoreReport, StandByOptions, TakeOverOptions, TakeOverReport } from './types.js'

const PROGRESS_EVERY = 1000
/** A replica notes at most once in this time what it has read. */
const MARK_MS = 1000
/** Up to this many consecutive refusals, the next claim follows without a pause. */
const CLAIMS_WITHOUT_PAUSE = 3
/** The longest void. A seq without a record takes 32 bytes in the log, so this many fit into the largest segment. */
const MAX_VOID_SEQS = 2 ** 25

/**
 * Restores a log that was shipped to a subject into the folder `dir`, which must be new, be empty, or hold an
 * unfinished restore of the same records. Resolves once every record is on the device. Rejects with
 * ERR_DURLOG_NOT_EMPTY, ERR_DURLOG_NOT_FOUND, ERR_DURLOG_CORRUPT, ERR_DURLOG_DESTINATION_GAP or another destination
 * error, or as `open` does.
 */
export async function restore(dir: string | URL, options: RestoreOptions): Promise<RestoreReport> {
  return new Restore(resolveDir(dir), resolveRestoreOptions(options)).run()
}

/**
 * Makes the folder `dir` the next writer of a log: restores its records to the end of the stream, or continues the
 * replica in `dir`, and claims the next generation, so that the former writer is fenced. Then `open` may write the log.
 * If `dir` holds the stream's writer already, reports its generation again. Rejects with ERR_DURLOG_FENCED if another
 * copy has claimed it, which leaves `dir` a replica; otherwise as `restore`.
 */
export async function takeOver(dir: string | URL, options: TakeOverOptions): Promise<TakeOverReport> {
  const { force, rest } = resolveForce(options, TAKE_OVER_NAMES)
  return take(resolveDir(dir), resolveRestoreOptions(rest), force)
}

async function take(dir: string, options: ResolvedRestoreOptions, force: boolean): Promise<TakeOverReport> {
  const before = await takenBefore(dir, (log) => ownGeneration(log, options))
  if (before !== undefined) return { ...before, records: 0 }
  const taking = new Restore(dir, options, { claims: { force } })
  return { ...(await taking.run()), generation: taking.generation }
}

/**
 * Follows a shipped log into the folder `dir` until the lease of its writer has ended (the option `leaseMs` of
 * `jetstream`), and then takes over, as `takeOver` does. If another copy is faster, continues to follow. Resolves at
 * once, with undefined, if `dir` holds a log that is no replica. Rejects with the reason of `signal`, or as `restore`.
 */
export async function standBy(dir: string | URL, options: StandByOptions): Promise<TakeOverReport | undefined> {
  const folder = resolveDir(dir)
  const { following, taking, onLease } = resolveStandBy(options, STAND_BY_NAMES, resolveRestoreOptions)
  if (await isNoReplica(folder)) return undefined
  const calls: StandByCalls<TakeOverReport> = {
    onLease,
    follow: (signal, onCaughtUp) => {
      const toWatch = (logDir: string): void => onCaughtUp(() => new Lease(new NatsLease(following), logDir))
      return new Restore(folder, { ...following, signal }, { onCaughtUp: toWatch }).run()
    },
    // With `force`: the holder of the lease that has ended may have claimed a generation and shipped nothing.
    takeOver: (signal) => take(folder, { ...taking, signal }, true),
  }
  return standByUntilTaken(calls, following)
}

/** The generation of the stream's last message, if this copy has published it; otherwise undefined. */
function ownGeneration(log: ReadableLog, options: ResolvedRestoreOptions): Promise<number | undefined> {
  return withLink(options, async (live) => {
    const { subject } = await findStream(live, options, { use: 'restore' })
    const last = await new StreamSeqs(live, options.stream, subject).last()
    if (last?.part.uuid !== log.uuid) return undefined
    return (await isOwn(log, (await readCopy(log.dir)).id, last)) ? last.part.generation : undefined
  })
}

interface RestoreCalls {
  /** Claims the next generation at the end of the stream. */
  claims?: { force: boolean }
  /** Called with the folder of the log each time that a restore with `follow` holds all records of the stream. */
  onCaughtUp?: (logDir: string) => void
}

class Restore {
  readonly #dir: string
  readonly #options: ResolvedRestoreOptions
  readonly #link: NatsLink
  readonly #backoff = new Backoff()
  readonly #ackTimeout: AckTimeout
  #subject = ''
  #facts: StreamFacts | undefined
  #mark: StreamRestoreMark | undefined
  /** `#mark` may have an older value. */
  #seen: StreamSeen | undefined
  /** When the mark was written. */
  #markedAt = Number.NEGATIVE_INFINITY
  /** The encoding of the streams whose main log is restored; undefined for any other log. */
  #streams: StreamEncoding | undefined
  #log: RestoringLog | undefined
  /** The seq before which the restore ends; Infinity with `follow`. */
  #end = Number.POSITIVE_INFINITY
  #records = 0
  #done = false
  readonly #calls: RestoreCalls
  /** The generation that was claimed. */
  generation = 0
  /** The generation whose claim was announced; -1 if none was. */
  #announced = -1

  constructor(dir: string, options: ResolvedRestoreOptions, calls: RestoreCalls = {}) {
    this.#calls = calls
    this.#dir = dir
    this.#options = options
    this.#link = new NatsLink(options)
    this.#ackTimeout = new AckTimeout(options.timeoutMs)
  }

  run(): Promise<RestoreReport> {
    return restoreInto(this.#dir, MARK_CHECKS, async (before) => {
      const forget = onAbort(this.#options.signal, () => void this.#link.close())
      try {
        this.#options.signal?.throwIfAborted()
        while (!this.#done) await this.#attempt(before)
        return await this.#finish(before !== undefined)
      } finally {
        forget()
        // After a failure, which is reported instead. Otherwise the log is closed already.
        await this.#log?.close().catch(() => {})
        await this.#link.close()
      }
    })
  }

  /** The folder of the log: the folder of the restore, or a folder in it if the log is the main log of streams. */
  get #logDir(): string {
    return this.#streams === undefined ? this.#dir : streamsLog(this.#dir)
  }

  async #attempt(before: StreamRestoreMark | undefined): Promise<void> {
    try {
      const live = await this.#link.open()
      const seqs = await this.#findSubject(live)
      if (this.#log === undefined) await this.#openLog(seqs, before)
      await this.#read(live, seqs)
    } catch (error) {
      if (this.#isAborted()) {
        if (!this.#options.follow || this.#log === undefined) throw this.#options.signal?.reason
        this.#done = true
        return
      }
      // A replica compares its last record first.
      const isRepeated = this.#options.follow && error instanceof EarlierRecord
      if (error instanceof DurlogError && !isRepeated) throw error
      await this.#link.leaveAfter(error)
      const { retryForMs, replicaRetryForMs, follow, onRetry, signal } = this.#options
      const isReplica = follow && this.#log !== undefined
      const pause = { retryForMs: isReplica ? replicaRetryForMs : retryForMs, signal, onRetry }
      await this.#backoff.pause(error as Error, pause)
    }
  }

  #isAborted(): boolean {
    return this.#options.signal?.aborted === true
  }

  async #findSubject(live: LiveLink): Promise<StreamSeqs> {
    const { stream } = this.#options
    try {
      this.#facts = await findStream(live, this.#options, { use: 'restore' })
      this.#subject = this.#facts.subject
      return new StreamSeqs(live, stream, this.#subject)
    } catch (error) {
      throw error instanceof StreamMissing
        ? missingError(stream, 'use the stream that the log was shipped to', error)
        : error
    }
  }

  async #openLog(seqs: StreamSeqs, before: StreamRestoreMark | undefined): Promise<void> {
    const { stream, from, follow, to } = this.#options
    const last = await seqs.last()
    if (before?.cutTo !== undefined) throw unfinishedRejoin(this.#dir)
    this.#seen = before?.seen
    if (last === undefined ? !this.#hasAll : endOf(last.part) <= (before?.first ?? 0))
      throw nothingThere(stream, this.#subject)
    const mark = before ?? (await this.#markNew(seqs, last as Located))
    this.#mark = mark
    if (mark.stream !== stream || mark.subject !== this.#subject || (from !== undefined && from !== mark.first))
      throw new DurlogError(
        'ERR_DURLOG_NOT_EMPTY',
        `${this.#dir} holds an unfinished restore of ${mark.stream}, ${mark.subject}, from record ${mark.first}. Finish it with the same arguments, or use another folder`,
        { path: this.#dir },
      )
    const { streams } = mark
    this.#streams = streams
    const { segmentBytes } = this.#options
    if (streams !== undefined) makeLogFolder(this.#logDir)
    this.#log = await openRestored(
      this.#logDir,
      { uuid: mark.uuid, firstSeq: mark.first, generation: ((last?.part ?? this.#seen)?.generation ?? 0) + 1 },
      { durability: 'memory', segmentBytes },
    )
    this.#end = follow
      ? Number.POSITIVE_INFINITY
      : Math.min(to, last === undefined ? this.#log.nextSeq : endOf(last.part))
  }

  /** Marks a new folder. Its restore begins with the stream's first record, or with record `from`. */
  async #markNew(seqs: StreamSeqs, last: Located): Promise<StreamRestoreMark> {
    const { stream, from, to, untilMs } = this.#options
    const begin = await seqs.readableFrom(await seqs.find(from ?? 0, last), last)
    if (begin === undefined) throw nothingThere(stream, this.#subject)
    // The log also includes the seqs without a record directly before its first record.
    const { voidFrom } = begin.part
    const first = from !== undefined && from > voidFrom ? from : voidFrom
    if (from !== undefined && first !== from) throw gapInStream(from, first - 1)
    if (to <= first || timeIn(begin, first) >= untilMs) throw tooEarlyError(stream, begin.part.first)
    const { uuid, streams } = last.part
    // Streams are restored from their first record on.
    const mark = { stream, subject: this.#subject, uuid, first, streams: first === 0 ? streams : undefined }
    await markFolder(this.#dir, mark)
    return mark
  }

  /**
   * Checks that the stream still holds the last record that was restored: while there was no connection, the stream may
   * have been replaced. A record that the stream has dropped cannot be compared.
   */
  async #checkLastRecord(log: Log, seqs: StreamSeqs): Promise<void> {
    const record = await lastRecord(log)
    if (record === undefined) return
    const { seq, data, timestamp } = record
    const last = await seqs.last()
    if (last === undefined && this.#hasAll) return
    const found = await seqs.find(seq, last)
    const isDropped = found !== undefined && found.part.first > seq
    const isSame = isDropped || (found !== undefined && crcIn(found, seq) === recordCrc(log.uuid, seq, timestamp, data))
    if (isSame && found?.part.uuid === log.uuid) return
    // The log that is shipped there may be shipped again.
    if (found === undefined && this.#options.follow)
      throw new Error(
        `the stream ends before record ${seq}, which the replica has: it was emptied, or is an older copy`,
      )
    throw new DurlogError(
      'ERR_DURLOG_DESTINATION_OTHER',
      `the folder's last record, ${seq}, differs from the stream's record ${seq}: restore into another folder`,
    )
  }

  async #read(live: LiveLink, seqs: StreamSeqs): Promise<void> {
    const log = this.#log as RestoringLog
    const { stream, follow } = this.#options
    await this.#checkLastRecord(log, seqs)
    if (log.nextSeq >= this.#end && (await this.#mayEnd(live, seqs))) {
      this.#done = true
      return
    }
    const assembler = new Assembler(log.uuid, log.nextSeq)
    const last = await seqs.last()
    const found = last === undefined ? 0 : endOf(last.part)
    const wanted = (): number => (follow ? found : this.#end)
    const begin = await seqs.readableFrom(await seqs.find(log.nextSeq, last), last)
    if (begin === undefined && log.nextSeq < wanted()) throw gapInStream(log.nextSeq, wanted() - 1)
    // After the message that `find` knew as the last one: other messages may have been stored meanwhile.
    const sequence = begin?.sequence ?? (last?.sequence ?? 0) + 1
    const { domain } = this.#options.access
    const expectsMore = (): boolean => log.nextSeq < wanted()
    const range = { stream, subject: this.#subject, domain, sequence, expectsMore }
    const messages = await consume(live, range, this.#ackTimeout)
    const forget = this.#link.onLost((error) => messages.stop(error))
    let isBehind = begin !== undefined
    // The server has responded and the stream holds no more records, so this attempt has succeeded.
    if (begin === undefined) {
      this.#backoff.succeeded()
      // An attempt that failed may have left records that are not synced.
      await log.sync()
      if (last !== undefined) this.#see(last.sequence, last.part.generation)
      await this.#caughtUp(log)
    }
    try {
      for await (const message of messages) {
        for (const record of assembler.add(message.headers, message.data, message.seq))
          if (!(await this.#store(log, record))) break
        this.#see(message.seq, parseWhole(message.headers?.get(Header.generation) ?? ''))
        if (this.#done) this.#done = await this.#mayEnd(live, seqs)
        if (this.#done) break
        if (!follow) continue
        // The client may count one of its requests as a pending message.
        const isNew = isBehind && !expectsMore()
        if (messages.getPending() > 0 && !isNew) continue
        await log.sync()
        isBehind = expectsMore()
        if (!isBehind) await this.#caughtUp(log)
      }
      if (!this.#done) throw new Error('the stream ended')
    } finally {
      forget()
      await messages.close().catch(() => {})
    }
  }

  /** Claims the next generation, if that is asked for. Returns false if the stream has more records, to read first. */
  async #mayEnd(live: LiveLink, seqs: StreamSeqs): Promise<boolean> {
    const { claims } = this.#calls
    if (claims === undefined) return true
    this.#done = false
    const log = this.#log as RestoringLog
    await log.sync('full')
    for (;;) {
      const last = await seqs.last()
      const record = await lastRecord(log)
      if (record === undefined) throw nothingThere(this.#options.stream, this.#subject)
      if (last === undefined) return this.#claimEmpty(live, record)
      const { part, sequence } = last
      this.#end = Math.max(this.#end, endOf(part))
      const { id: owner } = await readLockedCopy(this.#logDir)
      const isOwn = part.claimedBy === owner
      this.generation = isOwn ? part.generation : Math.max(part.generation + 1, log.generation)
      if (this.#end > log.nextSeq) {
        await this.#announce(live, log)
        return false
      }
      if (isOwn) return true
      if (part.claimedBy !== undefined && !claims.force) throw claimedError(part.generation)
      try {
        if (this.#facts?.dropsOld === true) await this.#announceClaim(live, log)
        await this.#claim(live, record, owner, sequence)
        return true
      } catch (error) {
        if (!(error instanceof ShipConflict)) throw error
        await this.#announce(live, log)
        const { retryForMs, signal, onRetry } = this.#options
        const atOnce = this.#backoff.failures < CLAIMS_WITHOUT_PAUSE
        await this.#backoff.pause(error, { retryForMs, signal, onRetry, atOnce })
        signal?.throwIfAborted()
      }
    }
  }

  /**
   * Publishes the claim of this copy, `owner`, after the log's last record, whose message has `sequence`. Throws a
   * ShipConflict if that is not the stream's last message.
   */
  async #claim(
    live: LiveLink,
    { seq, timestamp, data }: LogRecord,
    owner: string,
    sequence: number | undefined,
    condition = '',
  ): Promise<void> {
    const { uuid } = this.#log as RestoringLog
    const facts = { uuid, seq, timestamp, crc: recordCrc(uuid, seq, timestamp, data) }
    const headers = claimHeaders(facts, { generation: this.generation, owner, streams: this.#streams })
    await publishAfter(live, this.#place, headers + condition, sequence)
  }

  /**
   * Claims the next generation in a stream that has dropped every message. Throws a ShipConflict if a message of any
   * subject was stored meanwhile.
   */
  async #claimEmpty(live: LiveLink, record: LogRecord): Promise<true> {
    const log = this.#log as RestoringLog
    const seen = this.#seen
    if (seen === undefined || !this.#hasAll) throw nothingThere(this.#options.stream, this.#subject)
    const announced = (await announcedGeneration(live, this.#place, log.uuid)) ?? 0
    this.generation = Math.max(seen.generation + 1, announced + 1, log.generation)
    await this.#announceClaim(live, log)
    const { id: owner } = await readLockedCopy(this.#logDir)
    const condition = headerLines([[Header.expectedLastInStream, String(seen.sequence)]])
    await this.#claim(live, record, owner, undefined, condition)
    return true
  }

  /** Whether the stream, if it is empty now, has held no message that was not read. */
  get #hasAll(): boolean {
    const { createdAt, lastSequence } = this.#facts as StreamFacts
    return this.#seen?.createdAt === createdAt && this.#seen.sequence === lastSequence
  }

  /** Notes that every message up to `sequence` was read. */
  #see(sequence: number, generation = 0): void {
    const { createdAt } = this.#facts as StreamFacts
    this.#seen = { createdAt, sequence, generation: Math.max(generation, this.#seen?.generation ?? 0) }
  }

  /** Writes what was read into the mark, unless that was done a moment ago. Its records are synced. */
  async #noteSeen(now: boolean): Promise<void> {
    const isDue = now || clock.now() - this.#markedAt >= MARK_MS
    if (this.#facts?.dropsOld !== true || this.#seen === this.#mark?.seen || !isDue) return
    this.#mark = { ...(this.#mark as StreamRestoreMark), seen: this.#seen }
    this.#markedAt = clock.now()
    await markFolder(this.#dir, this.#mark)
  }

  /**
   * Announces the claim: the writer was faster, and may be so each time. Without the right to store the notice, only
   * the claim counts.
   */
  async #announce(live: LiveLink, log: Log): Promise<void> {
    await this.#announceClaim(live, log).catch(() => {})
  }

  async #announceClaim(live: LiveLink, { uuid }: Log): Promise<void> {
    if (this.#announced === this.generation) return
    const notice = { uuid, generation: this.generation }
    await announceClaim(live, this.#place, notice, this.#facts?.replicated === true)
    this.#announced = notice.generation
  }

  get #place(): NoticePlace {
    return { stream: this.#options.stream, subject: this.#subject, timeoutMs: this.#options.timeoutMs }
  }

  /**
   * Stores a record. Returns false if the restore is complete: after the last record, or if this record is after the
   * end.
   */
  async #store(log: RestoringLog, { seq, data, timestamp }: RestoredRecord): Promise<boolean> {
    if (timestamp >= this.#options.untilMs || seq >= this.#end) {
      this.#done = true
      return false
    }
    if (seq - log.nextSeq > MAX_VOID_SEQS) throw tooManyVoids(log.nextSeq, seq)
    await log.skipTo(seq, timestamp)
    await log.appendNext(data, timestamp)
    this.#backoff.succeeded()
    this.#records++
    if (this.#records % PROGRESS_EVERY === 0) this.#reportProgress(log)
    if (seq + 1 < this.#end) return true
    this.#done = true
    return false
  }

  async #caughtUp(log: Log): Promise<void> {
    await this.#noteSeen(false)
    this.#calls.onCaughtUp?.(this.#logDir)
    this.#options.onCaughtUp(log.nextSeq)
  }

  #reportProgress(log: Log): void {
    const total = this.#end - log.firstSeq
    this.#options.onProgress(log.nextSeq - log.firstSeq, total)
  }

  async #finish(resumed: boolean): Promise<RestoreReport> {
    const log = this.#log as Log
    await log.sync('full')
    const { uuid, firstSeq, nextSeq } = log
    await log.close()
    if (this.#options.follow) await this.#noteSeen(true)
    if (this.#calls.claims !== undefined)
      await writeGeneration(this.#dir, this.#logDir, { uuid, generation: this.generation })
    if (!this.#options.follow && this.#streams !== undefined) await makeCatalog(this.#dir, uuid, this.#streams)
    // A replica keeps its mark, so that the next `restore` continues it.
    if (!this.#options.follow) await unmarkFolder(this.#dir)
    return { uuid, firstSeq, nextSeq, records: this.#records, resumed }
  }
}

function tooEarlyError(stream: string, first: number): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_NOT_FOUND',
    `the stream ${stream} begins with record ${first}, which is not before the requested end of the restore: use a later end`,
  )
}

function tooManyVoids(first: number, end: number): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_CORRUPT',
    `according to the stream, the seqs ${first} to ${end - 1} hold no record, but a log has at most ${MAX_VOID_SEQS} consecutive seqs without a record`,
    { lostFirst: first, lostLast: end - 1 },
  )
}
