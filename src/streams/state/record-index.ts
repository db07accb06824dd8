/**
 * The index of a stream's file. It has an entry for each record: the record's place in the file, its time and its
 * position. Full blocks of entries are in the index file, the later entries in the catalog and in memory.
 */

/** The offset of the record's end in the file, its time, its position: 6 bytes each. */
export const INDEX_ENTRY_BYTES = 18
export const INDEX_BLOCK_RECORDS = 16
/** Units of 2 bytes. */
const ENTRY_UNITS = INDEX_ENTRY_BYTES / 2

export interface IndexEntry {
  /** The offset of the record's end in the file. */
  end: number
  timeMs: number
  position: number
}

export function encodeIndex(entries: readonly IndexEntry[]): Buffer {
  const bytes = Buffer.allocUnsafe(entries.length * INDEX_ENTRY_BYTES)
  let at = 0
  for (const { end, timeMs, position } of entries) {
    bytes.writeUIntLE(end, at, 6)
    bytes.writeUIntLE(timeMs, at + 6, 6)
    bytes.writeUIntLE(position, at + 12, 6)
    at += INDEX_ENTRY_BYTES
  }
  return bytes
}

/** The index entries of the seqs from `from` on. */
export class IndexPart {
  readonly #from: number
  readonly #entries: Uint16Array
  readonly #firstSeq: number

  /** `bytes` must be all of its ArrayBuffer. `firstSeq` is the first seq of the file. */
  constructor(from: number, bytes: Uint8Array, firstSeq: number) {
    this.#from = from
    this.#entries = new Uint16Array(bytes.buffer)
    this.#firstSeq = firstSeq
  }

  /** The offset of the end of the record `seq`; 0 for the seq before the first one of the file. */
  end(seq: number): number {
    return seq < this.#firstSeq ? 0 : this.#number(seq, 0)
  }

  timeMs(seq: number): number {
    return this.#number(seq, 3)
  }

  position(seq: number): number {
    return this.#number(seq, 6)
  }

  /** The seq after the last record from `first` to `last` that ends at or before `maxEnd`; `first` + 1 if none does. */
  nextAfter(maxEnd: number, first: number, last: number): number {
    let [low, high] = [first, last]
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      if (this.end(middle) <= maxEnd) low = middle
      else high = middle - 1
    }
    return low + 1
  }

  /** Takes less time than a DataView or Buffer.readUIntLE. The byte order is that of every supported system. */
  #number(seq: number, offset: number): number {
    const at = (seq - this.#from) * ENTRY_UNITS + offset
    const entries = this.#entries
    return (entries[at] as number) + (entries[at + 1] as number) * 2 ** 16 + (entries[at + 2] as number) * 2 ** 32
  }
}
