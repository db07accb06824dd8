/** The frame of a request that stores something: groups of values, a creation or a deletion. */
import {
  ENCODING_NUMBERS,
  ENCODINGS,
  EncodedValue,
  GROUP_MAX_BYTES,
  PackedValues,
  tooLargeBatch,
} from '../port/encoding.js'
import { NAME_MAX_BYTES } from '../port/file-name.js'
import { isContentType, isStoredMeta, loadedMeta } from '../port/meta.js'
import { resolveAppendOptions } from '../port/options.js'
import type { AppendConditions, CreationRequest, Group } from '../port/port.js'
import type { StreamEncoding } from '../port/types.js'
import { mostBytes, writeName } from '../state/entry.js'
import { type FrameMaker, FrameType, type MadeFrame, type SocketFrame } from './frames.js'

export const SubmitOp = { append: 1, batch: 2, create: 3, delete: 4 } as const
type SubmitOp = (typeof SubmitOp)[keyof typeof SubmitOp]

/** A request that stores something. That of a creation or deletion has one group: the stream's name and the values. */
export interface Submission {
  op: SubmitOp
  groups: readonly Group[]
  creation?: CreationRequest | undefined
}

/** The op (u8). */
const OP_BYTES = 1
/**
 * Of a group: the flags (u8), `created` (u48), and the lengths of the name (u16), of the JSON (u32), which has the rare
 * conditions or the creation, and of the values (u32).
 */
const GROUP_HEADER_BYTES = 17
/** Of a single value: the encoding (u8). */
const VALUE_HEADER_BYTES = 1
/** Of packed values: the encoding (u8), their number (u32); their places (u32 each) and their bytes follow. */
const PACKED_HEADER_BYTES = 5
const PLACE_BYTES = 4
const Flag = { end: 1, mustExist: 2, created: 4, packed: 8 } as const

/** Throws ERR_DURLOG_BATCH_TOO_LARGE. */
export function submitFrame(maker: FrameMaker, number: number, { op, groups, creation }: Submission): MadeFrame {
  const texts = groups.map(({ conditions }) => (creation === undefined ? textOf(conditions) : JSON.stringify(creation)))
  let room = roomOf(groups, texts, mostBytes)
  if (room > GROUP_MAX_BYTES) room = roomOf(groups, texts, Buffer.byteLength)
  if (room > GROUP_MAX_BYTES) throw tooLargeBatch(room)
  let at = maker.begin(FrameType.submit, number, room)
  maker.bytes[at++] = op
  for (const [index, group] of groups.entries()) at = writeGroup(maker.bytes, at, group, texts[index] as string)
  maker.shorten(at)
  return maker
}

function roomOf(
  groups: readonly Group[],
  texts: readonly string[],
  bytesOf: (data: Buffer | string) => number,
): number {
  let room = OP_BYTES
  for (const text of texts) room += bytesOf(text)
  for (const { stream, values } of groups) {
    room += GROUP_HEADER_BYTES + bytesOf(stream)
    if (values instanceof PackedValues)
      room += PACKED_HEADER_BYTES + PLACE_BYTES * values.places.length + values.bytes.length
    else room += VALUE_HEADER_BYTES + bytesOf(values.data)
  }
  return room
}

/** The rare conditions as JSON; '' if there are none. */
function textOf({ expectedSeq, producer, writerSeq, durability, timestamp }: AppendConditions): string {
  const isPlain =
    expectedSeq === undefined &&
    producer === undefined &&
    writerSeq === undefined &&
    durability === undefined &&
    timestamp === undefined
  return isPlain ? '' : JSON.stringify({ expectedSeq, producer, writerSeq, durability, timestamp })
}

/** Returns the offset after the group. */
function writeGroup(bytes: Buffer, start: number, group: Group, text: string): number {
  const { stream, created, values, conditions } = group
  const nameAt = start + GROUP_HEADER_BYTES
  const nameBytes = writeName(bytes, stream, nameAt)
  const textBytes = text === '' ? 0 : bytes.write(text, nameAt + nameBytes)
  bytes[start] =
    (conditions.end ? Flag.end : 0) |
    (conditions.mustExist ? Flag.mustExist : 0) |
    (created === undefined ? 0 : Flag.created) |
    (values instanceof PackedValues ? Flag.packed : 0)
  bytes.writeUIntLE(created ?? 0, start + 1, 6)
  bytes.writeUInt16LE(nameBytes, start + 7)
  bytes.writeUInt32LE(textBytes, start + 9)
  const valuesAt = nameAt + nameBytes + textBytes
  const valuesEnd =
    values instanceof PackedValues ? writePacked(bytes, valuesAt, values) : writeValue(bytes, valuesAt, values)
  bytes.writeUInt32LE(valuesEnd - valuesAt, start + 13)
  return valuesEnd
}

function writeValue(bytes: Buffer, at: number, { encoding, data }: EncodedValue<Buffer | string>): number {
  bytes[at] = ENCODING_NUMBERS[encoding]
  const dataAt = at + VALUE_HEADER_BYTES
  return dataAt + (typeof data === 'string' ? bytes.write(data, dataAt) : data.copy(bytes, dataAt))
}

