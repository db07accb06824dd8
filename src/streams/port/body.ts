/** The records of an answer as one block of bytes: values of JSON in an array, other records one after the other. */
import type { StreamEncoding } from './types.js'

const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const COMMA = 0x2c
/** The array's brackets. */
const BRACKET_BYTES = 2

export class Body {
  readonly encoding: StreamEncoding
  readonly #isArray: boolean
  #bytes: Buffer
  /** The records begin at `#start`; the next one is added at `#end`. */
  readonly #start: number
  #end: number
  #maxBytes: number

  /**
   * The body has records of at most `maxBytes`, or one longer record. `memory` must have `Body.memoryFor(maxBytes)`
   * bytes.
   */
  constructor(
    encoding: StreamEncoding,
    maxBytes: number,
    memory: Buffer = Buffer.allocUnsafe(Body.memoryFor(maxBytes)),
  ) {
    this.encoding = encoding
    this.#isArray = encoding === 'json'
    this.#bytes = memory
    this.#start = this.#isArray ? 1 : 0
    this.#end = this.#start
    this.#maxBytes = maxBytes
  }

  static memoryFor(maxBytes: number): number {
    return maxBytes + BRACKET_BYTES
  }

  get isEmpty(): boolean {
    return this.#end === this.#start
  }

  /** The number of bytes for more records. */
  get left(): number {
    return this.#start + this.#maxBytes - this.#end
  }

  /** Whether the body is so full that reading more is not worth a call. */
  get isFull(): boolean {
    return this.left < this.#maxBytes / 8
  }

  /** The memory for the next records, each in the form that it has in the body. */
  get room(): Buffer {
    return this.#bytes.subarray(this.#end, this.#end + this.left)
  }

  /** Adds the records that were stored into the first `bytes` bytes of `room`. */
  stored(bytes: number): void {
    this.#end += bytes
  }

  /** The records, each in the form that it has in the body. */
  get records(): Buffer {
    return this.#bytes.subarray(this.#start, this.#end)
  }

  /** Makes room for a record of `bytes` bytes. The body must be empty. */
  grow(bytes: number): void {
    this.#maxBytes = bytes
    this.#bytes = Buffer.allocUnsafe(Body.memoryFor(bytes))
  }

  /** Adds an encoded record. Returns false if it does not fit. */
  add(data: Buffer): boolean {
    return this.addValue(this.encoding === 'utf8' ? Buffer.from(JSON.parse(data.toString()) as string) : data)
  }

  /** Adds a record in the form that it has in the body. Returns false if it does not fit. */
  addValue(value: Buffer): boolean {
    const length = value.length + (this.#isArray ? 1 : 0)
    if (!this.#fits(length)) return false
    value.copy(this.#bytes, this.#end)
    this.#end += length
    if (this.#isArray) this.#bytes[this.#end - 1] = COMMA
    return true
  }

  /** Adds the `records` of another body with the same encoding. Returns false if they do not fit. */
  addAll(records: Buffer): boolean {
    if (!this.#fits(records.length)) return false
    this.#end += records.copy(this.#bytes, this.#end)
    return true
  }

  /** Whether `bytes` more fit. An empty body grows. */
  #fits(bytes: number): boolean {
    if (bytes > this.left && this.isEmpty) this.grow(bytes)
    return bytes <= this.left
  }

  /** Ends the body, and returns it. */
  finish(): Buffer {
    if (this.#isArray) {
      this.#bytes[0] = OPEN_ARRAY
      // In place of the last comma.
      if (this.isEmpty) this.#end++
      this.#bytes[this.#end - 1] = CLOSE_ARRAY
    }
    return this.#bytes.subarray(0, this.#end)
  }
}

export interface BodyRead {
  /** The seq after the last record that was added. */
  next: number
  /** The time of the first record that was added; undefined if none was. */
  timeMs: number | undefined
}
