/** Reads records of an archive, then the newer records of the log. */
import { DurlogError } from '../errors.js'
import { type LogRecord, open, type ReadableLog, type RecordReader } from '../index.js'
import { BatchReader } from '../reader/batch-reader.js'
import { gapError } from '../ship/start.js'
import { Bucket } from './bucket.js'
import { chooseArchive } from './choose.js'
import type { Manifest, PieceEntry } from './manifest.js'
import { damaged, type PieceFacts, pieceIn, sha256Of } from './piece.js'
import { PieceCache } from './piece-cache.js'
import { type ResolvedArchiveRead, resolveRead } from './restore-options.js'
import { withoutRetry } from './store-errors.js'
import type { ReadArchiveOptions } from './types.js'

/**
 * Iterates over the records of an archive from seq `from` to before `to`. With `log`, the archived log, only records
 * that the log has trimmed are read from the archive. Fails with ERR_DURLOG_NOT_FOUND, ERR_DURLOG_OUT_OF_RANGE (the
 * archive begins after `from`), ERR_DURLOG_CORRUPT (a checksum differs), ERR_DURLOG_DESTINATION_GAP or another
 * destination error, or as a reader of the log does.
 */
export function readArchive(options: ReadArchiveOptions): RecordReader<LogRecord> {
  const resolved = resolveRead(options)
  return new BatchReader((stop) => checkedBatches({ ...resolved, signal: stop }), resolved.signal)
}

/** A read whose `signal` the reader aborts when it is closed. */
type StoppableRead = ResolvedArchiveRead & { signal: AbortSignal }

async function* checkedBatches(read: StoppableRead): AsyncGenerator<LogRecord[], void, undefined> {
  try {
    for await (const records of batchesOf(read)) {
      const late = records.findIndex(({ timestamp }) => timestamp >= read.untilMs)
      if (late !== 0) yield late === -1 ? records : records.slice(0, late)
      if (late !== -1) return
    }
  } catch (error) {
    throw read.signal.aborted ? read.signal.reason : withoutRetry(error)
  }
}

async function* batchesOf(resolved: StoppableRead): AsyncGenerator<LogRecord[], void, undefined> {
  const { log, to, signal } = resolved
  const reader = new ArchiveReader(resolved)
  try {
    let next = await reader.begin(resolved)
    while (next < to) {
      if (log === undefined || next < log.firstSeq) {
        const end = Math.min(to, log?.firstSeq ?? Number.POSITIVE_INFINITY)
        try {
          const piece = await reader.find(next, log !== undefined)
          if (piece === undefined) return
          for await (const records of reader.read(piece, next, end, signal)) {
            yield records
            next = endOf(records)
          }
          next = Math.min(end, piece.nextSeq)
        } catch (error) {
          reader.forgetDeleted(error)
        }
        continue
      }
      try {
        const { follow, durableOnly } = resolved
        const range = Number.isFinite(to) ? { from: next, to } : { from: next }
        // One at a time: the log's reader withholds the next record if it was cut meanwhile.
        for await (const record of log.read({ ...range, follow, durableOnly, signal })) {
          yield [record]
          next = record.seq + 1
        }
        return
      } catch (error) {
        // If the log was trimmed beyond `next` while it was read, continue from the archive.
        if (!(error instanceof DurlogError) || error.code !== 'ERR_DURLOG_OUT_OF_RANGE' || next >= log.firstSeq)
          throw error
      }
    }
  } finally {
    await reader.close()
  }
}

/** The seq after the last of `records`. */
function endOf(records: readonly LogRecord[]): number {
  return (records.at(-1) as LogRecord).seq + 1
}

/** The number of attempts to read a record if its piece is deleted, or if other readers remove it from the cache. */
const ATTEMPTS = 10

/** The piece was deleted after it was listed: its records are now in another piece. */
class PieceDeleted extends Error {}

/** A piece of the archive. */
interface ListedPiece {
  facts: PieceFacts
  entry: PieceEntry
  nextSeq: number
}

class ArchiveReader {
  readonly #bucket: Bucket
  readonly #choice: { uuid: string | undefined; generation: number | undefined }
  readonly #cache: PieceCache
  #manifest: Manifest | undefined
  #uuid = ''
  /** The number of pieces that were deleted after they were listed, since the last piece that was not. */
  #deletions = 0

  constructor({ bucket, uuid, generation, log, cacheDir, cacheBytes, signal }: ResolvedArchiveRead) {
    this.#bucket = new Bucket(bucket, signal)
    this.#choice = { uuid: uuid ?? log?.uuid, generation }
    this.#cache = new PieceCache(cacheDir, cacheBytes)
  }

