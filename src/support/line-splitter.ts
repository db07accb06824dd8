/** Splits a stream of bytes into lines. */

const NEWLINE = 10

/** Keeps a copy of the unfinished line, at most `maxBytes` long, between chunks. */
export class LineSplitter {
  readonly #maxBytes: number
  readonly #tooLong: (() => Error) | undefined
  /** Its first `#restBytes` bytes are the unfinished line. */
  #rest: Buffer = Buffer.alloc(0)
  #restBytes = 0

  /** `tooLong` makes the error for a longer line. Without it, the bytes after `maxBytes` + 1 of a line are left out. */
  constructor(maxBytes: number, tooLong?: () => Error) {
    this.#maxBytes = maxBytes
    this.#tooLong = tooLong
  }

  /**
   * Yields the lines that end in `chunk`, each without its newline. After the last of them, throws if the unfinished
   * line is longer than `maxBytes`. A line that has ended may be longer.
   */
  *split(chunk: Buffer): Generator<Buffer, void> {
    let begin = 0
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, begin)) {
      yield this.#take(chunk.subarray(begin, end))
      begin = end + 1
    }
    const rest = chunk.subarray(begin)
    if (this.#tooLong !== undefined && this.#restBytes + rest.length > this.#maxBytes) throw this.#tooLong()
    this.#keep(rest)
  }

  /** Returns and forgets the bytes after the last newline; undefined if there are none. */
  last(): Buffer | undefined {
    return this.#restBytes === 0 ? undefined : this.#take(Buffer.alloc(0))
  }

  #take(end: Buffer): Buffer {
    const room = this.#roomFor(end)
    if (this.#restBytes === 0) return room
    const line = Buffer.concat([this.#rest.subarray(0, this.#restBytes), room])
    this.#rest = Buffer.alloc(0)
    this.#restBytes = 0
    return line
  }

  #roomFor(bytes: Buffer): Buffer {
    return this.#tooLong === undefined ? bytes.subarray(0, this.#maxBytes + 1 - this.#restBytes) : bytes
  }

  /** Copies `bytes`, so that a short unfinished line does not keep its chunk in memory. */
  #keep(bytes: Buffer): void {
    const added = this.#roomFor(bytes)
    const restBytes = this.#restBytes + added.length
    if (restBytes > this.#rest.length) {
      const longer = Buffer.allocUnsafe(Math.max(restBytes, 2 * this.#rest.length))
      this.#rest.copy(longer)
      this.#rest = longer
    }
    added.copy(this.#rest, this.#restBytes)
    this.#restBytes = restBytes
  }
}
