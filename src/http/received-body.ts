/** Collects bytes that arrive in parts. */
const EMPTY = Buffer.alloc(0)

/**
 * A body that arrives in parts. They are copied when they arrive, because to join megabytes at the end would take
 * several milliseconds in one turn of the event loop.
 */
export class ReceivedBody {
  length = 0
  readonly #expected: number
  #memory: Buffer = EMPTY

  /** `expected` is the length of the body, or NaN if it is not known. Memory is not used before it is written to. */
  constructor(expected: number) {
    this.#expected = expected
  }

  /** Keeps the first part, which the caller must not change afterwards, and copies later ones. */
  add(part: Buffer): void {
    const before = this.length
    this.length += part.length
    if (before === 0) {
      this.#memory = part
      return
    }
    if (this.#memory.length < this.length) {
      const larger = Buffer.allocUnsafeSlow(this.length <= this.#expected ? this.#expected : 2 * this.length)
      this.#memory.copy(larger, 0, 0, before)
      this.#memory = larger
    }
    part.copy(this.#memory, before)
  }

  get bytes(): Buffer {
    return this.#memory.length === this.length ? this.#memory : this.#memory.subarray(0, this.length)
  }
}
