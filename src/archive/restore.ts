/** Restores a log from an archive, byte for byte: up to its end, to a seq or to a time. */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { DurlogError, ofFileSystem } from '../errors.js'
import type { Log } from '../index.js'
import { open, openOrdered, openRestored } from '../open.js'
import { resolveDir } from '../options/call-options.js'
import { Backoff } from '../ship/backoff.js'
import { enterFolder, markFolder, unmarkFolder } from '../ship/restore-folder.js'
import { gapError } from '../ship/start.js'
import { Bucket, type StoredObject } from './bucket.js'
import { type ChosenArchive, chooseArchive } from './choose.js'
import { type ArchivedCursors, readCursors } from './cursors.js'
import type { Manifest, PieceEntry } from './manifest.js'
import { factsOf, HEADER_BYTES, offsetOfSeq, type PieceFacts, sha256Of } from './piece.js'
import { readRanges } from './ranges.js'
import { RestoreLock } from './restore-lock.js'
import { type ResolvedRestore, resolveRestore } from './restore-options.js'
import { damaged, endOfBatches, factsBefore, follows, wantedPieces } from './restore-plan.js'
import { RestoredFiles } from './restored-files.js'
import { Segments } from './segments.js'
import { StoreFailure } from './store-errors.js'
import { makeCatalog, streamsLog } from './streams-folder.js'
import type { RestoreArchiveOptions, RestoreArchiveReport } from './types.js'

/** A gap is reported after this many consecutive listings that show it, because an archiver may be merging objects. */
const DOUBTS = 3

/** The properties of an unfinished restore, which a run that continues it must share. */
interface Mark {
  archive: string
  generation: number
  first: number
  /** The generation of the restored log. */
  cuts: number
}

/**
 * Restores an archived log into the folder `dir`, which must be new, be empty, or hold an unfinished restore of the same archive.
 * Resolves once every record is on the device. Rejects with ERR_DURLOG_NOT_EMPTY, ERR_DURLOG_NOT_FOUND, ERR_DURLOG_CORRUPT (a
 * checksum differs), ERR_DURLOG_DESTINATION_GAP or another destination error, or as `open` does.
 */
export async function restoreArchive(dir: string | URL, options: RestoreArchiveOptions): Promise<RestoreArchiveReport> {
  return new ArchiveRestore(resolveDir(dir), resolveRestore(options)).run()
}

export class ArchiveRestore {
  /** The folder that the caller passed. */
  readonly #folder: string
  /** The folder of the log: `#folder`, or a folder in it if the log is the main log of streams. */
  #dir: string
  /** The encoding of the streams whose main log is restored; undefined for any other log. */
  #streams: string | undefined
  readonly #options: ResolvedRestore
  readonly #bucket: Bucket
  readonly #backoff = new Backoff()
  #files: RestoredFiles | undefined
  #chosen: ChosenArchive | undefined
  #cursors: ArchivedCursors['positions'] = {}
  #bytes = 0
  /** The last restored piece; undefined if it is unknown. */
  #last: PieceFacts | undefined
  /** The number of consecutive listings that showed a gap. */
  #doubts = 0
  /** Whether a restore with `follow` has caught up once: from then on, other processes may read the restored log. */
  #isReplica = false

  constructor(dir: string, options: ResolvedRestore) {
    this.#folder = this.#dir = dir
    this.#options = options
    this.#bucket = new Bucket(options.bucket, options.signal)
  }

