/** The calls that every open log has: those that read records, and those of cursors. */
import { EventEmitter } from 'node:events'
import type { Readable } from 'node:stream'
import { LogCursors } from '../cursor/log-cursors.js'
import type { CursorHost } from '../cursor/named-cursor.js'
import type {
  CursorOptions,
  CursorSummary,
  DurableCursor,
  EnsureCursorOptions,
  LogEvents,
  LogPosition,
  LogReader,
  LogRecord,
  OpenCursor,
  ReadableOptions,
  ReadOptions,
  TimePoint,
} from '../types.js'

/** An emitter, because a log that is open for writing is one. A log that is open for reading emits nothing. */
export abstract class LogFace extends EventEmitter<LogEvents> implements AsyncDisposable {
  readonly dir: string
  readonly uuid: string
  readonly #reads: CursorHost['reads']
  readonly #cursors: LogCursors

  constructor(host: CursorHost) {
    super()
    const { dir, uuid } = host.source
    this.dir = dir
    this.uuid = uuid
    this.#reads = host.reads
    this.#cursors = new LogCursors(host)
  }

  abstract close(): Promise<void>

  isCurrent(position: LogPosition): Promise<boolean> {
    return this.#reads.isCurrent(position)
  }

  checksum(seq: number): Promise<number> {
    return this.#reads.checksum(seq)
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

  seqAt(time: TimePoint): Promise<number> {
    return this.#reads.seqAt(time)
  }

  cursor(name: string, options?: CursorOptions): Promise<DurableCursor> {
    return this.#cursors.cursor(name, options)
  }

  ensureCursor(name: string, options?: EnsureCursorOptions): Promise<void> {
    return this.#cursors.ensureCursor(name, options)
  }

  cursors(): Promise<CursorSummary[]> {
    return this.#cursors.cursors()
  }

  removeCursor(name: string): Promise<void> {
    return this.#cursors.removeCursor(name)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** The cursors of `log` that are open in this process. Static, as is the next: users must not call them. */
  protected static openCursors(log: LogFace): OpenCursor[] {
    return log.#cursors.opened()
  }

  /** Refuses reads, and closes the cursors. */
  protected static refuseReads(log: LogFace): Promise<void> {
    log.#reads.refuse()
    return log.#cursors.close()
  }
}
