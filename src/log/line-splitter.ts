/** Splits a stream of bytes into lines. */
import { DurlogError } from '../errors.js'

const NEWLINE = 10

/** Keeps a copy of the unfinished line, at most `maxBytes` long, between chunks. */
export class LineSplitter {
  readonly #maxBytes: number
  /** Its first `#restBytes` bytes are the unfinished line. */
  #rest: Buffer = Buffer.alloc(0)
  #restBytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /**
   * Yields the lines that end in `chunk`, each without its newline. After the last of them, throws
   * ERR_DURLOG_RECORD_TOO_LARGE if the unfinished line is longer than `maxBytes`.
   */
  *split(chunk: Buffer): Generator<Buffer, void> {
    let begin = 0
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, begin)) {
      yield this.#take(chunk.subarray(begin, end))
      begin = end + 1
    }
    const rest = chunk.subarray(begin)
    if (this.#restBytes + rest.length > this.#maxBytes)
      throw new DurlogError(
        'ERR_DURLOG_RECORD_TOO_LARGE',
        `a record has at most ${this.#maxBytes} bytes (maxRecordBytes); got a line of more than that`,
      )
    this.#keep(rest)
  }

  /** Returns and forgets the bytes after the last newline; undefined if there are none. */
  last(): Buffer | undefined {
    return this.#restBytes === 0 ? undefined : this.#take(Buffer.alloc(0))
  }

  #take(end: Buffer): Buffer {
    if (this.#restBytes === 0) return end
    const line = Buffer.concat([this.#rest.subarray(0, this.#restBytes), end])
    this.#rest = Buffer.alloc(0)
    this.#restBytes = 0
    return line
  }

  /** Copies `bytes`, so that a short unfinished line does not keep its chunk in memory. */
  #keep(bytes: Buffer): void {
    const restBytes = this.#restBytes + bytes.length
    if (restBytes > this.#rest.length) {
      const longer = Buffer.allocUnsafe(Math.max(restBytes, 2 * this.#rest.length))
      this.#rest.copy(longer)
      this.#rest = longer
    }
    bytes.copy(this.#rest, this.#restBytes)
    this.#restBytes = restBytes
  }
}
