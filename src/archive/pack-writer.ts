/** Stores parts of files in packs: objects with many parts, so that a small part does not need an own request. */
import type { Bucket } from './bucket.js'
import type { PackFacts, Slice } from './checkpoint-format.js'
import { packFolder } from './layout.js'
import { sha256Of } from './piece.js'

/** A pack is stored when it has this many bytes. It is in memory until then. */
const PACK_BYTES = 16 * 2 ** 20

export class PackWriter {
  /** The packs that were stored, by their SHA-256. */
  readonly stored: Map<string, PackFacts> = new Map()
  readonly #bucket: Bucket
  readonly #root: string
  readonly #onStored: () => void
  #parts: Buffer[] = []
  #bytes = 0
  /** The slices of the pack, whose name is not known yet. */
  #slices: Slice[] = []

  constructor(bucket: Bucket, root: string, onStored: () => void) {
    this.#bucket = bucket
    this.#root = root
    this.#onStored = onStored
  }

  /**
   * Adds a part of a file, whose CRC-32C up to the end of the part is `crc`, and adds its slice to `slices`, or makes
   * the last of `slices` longer. The slices are complete after `flush`.
   */
  async add(bytes: Buffer, crc: number, slices: Slice[]): Promise<void> {
    const last = slices.at(-1)
    if (last !== undefined && last.pack === '' && last.offset + last.length === this.#bytes) {
      last.length += bytes.length
      last.crc = crc
    } else {
      const slice = { pack: '', offset: this.#bytes, length: bytes.length, crc }
      this.#slices.push(slice)
      slices.push(slice)
    }
    this.#parts.push(bytes)
    this.#bytes += bytes.length
    if (this.#bytes >= PACK_BYTES) await this.flush()
  }

  async flush(): Promise<void> {
    if (this.#bytes === 0) return
    const body = Buffer.concat(this.#parts)
    const sha256 = await sha256Of(body)
    const madeMs = Date.now()
    // Not conditional: an object of this name has the same bytes.
    await this.#bucket.put(`${packFolder(this.#root)}${sha256}`, body, { sha256, metadata: { made: String(madeMs) } })
    this.#onStored()
    this.stored.set(sha256, { bytes: body.length, live: 0, madeMs })
    for (const slice of this.#slices) slice.pack = sha256
    this.#parts = []
    this.#bytes = 0
    this.#slices = []
  }
}
