/**
 * The index of a stream's file: an entry for each record, by which a record is found and its time and position are known.
 * Full blocks are in a file, the entries after them in the catalog and in memory.
 */

/** End of the record in the stream's file, time, position: 6 bytes each. */
export const INDEX_ENTRY_BYTES = 18
export const INDEX_BLOCK_RECORDS = 16

export interface IndexEntry {
  /** The byte offset after the record. */
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

/** The entry number `at` of `bytes`. */
export function indexEntry(bytes: Buffer, at: number): IndexEntry {
  const offset = at * INDEX_ENTRY_BYTES
  return {
    end: bytes.readUIntLE(offset, 6),
    timeMs: bytes.readUIntLE(offset + 6, 6),
    position: bytes.readUIntLE(offset + 12, 6),
  }
}
