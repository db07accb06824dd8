/** The read methods of an open log, for writers and readers. */
import type { Readable } from 'node:stream'
import { atCaller } from '../caller-stack.js'
import { closedError, invalidArgument, isCode } from '../errors.js'
import { isUncut } from '../native/uncut.js'
import { checkLogPosition, checkSeq, toTimeMs } from '../options/call-options.js'
import type { Codec } from '../options/encoding.js'
import type { LogPosition, LogReader, LogRecord, ReadableOptions, ReadOptions, TimePoint } from '../types.js'
import { RecordWithValue } from './decoded-record.js'
import { PointReads } from './point-reads.js'
import type { ReadSource } from './read-source.js'
import { makeReadable } from './readable.js'
import { Reader } from './reader.js'
import { checksumOf } from './record-checksum.js'

export class LogReads {
  readonly #source: ReadSource
  readonly #points: PointReads
  readonly #codec: Codec | undefined
  #replicated: ReadSource | undefined
  #refused = false

  /** With `own`, this process alone writes the log, and makes each change other than an append within `during`. */
  constructor(source: ReadSource, own: boolean, codec: Codec | undefined) {
    this.#source = source
    this.#codec = codec
    this.#points = new PointReads(source, own)
  }

  /** `source` serves the readers of only replicated records. */
  replicatedBy(source: ReadSource): void {
    this.#replicated = source
  }

  read(options?: ReadOptions): LogReader {
    this.check()
    return new Reader(this.#sourceFor(options), options, (time) => this.seqAt(time), this.#codec)
  }

  #sourceFor(options: ReadOptions | undefined): ReadSource {
    if (options?.replicatedOnly !== true) return this.#source
    if (this.#replicated !== undefined) return this.#replicated
    throw invalidArgument('replicatedOnly is allowed only for the log object that was opened with the option replicate')
  }

  readable(options?: ReadableOptions): Readable {
    return makeReadable(this, options)
  }

  async get(seq: number): Promise<LogRecord> {
    checkSeq('seq', seq)
    const record = await atCaller(
      this.#uncut(
        () => this.#points.get(seq),
        () => this.#source.limitFor(seq),
      ),
    )
    return this.#decodable(record)
  }

  async seqAt(time: TimePoint): Promise<number> {
    const timeMs = toTimeMs('time', time)
    return await atCaller(this.#uncut(() => this.#points.seqAt(timeMs)))
  }

  /**
   * Repeats `read` until no cut happens during it, and returns its result. `check` throws if a repetition would fail.
   */
  async #uncut<T>(read: () => Promise<T>, check?: () => void): Promise<T> {
    this.check()
    for (;;) {
      // As of an earlier look: a cut since then makes this read start again.
      const cut = this.#source.lastTruncation
      try {
        const result = await read()
        this.#source.look()
        if (this.#source.lastTruncation === cut) return result
      } catch (error) {
        // If a cut or a trim removed the record while it was read, the error may report damage that does not exist.
        check?.()
        if (this.#source.lastTruncation === cut) throw error
      }
    }
  }

  /** Whether the log still begins with the records that it had up to `position`. */
  async isCurrent(position: LogPosition): Promise<boolean> {
    const { uuid, generation, seq, checksum } = checkLogPosition(position)
    this.check()
    if (uuid !== this.#source.uuid || (seq >= 0 && checksum === undefined)) return false
    // Read the end and the record before the cuts: a cut is recorded before the log becomes shorter.
    const { next } = await atCaller(this.#source.range(false))
    if (seq >= next || !(await atCaller(this.#holds(seq, checksum)))) return false
    return await atCaller(isUncut(this.#source.dir, { uuid, generation, end: seq + 1 }))
  }

  /**
   * Whether record `seq` has this checksum. If the log has no record before it any more, that cannot be known: true.
   */
  async #holds(seq: number, checksum: number | undefined): Promise<boolean> {
    try {
      return seq < this.#source.seqs().first || (await this.checksum(seq)) === checksum
    } catch (error) {
      if (isCode(error, 'ERR_DURLOG_VOID')) return false
      // Removed since the end was read: by a trim, or by a cut, which is recorded.
      if (isCode(error, 'ERR_DURLOG_OUT_OF_RANGE')) return true
      throw error
    }
  }

  async checksum(seq: number): Promise<number> {
    return checksumOf(this.#source.uuid, await this.get(seq))
  }

  /** As `checksum`, also while the log is being closed; undefined if there is no such record, or it cannot be read. */
  async checksumIfHeld(seq: number): Promise<number | undefined> {
    try {
      return checksumOf(this.#source.uuid, await this.#points.get(seq))
    } catch {
      return undefined
    }
  }

  getSync(seq: number): LogRecord {
    checkSeq('seq', seq)
    this.check()
    return this.#decodable(this.#points.getSync(seq))
  }

  #decodable(record: LogRecord): LogRecord {
    const { counts } = this.#source
    counts.readRecords++
    counts.readBytes += record.data.length
    return this.#codec === undefined ? record : new RecordWithValue(record, this.#codec)
  }

  /** Makes a change that removes or cuts segments, while no `get` and no `seqAt` runs. */
  during<T>(change: () => Promise<T>): Promise<T> {
    return this.#points.during(change)
  }

  /** Refuses every later call with ERR_DURLOG_CLOSED. */
  refuse(): void {
    this.#refused = true
  }

  /** Resolves when every `get` and `seqAt` has settled and their files are closed. */
  close(): Promise<void> {
    return this.#points.close()
  }

  /** Throws ERR_DURLOG_CLOSED after `refuse`. */
  check(): void {
    if (this.#refused) throw closedError(this.#source.dir)
  }
}
