/** A log whose records are lines. */
import { isCode } from '../errors.js'
import type { Durability, Log } from '../index.js'

/** `line` without the break at its end. */
export function withoutBreak(line: string): string {
  return line.endsWith('\n') ? withoutReturn(line.slice(0, -1)) : line
}

/** pino can be configured to end lines with CRLF. */
export function withoutReturn(line: string): string {
  return line.endsWith('\r') ? line.slice(0, -1) : line
}

export function isLackOfRoom(error: unknown): boolean {
  return isCode(error, 'ERR_DURLOG_BACKPRESSURE')
}

export class LineLog {
  readonly log: Log
  /** The level of `sync` and `flushSync`. */
  readonly flushed: Durability
  readonly #kept: Durability
  readonly #onError: (error: unknown) => void
  #syncing = false

  /** Lines are brought to `kept`. What fails in the background is passed to `onError`. */
  constructor(log: Log, kept: Durability, onError: (error: unknown) => void) {
    this.log = log
    this.#kept = kept
    this.flushed = kept === 'full' ? 'full' : 'sync'
    this.#onError = onError
  }

  /** Stores a line, which has no break at its end, at `memory`. False if there is no room. An empty one is no record. */
  put(line: string): boolean {
    if (line === '') return true
    try {
      this.log.write(line)
    } catch (error) {
      if (isLackOfRoom(error)) return false
      throw error
    }
    if (this.#kept !== 'memory' && !this.#syncing) void this.#keepSyncing()
    return true
  }

  /** One sync at a time, each for all lines before it, until none is left. */
  async #keepSyncing(): Promise<void> {
    this.#syncing = true
    try {
      for (let synced = -1; synced < this.log.nextSeq - 1; ) synced = await this.log.sync(this.#kept)
    } catch (error) {
      this.#onError(error)
    } finally {
      this.#syncing = false
    }
  }
}