  async run(): Promise<RestoreArchiveReport> {
    enterFolder(this.#folder)
    const lock = await RestoreLock.take(this.#folder)
    try {
      // Checked again with the lock: another restore may have finished meanwhile.
      const before = enterFolder<Mark>(this.#folder)
      while (!(await this.#attempt(before))) {
        // #attempt has waited: try again.
      }
      return await this.#finish(before !== undefined)
    } catch (error) {
      throw ofFileSystem(error)
    } finally {
      await this.#files?.close()
      await lock.release()
    }
  }

  /** Makes one attempt. Returns whether the restore is complete; waits before it returns false. */
  async #attempt(before: Mark | undefined): Promise<boolean> {
    const { signal, follow, pollMs, retryForMs } = this.#options
    try {
      signal?.throwIfAborted()
      const chosen = await chooseArchive(this.#bucket, this.#options)
      const files = await this.#openFiles(chosen, before)
      await this.#readAll(files, chosen.manifest)
      if (!follow) this.#cursors = (await readCursors(this.#bucket, chosen.root)).positions
      this.#backoff.succeeded()
      if (!follow) return true
      this.#isReplica = true
      await files.sync()
      await wait(pollMs, undefined, { signal })
      return false
    } catch (error) {
      await this.#files?.undo()
      this.#last = undefined
      if (signal?.aborted === true) {
        if (follow && this.#files !== undefined) return true
        throw signal.reason
      }
      if (!(error instanceof StoreFailure)) throw error
      await wait(this.#backoff.failed(error, retryForMs), undefined, { signal }).catch(() => {})
      return false
    }
  }

  async #openFiles(chosen: ChosenArchive, before: Mark | undefined): Promise<RestoredFiles> {
    const { manifest, root, uuid, histories } = chosen
    const generation = manifest.history.generation
    if (this.#files !== undefined && this.#chosen?.manifest.history.generation === generation) return this.#files
    if (this.#files !== undefined) throw this.#truncatedError(generation)
    this.#chosen = chosen
    const first = manifest.entries[0]?.firstSeq ?? 0
    const last = await manifest.last()
    const cuts = Math.max(histories.at(-1)?.generation ?? 0, last?.generation ?? 0) + 1
    const mark = before ?? { archive: this.#bucket.urlOf(root), generation, first, cuts }
    if (mark.archive !== this.#bucket.urlOf(root) || mark.generation !== generation)
      throw new DurlogError(
        'ERR_DURLOG_NOT_EMPTY',
        `${this.#folder} holds an unfinished restore of ${mark.archive}, generation ${mark.generation}. Finish it with the same arguments, or use another folder`,
        { path: this.#folder },
      )
    if (before === undefined) markFolder(this.#folder, mark)
    this.#streams = last?.streams
    if (this.#streams !== undefined) this.#dir = streamsLog(this.#folder)
    mkdirSync(this.#dir, { recursive: true, mode: 0o700 })
    // An earlier run may have died before it made the log.
    if (!existsSync(join(this.#dir, 'cuts'))) await this.#makeLog({ uuid, firstSeq: mark.first, generation: mark.cuts })
    this.#files = await RestoredFiles.open(this.#dir, mark.first)
    this.#isReplica = this.#options.follow && before !== undefined
    return this.#files
  }

  /** Makes the files of the log other than its segments. */
  async #makeLog(identity: { uuid: string; firstSeq: number; generation: number }): Promise<void> {
    const log = await openRestored(this.#dir, identity, {
      segmentBytes: 65_536,
      preallocate: 'none',
      strategy: 'pwrite',
    })
    await log.close()
  }

  async #readAll(files: RestoredFiles, manifest: Manifest): Promise<void> {
    const entries = await wantedPieces(manifest, files.next, this.#options)
    const [first] = entries
    if (first === undefined) return
    const total = this.#bytes + entries.reduce((sum, { bytes }) => sum + bytes, 0)
    const report = (): void => this.#options.onProgress(this.#bytes, total)
    // Other processes may read a replica, so its pieces are checked before they are written. A piece whose beginning is already
    // restored is checked first too.
    const checked = this.#isReplica ? entries : first.firstSeq < files.next ? [first] : []
    this.#last = undefined
    for (const entry of checked) {
      await this.#addChecked(files, entry, manifest)
      report()
    }
    const whole = entries.slice(checked.length)
    report()
    let hash = createHash('sha256')
    for await (const { entry, offset, object, isLast } of readRanges(this.#bucket, whole)) {
      if (object === undefined) throw new StoreFailure(`${entry.key} was deleted: the archive has changed`)
      if (offset === 0) await this.#begin(files, entry, object.body)
      const written = files.write(offset === 0 ? object.body.subarray(HEADER_BYTES) : object.body)
      hash.update(object.body)
      await written
      this.#bytes += object.body.length
      report()
      if (!isLast) continue
      const facts = await this.#check(entry, object, hash.digest('hex'), manifest)
      hash = createHash('sha256')
      await this.#end(files, facts, manifest)
    }
  }

  async #begin(files: RestoredFiles, entry: PieceEntry, body: Buffer): Promise<void> {
    if (entry.firstSeq > files.next) this.#doubt(gapError(files.next, entry.firstSeq - 1))
    if (body.length < HEADER_BYTES) throw damaged(this.#bucket.urlOf(entry.key))
    await files.begin(body.subarray(0, HEADER_BYTES))
  }

  async #end(files: RestoredFiles, facts: PieceFacts, manifest: Manifest): Promise<void> {
    const following = manifest.entries.find(({ firstSeq }) => firstSeq > facts.firstSeq)?.firstSeq ?? Infinity
    const isLonger = facts.lastSeq >= following
    await files.end(isLonger ? following : facts.lastSeq + 1, isLonger)
    this.#last = facts
    this.#doubts = 0
    this.#backoff.succeeded()
  }

  /** Checks a piece, then adds those of its records that are not restored yet. */
  async #addChecked(files: RestoredFiles, entry: PieceEntry, manifest: Manifest): Promise<void> {
    const object = await this.#bucket.get(entry.key)
    if (object === undefined) throw new StoreFailure(`${entry.key} was deleted: the archive has changed`)
    const facts = await this.#check(entry, object, await sha256Of(object.body), manifest)
    if (entry.firstSeq > files.next) this.#doubt(gapError(files.next, entry.firstSeq - 1))
    const offset = offsetOfSeq(object.body, entry.firstSeq, files.next)
    if (offset === undefined) throw damaged(this.#bucket.urlOf(entry.key))
    await files.begin(object.body.subarray(0, HEADER_BYTES))
    await files.write(object.body.subarray(offset))
    this.#bytes += object.body.length
    await this.#end(files, facts, manifest)
  }

  /** Returns the facts of a piece. Throws if its checksum is not `sha256`, or if it does not follow the previous piece. */
  async #check(entry: PieceEntry, object: StoredObject, sha256: string, manifest: Manifest): Promise<PieceFacts> {
    const url = this.#bucket.urlOf(entry.key)
    const facts = factsOf(url, entry.firstSeq, { ...object, size: entry.bytes })
    if (facts.sha256 !== sha256) throw damaged(url)
    if (follows(facts, this.#last ?? (await factsBefore(manifest, entry)))) return facts
    // The parts before this piece may have been merged into a segment after they were listed.
    const { manifest: newer } = await chooseArchive(this.#bucket, this.#options)
    if (follows(facts, await factsBefore(newer, entry))) return facts
    throw damaged(url)
  }

  /** Throws `error` if DOUBTS consecutive listings lead to it. Before that, throws a StoreFailure, which leads to another listing. */
  #doubt(error: DurlogError): never {
    if (++this.#doubts >= DOUBTS) throw error
    throw new StoreFailure(error.message)
  }

  #truncatedError(generation: number): DurlogError {
    return new DurlogError(
      'ERR_DURLOG_DESTINATION_OTHER',
      `the log was truncated, so the archive has a new history of generation ${generation}: restore that history into another folder`,
    )
  }

  async #finish(resumed: boolean): Promise<RestoreArchiveReport> {
    const { follow } = this.#options
    const { uuid } = this.#chosen as ChosenArchive
    const files = this.#files as RestoredFiles
    await files.sync()
    await files.close()
    if (follow) {
      const log = await open(this.#dir, { readOnly: true })
      const { firstSeq, nextSeq } = log
      await log.close()
      return { uuid, firstSeq, nextSeq, bytes: this.#bytes, resumed }
    }
    const log = await openOrdered(this.#dir, { durability: 'full' })
    try {
      await this.#cut(log)
      for (const [name, position] of Object.entries(this.#cursors)) {
        await log.ensureCursor(name, { from: Math.min(Math.max(position, log.firstSeq), log.nextSeq) })
      }
      const { firstSeq, nextSeq } = log
      await log.close()
      if (this.#streams !== undefined) await makeCatalog(this.#folder, uuid, this.#streams)
      unmarkFolder(this.#folder)
      return { uuid, firstSeq, nextSeq, bytes: this.#bytes, resumed }
    } finally {
      await log.close()
    }
  }

  /** Removes the records at or after `to` or `until`, which the last piece may hold, and a batch that this would divide. */
  async #cut(log: Log): Promise<void> {
    const { to, untilMs } = this.#options
    let next = Math.min(log.nextSeq, to)
    if (untilMs !== Number.POSITIVE_INFINITY) next = Math.min(next, await log.seqAt(untilMs))
    if (next === log.nextSeq) return
    const segment = await new Segments(this.#dir).find(next)
    if (segment !== undefined && segment.firstSeq < next) next = await endOfBatches(this.#dir, segment.firstSeq, next)
    if (next <= log.firstSeq)
      throw new DurlogError(
        'ERR_DURLOG_NOT_FOUND',
        `the archive begins with record ${log.firstSeq}, and no whole batch is before the requested end of the restore: use a later end`,
      )
    await log.truncateAfter(next - 1)
  }
}
