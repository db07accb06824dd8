/** The memory of the bodies of answers. */
import { Body } from '../streams/port/body.js'

/** The memory that is kept for later reads. */
const SPARE_BYTES = 8 << 20

/**
 * Memory for reading bodies. A body that takes at least half of its memory keeps it until it is sent. A shorter one is
 * copied, so that the memory can be used again, and a slow client holds only the bytes of its answer. If each answer
 * took new memory, V8 would collect garbage for each.
 */
export class BodyMemory {
  readonly #bytes: number
  readonly #spare: Buffer[] = []

  /** For bodies with records of at most `maxBytes`. */
  constructor(maxBytes: number) {
    this.#bytes = Body.memoryFor(maxBytes)
  }

  take(): Buffer {
    return this.#spare.pop() ?? Buffer.allocUnsafeSlow(this.#bytes)
  }

  /** Nothing uses `body`, which `detach` has returned, any more. */
  sent(body: Buffer): void {
    // Longer records and copies have other memory.
    if (body.buffer.byteLength === this.#bytes) this.#keep(Buffer.from(body.buffer))
  }

  #keep(memory: Buffer): void {
    if ((this.#spare.length + 1) * this.#bytes <= SPARE_BYTES) this.#spare.push(memory)
  }

  /** Returns `body`, or its copy if `memory`, in which it was read, is used again. */
  detach(body: Buffer, memory: Buffer): Buffer {
    if (body.buffer === memory.buffer && 2 * body.length >= memory.length) return body
    this.#keep(memory)
    return body.buffer === memory.buffer ? Buffer.from(body) : body
  }
}
