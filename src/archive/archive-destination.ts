/** Archives the sealed segments of a log, and parts of its active segment. */
import { dirname } from 'node:path'
import type { Log, ReadOnlyLog } from '../index.js'
import { ShipConflict } from '../ship/conflict.js'
import { noteHistory, readCopy } from '../ship/copy.js'
import type { Destination, ReplicationSession } from '../ship/destination.js'
import { fencedError } from '../ship/fenced.js'
import { encodingOfStreams } from '../streams/files/main-log.js'
import type { StreamEncoding } from '../streams/port/types.js'
import { clearTimeout, clock, setTimeout } from '../timers.js'
import { deleteParts, readBoundary } from './boundary.js'
import type { Bucket } from './bucket.js'
import { CheckpointArchiver } from './checkpoint-archiver.js'
import { archiveCursors } from './cursors.js'
import { beginHistory, fenceKey, readFence } from './fence.js'
import { Gates } from './gates.js'
import { digitsOf } from './layout.js'
import { type History, listFences, listParts } from './manifest.js'
import { type PieceFacts, toMetadata } from './piece.js'
import { type ArchivePosition, findPosition, olderError, Superseded } from './position.js'
import { checkStore, Probe } from './probe.js'
import { type LocalPiece, type LocalSegment, type PieceRange, SegmentRemoved, Segments } from './segments.js'
import { aheadError, missingError, trimmedError, waitingBytes } from './session-facts.js'
import { ConditionFailed } from './store-errors.js'
import { loadZstd } from './zstd.js'

/** The longest part of the active segment in bytes. A piece is in memory while it is sent. */
const PART_BYTES = 64 * 2 ** 20
/** If more of a sealed segment is not archived yet, it is archived whole at once: parts are sent twice. */
const REST_BYTES = 16 * 2 ** 20
/** The interval at which the waiting bytes are compared with `flushBytes`. */
const LOOK_MS = 500

type SealedSegment = LocalSegment & { endSeq: number }

export interface ArchiveDestinationOptions {
  flushMs: number
  flushBytes: number
  /** Whether whole segments are compressed. */
  compresses: boolean
  /** How long the archive of a folder of streams restores earlier states. */
  historyMs: number
  /**
   * Whether the archiver serves the option `replicate` of the log: no other archiver stores parts of the newest
   * history.
   */
  replicates: boolean
  onForked: (generation: number, from: number) => void
}

export class ArchiveDestination implements Destination {
  readonly mode = 'segments'
  readonly reconnects = 0
  objects = 0
  readonly #bucket: Bucket
  readonly #options: ArchiveDestinationOptions
  readonly #segments: Segments
  /** `close` aborts it, which ends every request. */
  readonly #closing: AbortController
  #log: Log | ReadOnlyLog | undefined
  /** The encoding of the streams whose main log is archived; undefined for any other log. */
  #streams: StreamEncoding | undefined
  /** Archives the checkpoints of the streams. */
  #checkpoints: CheckpointArchiver | undefined
  /** The checkpoint that is being archived. */
  #checkpoint: Promise<void> | undefined
  /** The segment that was the newest one when the folder was listed last. */
  #newest: LocalSegment | undefined
  /** The whole segment that is being stored while parts of the next one are stored. */
  #whole: { endSeq: number; stored: Promise<void>; stop: () => Promise<void> } | undefined
  /** The failure of the last checkpoint, or of `#whole`: the session ends with it. */
  #failure: { error: unknown } | undefined
  /** The archived log must have this end before the archive can be restored; until then, no record is reported. */
  #restorableEnd = 0
  /** The records and bytes that were archived and not reported. */
  #unreported = { records: 0, bytes: 0 }
  /** The calls that wait until the log is archived up to a seq. */
  #waiting: { end: number; resolve: () => void }[] = []
  /** The log's generation when the session began. */
  #generation = -1
  /** The position of the session; undefined if none is running. */
  #position: ArchivePosition | undefined
  #gates: Gates | undefined
  #inFlight = 0
  #isProbed = false
  /** Keeps its progress if a session fails. */
  readonly #probe: Probe
  #ended = false
  #flushes = false
  /** The number of calls of `flush`. */
  #asked = 0
  /** As `#asked`, when the archive was last found to have no newer history. */
  #checked = 0
  /** As `#checked`, when the positions of cursors were archived after that. */
  #confirmed = 0
  #wake: () => void = () => {}
  #running: Promise<void> = Promise.resolve()
  /** The positions of cursors that the session has archived last, as JSON. */
  #cursors: string | undefined
  /** When they were archived. */
  #cursorsAt = 0

