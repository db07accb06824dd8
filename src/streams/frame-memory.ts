/** Memory for the frames of many entries: an ArrayBuffer for each would cost more than the entry. */

const SLAB_BYTES = 1 << 18
/** Longer frames have an ArrayBuffer each. */
const SHARED_MAX_BYTES = SLAB_BYTES / 8

export class FrameMemory {
  #bytes: Buffer = Buffer.allocUnsafeSlow(0)
  /** Where the next frame begins in the memory that `reserve` returns. */
  used = 0

  /** Memory with room for `most` bytes after `used`. */
  reserve(most: number): Buffer {
    if (this.used + most > this.#bytes.length) {
      this.#bytes = Buffer.allocUnsafeSlow(most > SHARED_MAX_BYTES ? most : SLAB_BYTES)
      this.used = 0
    }
    return this.#bytes
  }

  /** The next frame begins at `end`. */
  keep(end: number): void {
    this.used = end
  }
}
