/** Single records by seq, beside whatever changes the log. */
import { resolve } from 'node:path'
import { DurlogError } from '../errors.js'
import { type NativePointReader, native } from '../native/native.js'
import type { LogRecord } from '../types.js'

/** What a log that another process may write knows of its end. */
const UNKNOWN_LIMIT = -1

export interface SeqRange {
  first: number
  /** Exclusive. */
  limit: number
}

export class PointReads {
  readonly #native: NativePointReader
  /** What can be read now; undefined where only the files can tell. */
  readonly #range: (() => SeqRange) | undefined
  /** Settles when the change that is under way is made, or has failed. */
  #change: Promise<unknown> | undefined
  #reading = 0
  #onIdle: (() => void) | undefined

  /** With `range` this process writes the log. The folder stays the same when the working folder changes. */
  constructor(dir: string, range?: () => SeqRange) {
    this.#native = native.pointReader(resolve(dir), range !== undefined)
    this.#range = range
  }

  async get(seq: number): Promise<LogRecord> {
    while (this.#change !== undefined) await this.#change
    const limit = this.#limitFor(seq)
    this.#reading++
    try {
      return await this.#native.get(seq, limit)
    } finally {
      this.#reading--
      if (this.#reading === 0) this.#onIdle?.()
    }
  }

  getSync(seq: number): LogRecord {
    if (this.#change !== undefined)
      throw new DurlogError('ERR_DURLOG_BACKPRESSURE', 'the log is being trimmed or truncated: use "get", or try later')
    return this.#native.getSync(seq, this.#limitFor(seq))
  }

  /**
   * Makes a change that removes or cuts segments. The reads that are under way end first, and those that begin
   * meanwhile wait for it: so none meets a file that is cut under it, and no file that is removed is open.
   */
  async during<T>(change: () => Promise<T>): Promise<T> {
    const made = this.close().then(change)
    this.#change = made.catch(() => {})
    try {
      return await made
    } finally {
      this.#change = undefined
    }
  }

  /** Settles when every read that is under way has, and no file is open any more. */
  async close(): Promise<void> {
    if (this.#reading > 0) {
      await new Promise<void>((onIdle) => {
        this.#onIdle = onIdle
      })
    }
    await this.#native.forget()
  }

  #limitFor(seq: number): number {
    if (this.#range === undefined) return UNKNOWN_LIMIT
    const { first, limit } = this.#range()
    if (seq >= first && seq < limit) return limit
    throw new DurlogError('ERR_DURLOG_OUT_OF_RANGE', `the log holds ${first} to ${limit - 1}; got ${seq}`)
  }
}
