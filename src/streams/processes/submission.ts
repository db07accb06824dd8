/** The frame of a request that stores something: groups of values, a creation or a deletion. */
import {
  ENCODING_NUMBERS,
  ENCODINGS,
  EncodedValue,
  GROUP_MAX_BYTES,
  NO_VALUES,
  PackedValues,
  type SentValues,
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

export type Submission =
  | { op: typeof SubmitOp.append; group: Group }
  | { op: typeof SubmitOp.batch; groups: readonly Group[] }
  | { op: typeof SubmitOp.create; stream: string; creation: CreationRequest; values: SentValues }
  | { op: typeof SubmitOp.delete; stream: string }

/** The op (u8). */
const OP_BYTES = 1
/**
 * Of a group: the flags (u8), `created` (u48), and the lengths of the name (u16), of the JSON (u32) and of the values
 * (u32).
 */
const GROUP_HEADER_BYTES = 17
/** Of a single value: the encoding (u8). */
const VALUE_HEADER_BYTES = 1
/** Of packed values: the encoding (u8), their number (u32); their places (u32 each) and their bytes follow. */
const PACKED_HEADER_BYTES = 5
const PLACE_BYTES = 4
const Flag = { end: 1, mustExist: 2, created: 4, packed: 8 } as const

/** The form in which groups, creations and deletions are sent. The rare conditions and the creation are JSON. */
type SentGroup = Omit<Group, 'conditions'> & Pick<AppendConditions, 'end' | 'mustExist'> & { json: string }

/** Throws ERR_DURLOG_BATCH_TOO_LARGE. */
export function submitFrame(maker: FrameMaker, number: number, submission: Submission): MadeFrame {
  const groups = sentGroups(submission)
  let room = roomOf(groups, mostBytes)
  if (room > GROUP_MAX_BYTES) room = roomOf(groups, Buffer.byteLength)
  if (room > GROUP_MAX_BYTES) throw tooLargeBatch(room)
  let at = maker.begin(FrameType.submit, number, room)
  maker.bytes[at++] = submission.op
  for (const group of groups) at = writeGroup(maker.bytes, at, group)
  maker.shorten(at)
  return maker
}

function roomOf(groups: readonly SentGroup[], bytesOf: (data: Buffer | string) => number): number {
  let room = OP_BYTES
  for (const { stream, json, values } of groups) {
    room += GROUP_HEADER_BYTES + bytesOf(stream) + bytesOf(json)
    if (values instanceof PackedValues)
      room += PACKED_HEADER_BYTES + PLACE_BYTES * values.places.length + values.bytes.length
    else room += VALUE_HEADER_BYTES + bytesOf(values.data)
  }
  return room
}

function sentGroups(submission: Submission): SentGroup[] {
  if (submission.op === SubmitOp.append) return [sentGroup(submission.group)]
  if (submission.op === SubmitOp.batch) return submission.groups.map(sentGroup)
  const { op, stream } = submission
  const plain = { stream, created: undefined, end: false, mustExist: false }
  if (op === SubmitOp.delete) return [{ ...plain, values: NO_VALUES, json: '' }]
  return [{ ...plain, values: submission.values, json: JSON.stringify(submission.creation) }]
}

function sentGroup({ stream, created, values, conditions }: Group): SentGroup {
  const { end, mustExist, expectedSeq, producer, writerSeq, durability, timestamp } = conditions
  const isPlain =
    expectedSeq === undefined &&
    producer === undefined &&
    writerSeq === undefined &&
    durability === undefined &&
    timestamp === undefined
  const json = isPlain ? '' : JSON.stringify({ expectedSeq, producer, writerSeq, durability, timestamp })
  return { stream, created, end, mustExist, values, json }
}

/** Returns the offset after the group. */
function writeGroup(bytes: Buffer, start: number, group: SentGroup): number {
  const { stream, created, end, mustExist, values, json } = group
  const nameAt = start + GROUP_HEADER_BYTES
  const nameBytes = writeName(bytes, stream, nameAt)
  const jsonBytes = json === '' ? 0 : bytes.write(json, nameAt + nameBytes)
  bytes[start] =
    (end ? Flag.end : 0) |
    (mustExist ? Flag.mustExist : 0) |
    (created === undefined ? 0 : Flag.created) |
    (values instanceof PackedValues ? Flag.packed : 0)
  bytes.writeUIntLE(created ?? 0, start + 1, 6)
  bytes.writeUInt16LE(nameBytes, start + 7)
  bytes.writeUInt32LE(jsonBytes, start + 9)
  const valuesAt = nameAt + nameBytes + jsonBytes
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
  const groups: { group: Group; json: unknown }[] = []
  let next = at + OP_BYTES
  while (next < end) {
    const found = groupAt(bytes, next)
    groups.push(found)
    next = found.end
  }
  if (next !== end) throw new RangeError('a request that is too short')
  if (op === SubmitOp.batch && groups.length > 0 && !groups.some(({ group }) => group.values instanceof PackedValues))
    return { op, groups: groups.map(({ group }) => group) }
  const [first] = groups
  if (first === undefined || groups.length > 1) throw new RangeError('a request with a wrong number of groups')
  const { group, json } = first
  if (op === SubmitOp.append) return { op, group }
  const { stream, values } = group
  if (op === SubmitOp.create) return { op, stream, creation: creationOf(json), values }
  if (op === SubmitOp.delete) return { op, stream }
  throw new RangeError('a request of an unknown kind')
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
