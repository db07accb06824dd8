/** A destination for pino in the same thread. */
import { EventEmitter } from 'node:events'
import type { Durability, Log } from '../index.js'
import { flushAtEnd } from './last-flush.js'
import { isLackOfRoom, LineLog, withoutBreak } from './line-log.js'
import { openLog, type PinoLogOptions } from './options.js'

export type LogDestinationEvents = {
  /** A line was not stored, or a sync failed. Without a listener it is an uncaught exception. */
  error: [error: unknown]
  close: []
}

/** What `pino(destination)` takes. */
export interface LogDestination extends EventEmitter<LogDestinationEvents>, AsyncDisposable {
  /** The log itself: to read it, to trim it. */
  readonly log: Log
  /** By it pino tells a destination from options. False once it is closed. */
  readonly writable: boolean
  /** Stores a line at `memory` in the call, without its line break. Blocks while there is no room. */
  write(line: string): boolean
  /** Calls `callback` once every line so far is synced; `logger.flush` leads here. */
  flush(callback?: (error?: Error) => void): void
  /** As `flush`, in the call; pino calls it after `logger.fatal`. Throws what `log.flushSync` throws. */
  flushSync(): void
  /** As `close`; a failure is emitted as `error`. */
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
  /** Lines that were refused while the log was being trimmed or truncated, when the call must not block. */
  readonly #held: string[] = []
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
    if (this.#held.length === 0 && this.#store(line)) return true
    this.#held.push(line)
    if (this.#held.length === 1) this.#noneHeld().catch((error: unknown) => this.#report(error))
    return false
  }

  flush(callback: (error?: Error) => void = () => {}): void {
    this.#noneHeld()
      .then(() => this.log.sync(this.#lines.flushed))
      .then(
        () => callback(),
        (error: Error) => callback(error),
      )
  }

  flushSync(): void {
    if (this.#closing !== undefined) return
    this.log.flushSync(this.#lines.flushed)
    if (this.#held.length === 0) return
    this.#storeHeld()
    this.log.flushSync(this.#lines.flushed)
  }

  end(): void {
    this.close().catch((error: unknown) => this.#report(error))
  }

  close(): Promise<void> {
    this.#closing ??= this.#noneHeld()
      .then(() => this.log.close())
      .finally(() => {
        this.#forget()
        this.emit('close')
      })
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** False if the line has to wait. One that can't be stored at all is reported, and gone. */
  #store(line: string): boolean {
    try {
      if (this.#lines.put(line)) return true
      // The device takes what waits for it, which makes room.
      this.log.flushSync('memory')
      return this.#lines.put(line)
    } catch (error) {
      if (isLackOfRoom(error)) return false
      this.#report(error)
      return true
    }
  }

  #storeHeld(): void {
    while (this.#held.length > 0 && this.#store(this.#held[0] as string)) this.#held.shift()
  }

  /** Settles when no line is held any more. */
  async #noneHeld(): Promise<void> {
    while (this.#held.length > 0) {
      await this.log.drain()
      this.#storeHeld()
    }
  }

  /** Later: pino does not expect an error in the call. */
  #report(error: unknown): void {
    process.nextTick(() => this.emit('error', error))
  }
}
