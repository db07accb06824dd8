/** Restores a log from an archive, byte for byte: up to its end, to a seq or to a time. */
import { createHash } from 'node:crypto'
import { DurlogError, isCode } from '../errors.js'
import type { Log, ReadableLog } from '../index.js'
import { open, openRestored } from '../open.js'
import { resolveDir } from '../options/call-options.js'
import { attempts, Backoff } from '../ship/backoff.js'
import { readCopy } from '../ship/copy.js'
import { Lease } from '../ship/lease.js'
import { resolveForce } from '../ship/options.js'
import { resolveStandBy, type StandByCalls, standByUntilTaken } from '../ship/stand-by.js'
import { gapError } from '../ship/start.js'
import { takenBefore } from '../ship/taken-before.js'
import { makeCatalog } from '../streams/files/main-log.js'
import { isNoReplica, restoreInto, unmarkFolder } from '../support/restore-folder.js'
import { STREAMS_CURSOR } from '../support/streams-log.js'
import { wait } from '../timers.js'
import { Bucket } from './bucket.js'
import { BucketLease } from './bucket-lease.js'
import { type LoadedCheckpoint, loadCheckpoint } from './checkpoint-restore.js'
import { type ChosenArchive, chooseArchive } from './choose.js'
import { type CursorPositions, readCursors } from './cursors.js'
import type { Manifest, PieceEntry } from './manifest.js'
import { damaged, HEADER_BYTES, offsetOfSeq, type PieceFacts, sha256Of } from './piece.js'
import { readPieces, readWholePieces, type WholePiece } from './ranges.js'
import { type ResolvedRestore, resolveRestore, STAND_BY_NAMES, TAKE_OVER_NAMES } from './restore-options.js'
import { endOfBatches, factsBefore, follows, knownEnd, missingFrom, provenEnd, wantedPieces } from './restore-plan.js'
import { type ArchiveRestoreMark, MARK_CHECKS, newGeneration, RestoreTarget } from './restore-target.js'
import type { RestoredFiles } from './restored-files.js'
import { Segments } from './segments.js'
import { ConditionFailed, StoreFailure } from './store-errors.js'
import { type ClaimTarget, claimNext, isOwner } from './take-over.js'
import type {
  RestoreArchiveOptions,
  RestoreArchiveReport,
  StandByOptions,
  TakeOverOptions,
  TakeOverReport,
} from './types.js'

/**
 * Damage or a gap is reported after this many consecutive attempts that find it: bytes may have been changed on the
 * way, and an archiver may be merging objects.
 */
const DOUBTS = 3
const DOUBTED: readonly string[] = ['ERR_DURLOG_CORRUPT', 'ERR_DURLOG_DESTINATION_GAP']
/** Up to this many consecutive failures, the attempt after a refused claim begins without a pause. */
const CLAIMS_WITHOUT_PAUSE = 3

/**
 * Restores an archived log into the folder `dir`, which must be new, be empty, or hold an unfinished restore of the
 * same archive. Resolves once every record is on the device. Rejects with ERR_DURLOG_NOT_EMPTY, ERR_DURLOG_NOT_FOUND,
 * ERR_DURLOG_CORRUPT (a checksum differs), ERR_DURLOG_DESTINATION_GAP or another destination error, or as `open` does.
 */
export async function restoreArchive(dir: string | URL, options: RestoreArchiveOptions): Promise<RestoreArchiveReport> {
  return new ArchiveRestore(resolveDir(dir), resolveRestore(options)).run()
}

/**
 * Makes the folder `dir` the next writer of an archived log: restores the archive to its end, or continues the replica
 * in `dir`, and claims the next generation, so that the former writer is fenced. Then `open` may write the log. If
 * `dir` holds the archive's writer already, reports its generation again. Rejects with ERR_DURLOG_FENCED if another
 * copy has claimed it, which leaves `dir` a replica; otherwise as `restoreArchive`.
 */
export async function takeOver(dir: string | URL, options: TakeOverOptions): Promise<TakeOverReport> {
  const { force, rest } = resolveForce(options, TAKE_OVER_NAMES)
  return take(resolveDir(dir), resolveRestore(rest), force)
}

