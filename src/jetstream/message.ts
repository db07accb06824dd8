/**
 * Converts records to messages of a stream: a record to one message, or to several if it is longer than a message may
 * be; or a run of records to one packed message. A packed message has the facts of its last record.
 */
import type { MsgHdrs } from '@nats-io/transport-node'
import { DurlogError } from '../errors.js'
import { encodeFrames, framedBytes, MAX_FRAME_MS } from '../frames.js'
import { parseWhole } from '../options/amounts.js'
import { MAX_PAYLOAD_BYTES } from '../options/open-options.js'
import { recordCrc } from '../ship/record-crc.js'
import type { ShipOrigin, ShippedRecord, ShipRecord } from '../ship/types.js'
import { ENCODINGS } from '../streams/port/encoding.js'
import type { StreamEncoding } from '../streams/port/types.js'
import { headerLines } from './raw-headers.js'

/** The names of message headers. */
export const Header = {
  uuid: 'Durlog-Uuid',
  seq: 'Durlog-Seq',
  generation: 'Durlog-Generation',
  timestamp: 'Durlog-Timestamp',
  crc: 'Durlog-Crc',
  /**
   * `<offset>/<length>`: the part's offset in the record, and the record's length. Absent in a message that holds a
   * whole record.
   */
  part: 'Durlog-Part',
  /** The first seq of a packed message, whose last seq is `seq`. Absent in a message of one record. */
  first: 'Durlog-First',
  /** The base time of the frames of a packed message. */
  base: 'Durlog-Base',
  /** The first seq of a range of lost records, which ends directly before `void`, or before this record. */
  gap: 'Durlog-Gap',
  /** The first seq of a range that never held a record. The range ends directly before this record. */
  void: 'Durlog-Void',
  /**
   * The id of the copy of the log that has claimed the generation of this message, which repeats the facts of the last
   * record.
   */
  claim: 'Durlog-Claim',
  /** The encoding of the streams whose main log holds the record. */
  streams: 'Durlog-Streams',
  messageId: 'Nats-Msg-Id',
  expectedStream: 'Nats-Expected-Stream',
  expectedLast: 'Nats-Expected-Last-Subject-Sequence',
  expectedLastInStream: 'Nats-Expected-Last-Sequence',
  expectedLastId: 'Nats-Expected-Last-Msg-Id',
  batchId: 'Nats-Batch-Id',
  batchSequence: 'Nats-Batch-Sequence',
  batchCommit: 'Nats-Batch-Commit',
  markerReason: 'Nats-Marker-Reason',
} as const

/** An upper bound for the length of a message's headers. */
export const HEADER_ROOM_BYTES = 1024

/** One message of a record. */
export interface RecordMessage {
  /** The message id. The server stores at most one message with an id (within its duplicate window). */
  readonly id: string
  /** See `headerLines`. */
  readonly headers: string
  readonly data: Uint8Array
}

export interface MessageShape {
  /** The longest data of a message. */
  maxBytes: number
  /** Whether a longer record is split into several messages. */
  split: boolean
  /** The end of each message id: distinguishes messages from earlier ones that were removed. */
  idSuffix: string
}

/**
 * Returns the messages for the bytes of `record` from `offset` on. Throws ERR_DURLOG_RECORD_TOO_LARGE if it must not be
 * split.
 */
export function toMessages(record: ShipRecord, origin: ShipOrigin, shape: MessageShape, offset = 0): RecordMessage[] {
  const { seq, data, timestamp, gapFrom, voidFrom } = record
  const { maxBytes, idSuffix } = shape
  checkSize(record, shape)
  const crc = recordCrc(origin.uuid, seq, timestamp, data)
  const whole = data.length <= maxBytes && offset === 0
  const messages: RecordMessage[] = []
  for (let from = offset; from < data.length; from += maxBytes) {
    const id = idOf(origin, seq, `${from === 0 ? '' : `:${from}`}${idSuffix}`)
    const headers = factsOf(id, { uuid: origin.uuid, seq, timestamp, crc }, origin)
    if (!whole) headers.push([Header.part, `${from}/${data.length}`])
    if (gapFrom !== undefined) headers.push([Header.gap, String(gapFrom)])
    if (voidFrom !== undefined) headers.push([Header.void, String(voidFrom)])
    messages.push({ id, headers: headerLines(headers), data: whole ? data : data.subarray(from, from + maxBytes) })
  }
  return messages
}

/** The most records of a packed message: encoding them takes one turn of the event loop. */
const MAX_RUN_RECORDS = 4096

/** The records of one packed message. */
export class Run {
  readonly #maxBytes: number
  readonly records: ShipRecord[] = []
  #bytes = 0

  /** `maxBytes` is the longest data of a message. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Whether `record` can follow the records of the run in one message. */
  takes({ seq, data, timestamp, gapFrom, voidFrom }: ShipRecord): boolean {
    const [first, last] = [this.records[0], this.records.at(-1)]
    if (first === undefined || last === undefined) return true
    const sinceMs = timestamp - first.timestamp
    return (
      seq === last.seq + 1 &&
      gapFrom === undefined &&
      voidFrom === undefined &&
      first.gapFrom === undefined &&
      first.voidFrom === undefined &&
      this.records.length < MAX_RUN_RECORDS &&
      sinceMs >= 0 &&
      sinceMs <= MAX_FRAME_MS &&
      this.#bytes + framedBytes(data.length) <= this.#maxBytes
    )
  }

  add(record: ShipRecord): void {
    this.records.push(record)
    this.#bytes += framedBytes(record.data.length)
  }

