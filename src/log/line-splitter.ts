/** Splits a stream of bytes into lines. */
import { DurlogError } from '../errors.js'

const NEWLINE = 10

/** Keeps the unfinished line, at most `maxBytes` long, between chunks. */
export class LineSplitter {
  readonly #maxBytes: number
  #rest: Buffer[] = []
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
    if (rest.length > 0) this.#rest.push(rest)
    this.#restBytes += rest.length
  }

  /** Returns and forgets the bytes after the last newline; undefined if there are none. */
  last(): Buffer | undefined {
    return this.#restBytes === 0 ? undefined : this.#take(Buffer.alloc(0))
  }

  #take(end: Buffer): Buffer {
    if (this.#restBytes === 0) return end
    const line = Buffer.concat([...this.#rest, end])
    this.#rest = []
    this.#restBytes = 0
    return line
  }
}
