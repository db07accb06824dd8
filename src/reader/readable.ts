/** A Node stream of a reader's records. */
import { Readable } from 'node:stream'
import { resolveReadableOptions } from '../options/call-options.js'
import { bag } from '../options/checks.js'
import type { LogReader, ReadableOptions, ReadOptions, RecordReader } from '../types.js'

/** An object-mode stream of records. Destroying it closes its reader. */
export function makeReadable(log: { read(options?: ReadOptions): LogReader }, options?: ReadableOptions): Readable {
  const { highWaterMark, readOptions } = resolveReadableOptions(options)
  return new RecordReadable(log.read(readOptions), highWaterMark)
}

/** As `makeReadable`, of a reader. `options` has only `highWaterMark`. */
export function toReadable<T>(reader: RecordReader<T>, options: unknown): Readable {
  const given = bag('readable options', options, ['highWaterMark'])
  return new RecordReadable(reader, resolveReadableOptions(given).highWaterMark)
}

class RecordReadable extends Readable {
  readonly #reader: RecordReader<unknown>
  #delivering = false
  #wanted = false

  constructor(reader: RecordReader<unknown>, highWaterMark: number) {
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

  /**
   * Pushes records until the stream's buffer is full. A handler of `data` may call `_read` during a push, which sets
   * `#wanted`.
   */
  async #deliver(): Promise<void> {
    while (this.#wanted) {
      const record = this.#reader.nextBuffered() ?? (await this.#reader.next()).value
      this.#wanted = false
      if (this.push(record ?? null)) this.#wanted = true
    }
    this.#delivering = false
  }
}
