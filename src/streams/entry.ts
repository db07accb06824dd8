/** A record of the main log: docs/STREAMS.md, "A record of the main log". */
import { DurlogError } from '../errors.js'
import type { Producer } from './types.js'

export const EntryKind = { append: 1, end: 2, delete: 3 } as const
export type EntryKind = (typeof EntryKind)[keyof typeof EntryKind]

/** One change of one stream. */
export interface Entry {
  kind: EntryKind
  stream: string
  /** Of an append: the record's seq. Otherwise the stream's next seq. */
  seq: number
  timeMs: number
  producer: Producer | undefined
  /** The next entry of the log belongs to the same batch. */
  continues: boolean
  /** Of an append: the value's bytes. */
  data: Buffer
}

const Flag = { producer: 1, continues: 2 } as const
const HEADER_BYTES = 16
const PRODUCER_HEADER_BYTES = 14
export const EMPTY: Buffer = Buffer.alloc(0)

export function encodeEntry(entry: Entry): Buffer {
  const { producer, data } = entry
  const nameBytes = Buffer.byteLength(entry.stream)
  const idBytes = producer === undefined ? 0 : Buffer.byteLength(producer.id)
  const valueAt = HEADER_BYTES + nameBytes + (producer === undefined ? 0 : PRODUCER_HEADER_BYTES + idBytes)
  const bytes = Buffer.allocUnsafe(valueAt + data.length)
  bytes[0] = entry.kind
  bytes[1] = (producer === undefined ? 0 : Flag.producer) | (entry.continues ? Flag.continues : 0)
  bytes.writeUInt16LE(nameBytes, 2)
  bytes.writeUIntLE(entry.seq, 4, 6)
  bytes.writeUIntLE(entry.timeMs, 10, 6)
  bytes.write(entry.stream, HEADER_BYTES)
  if (producer !== undefined) {
    const at = HEADER_BYTES + nameBytes
    bytes.writeUInt16LE(idBytes, at)
    bytes.writeUIntLE(producer.epoch, at + 2, 6)
    bytes.writeUIntLE(producer.seq, at + 8, 6)
    bytes.write(producer.id, at + PRODUCER_HEADER_BYTES)
  }
  data.copy(bytes, valueAt)
  return bytes
}

/** Throws ERR_DURLOG_CORRUPT if `bytes`, the record of the log at `position`, is no entry. */
export function decodeEntry(bytes: Buffer, position: number): Entry {
  const kind = bytes[0] as EntryKind
  const flags = bytes[1] as number
  if (bytes.length < HEADER_BYTES || !(kind >= EntryKind.append && kind <= EntryKind.delete) || flags > 3)
    throw notAnEntry(position)
  let at = HEADER_BYTES + bytes.readUInt16LE(2)
  const stream = bytes.toString('utf8', HEADER_BYTES, at)
  let producer: Producer | undefined
  if ((flags & Flag.producer) !== 0) {
    if (at + PRODUCER_HEADER_BYTES > bytes.length) throw notAnEntry(position)
    const idAt = at + PRODUCER_HEADER_BYTES
    const end = idAt + bytes.readUInt16LE(at)
    producer = {
      id: bytes.toString('utf8', idAt, end),
      epoch: bytes.readUIntLE(at + 2, 6),
      seq: bytes.readUIntLE(at + 8, 6),
    }
    at = end
  }
  if (at > bytes.length) throw notAnEntry(position)
  return {
    kind,
    stream,
    seq: bytes.readUIntLE(4, 6),
    timeMs: bytes.readUIntLE(10, 6),
    producer,
    continues: (flags & Flag.continues) !== 0,
    data: bytes.subarray(at),
  }
}

function notAnEntry(position: number): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_CORRUPT',
    `record ${position} of the log is not an entry of a stream: the log was written by another program or a newer durlog`,
    { lostFirst: position, lostLast: position },
  )
}
