/** The file of a stream of bytes: frames of a length, a CRC-32 of the bytes, both in 4 bytes little-endian, and the bytes. */
import { crc32 } from 'node:zlib'
import type { Piece, Placed } from './line-layout.js'

export const FRAME_HEADER_BYTES = 8
/** A write is about this long, or holds one longer frame. */
const PIECE_BYTES = 1 << 18

/** Places `records` from offset `start` on, a piece at a time. */
export function* layOutFrames(start: number, records: readonly Placed[]): Generator<Piece> {
  let offset = start
  for (let at = 0; at < records.length; ) {
    const parts: Buffer[] = []
    const ends: number[] = []
    let end = offset
    for (; at < records.length && end - offset < PIECE_BYTES; at++) {
      const record = (records[at] as Placed).data
      const header = Buffer.allocUnsafe(FRAME_HEADER_BYTES)
      header.writeUInt32LE(record.length, 0)
      header.writeUInt32LE(crc32(record), 4)
      parts.push(header, record)
      end += FRAME_HEADER_BYTES + record.length
      ends.push(end)
    }
    yield { offset, bytes: Buffer.concat(parts), direct: false, ends }
    offset = end
  }
}

/** The bytes of a whole frame; undefined if it is damaged. */
export function frameData(frame: Buffer): Buffer | undefined {
  if (frame.length < FRAME_HEADER_BYTES) return undefined
  const data = frame.subarray(FRAME_HEADER_BYTES)
  return frame.readUInt32LE(0) === data.length && frame.readUInt32LE(4) === crc32(data) ? data : undefined
}
