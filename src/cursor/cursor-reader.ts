/**
 * Iterates over the records from a cursor's position on. The cursor is notified of each record before it is delivered.
 */
import { atCaller } from '../caller-stack.js'
import { DurlogError } from '../errors.js'
import { BufferedReader, DONE } from '../reader/buffered-reader.js'
import type { LogReader, LogRecord } from '../types.js'

/** The part of a cursor that its reader uses. */
export interface PassedRecords {
  isClosed(): boolean
  /** False if the log may have been cut after the cursor was last compared with the log's cuts. */
  isCurrent(): boolean
  /** Throws if the cursor has no position to read from. */
  check(): void
  /** Calls `end` when the cursor is closed. Returns a function that cancels the call. */
  onClose(end: () => void): () => void
  /**
   * Notes that the records before `end` are being delivered. Throws ERR_DURLOG_CURSOR_CUT if a cut removed delivered
   * records.
   */
  pass(end: number): void
  /** Returns the error to report for a read that failed with `error` at record `seq`. */
  explain(error: DurlogError, seq: number): Promise<DurlogError>
}

export class CursorReader extends BufferedReader<LogRecord> implements LogReader {
  readonly #reader: LogReader
  readonly #cursor: PassedRecords
  /** The seq of the next record. */
  #next: number
  readonly #follow: boolean

  constructor(reader: LogReader, cursor: PassedRecords, from: number, follow: boolean) {
    super({ nextLater: () => this.#nextLater(), take: (max) => this.#buffered(max) })
    this.#reader = reader
    this.#cursor = cursor
    this.#next = from
    this.#follow = follow
  }

  nextBuffered(): LogRecord | undefined {
    if (!this.#cursor.isCurrent()) return undefined
    const record = this.#reader.nextBuffered()
    if (record !== undefined) this.#pass(record)
    return record
  }

  #nextLater(): Promise<IteratorResult<LogRecord, undefined>> {
    const read = async (): Promise<IteratorResult<LogRecord, undefined>> => {
      const result = await this.#reader.next()
      if (result.done || this.#ended) return this.#end()
      this.#pass(result.value)
      return result
    }
    // The error may be the state of the cursor, which later calls report too.
    return atCaller(this.#checked(read))
  }

  #buffered(max: number): LogRecord[] {
    const records: LogRecord[] = []
    while (records.length < max) {
      const record = this.nextBuffered()
      if (record === undefined) break
      records.push(record)
    }
    return records
  }

  return(): Promise<IteratorResult<LogRecord, undefined>> {
    return this.#reader.return()
  }

  async #end(): Promise<IteratorReturnResult<undefined>> {
    await this.return()
    return DONE
  }

  #pass({ seq }: LogRecord): void {
    this.#cursor.pass(seq + 1)
    this.#next = seq + 1
  }

  /** Whether the reader ends because its cursor was closed. Only followers end; other readers fail. */
  get #ended(): boolean {
    return this.#follow && this.#cursor.isClosed()
  }

  async #checked<T>(read: () => Promise<IteratorResult<T, undefined>>): Promise<IteratorResult<T, undefined>> {
    if (this.#ended) return this.#end()
    const cancel = this.#cursor.onClose(() => {
      if (this.#follow) void this.return()
    })
    try {
      this.#cursor.check()
      return await read()
    } catch (error) {
      await this.return()
      if (!(error instanceof DurlogError)) throw error
      throw await this.#cursor.explain(error, this.#next)
    } finally {
      cancel()
    }
  }
}
