/**
 * A frame in the file of a stream of bytes: the length of the data and its CRC-32C, 4 bytes little-endian each, and the
 * data.
 */
import { native } from '../native/native.js'

const HEADER_BYTES = 8

export function frameOf(data: Buffer): Buffer {
  const header = Buffer.allocUnsafe(HEADER_BYTES)
  header.writeUInt32LE(data.length, 0)
  header.writeUInt32LE(native.crc32c(0, data), 4)
  return Buffer.concat([header, data])
}

/** The data of a complete frame; undefined if the frame is damaged. */
export function frameData(frame: Buffer): Buffer | undefined {
  if (frame.length < HEADER_BYTES) return undefined
  const data = frame.subarray(HEADER_BYTES)
  return frame.readUInt32LE(0) === data.length && frame.readUInt32LE(4) === native.crc32c(0, data) ? data : undefined
}
