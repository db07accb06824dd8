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

  /**
   * Returns the offset of a copy of `values` in `bytes`; undefined if they are long, so that a copy would cost too
   * much.
   */
  copy(values: Buffer): number | undefined {
    if (values.length > SHARED_MAX_BYTES) return undefined
    const bytes = this.reserve(values.length)
    const at = this.start
    this.start += values.copy(bytes, at)
    return at
  }

  /** Keeps the encoded entry: the next one begins at `end`. */
  keep(): void {
    this.start = this.end
  }
}
