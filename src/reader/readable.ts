/** A Node stream of records over a reader. */
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

  constructor(reader: LogReader, highWaterMark: number) {
    super({ objectMode: true, highWaterMark })
    this.#reader = reader
  }

  override _read(): void {
    this.#deliver().catch((error: unknown) => this.destroy(error as Error))
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#reader.return().then(
      () => callback(error),
      (closeError: Error) => callback(error ?? closeError),
    )
  }

  async #deliver(): Promise<void> {
    const { done, value } = await this.#reader.next()
    let wanted = this.push(done ? null : value)
    while (wanted) {
      const record = this.#reader.nextBuffered()
      if (record === undefined) return
      wanted = this.push(record)
    }
  }
}
