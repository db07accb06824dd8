/** Single records by seq, beside whatever changes the log. */
import { resolve } from 'node:path'
import { DurlogError } from './errors.js'
import { type NativePointReader, native } from './native.js'
import type { LogRecord } from './types.js'

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
  /** The change that is under way, if any, and how many were made. */
  #change: Promise<unknown> | undefined
  #changes = 0
  #reading = 0
  #onIdle: (() => void) | undefined

  /** With `range` this process writes the log. The folder stays the same when the working folder changes. */
  constructor(dir: string, range?: () => SeqRange) {
    this.#native = native.pointReader(resolve(dir), range !== undefined)
    this.#range = range
  }

  async get(seq: number): Promise<LogRecord> {
    this.#reading++
    try {
      return await this.#get(seq)
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

  /** Makes a change that removes or cuts segments. A read that begins meanwhile waits for it. */
  async during<T>(change: () => Promise<T>): Promise<T> {
    const making = change().finally(() => this.#native.forget())
    this.#change = making.catch(() => {})
    try {
      return await making
    } finally {
      this.#changes++
      this.#change = undefined
    }
  }

  /** Settles when every read has, and no file is open any more. */
  async close(): Promise<void> {
    if (this.#reading > 0) {
      await new Promise<void>((onIdle) => {
        this.#onIdle = onIdle
      })
    }
    await this.#native.forget()
  }

  async #get(seq: number): Promise<LogRecord> {
    for (;;) {
      if (this.#change !== undefined) await this.#change
      const changes = this.#changes
      const limit = this.#limitFor(seq)
      try {
        return await this.#native.get(seq, limit)
      } catch (error) {
        // What a change took away while it was read is no damage: the log says what it holds now.
        if (this.#change === undefined && this.#changes === changes) throw error
      }
    }
  }

  #limitFor(seq: number): number {
    if (this.#range === undefined) return UNKNOWN_LIMIT
    const { first, limit } = this.#range()
    if (seq >= first && seq < limit) return limit
    throw new DurlogError('ERR_DURLOG_OUT_OF_RANGE', `the log holds ${first} to ${limit - 1}; got ${seq}`)
  }
}
