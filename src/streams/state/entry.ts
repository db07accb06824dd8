/**
 * An entry, which is a record of the main log: encodes and decodes it. See docs/FORMAT.md, "Records of the main log".
 */
import { DurlogError } from '../../errors.js'
import { ENCODING_NUMBERS, ENCODINGS } from '../port/encoding.js'
import { isStoredMeta, loadedMeta, type StreamMeta } from '../port/meta.js'
import type { Producer, StreamEncoding } from '../port/types.js'
import type { Arena } from './arena.js'
import type { RequestId } from './dedup-table.js'

export const EntryKind = { append: 1, end: 2, delete: 3, create: 4 } as const
export type EntryKind = (typeof EntryKind)[keyof typeof EntryKind]

/** A change of one stream. */
export interface Change {
  kind: EntryKind
  stream: string
  producer: Producer | undefined
  /** Of an append: must be greater than the `writerSeq` of every earlier append to the stream. */
  writerSeq: string | undefined
  /** The encoding of the value. */
  encoding: StreamEncoding
  /** Of a creation: the options of the stream. */
  meta: StreamMeta | undefined
  /** The change is refused if the stream does not exist. */
  mustExist: boolean
  /**
   * The change belongs to a group, a batch whose changes are all of one stream, but is not its first change. The first
   * change decides for all.
   */
  follows: boolean
}

/** A change in the log. */
export interface Entry extends Change {
  /** Of an append: the record's seq in its stream. Otherwise: the seq that the stream's next append gets. */
  seq: number
  timeMs: number
  /** The request of a client that made the entry. Of a batch, only the first entry has it. */
  request?: RequestId | undefined
  /** The next entry of the log belongs to the same batch. */
  continues: boolean
  /** The value is in `bytes`, from `valueAt` to `end`. */
  bytes: Buffer
  valueAt: number
  end: number
}

/**
 * A bit of the first byte: the epoch and the seq of the producer have 8 bytes each, and not 6. Earlier versions do not
 * know it.
 */
const WIDE = 0x80
const NARROW_MAX = 2 ** 48 - 1
const Flag = { producer: 1, continues: 2, request: 4, mustExist: 8, writerSeq: 16, follows: 32 } as const
/** The encoding takes the two highest bits of the flags. */
const ENCODING_SHIFT = 6
const HEADER_BYTES = 16
/** The length of the id (u16), the epoch and the seq (u48 each, or u64). */
const PRODUCER_HEADER_BYTES = 14
const WIDE_PRODUCER_HEADER_BYTES = 18
const CLIENT_BYTES = 8
const REQUEST_BYTES = CLIENT_BYTES + 6
const OVERHEAD_BYTES = HEADER_BYTES + WIDE_PRODUCER_HEADER_BYTES + REQUEST_BYTES + 2
const LONG_TEXT = 8192
const SHORT_NAME = 40
export const EMPTY: Buffer = Buffer.alloc(0)

/** A change, and its value as bytes or as a string that is stored as UTF-8. */
export interface ValuedChange extends Change {
  value: Buffer | string
}

/**
 * Encodes an entry into `memory`, from `memory.start` to `memory.end`. The next call overwrites it unless `memory.keep`
 * is called.
 */
export function encodeEntry(
  memory: Arena,
  { kind, stream, producer, writerSeq, encoding, mustExist, follows, value }: ValuedChange,
  seq: number,
  timeMs: number,
  continues = false,
  request?: RequestId | undefined,
): void {
  const texts = stream.length + (producer?.id.length ?? 0) + (writerSeq?.length ?? 0)
  const bytes = memory.reserve(OVERHEAD_BYTES + 3 * texts + mostBytes(value))
  const { start } = memory
  const nameBytes = writeName(bytes, stream, start + HEADER_BYTES)
  const isWide = producer !== undefined && (producer.epoch > NARROW_MAX || producer.seq > NARROW_MAX)
  bytes[start] = isWide ? kind | WIDE : kind
  bytes[start + 1] =
    (producer === undefined ? 0 : Flag.producer) |
    (continues ? Flag.continues : 0) |
    (request === undefined ? 0 : Flag.request) |
    (mustExist ? Flag.mustExist : 0) |
    (writerSeq === undefined ? 0 : Flag.writerSeq) |
    (follows ? Flag.follows : 0) |
    (ENCODING_NUMBERS[encoding] << ENCODING_SHIFT)
  bytes.writeUInt16LE(nameBytes, start + 2)
  bytes.writeUIntLE(seq, start + 4, 6)
  bytes.writeUIntLE(timeMs, start + 10, 6)
  let at = start + HEADER_BYTES + nameBytes
  if (producer !== undefined) {
    const idAt = at + (isWide ? WIDE_PRODUCER_HEADER_BYTES : PRODUCER_HEADER_BYTES)
    const idBytes = bytes.write(producer.id, idAt)
    bytes.writeUInt16LE(idBytes, at)
    if (isWide) {
      bytes.writeBigUInt64LE(BigInt(producer.epoch), at + 2)
      bytes.writeBigUInt64LE(BigInt(producer.seq), at + 10)
    } else {
      bytes.writeUIntLE(producer.epoch, at + 2, 6)
      bytes.writeUIntLE(producer.seq, at + 8, 6)
    }
    at = idAt + idBytes
  }
  if (request !== undefined) {
    bytes.write(request.client, at, 'hex')
    bytes.writeUIntLE(request.number, at + CLIENT_BYTES, 6)
    at += REQUEST_BYTES
  }
  if (writerSeq !== undefined) {
    const textBytes = bytes.write(writerSeq, at + 2)
    bytes.writeUInt16LE(textBytes, at)
    at += 2 + textBytes
  }
  memory.valueAt = at
  memory.end = at + (typeof value === 'string' ? bytes.write(value, at) : value.copy(bytes, at))
}

