/** Memory for the frames of many entries: an ArrayBuffer for each would cost more than the entry. */

const SLAB_BYTES = 1 << 19
/** Longer frames have an ArrayBuffer each. */
const SHARED_MAX_BYTES = SLAB_BYTES / 16

export class FrameMemory {
  bytes: Buffer = Buffer.allocUnsafeSlow(0)
  /** Where the next frame begins, and where its value begins and ends once it is made. */
  start = 0
  valueAt = 0
  end = 0

  /** Memory with room for `most` bytes after `start`. */
  reserve(most: number): Buffer {
    if (this.start + most > this.bytes.length) {
      this.bytes = Buffer.allocUnsafeSlow(most > SHARED_MAX_BYTES ? most : SLAB_BYTES)
      this.start = 0
    }
    return this.bytes
  }

  /** The next frame begins at `end`. */
  keep(): void {
    this.start = this.end
  }
}
