/** A Node stream of a reader's records. */
import { Readable } from 'node:stream'
import { resolveReadableOptions } from '../options/call-options.js'
import type { LogReader, ReadableOptions, ReadOptions } from '../types.js'

/** An object-mode stream of records. Destroying it closes its reader. */
export function makeReadable(log: { read(options?: ReadOptions): LogReader }, options?: ReadableOptions): Readable {
  const { highWaterMark, readOptions } = resolveReadableOptions(options)
  return new RecordReadable(log.read(readOptions), highWaterMark)
}

class RecordReadable extends Readable {
  readonly #reader: LogReader
  #delivering = false
  #wanted = false

  constructor(reader: LogReader, highWaterMark: number) {
    super({ objectMode: true, highWaterMark })
    this.#reader = reader
  }

  override _read(): void {
    this.#wanted = true
    if (this.#delivering) return
    this.#delivering = true
    this.#deliver().catch((error: unknown) => this.destroy(error as Error))
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#reader.return().then(
      () => callback(error),
      (closeError: Error) => callback(error ?? closeError),
    )
  }

  /** Pushes records until the stream's buffer is full. A handler of `data` may call `_read` during a push, which sets `#wanted`. */
  async #deliver(): Promise<void> {
    while (this.#wanted) {
      const record = this.#reader.nextBuffered() ?? (await this.#reader.next()).value
      this.#wanted = false
      if (this.push(record ?? null)) this.#wanted = true
    }
    this.#delivering = false
  }
}
