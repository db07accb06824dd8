/** The frame of an append by `RemoteAccess`, the most frequent request. */
import type { AddressedGroup, Group, StreamView } from '../access.js'
import { type Frame, type FrameMaker, FrameType, type MadeFrame } from './frames.js'
import { checkBatchBytes } from './messages.js'

/** The flags (u8), `created` (u48), the length of the name (u16), and the length of the conditions (u32). */
const HEADER_BYTES = 13
const VALUE_HEADER_BYTES = 4
const END_FLAG = 1

/** Makes the frame of an append to a stream. Conditions are sent as JSON. Throws ERR_DURLOG_BATCH_TOO_LARGE. */
export function appendFrame(
  maker: FrameMaker,
  number: number,
  { name, created }: StreamView,
  { values, end, producer, writerSeq }: Group,
): MadeFrame {
  const json = producer === undefined && writerSeq === undefined ? '' : JSON.stringify({ producer, writerSeq })
  let length = HEADER_BYTES + Buffer.byteLength(name) + Buffer.byteLength(json)
  for (const value of values) length += VALUE_HEADER_BYTES + Buffer.byteLength(value)
  checkBatchBytes(length)
  const start = maker.begin(FrameType.append, number, length)
  const { bytes } = maker
  const nameBytes = bytes.write(name, start + HEADER_BYTES)
  const jsonBytes = json === '' ? 0 : bytes.write(json, start + HEADER_BYTES + nameBytes)
  bytes[start] = end ? END_FLAG : 0
  bytes.writeUIntLE(created, start + 1, 6)
  bytes.writeUInt16LE(nameBytes, start + 7)
  bytes.writeUInt32LE(jsonBytes, start + 9)
  let at = start + HEADER_BYTES + nameBytes + jsonBytes
  for (const value of values) {
    const valueAt = at + VALUE_HEADER_BYTES
    const valueBytes = typeof value === 'string' ? bytes.write(value, valueAt) : value.copy(bytes, valueAt)
    bytes.writeUInt32LE(valueBytes, at)
    at = valueAt + valueBytes
  }
  return maker
}

/** Decodes a frame of `appendFrame`. Throws if it is malformed. */
export function appendOf({ bytes, at: start, end: frameEnd }: Frame): AddressedGroup {
  const nameAt = start + HEADER_BYTES
  const nameEnd = nameAt + bytes.readUInt16LE(start + 7)
  const valuesAt = nameEnd + bytes.readUInt32LE(start + 9)
  const values: Buffer[] = []
  let at = valuesAt
  while (at < frameEnd) {
    const valueAt = at + VALUE_HEADER_BYTES
    at = valueAt + bytes.readUInt32LE(at)
    values.push(bytes.subarray(valueAt, at))
  }
  if (at !== frameEnd) throw new RangeError('an append that is too short')
  const conditions: unknown = nameEnd === valuesAt ? {} : JSON.parse(bytes.toString('utf8', nameEnd, valuesAt))
  const { producer, writerSeq } = conditions as Pick<Group, 'producer' | 'writerSeq'>
  const stream = bytes.toString('utf8', nameAt, nameEnd)
  const created = bytes.readUIntLE(start + 1, 6)
  return { stream, created, values, end: bytes[start] === END_FLAG, producer, writerSeq }
}
