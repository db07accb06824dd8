/** A destination for pino that appends in the caller's thread. */
import { EventEmitter } from 'node:events'
import type { Durability, Log } from '../index.js'
import { nextTick } from '../timers.js'
import { flushAtEnd } from './last-flush.js'
import { isLackOfRoom, LineLog, withoutBreak } from './line-log.js'
import { openLog, type PinoLogOptions } from './options.js'

export type LogDestinationEvents = {
  /** A line was not stored, or a sync failed. Without a listener, the error is an uncaught exception. */
  error: [error: unknown]
  close: []
}

/** A destination for `pino(destination)`. */
export interface LogDestination extends EventEmitter<LogDestinationEvents>, AsyncDisposable {
  /** The open log, for example to read or trim it. */
  readonly log: Log
  /** False once the destination is closed. pino distinguishes a destination from an options object by this property. */
  readonly writable: boolean
  /**
   * Stores a line, without its line break, at `memory` before it returns. If there is no room, blocks until there is.
   */
  write(line: string): boolean
  /** Calls `callback` once every line so far is synced, also after `end`. `logger.flush` calls this method. */
  flush(callback?: (error?: Error) => void): void
  /** As `flush`, but blocks the thread; pino calls it after `logger.fatal`. Throws the errors of `log.flushSync`. */
  flushSync(): void
  /** As `close`, but emits a failure as `error`. */
  end(): void
  /** Syncs every line and closes the log. */
  close(): Promise<void>
}

/** Opens the log in `options.dir` and resolves to a destination for `pino(destination)`. Rejects like `open`. */
export async function destination(options: PinoLogOptions): Promise<LogDestination> {
  const { log, durability } = await openLog(options)
  return new OwnThread(log, durability)
}

class OwnThread extends EventEmitter<LogDestinationEvents> implements LogDestination {
  readonly log: Log
  readonly #lines: LineLog
  readonly #forget: () => void
  #closing: Promise<void> | undefined

  constructor(log: Log, durability: Durability) {
    super()
    this.log = log
    this.#lines = new LineLog(log, durability, (error) => this.#report(error))
    this.#forget = flushAtEnd(() => this.flushSync())
  }

  get writable(): boolean {
    return this.#closing === undefined
  }

  write(text: string): boolean {
    const line = withoutBreak(text)
    if (this.#store(line)) return true
    // The log is being trimmed or truncated, for which this call cannot wait.
    this.#lines.putLater(line).catch((error: unknown) => this.#report(error))
    return false
  }

  flush(callback: (error?: Error) => void = () => {}): void {
    const flushed: Promise<unknown> = this.#closing ?? this.log.sync(this.#lines.flushed)
    flushed.then(
      () => callback(),
      (error: Error) => callback(error),
    )
  }

  flushSync(): void {
    if (this.#closing === undefined) this.log.flushSync(this.#lines.flushed)
  }

  end(): void {
    this.close().catch((error: unknown) => this.#report(error))
  }

  close(): Promise<void> {
    this.#closing ??= this.log.close().finally(() => {
      this.#forget()
      this.emit('close')
    })
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /**
   * Stores a line. Returns false if the line has to wait. If the line cannot be stored at all, reports the error and
   * drops it.
   */
  #store(line: string): boolean {
    try {
      if (this.#lines.put(line)) return true
      // Bringing the pending records to the device makes room.
      this.log.flushSync('memory')
      return this.#lines.put(line)
    } catch (error) {
      if (isLackOfRoom(error)) return false
      this.#report(error)
      return true
    }
  }

  /** Emits the error in the next tick, because pino does not expect an exception in its call of `write`. */
  #report(error: unknown): void {
    nextTick(() => this.emit('error', error))
  }
}