  /** The first seq to read: a negative `from` counts from `to`, or from the end of the log or of the archive. */
  async begin({ from, to, log, durableOnly }: ResolvedArchiveRead): Promise<number> {
    if (from !== undefined && from >= 0) return from
    const logEnd = durableOnly && log !== undefined ? log.syncedSeq + 1 : log?.nextSeq
    if (from !== undefined && log !== undefined && logEnd !== undefined) {
      const next = Math.min(to, logEnd) + from
      if (next >= log.firstSeq) return next
    }
    const manifest = await this.#list()
    const firstSeq = manifest.entries[0]?.firstSeq ?? 0
    if (from === undefined) return firstSeq
    const end = logEnd ?? (await manifest.end()) ?? 0
    return Math.max(firstSeq, Math.min(to, end) + from)
  }

  /**
   * Returns the piece that holds `seq`. If the archive ends before `seq`, throws if it `mustExist`; otherwise returns
   * undefined.
   */
  async find(seq: number, mustExist: boolean): Promise<ListedPiece | undefined> {
    const known = this.#manifest === undefined ? undefined : await this.#pieceWith(this.#manifest, seq)
    if (known !== undefined) return known
    // Pieces may have been added or merged after they were listed: list them again.
    const manifest = await this.#list()
    const found = await this.#pieceWith(manifest, seq)
    if (found !== undefined || !mustExist) return found
    throw gapError(seq, seq)
  }

  /** Throws `error` unless it is a PieceDeleted and another listing may find the records. */
  forgetDeleted(error: unknown): void {
    if (!(error instanceof PieceDeleted)) throw error
    this.#manifest = undefined
    if (++this.#deletions === ATTEMPTS) throw new DurlogError('ERR_DURLOG_NOT_FOUND', error.message)
  }

  async *read(
    { facts, entry, nextSeq }: ListedPiece,
    from: number,
    to: number,
    signal: AbortSignal,
  ): AsyncGenerator<LogRecord[]> {
    const end = Math.min(to, nextSeq)
    let next = from
    for (let attempts = 1; ; attempts++) {
      const folder = await this.#cache.folderOf(facts, () => this.#load(entry, facts))
      let cause: unknown
      try {
        await using log: ReadableLog = await open(folder, { readOnly: true })
        const { firstSeq, lastSeq } = facts
        if (log.uuid !== this.#uuid || log.firstSeq !== firstSeq || log.nextSeq !== lastSeq + 1)
          throw damaged(this.#bucket.urlOf(entry.key), facts)
        for await (const records of log.read({ from: next, to: end, signal }).batches()) {
          yield records
          next = endOf(records)
          attempts = 0
        }
        if (next === end) return
      } catch (error) {
        cause = error
      }
      if (await this.#cache.has(facts)) {
        if (cause !== undefined) throw cause
        // All remaining seqs of the piece are voids.
        return
      }
      // Another reader has removed the piece from the cache.
      if (attempts === ATTEMPTS)
        throw new DurlogError(
          'ERR_DURLOG_NOT_FOUND',
          `other readers remove ${folder} from the cache before it is read: raise cache.maxBytes`,
          { cause },
        )
    }
  }

  close(): Promise<void> {
    return this.#cache.close()
  }

  async #list(): Promise<Manifest> {
    const { manifest, uuid } = await chooseArchive(this.#bucket, this.#choice)
    this.#manifest = manifest
    this.#uuid = uuid
    return manifest
  }

  async #pieceWith(manifest: Manifest, seq: number): Promise<ListedPiece | undefined> {
    const at = manifest.entries.findLastIndex(({ firstSeq }) => firstSeq <= seq)
    if (at === -1) throw new DurlogError('ERR_DURLOG_OUT_OF_RANGE', `the archive begins after seq ${seq}`)
    const facts = await manifest.facts(at)
    const entry = manifest.entries[at] as PieceEntry
    if (facts === undefined) throw new PieceDeleted(`${this.#bucket.urlOf(entry.key)} was deleted after it was listed`)
    const nextSeq = manifest.endOf(at, facts)
    return nextSeq <= seq ? undefined : { facts, entry, nextSeq }
  }

  /** Reads the piece that has `facts`, and no other piece that this answer of the store may describe. */
  async #load(entry: PieceEntry, facts: PieceFacts): Promise<Buffer> {
    const object = await this.#bucket.getWhole(entry)
    const url = this.#bucket.urlOf(entry.key)
    if (object === undefined) throw new PieceDeleted(`${url} was deleted after it was listed`)
    const piece = await pieceIn(url, facts, object.body)
    if (facts.sha256 !== (await sha256Of(piece))) throw damaged(url, facts)
    this.#deletions = 0
    return piece
  }
}
