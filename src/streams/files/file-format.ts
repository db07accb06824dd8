/**
 * The records in the file of a stream. Values of JSON and text are lines; spaces before or after a line fill up pages.
 * Bytes are in frames: the length of the data and its CRC-32C, 4 bytes little-endian each, and the data.
 */
import { native } from '../../native/native.js'

const NEWLINE = 0x0a
const SPACE = 0x20
/** The header of a frame. */
export const HEADER_BYTES = 8

/**
 * Yields the complete lines of `bytes`, without spaces around them, each with the offset of its end. A last line
 * without a newline is not included.
 */
export function* completeLines(bytes: Buffer): Generator<{ line: Buffer; end: number }> {
  for (let at = 0; ; ) {
    const newline = bytes.indexOf(NEWLINE, at)
    if (newline === -1) return
    yield { line: withoutSpaces(bytes.subarray(at, newline)), end: newline + 1 }
    at = newline + 1
  }
}

export function withoutSpaces(bytes: Buffer): Buffer {
  let [first, end] = [0, bytes.length]
  while (first < end && bytes[first] === SPACE) first++
  while (end > first && bytes[end - 1] === SPACE) end--
  return bytes.subarray(first, end)
}

export function frameOf(data: Buffer): Buffer {
  const header = Buffer.allocUnsafe(HEADER_BYTES)
  header.writeUInt32LE(data.length, 0)
  header.writeUInt32LE(native.crc32c(0, data), 4)
  return Buffer.concat([header, data])
}
