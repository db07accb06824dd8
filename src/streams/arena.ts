/** Memory that many entries share, because an ArrayBuffer for each entry would cost more than the entry. */

export const SLAB_BYTES: number = 1 << 19
/** Longer entries get an ArrayBuffer each. */
const SHARED_MAX_BYTES = SLAB_BYTES / 16

export class Arena {
  bytes: Buffer = Buffer.allocUnsafeSlow(0)
  /** The next entry begins at `start`. When it is encoded, its value is from `valueAt` to `end`. */
  start = 0
  valueAt = 0
  end = 0

  /** Returns memory with room for `most` bytes after `start`. */
  reserve(most: number): Buffer {
    if (this.start + most > this.bytes.length) {
      this.bytes = Buffer.allocUnsafeSlow(most > SHARED_MAX_BYTES ? most : SLAB_BYTES)
      this.start = 0
    }
    return this.bytes
  }

  /** Keeps the encoded entry: the next one begins at `end`. */
  keep(): void {
    this.start = this.end
  }
}
