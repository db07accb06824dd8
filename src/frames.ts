/**
 * Frames of the log's format outside a segment, for code that stores several records together: frames as in
 * docs/FORMAT.md, with a salt of zero and a base time that is stored with them.
 */
import { native } from './native/native.js'
import { MAX_PAYLOAD_BYTES } from './options/open-options.js'

export interface FramedRecord {
  readonly seq: number
  readonly data: Uint8Array
  readonly timestamp: number
}

const HEADER_BYTES = 24
const ALIGNMENT = 8
/** The state of a record's frame, in the bits above the length. */
const COMMITTED = 0x4000_0000
const SALT_BYTES = 8
/** The longest time from the base time to a record: the field has 32 bits. */
export const MAX_FRAME_MS: number = 2 ** 32 - 1

/** The bytes of the frame of a record with `dataBytes` bytes. */
export function framedBytes(dataBytes: number): number {
  return Math.ceil((HEADER_BYTES + dataBytes) / ALIGNMENT) * ALIGNMENT
}

/** The checksum of the bytes that precede every frame of the log `uuid`. */
function seedOf(uuid: string): number {
  return native.crc32c(0, Buffer.concat([Buffer.from(uuid.replaceAll('-', ''), 'hex'), Buffer.alloc(SALT_BYTES)]))
}

/** Encodes consecutive records of the log `uuid`. Their times are at most MAX_FRAME_MS after `baseMs`. */
export function encodeFrames(uuid: string, records: readonly FramedRecord[], baseMs: number): Buffer {
  const seed = seedOf(uuid)
  const frames = Buffer.alloc(records.reduce((bytes, { data }) => bytes + framedBytes(data.length), 0))
  let at = 0
  for (const { seq, data, timestamp } of records) {
    const end = at + HEADER_BYTES + data.length
    frames.writeUInt32LE(COMMITTED + data.length, at)
    frames.writeBigUInt64LE(BigInt(seq), at + 8)
    frames.writeUInt32LE(timestamp - baseMs, at + 20)
    frames.set(data, at + HEADER_BYTES)
    frames.writeUInt32LE(native.crc32c(seed, frames.subarray(at, end)), at + 4)
    at += framedBytes(data.length)
  }
  return frames
}

/** Decodes the frames of the records `first` to `last`. Undefined if `frames` holds anything else. */
export function decodeFrames(
  uuid: string,
  frames: Uint8Array,
  { first, last, baseMs }: { first: number; last: number; baseMs: number },
): FramedRecord[] | undefined {
  const seed = seedOf(uuid)
  const bytes = Buffer.from(frames) // a copy, because the checksum's field is set to zero
  const records: FramedRecord[] = []
  let at = 0
  for (let seq = first; seq <= last; seq++) {
    if (bytes.length - at < HEADER_BYTES) return undefined
    const length = bytes.readUInt32LE(at) - COMMITTED
    const end = at + HEADER_BYTES + length
    if (length < 1 || length > MAX_PAYLOAD_BYTES || end > bytes.length) return undefined
    const checksum = bytes.readUInt32LE(at + 4)
    bytes.writeUInt32LE(0, at + 4)
    if (native.crc32c(seed, bytes.subarray(at, end)) !== checksum) return undefined
    if (bytes.readBigUInt64LE(at + 8) !== BigInt(seq)) return undefined
    const data = bytes.subarray(at + HEADER_BYTES, end)
    records.push({ seq, data, timestamp: baseMs + bytes.readUInt32LE(at + 20) })
    at += framedBytes(length)
  }
  return at === bytes.length ? records : undefined
}
