/** A frame in the file of a stream of bytes: length and CRC-32C of the bytes, 4 bytes little-endian each, and the bytes. */
import { native } from '../native/native.js'

const HEADER_BYTES = 8

export function frameOf(data: Buffer): Buffer {
  const header = Buffer.allocUnsafe(HEADER_BYTES)
  header.writeUInt32LE(data.length, 0)
  header.writeUInt32LE(native.crc32c(0, data), 4)
  return Buffer.concat([header, data])
}

/** The bytes of a whole frame; undefined if it is damaged. */
export function frameData(frame: Buffer): Buffer | undefined {
  if (frame.length < HEADER_BYTES) return undefined
  const data = frame.subarray(HEADER_BYTES)
  return frame.readUInt32LE(0) === data.length && frame.readUInt32LE(4) === native.crc32c(0, data) ? data : undefined
}