  constructor(bucket: Bucket, dir: string, closing: AbortController, options: ArchiveDestinationOptions) {
    this.#bucket = bucket
    this.#probe = new Probe(bucket)
    this.#options = options
    this.#segments = new Segments(dir)
    this.#closing = closing
  }

  get isCurrent(): boolean {
    return this.isUncut && this.#confirmed === this.#asked
  }

  get isUncut(): boolean {
    return this.#log?.generation === this.#generation
  }

  /** A sealed segment is archived whole after its parts. */
  get neededFrom(): number {
    return this.#position?.segmentsEnd ?? Number.POSITIVE_INFINITY
  }

  get inFlight(): number {
    return this.#inFlight
  }

  async run(session: ReplicationSession): Promise<void> {
    const running = this.#run(session)
    this.#running = running.catch(() => {})
    try {
      await running
    } catch (error) {
      if (this.#options.replicates && error instanceof Superseded) throw fencedError(error.generation)
      if (error instanceof ConditionFailed || error instanceof SegmentRemoved) throw new ShipConflict(error.message)
      throw error
    } finally {
      this.#position = undefined
      for (const { resolve } of this.#waiting.splice(0)) resolve()
      this.#inFlight = 0
      await this.#whole?.stop()
    }
  }

  failed(): void {
    this.#segments.forget()
    this.#newest = undefined
  }

  send(): void {
    this.#flushes = true
    this.#wake()
  }

  flush(): void {
    this.#asked++
    this.send()
  }

  check(): void {
    this.flush()
  }

  async end(waitMs: number): Promise<void> {
    this.#ended = true
    this.flush()
    const timer = setTimeout(() => void this.close(), waitMs)
    await this.#running
    clearTimeout(timer)
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error('the archiver has been closed'))
    // Ends the thread now: a long segment takes several seconds to read and compress.
    await this.#segments.close()
    await this.#running
    await this.#checkpoint
  }

  async #run(session: ReplicationSession): Promise<void> {
    const { cursor, signal } = session
    const log = session.log as Log | ReadOnlyLog
    if (this.#options.compresses) await loadZstd()
    if (!this.#isProbed && cursor.position === log.firstSeq) await checkStore(this.#bucket, this.#probe, signal)
    this.#isProbed = true
    this.#streams = await encodingOfStreams(log.dir)
    const { firstSeq } = log
    const asked = this.#asked
    const position = await findPosition(this.#bucket, log, this.#segments, cursor)
    if (signal.aborted) return
    const { generation, history } = position
    const { id: owner } = await readCopy(log.dir)
    if (position.begins === undefined) await this.#checkOwner(log, history, owner)
    const toError = (newer: number): Error => olderError(log, newer)
    this.#gates = new Gates(this.#bucket, history.names, { generation, owner }, toError)
    this.#log = log
    this.#position = position
    this.#generation = generation
    this.#checked = asked
    // Records that were trimmed after the archive was listed may have been archived by another archiver.
    if (position.next < firstSeq) throw trimmedError(session, position)
    if (position.next < log.firstSeq) throw new SegmentRemoved('records were trimmed')
    if (position.next !== cursor.position || cursor.generation < generation) await cursor.seek(position.next)
    await this.#beginCheckpoints(log, position)
    session.onStart((position.next < this.#restorableEnd ? firstSeq : position.next) - 1)
    this.#cursors = undefined
    await this.#removeParts(position)
    for (;;) {
      const isLast = this.#ended
      this.#flushes = false
      await this.#checkGeneration(session)
      await this.#archive(session, position)
      await this.#archiveCheckpoint(session, position)
      if (position.begins === undefined && this.#mayArchiveCursors()) await this.#archiveCursors(session, position)
      if (this.#checked !== this.#asked) await this.#checkFence(position)
      this.#confirmed = this.#checked
      session.onConfirmed()
      if (isLast) return this.#whole?.stored
      await this.#wait(session)
    }
  }

  async #beginCheckpoints({ uuid, dir }: Log | ReadOnlyLog, position: ArchivePosition): Promise<void> {
    this.#failure = undefined
    this.#unreported = { records: 0, bytes: 0 }
    if (this.#streams === undefined) return
    this.#checkpoints ??= new CheckpointArchiver(this.#bucket, {
      uuid,
      dir: dirname(dir),
      historyMs: this.#options.historyMs,
      onStored: () => this.objects++,
    })
    this.#restorableEnd = await this.#checkpoints.begin(position)
  }

  /** Archives a checkpoint of the streams if one is due. */
  async #archiveCheckpoint(session: ReplicationSession, position: ArchivePosition): Promise<void> {
    this.#waiting = this.#waiting.filter(({ end, resolve }) => position.next < end || resolve())
    const checkpoints = this.#checkpoints
    if (checkpoints?.isDue !== true || this.#checkpoint !== undefined || this.#ended) return
    if (position.begins !== undefined || position.next < this.#restorableEnd) return
    if (!this.#options.replicates) return checkpoints.run(position, (end) => this.#archiveTo(session, position, end))
    // Appends at `replicated` do not wait for a checkpoint.
    this.#checkpoint = checkpoints
      .run(position, (end) => this.#archivedTo(position, end))
      .catch((error: unknown) => {
        this.#failure = { error }
      })
      .finally(() => {
        this.#checkpoint = undefined
        this.send()
      })
  }

  /** Archives the log up to `end`, the position of a checkpoint, before which every record is synced. */
  async #archiveTo(session: ReplicationSession, position: ArchivePosition, end: number): Promise<void> {
    if (position.next >= end) return
    await this.#checkGeneration(session)
    await this.#archive(session, position)
    if (position.next < end) throw new ShipConflict('the main log is not synced up to its checkpoint')
  }

  /** Settles when the log is archived up to `end`. Rejects if the session of `position` ends before. */
  async #archivedTo(position: ArchivePosition, end: number): Promise<void> {
    if (position.next < end && this.#position === position)
      await new Promise<void>((resolve) => {
        this.#waiting.push({ end, resolve })
        this.send()
      })
    if (position.next < end) throw new ShipConflict('the session has ended')
  }

  /** Throws a `Superseded` if another copy than `own` writes the history. Notes that this copy replicates to it. */
  async #checkOwner(log: Log | ReadOnlyLog, { owner, generation }: History, own: string): Promise<void> {
    if (owner !== undefined && owner !== own) throw olderError(log, generation)
    if (this.#options.replicates) await noteHistory(log.dir, generation)
  }

  /**
   * Throws a ShipConflict if the log was cut after the session began, or is being cut: its files may have changed
   * already.
   */
  async #checkGeneration({ cursor }: ReplicationSession): Promise<void> {
    if (this.#log?.readOnly) await this.#log.refresh()
    if (!this.isUncut) throw new ShipConflict('the log was truncated')
    if (cursor.generation !== this.#generation)
      throw new ShipConflict(
        'a truncation of the log has not ended: if its writer was killed, open the log for writing, which ends it',
      )
  }

  /**
   * Throws a ShipConflict if the end of the history is fenced: a restore would not deliver the records that are stored
   * after it.
   */
  async #checkFence({ history, next }: ArchivePosition): Promise<void> {
    const asked = this.#asked
    if ((await readFence(this.#bucket, fenceKey(history.names, next))) !== undefined)
      throw new ShipConflict('the history is fenced')
    this.#checked = asked
  }

  /**
   * As `#checkFence`, after a whole segment was stored: a fence has the name of a part, and may be at any seq of the
   * segment.
   */
  async #checkFences({ history }: ArchivePosition): Promise<void> {
    if ((await listFences(this.#bucket, history.names)).length > 0) throw new ShipConflict('the history is fenced')
  }

  /** An append that waits for the archive does not also wait for the positions of cursors. */
  #mayArchiveCursors(): boolean {
    if (!this.#options.replicates || this.#checked !== this.#asked) return true
    return clock.now() - this.#cursorsAt >= this.#options.flushMs
  }

  /** Waits until `flushMs` have passed, `flushBytes` wait, or `flush` or `end` is called. */
  async #wait({ cursor }: ReplicationSession): Promise<void> {
    const until = clock.now() + this.#options.flushMs
    while (!this.#flushes && !this.#ended) {
      const left = until - clock.now()
      if (left <= 0 || waitingBytes(cursor) >= this.#options.flushBytes) return
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, Math.min(left, LOOK_MS))
        this.#wake = () => {
          clearTimeout(timer)
          resolve()
        }
        if (this.#flushes || this.#ended) this.#wake()
      })
    }
  }

  /** Archives every record that was synced when this is called. */
  async #archive(session: ReplicationSession, position: ArchivePosition): Promise<void> {
    const { log } = session
    const end = log.syncedSeq + 1
    // Usually the newest segment holds them, and the folder is not listed.
    if (this.#failure === undefined && position.next < end && this.#newest !== undefined) {
      if (await this.#archiveTogether(session, position, this.#newest, end, PART_BYTES)) return
    }
    for (;;) {
      if (this.#failure !== undefined) throw this.#failure.error
      if (position.next < log.firstSeq) throw new SegmentRemoved('records were trimmed')
      const from = this.#whole?.endSeq ?? position.segmentsEnd
      const segment = await this.#segments.find(from)
      if (segment === undefined) {
        await this.#whole?.stored
        await this.#skipTrimmed(session, position)
      } else if (segment.endSeq !== undefined && segment.endSeq <= end) {
        await this.#archiveSealed(session, position, { ...segment, endSeq: segment.endSeq })
      } else {
        if (position.next < end) await this.#archivePart(session, position, segment, end)
        // A segment that was sealed meanwhile is archived whole by the next call.
        if (position.next >= end) return
      }
    }
  }

  /**
   * Continues with the log's first segment. The segments before it were trimmed after all of their records had been
   * archived in parts, before they were archived whole.
   */
  async #skipTrimmed({ log }: ReplicationSession, position: ArchivePosition): Promise<void> {
    if (log.readOnly) await (log as ReadOnlyLog).refresh()
    const { firstSeq } = log
    if (position.next < firstSeq || firstSeq <= position.segmentsEnd) throw new SegmentRemoved('records were trimmed')
    position.segmentsEnd = position.segmentsFrom = firstSeq
    // The next piece does not name the last part: an upload of the whole segment that failed may still arrive and
    // replace the parts.
    position.segmentsPrevious = ''
    if (position.next === firstSeq) position.previous = ''
  }

  /**
   * Archives a sealed segment whole, or the rest of it as a part. Appends at `replicated` do not wait until a segment
   * of which they have stored parts is stored again: see `#replaceParts`.
   */
  async #archiveSealed(session: ReplicationSession, position: ArchivePosition, segment: SealedSegment): Promise<void> {
    const { endSeq } = segment
    const mayWait = this.#options.replicates && (this.#whole !== undefined || position.next > position.segmentsEnd)
    if (
      mayWait &&
      position.next < endSeq &&
      (await this.#archiveTogether(session, position, segment, endSeq, REST_BYTES))
    )
      return
    // Not more than one at a time: if the store is slower than the appends, they wait here.
    await this.#whole?.stored
    if (this.#failure !== undefined) throw this.#failure.error
    if (mayWait && position.next >= endSeq) return this.#replaceParts(session, position, segment)
    const piece = await this.#readSegment(session, position, segment, this.#segments)
    await this.#store(session, position, keyOfSegment(position), piece, position.segmentsPrevious)
    await this.#afterSegment(position, piece)
  }

  /**
   * Stores a sealed segment whose parts are archived as one object, while the parts of the next one are archived. It
   * adds no record to the archive.
   */
  #replaceParts(session: ReplicationSession, position: ArchivePosition, segment: SealedSegment): void {
    const segments = new Segments(session.log.dir)
    const stopping = new AbortController()
    const replace = async (): Promise<void> => {
      const piece = await this.#readSegment(session, position, segment, segments)
      await this.#put(keyOfSegment(position), piece, position.segmentsPrevious, stopping.signal)
      await this.#checkFences(position)
      await this.#afterSegment(position, piece)
    }
    const stored = replace()
      .catch((error: unknown) => {
        this.#failure ??= { error }
      })
      // Ends the thread, which holds the segment.
      .then(() => segments.close())
      .finally(() => {
        this.#whole = undefined
        this.send()
      })
    const stop = async (): Promise<void> => {
      stopping.abort(new Error('the session has ended'))
      await segments.close()
      await stored
    }
    this.#whole = { endSeq: segment.endSeq, stored, stop }
  }

  /** Reads the piece that archives a sealed segment whole: from `position.segmentsEnd` to its end. */
  async #readSegment(
    session: ReplicationSession,
    position: ArchivePosition,
    segment: SealedSegment,
    segments: Segments,
  ): Promise<LocalPiece> {
    const { endSeq } = segment
    const { compresses } = this.#options
    const range = { seq: position.segmentsEnd, endSeq, maxBytes: Number.MAX_SAFE_INTEGER, compresses }
    const piece = await this.#read(session, segment, range, segments)
    if (piece.facts.lastSeq + 1 !== endSeq) throw missingError(session, piece.facts.lastSeq + 1)
    return piece
  }

  /** A sealed segment is archived whole. */
  async #afterSegment(position: ArchivePosition, { facts }: LocalPiece): Promise<void> {
    position.segmentsFrom = facts.firstSeq
    position.segmentsEnd = facts.lastSeq + 1
    position.segmentsPrevious = facts.sha256
    // The next piece follows the whole segment, and no longer its last part.
    if (position.next === position.segmentsEnd) position.previous = facts.sha256
    await this.#removeParts(position)
  }

  /**
   * Archives all records before `endSeq` as one part. Returns false if `segment` does not hold all of them, or if they
   * have more than `maxBytes`.
   */
  async #archiveTogether(
    session: ReplicationSession,
    position: ArchivePosition,
    segment: LocalSegment,
    endSeq: number,
    maxBytes: number,
  ): Promise<boolean> {
    const range = { seq: position.next, endSeq, maxBytes, compresses: false }
    const piece = await this.#segments.read(segment, range)
    await this.#checkGeneration(session)
    if (piece?.facts.lastSeq !== endSeq - 1) return false
    await this.#storePart(session, position, segment, piece)
    return true
  }

  /** Archives records of the active segment before `end`. */
  async #archivePart(
    session: ReplicationSession,
    position: ArchivePosition,
    segment: LocalSegment,
    end: number,
  ): Promise<void> {
    const endSeq = Math.min(end, segment.endSeq ?? end)
    const range = { seq: position.next, endSeq, maxBytes: PART_BYTES, compresses: false }
    const piece = await this.#read(session, segment, range)
    this.#newest = segment
    await this.#storePart(session, position, segment, piece)
  }

  async #storePart(
    session: ReplicationSession,
    position: ArchivePosition,
    { firstSeq }: LocalSegment,
    piece: LocalPiece,
  ): Promise<void> {
    const key = `${position.history.names.tail}${digitsOf(position.next)}`
    // The whole segment before this one will replace its last part, and has another checksum.
    const isReplaced = position.next === firstSeq && position.segmentsEnd < firstSeq
    await this.#store(session, position, key, piece, isReplaced ? '' : position.previous)
  }

  async #read(
    session: ReplicationSession,
    segment: LocalSegment,
    range: PieceRange,
    segments: Segments = this.#segments,
  ): Promise<LocalPiece> {
    this.#closing.signal.throwIfAborted()
    const piece = await segments.read(segment, range)
    // After a cut, the piece may hold frames from before and from after the cut, all of them whole.
    await this.#checkGeneration(session)
    if (piece !== undefined && piece.facts.lastSeq < range.endSeq) return piece
    throw missingError(session, range.seq)
  }

  /** Stores `piece`, which follows the piece with the checksum `previous`, and reports its records. */
  async #store(
    session: ReplicationSession,
    position: ArchivePosition,
    key: string,
    piece: LocalPiece,
    previous: string,
  ): Promise<void> {
    const { names } = position.history
    const { body, facts } = piece
    const records = Math.max(0, facts.lastSeq + 1 - position.next)
    const unreported = this.#unreported
    this.#inFlight = unreported.records + records
    if (position.begins !== undefined) await this.#beginHistory(session, position, position.begins)
    await this.#gates?.beforeUpload()
    await this.#put(key, piece, previous)
    const isPart = key.startsWith(names.tail)
    if (isPart && !this.#options.replicates && (await readBoundary(this.#bucket, names.boundary)) >= facts.firstSeq) {
      await this.#bucket.delete(key)
      throw new ShipConflict(
        `the records from ${facts.firstSeq} were already archived in a whole segment by another archiver`,
      )
    }
    if (!isPart) await this.#checkFences(position)
    if (records === 0) return
    position.next = facts.lastSeq + 1
    position.previous = facts.sha256
    this.#checkpoints?.count(body.length)
    unreported.records += records
    unreported.bytes += body.length
    if (position.next < this.#restorableEnd) return
    session.onReplicated(facts.lastSeq, unreported.records, unreported.bytes)
    this.#unreported = { records: 0, bytes: 0 }
    this.#inFlight = 0
  }

  /**
   * Creates an object with a piece, which follows the piece with the checksum `previous`. Throws ConditionFailed if the
   * object exists: the next session then compares it with the log.
   */
  async #put(
    key: string,
    { body, sha256, facts: found }: LocalPiece,
    previous: string,
    signal?: AbortSignal,
  ): Promise<void> {
    const facts: PieceFacts = { ...found, generation: this.#generation, previous, streams: this.#streams }
    await this.#bucket.put(key, body, {
      sha256,
      metadata: toMetadata(facts),
      condition: { ifAbsent: true },
      signal,
    })
    this.objects++
  }

  /** Begins the history, with the positions of cursors, before its first piece is stored. */
  async #beginHistory(
    session: ReplicationSession,
    position: ArchivePosition,
    { parent, end }: NonNullable<ArchivePosition['begins']>,
  ): Promise<void> {
    const { history, isEmpty } = position
    const { uuid, dir } = session.log
    if (this.#options.replicates && history.from < end && (await readCopy(dir)).generation !== parent.generation)
      throw aheadError(end - 1, history.from)
    await beginHistory(this.#bucket, { uuid, dir, history, parent, end })
    position.begins = undefined
    if (!isEmpty) this.#options.onForked(history.generation, history.from)
    await this.#archiveCursors(session, position)
  }

  async #archiveCursors(session: ReplicationSession, { history, next }: ArchivePosition): Promise<void> {
    const archived = { key: history.names.cursors, seq: next - 1, known: this.#cursors }
    this.#cursorsAt = clock.now()
    this.#cursors = await archiveCursors(this.#bucket, session, archived)
  }

  /**
   * Removes the parts of the last segment that is archived whole. Parts of a segment that was trimmed before it was
   * archived whole stay.
   */
  async #removeParts({ history: { names }, segmentsFrom, segmentsEnd }: ArchivePosition): Promise<void> {
    const parts = (await listParts(this.#bucket, names, segmentsEnd)).filter(({ firstSeq }) => firstSeq >= segmentsFrom)
    await deleteParts(this.#bucket, names.boundary, parts)
  }
}

/** The key of the next whole segment. */
function keyOfSegment({ history, segmentsEnd }: ArchivePosition): string {
  return `${history.names.log}${digitsOf(segmentsEnd)}`
}