/** For a short name, a loop takes less time than a call of `write`. */
export function writeName(bytes: Buffer, name: string, at: number): number {
  if (name.length > SHORT_NAME) return bytes.write(name, at)
  for (let i = 0; i < name.length; i++) {
    const code = name.charCodeAt(i)
    if (code > 0x7f) return bytes.write(name, at)
    bytes[at + i] = code
  }
  return name.length
}

/** An upper bound of the bytes that `value` takes; for a long string the exact number. */
export function mostBytes(value: Buffer | string): number {
  if (typeof value !== 'string') return value.length
  return value.length < LONG_TEXT ? 3 * value.length : Buffer.byteLength(value)
}

/** Decodes `bytes`, the record of the log at `position`. Throws ERR_DURLOG_CORRUPT if it is not an entry. */
export function decodeEntry(bytes: Buffer, position: number): Entry {
  const isWide = ((bytes[0] as number) & WIDE) !== 0
  const kind = ((bytes[0] as number) & ~WIDE) as EntryKind
  const flags = bytes[1] as number
  const encoding = ENCODINGS[flags >> ENCODING_SHIFT]
  if (bytes.length < HEADER_BYTES || !(kind >= EntryKind.append && kind <= EntryKind.create) || encoding === undefined)
    throw notAnEntry(position)
  let at = HEADER_BYTES + bytes.readUInt16LE(2)
  const stream = bytes.toString('utf8', HEADER_BYTES, at)
  let producer: Producer | undefined
  if ((flags & Flag.producer) !== 0) {
    const idAt = at + (isWide ? WIDE_PRODUCER_HEADER_BYTES : PRODUCER_HEADER_BYTES)
    if (idAt > bytes.length) throw notAnEntry(position)
    const end = idAt + bytes.readUInt16LE(at)
    producer = {
      id: bytes.toString('utf8', idAt, end),
      epoch: isWide ? Number(bytes.readBigUInt64LE(at + 2)) : bytes.readUIntLE(at + 2, 6),
      seq: isWide ? Number(bytes.readBigUInt64LE(at + 10)) : bytes.readUIntLE(at + 8, 6),
    }
    at = end
  }
  let request: RequestId | undefined
  if ((flags & Flag.request) !== 0) {
    const end = at + REQUEST_BYTES
    if (end > bytes.length) throw notAnEntry(position)
    const clientEnd = at + CLIENT_BYTES
    request = { client: bytes.toString('hex', at, clientEnd), number: bytes.readUIntLE(clientEnd, 6) }
    at = end
  }
  let writerSeq: string | undefined
  if ((flags & Flag.writerSeq) !== 0) {
    if (at + 2 > bytes.length) throw notAnEntry(position)
    const end = at + 2 + bytes.readUInt16LE(at)
    writerSeq = bytes.toString('utf8', at + 2, end)
    at = end
  }
  if (at > bytes.length) throw notAnEntry(position)
  return {
    kind,
    stream,
    seq: bytes.readUIntLE(4, 6),
    timeMs: bytes.readUIntLE(10, 6),
    producer,
    request,
    writerSeq,
    encoding,
    meta: kind === EntryKind.create ? metaOf(bytes.subarray(at), position) : undefined,
    mustExist: (flags & Flag.mustExist) !== 0,
    follows: (flags & Flag.follows) !== 0,
    continues: (flags & Flag.continues) !== 0,
    bytes,
    valueAt: at,
    end: bytes.length,
  }
}

function metaOf(value: Buffer, position: number): StreamMeta {
  try {
    const stored: unknown = JSON.parse(value.toString())
    if (isStoredMeta(stored)) return loadedMeta(stored)
  } catch {
    // The error is thrown below.
  }
  throw notAnEntry(position)
}

function notAnEntry(position: number): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_CORRUPT',
    `record ${position} of the log is not an entry of a stream: another program or a newer version of durlog has written it; use that version, or restore the folder from a copy`,
    { lostFirst: position, lostLast: position },
  )
}