  /** The message of two or more records. */
  toMessage(origin: ShipOrigin, idSuffix: string): RecordMessage {
    const [first, last] = [this.records[0] as ShipRecord, this.records.at(-1) as ShipRecord]
    const { uuid } = origin
    const { seq, timestamp } = last
    // As the id of a message of the last record alone: a message that may only follow this id begins after that record.
    const id = idOf(origin, seq, idSuffix)
    const headers = factsOf(id, { uuid, seq, timestamp, crc: recordCrc(uuid, seq, timestamp, last.data) }, origin)
    headers.push([Header.first, String(first.seq)], [Header.base, String(first.timestamp)])
    return { id, headers: headerLines(headers), data: encodeFrames(uuid, this.records, first.timestamp) }
  }
}

/**
 * A message of another generation must not follow the message because of its id: see Header.expectedLastId. Nor one of
 * another copy: a former writer that was truncated may have the generation of its successor.
 */
function idOf({ uuid, generation, copy }: ShipOrigin, seq: number, end: string): string {
  const by = copy === undefined ? '' : `:${copy}`
  return `${uuid}:${seq}${generation === 0 ? '' : `@${generation}${by}`}${end}`
}

/** The headers of a message whose last record is `record`. */
function factsOf(
  id: string,
  { uuid, seq, timestamp, crc }: Pick<ShippedRecord, 'uuid' | 'seq' | 'timestamp' | 'crc'>,
  { generation, streams }: Pick<ShipOrigin, 'generation' | 'streams'>,
): [string, string][] {
  return [
    [Header.messageId, id],
    [Header.uuid, uuid],
    [Header.seq, String(seq)],
    [Header.generation, String(generation)],
    [Header.timestamp, String(timestamp)],
    [Header.crc, crc.toString(16).padStart(8, '0')],
    ...(streams === undefined ? [] : ([[Header.streams, streams]] as [string, string][])),
  ]
}

/** A parsed message of a stream. Its record is the last one of a packed message. */
export interface StoredPart extends ShippedRecord {
  /** The first seq of a packed message, otherwise `seq`. */
  readonly first: number
  /** The base time of the frames of a packed message; undefined for a message of one record. */
  readonly baseMs: number | undefined
  /** The offset of the message's data in the record. */
  readonly offset: number
  /** The length of the message's data. */
  readonly partBytes: number
  /** The length of the whole record. */
  readonly length: number
  readonly generation: number
  /**
   * The first seq of a range without records that ends directly before this record; `first` if there is no such range.
   */
  readonly voidFrom: number
  /** The encoding of the streams whose main log holds the record; undefined for any other log. */
  readonly streams: StreamEncoding | undefined
}

/** The seq before which a stream holds whole records if its last message is `part`. */
export function endOf({ whole, seq }: StoredPart): number {
  return whole ? seq + 1 : seq
}

/** Whether this is a marker that the server stored when the last message of a subject expired or was removed. */
export function isDeletionMarker(headers: MsgHdrs | undefined): boolean {
  return headers?.has(Header.markerReason) === true
}

/** Parses a message. Undefined if durlog did not publish it. */
export function parseMessage(headers: MsgHdrs | undefined, dataLength: number): StoredPart | undefined {
  if (headers === undefined) return undefined
  const uuid = headers.get(Header.uuid)
  const seq = parseWhole(headers.get(Header.seq))
  const timestamp = parseWhole(headers.get(Header.timestamp))
  const crcText = headers.get(Header.crc)
  if (uuid === '' || seq === undefined || timestamp === undefined || !/^[0-9a-f]{8}$/.test(crcText)) return undefined
  const [offset, length] = headers.has(Header.part)
    ? headers.get(Header.part).split('/').map(parseWhole)
    : [0, dataLength]
  if (offset === undefined || length === undefined || offset + dataLength > length || length > MAX_PAYLOAD_BYTES)
    return undefined
  const crc = Number.parseInt(crcText, 16)
  const generation = parseWhole(headers.get(Header.generation)) ?? 0
  const baseMs = headers.has(Header.first) ? parseWhole(headers.get(Header.base)) : undefined
  const first = headers.has(Header.first) ? parseWhole(headers.get(Header.first)) : seq
  if (first === undefined || first > seq || first < seq !== (baseMs !== undefined)) return undefined
  const voidFrom = Math.min(first, parseWhole(headers.get(Header.void)) ?? first)
  return {
    uuid,
    seq,
    timestamp,
    crc,
    offset,
    partBytes: dataLength,
    length,
    generation,
    first,
    baseMs,
    voidFrom,
    whole: offset + dataLength === length,
    claimedBy: headers.has(Header.claim) ? headers.get(Header.claim) : undefined,
    streams: ENCODINGS.find((encoding) => encoding === headers.get(Header.streams)),
  }
}

/**
 * The headers of a claim: those of the last record, the generation that is claimed, and the id of the copy that claims
 * it.
 */
export function claimHeaders(
  record: Pick<ShippedRecord, 'uuid' | 'seq' | 'timestamp' | 'crc'>,
  { generation, owner, streams }: Pick<StoredPart, 'generation' | 'streams'> & { owner: string },
): string {
  const headers = factsOf(`${record.uuid}:claim:${generation}:${owner}`, record, { generation, streams })
  return headerLines([...headers, [Header.claim, owner]])
}

/** Throws ERR_DURLOG_RECORD_TOO_LARGE if `record` would be split and must not be. */
export function checkSize({ seq, data }: ShipRecord, { maxBytes, split }: MessageShape): void {
  if (data.length <= maxBytes || split) return
  throw new DurlogError(
    'ERR_DURLOG_RECORD_TOO_LARGE',
    `record ${seq} has ${data.length} bytes, but a message of this stream has at most ${maxBytes}: raise the server's max_payload and the stream's max_msg_size, or allow records to be split (oversized: 'split', without --no-split)`,
  )
}
