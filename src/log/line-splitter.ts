/** Cuts a stream of bytes into lines. */
import { DurlogError } from '../errors.js'

const NEWLINE = 10

/** Holds the line that has not ended, which is at most `maxBytes` long. */
export class LineSplitter {
  readonly #maxBytes: number
  #rest: Buffer[] = []
  #restBytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /**
   * Yields the lines that end in `chunk`, each without its newline. Throws ERR_DURLOG_RECORD_TOO_LARGE after the last
   * one if the unfinished line is too long.
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

  /** The bytes after the last newline; undefined if there are none. */
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