async function take(dir: string, options: ResolvedRestore, force: boolean): Promise<TakeOverReport> {
  const before = await takenBefore(dir, (log) => ownGeneration(log, options))
  if (before !== undefined) return { ...before, bytes: 0 }
  const claim: Claim = (chosen, target) => claimNext(chosen, target, force)
  const restore = new ArchiveRestore(dir, options, { claim })
  return { ...(await restore.run()), generation: restore.generation }
}

/**
 * Follows an archived log into the folder `dir` until the lease of its writer has ended (the option `leaseMs` of
 * `archiveTo`), and then takes over, as `takeOver` does. If another copy is faster, continues to follow. Resolves at
 * once, with undefined, if `dir` holds a log that is no replica. Rejects with the reason of `signal`, or as
 * `restoreArchive`.
 */
export async function standBy(dir: string | URL, options: StandByOptions): Promise<TakeOverReport | undefined> {
  const folder = resolveDir(dir)
  const { following, taking, onLease } = resolveStandBy(options, STAND_BY_NAMES, resolveRestore)
  if (await isNoReplica(folder)) return undefined
  const calls: StandByCalls<TakeOverReport> = {
    onLease,
    follow: (signal, onCaughtUp) => {
      const toWatch = (uuid: string, logDir: string): void =>
        onCaughtUp(() => new Lease(new BucketLease(following.bucket, uuid), logDir))
      return new ArchiveRestore(folder, { ...following, signal }, { onCaughtUp: toWatch }).run()
    },
    // With `force`: the holder of the lease that has ended may have claimed a generation and written nothing.
    takeOver: (signal) => take(folder, { ...taking, signal }, true),
  }
  return standByUntilTaken(calls, following)
}

/** The generation of the newest history, if this copy owns it; otherwise undefined. */
async function ownGeneration(log: ReadableLog, options: ResolvedRestore): Promise<number | undefined> {
  const { uuid, dir } = log
  const bucket = new Bucket(options.bucket, options.signal)
  const isTransient = (error: unknown): boolean => error instanceof StoreFailure
  try {
    const choose = () => chooseArchive(bucket, { uuid, generation: undefined })
    const { history } = (await attempts(Number.POSITIVE_INFINITY, choose, { ...options, isTransient })).manifest
    return isOwner(log, (await readCopy(dir)).id, history) ? history.generation : undefined
  } catch (error) {
    if (isCode(error, 'ERR_DURLOG_NOT_FOUND')) return undefined
    throw error
  }
}

/** Claims the next generation after the end of an archive that is restored, and returns it. */
type Claim = (chosen: ChosenArchive, target: ClaimTarget) => Promise<number>

class ArchiveRestore {
  /** The folder that the caller passed. */
  readonly #folder: string
  readonly #options: ResolvedRestore
  readonly #bucket: Bucket
  readonly #backoff = new Backoff()
  #target: RestoreTarget | undefined
  #uuid = ''
  #cursors: CursorPositions = {}
  /** The generation of the restored log. */
  #generation = 0
  #bytes = 0
  /** The archive as it was restored last; undefined after a failure. */
  #known: ChosenArchive | undefined
  /** The last restored piece; undefined if it is unknown. */
  #last: PieceFacts | undefined
  /** The number of consecutive attempts that found damage or a gap. */
  #doubts = 0
  /** Whether a restore with `follow` has caught up once: from then on, other processes may read the restored log. */
  #isReplica = false

  readonly #claim: Claim | undefined
  readonly #onCaughtUp: ((uuid: string, logDir: string) => void) | undefined

  /**
   * `onCaughtUp` is called with the UUID and the folder of the log each time that a restore with `follow` holds all
   * records of the archive.
   */
  constructor(
    dir: string,
    options: ResolvedRestore,
    { claim, onCaughtUp }: { claim?: Claim; onCaughtUp?: (uuid: string, logDir: string) => void } = {},
  ) {
    this.#claim = claim
    this.#onCaughtUp = onCaughtUp
    this.#folder = dir
    this.#options = options
    this.#bucket = new Bucket(options.bucket, options.signal)
  }

