/** A log whose records are lines. */
import { isCode } from '../errors.js'
import type { Durability, Log } from '../index.js'

/** Returns `line` without its line break, `\n` or `\r\n`. */
export function withoutBreak(line: string): string {
  return line.endsWith('\n') ? withoutReturn(line.slice(0, -1)) : line
}

/** Returns `line` without a carriage return at its end: pino can be configured to end lines with CRLF. */
export function withoutReturn(line: string): string {
  return line.endsWith('\r') ? line.slice(0, -1) : line
}

export function isLackOfRoom(error: unknown): boolean {
  return isCode(error, 'ERR_DURLOG_BACKPRESSURE')
}

/** Half of a surrogate pair becomes U+FFFD: a changed line is better than a lost one. */
function wellFormed(line: string): string {
  return Buffer.from(line).toString()
}

export class LineLog {
  readonly log: Log
  /** The level of `sync` and `flushSync`. */
  readonly flushed: Durability
  readonly #kept: Durability
  readonly #onError: (error: unknown) => void
  #syncing = false

  /** Every line is brought to the level `kept` in the background. `onError` is called if that fails. */
  constructor(log: Log, kept: Durability, onError: (error: unknown) => void) {
    this.log = log
    this.#kept = kept
    this.flushed = kept === 'full' ? 'full' : 'sync'
    this.#onError = onError
  }

  /**
   * Stores a line, which must not end with a line break, at `memory`. Returns false if there is no room. Skips an empty
   * line.
   */
  put(line: string): boolean {
    if (line === '') return true
    try {
      this.#write(line)
    } catch (error) {
      if (isLackOfRoom(error)) return false
      throw error
    }
    if (this.#kept !== 'memory' && !this.#syncing) void this.#keepSyncing()
    return true
  }

  /** Stores a line for which `put` had no room, once there is room. Lines wait in the order of the calls. */
  async putLater(line: string): Promise<void> {
    await this.log.append(wellFormed(line), { durability: this.#kept })
  }

  #write(line: string): void {
    try {
      this.log.write(line)
    } catch (error) {
      if (!isCode(error, 'ERR_DURLOG_INVALID_ARGUMENT')) throw error
      this.log.write(wellFormed(line))
    }
  }

  /** Syncs until every line is synced, one sync at a time. */
  async #keepSyncing(): Promise<void> {
    this.#syncing = true
    try {
      for (let synced = -1; synced < this.log.nextSeq - 1; ) synced = await this.log.sync(this.#kept)
    } catch (error) {
      // `close` syncs every line, and reports its own failure.
      if (!isCode(error, 'ERR_DURLOG_CLOSED')) this.#onError(error)
    } finally {
      this.#syncing = false
    }
  }
}