function writePacked(bytes: Buffer, at: number, { encoding, places, bytes: data }: PackedValues): number {
  bytes[at] = ENCODING_NUMBERS[encoding]
  bytes.writeUInt32LE(places.length / 2, at + 1)
  const placesAt = at + PACKED_HEADER_BYTES
  bytes.set(new Uint8Array(places.buffer, places.byteOffset, places.byteLength), placesAt)
  const dataAt = placesAt + places.byteLength
  return dataAt + data.copy(bytes, dataAt)
}

/** The packed values that are `bytes` from `at` to `end`. The core checks their places. */
function packedAt(bytes: Buffer, at: number, end: number): PackedValues {
  const encoding = encodingAt(bytes, at)
  const placesAt = at + PACKED_HEADER_BYTES
  const dataAt = placesAt + 2 * PLACE_BYTES * bytes.readUInt32LE(at + 1)
  if (dataAt > end) throw new RangeError('packed values that are malformed')
  const places = new Uint32Array((dataAt - placesAt) / PLACE_BYTES)
  new Uint8Array(places.buffer).set(bytes.subarray(placesAt, dataAt))
  return new PackedValues(encoding, bytes.subarray(dataAt, end), places)
}

/** Decodes a frame of `submitFrame`. Throws if it is malformed. */
export function submissionOf({ bytes, at, end }: SocketFrame): Submission {
  const op = bytes[at] as SubmitOp
  if (!(op >= SubmitOp.append && op <= SubmitOp.delete)) throw new RangeError('a request of an unknown kind')
  const groups: Group[] = []
  let creation: CreationRequest | undefined
  let next = at + OP_BYTES
  while (next < end) {
    const found = groupAt(bytes, next)
    if (op === SubmitOp.create) creation = creationOf(found.json)
    groups.push(found.group)
    next = found.end
  }
  if (next !== end) throw new RangeError('a request that is too short')
  const isBatch = op === SubmitOp.batch
  if (
    groups.length === 0 ||
    (isBatch ? groups.some(({ values }) => values instanceof PackedValues) : groups.length > 1)
  )
    throw new RangeError('a request with a wrong number of groups or of values')
  return { op, groups, creation }
}

/** Throws if `json` has wrong conditions: an entry with them would make the folder unreadable. */
function conditionsOf(json: unknown): AppendConditions {
  const { expectedSeq, producer, writerSeq, durability, timestamp } = Object(json) as Partial<AppendConditions>
  if (writerSeq !== undefined && typeof writerSeq !== 'string') throw new RangeError('a request with a wrong writerSeq')
  const checked = json === undefined ? undefined : { expectedSeq, producer, durability, timestamp }
  return { ...resolveAppendOptions(checked), writerSeq }
}

/** Throws if `json` is not that of a creation: wrong options would make the folder unreadable. */
function creationOf(json: unknown): CreationRequest {
  const { meta, forkAnywhere, encodingNamed, end } = Object(json) as Partial<CreationRequest>
  if (!isStoredMeta(meta) || (meta.contentType !== undefined && !isContentType(meta.contentType)))
    throw new RangeError('a creation with wrong options')
  const flags = { forkAnywhere: forkAnywhere === true, encodingNamed: encodingNamed === true, end: end === true }
  return { meta: loadedMeta(meta), ...flags }
}

function groupAt(bytes: Buffer, start: number): { group: Group; json: unknown; end: number } {
  const nameAt = start + GROUP_HEADER_BYTES
  const flags = bytes[start] as number
  const nameBytes = bytes.readUInt16LE(start + 7)
  const nameEnd = nameAt + nameBytes
  const valuesStart = nameEnd + bytes.readUInt32LE(start + 9)
  const end = valuesStart + bytes.readUInt32LE(start + 13)
  if (end > bytes.length) throw new RangeError('a request that is too short')
  const stream = bytes.toString('utf8', nameAt, nameEnd)
  // Bytes that are not UTF-8 have become longer.
  if (nameBytes === 0 || nameBytes > NAME_MAX_BYTES || Buffer.byteLength(stream) !== nameBytes)
    throw new RangeError('a request with a wrong name')
  const json: unknown = valuesStart === nameEnd ? undefined : JSON.parse(bytes.toString('utf8', nameEnd, valuesStart))
  const values = (flags & Flag.packed) === 0 ? valueAt(bytes, valuesStart, end) : packedAt(bytes, valuesStart, end)
  const group: Group = {
    stream,
    created: (flags & Flag.created) === 0 ? undefined : bytes.readUIntLE(start + 1, 6),
    values,
    conditions: { ...conditionsOf(json), mustExist: (flags & Flag.mustExist) !== 0, end: (flags & Flag.end) !== 0 },
  }
  return { group, json, end }
}

function valueAt(bytes: Buffer, at: number, end: number): EncodedValue {
  if (at >= end) throw new RangeError('a request that is too short')
  return new EncodedValue(encodingAt(bytes, at), bytes.subarray(at + VALUE_HEADER_BYTES, end))
}

/** The encoding with the number at the offset `at`. Throws if there is none. */
export function encodingAt(bytes: Buffer, at: number): StreamEncoding {
  const encoding = ENCODINGS[bytes[at] as number]
  if (encoding === undefined) throw new RangeError('a value of an unknown encoding')
  return encoding
}
