/** Node streams over a log's public methods. */
import { Readable, Writable } from 'node:stream'
import type { Durability, Log, LogReader, ReadableOptions, WritableOptions } from './types.js'

const READABLE_RECORDS = 256
const WRITABLE_BYTES = 1024 * 1024

/** An object-mode stream of records. Destroying it closes its reader. */
export function makeReadable(log: Log, options: ReadableOptions = {}): Readable {
  const { highWaterMark = READABLE_RECORDS, ...readOptions } = options
  return new RecordReadable(log.read(readOptions), highWaterMark)
}

/** A stream that makes each chunk one record. */
export function makeWritable(log: Log, options: WritableOptions = {}): Writable {
  return new RecordWritable(log, options.durability, options.highWaterMark ?? WRITABLE_BYTES)
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

class RecordWritable extends Writable {
  readonly #log: Log
  readonly #options: { durability?: Durability }

  constructor(log: Log, durability: Durability | undefined, highWaterMark: number) {
    super({ highWaterMark })
    this.#log = log
    this.#options = durability === undefined ? {} : { durability }
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    this.#log.append(chunk, this.#options).then(() => callback(), callback)
  }

  /** What has gathered while earlier chunks were on their way goes out as one group. */
  override _writev(chunks: { chunk: Buffer }[], callback: (error?: Error | null) => void): void {
    Promise.all(chunks.map(({ chunk }) => this.#log.append(chunk, this.#options))).then(() => callback(), callback)
  }
}