  run(): Promise<RestoreArchiveReport> {
    return restoreInto(this.#folder, MARK_CHECKS, async (before) => {
      try {
        while (!(await this.#attempt(before))) {
          // #attempt has waited: try again.
        }
        return await this.#finish(before !== undefined)
      } finally {
        await this.#target?.files.close()
      }
    })
  }

  /** The generation of the restored log. */
  get generation(): number {
    return this.#generation
  }

  /** The folder of the restored log. */
  get #logDir(): string {
    return this.#target?.dir ?? this.#folder
  }

  get #retryForMs(): number {
    const { retryForMs, replicaRetryForMs } = this.#options
    return this.#isReplica ? replicaRetryForMs : retryForMs
  }

  /** Makes one attempt. Returns whether the restore is complete; waits before it returns false. */
  async #attempt(before: ArchiveRestoreMark | undefined): Promise<boolean> {
    const { signal, to, follow, pollMs, onCaughtUp, onRetry } = this.#options
    try {
      signal?.throwIfAborted()
      const chosen = await this.#choose()
      const firstSeq = chosen.manifest.entries[0]?.firstSeq ?? 0
      if (firstSeq >= to) throw tooEarlyError(firstSeq)
      const { files } = await this.#accept(chosen, before)
      await this.#readAll(files, chosen.manifest)
      if (!follow) {
        this.#cursors = (await readCursors(this.#bucket, chosen.manifest.history.names.cursors)).positions
        const target = { bucket: this.#bucket, dir: this.#logDir, end: files.next }
        this.#generation = (await this.#claim?.(chosen, target)) ?? (await newGeneration(chosen))
      }
      this.#backoff.succeeded()
      if (!follow) return true
      this.#isReplica = true
      this.#known = chosen
      await files.sync()
      this.#onCaughtUp?.(chosen.uuid, this.#logDir)
      onCaughtUp(files.next)
      await wait(pollMs, { signal })
      return false
    } catch (error) {
      await this.#target?.files.undo()
      this.#last = this.#known = undefined
      if (signal?.aborted === true) {
        if (follow && this.#target?.hasRecords === true) return true
        throw signal.reason
      }
      if (error instanceof ConditionFailed) {
        const atOnce = this.#backoff.failures < CLAIMS_WITHOUT_PAUSE
        await this.#backoff.pause(error, { retryForMs: Number.POSITIVE_INFINITY, signal, onRetry, atOnce })
        return false
      }
      const isDoubted = error instanceof DurlogError && DOUBTED.includes(error.code) && ++this.#doubts < DOUBTS
      if (!isDoubted && !(error instanceof StoreFailure)) throw error
      // Not limited by retryForMs: damage is not an unreachable store.
      const retryForMs = isDoubted ? Number.POSITIVE_INFINITY : this.#retryForMs
      await this.#backoff.pause(error, { retryForMs, signal, onRetry })
      return false
    }
  }

  /** Lists the archive. Throws ERR_DURLOG_DESTINATION_GAP if it lacks the newest records that it has held. */
  async #choose(): Promise<ChosenArchive> {
    const chosen = await chooseArchive(this.#bucket, this.#options, this.#known)
    if (this.#options.follow) return chosen
    const proven = await provenEnd(this.#bucket, chosen.manifest.history)
    if ((await missingFrom(chosen.manifest, proven, this.#options)) === undefined) return chosen
    // An archiver may have stored records after the list: only a list that is newer than the proof shows that they are
    // missing.
    const newer = await chooseArchive(this.#bucket, this.#options)
    const first = await missingFrom(newer.manifest, proven, this.#options)
    if (first === undefined) return newer
    throw lostEndError(this.#bucket.urlOf(newer.root), first, proven - 1)
  }

  async #accept(chosen: ChosenArchive, before: ArchiveRestoreMark | undefined): Promise<RestoreTarget> {
    if (this.#target === undefined) {
      const archive = { url: this.#bucket.urlOf(chosen.root), chosen }
      this.#target = await RestoreTarget.open(this.#folder, before, archive, () => this.#load(chosen))
      this.#isReplica = this.#options.follow && before !== undefined
    }
    await this.#target.accept(chosen)
    this.#uuid = chosen.uuid
    return this.#target
  }

  /** Restores a checkpoint of streams. */
  async #load(chosen: ChosenArchive): Promise<LoadedCheckpoint | undefined> {
    const { onProgress } = this.#options
    const before = this.#bytes
    return loadCheckpoint(this.#bucket, chosen, this.#folder, {
      end: await knownEnd(chosen.manifest, this.#options),
      retryForMs: this.#retryForMs,
      signal: this.#options.signal,
      onRead: (bytes, total) => {
        this.#bytes += bytes
        onProgress(this.#bytes, before + total)
      },
    })
  }

  async #readAll(files: RestoredFiles, manifest: Manifest): Promise<void> {
    const next = files.isUnchecked ? files.next - 1 : files.next
    const entries = await wantedPieces(manifest, next, this.#options)
    const [first] = entries
    if (first === undefined) return
    const total = this.#bytes + entries.reduce((sum, { bytes }) => sum + bytes, 0)
    const report = (): void => this.#options.onProgress(this.#bytes, total)
    // Other processes may read a replica, so its pieces are checked before they are written. A piece whose beginning is
    // already restored is checked first too.
    const checked = this.#isReplica ? entries : first.firstSeq < files.next ? [first] : []
    this.#last = undefined
    for await (const whole of readWholePieces(this.#bucket, checked, this.#retryForMs)) {
      await this.#addChecked(files, whole, manifest)
      this.#bytes += whole.entry.bytes
      report()
    }
    const whole = entries.slice(checked.length)
    report()
    let hash = createHash('sha256')
    for await (const { entry, facts, offset, body, isLast, bytes } of readPieces(
      this.#bucket,
      whole,
      this.#retryForMs,
    )) {
      if (offset === 0) await this.#begin(files, entry, facts, body)
      const written = files.write(offset === 0 ? body.subarray(HEADER_BYTES) : body)
      hash.update(body)
      await written
      this.#bytes += bytes
      report()
      if (!isLast) continue
      await this.#check(entry, facts, hash.digest('hex'), manifest)
      hash = createHash('sha256')
      await this.#end(files, facts, manifest)
    }
  }

  async #begin(files: RestoredFiles, entry: PieceEntry, facts: PieceFacts, body: Buffer): Promise<void> {
    if (entry.firstSeq > files.next) throw gapError(files.next, entry.firstSeq - 1)
    if (body.length < HEADER_BYTES) throw damaged(this.#bucket.urlOf(entry.key))
    await files.begin(body.subarray(0, HEADER_BYTES), facts.bytes - HEADER_BYTES)
  }

  async #end(files: RestoredFiles, facts: PieceFacts, manifest: Manifest): Promise<void> {
    const next = manifest.endOf(indexOf(manifest, facts), facts)
    const hasProgressed = next > files.next
    await files.end(next, next <= facts.lastSeq)
    this.#last = facts
    // A piece that adds no record is read again by each attempt.
    if (!hasProgressed) return
    this.#doubts = 0
    this.#backoff.succeeded()
  }

  /** Checks a piece, then adds those of its records that are not restored yet. */
  async #addChecked(files: RestoredFiles, { entry, facts, piece }: WholePiece, manifest: Manifest): Promise<void> {
    if (entry.firstSeq > files.next) throw gapError(files.next, entry.firstSeq - 1)
    await this.#check(entry, facts, await sha256Of(piece), manifest)
    if (files.isUnchecked) await files.rewind(entry.firstSeq)
    const begins = offsetOfSeq(piece, entry.firstSeq, files.next)
    const ends = offsetOfSeq(piece, entry.firstSeq, manifest.endOf(indexOf(manifest, facts), facts))
    if (begins === undefined || ends === undefined) throw damaged(this.#bucket.urlOf(entry.key), facts)
    await files.begin(piece.subarray(0, HEADER_BYTES), ends - begins)
    await files.write(piece.subarray(begins, ends))
    await this.#end(files, facts, manifest)
  }

  /** Throws if the checksum of a piece is not `sha256`, or if it does not follow the previous piece. */
  async #check(entry: PieceEntry, facts: PieceFacts, sha256: string, manifest: Manifest): Promise<void> {
    const url = this.#bucket.urlOf(entry.key)
    if (facts.sha256 !== sha256) throw damaged(url, facts)
    if (follows(facts, this.#last ?? (await factsBefore(manifest, entry)))) return
    // The parts before this piece may have been merged into a segment after they were listed.
    const { manifest: newer } = await chooseArchive(this.#bucket, this.#options)
    if (!follows(facts, await factsBefore(newer, entry))) throw damaged(url, facts)
  }

  async #finish(resumed: boolean): Promise<RestoreArchiveReport> {
    const { follow } = this.#options
    const uuid = this.#uuid
    const target = this.#target as RestoreTarget
    const { files, dir, streams } = target
    await files.sync()
    await files.close()
    if (follow) {
      const log = await open(dir, { readOnly: true })
      const { firstSeq, nextSeq } = log
      await log.close()
      return { uuid, firstSeq, nextSeq, bytes: this.#bytes, resumed }
    }
    await target.raiseGeneration(uuid, this.#generation)
    // Creates the main log of streams that has no record after their checkpoint.
    const identity = { uuid, firstSeq: files.next, generation: this.#generation }
    const log = await openRestored(dir, identity, { durability: 'full' })
    try {
      if (log.nextSeq !== files.next) throw shorterError(dir, log.nextSeq, files.next)
      await this.#cut(log)
      for (const [name, position] of Object.entries(this.#cursors)) {
        // The streams need the records after their checkpoint, which may be older than the positions.
        const end = name === STREAMS_CURSOR ? (target.from ?? log.nextSeq) : log.nextSeq
        await log.ensureCursor(name, { from: Math.min(Math.max(position, log.firstSeq), end) })
      }
      const { firstSeq, nextSeq } = log
      await log.close()
      if (streams !== undefined) await makeCatalog(this.#folder, uuid, streams)
      await unmarkFolder(this.#folder)
      return { uuid, firstSeq, nextSeq, bytes: this.#bytes, resumed }
    } finally {
      await log.close()
    }
  }

  /**
   * Removes the records at or after `to` or `until`, which the last piece may hold, and a batch that this would divide.
   */
  async #cut(log: Log): Promise<void> {
    const { to, untilMs } = this.#options
    let next = Math.min(log.nextSeq, to)
    if (untilMs !== Number.POSITIVE_INFINITY) next = Math.min(next, await log.seqAt(untilMs))
    if (next === log.nextSeq) return
    const segment = await new Segments(log.dir).find(next)
    if (segment !== undefined && segment.firstSeq < next) next = await endOfBatches(log.dir, segment.firstSeq, next)
    if (next <= log.firstSeq) throw tooEarlyError(log.firstSeq)
    await log.truncateAfter(next - 1)
  }
}

function shorterError(dir: string, found: number, expected: number): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_CORRUPT',
    `the restored log ends before seq ${found} instead of ${expected}: the device may be failing; run "durlog doctor ${dir}"`,
    { path: dir },
  )
}

function lostEndError(url: string, first: number, last: number): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_DESTINATION_GAP',
    `${url} has held the records ${first} to ${last}, but their objects are missing: restore the records before them with to: ${first} (--to ${first})`,
    { lostFirst: first, lostLast: last },
  )
}

function tooEarlyError(firstSeq: number): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_NOT_FOUND',
    `the archive begins with record ${firstSeq}, and no whole batch is before the requested end of the restore: use a later end`,
  )
}

function indexOf({ entries }: Manifest, { firstSeq }: PieceFacts): number {
  return entries.findIndex((entry) => entry.firstSeq === firstSeq)
}
