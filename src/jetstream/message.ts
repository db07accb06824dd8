/**
 * Converts a record to messages of a stream: to one message, or to several if the record is longer than a message may
 * be.
 */
import type { MsgHdrs } from '@nats-io/transport-node'
import { DurlogError } from '../errors.js'
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
  const { maxBytes, split, idSuffix } = shape
  if (data.length > maxBytes && !split) throw tooLarge(seq, data.length, maxBytes)
  const crc = recordCrc(origin.uuid, seq, timestamp, data).toString(16).padStart(8, '0')
  const whole = data.length <= maxBytes && offset === 0
  // A message of another generation must not follow this one because of its id: see Header.expectedLastId.
  const writer = origin.generation === 0 ? '' : `@${origin.generation}`
  const messages: RecordMessage[] = []
  for (let from = offset; from < data.length; from += maxBytes) {
    const id = `${origin.uuid}:${seq}${writer}${from === 0 ? '' : `:${from}`}${idSuffix}`
    const headers: [string, string][] = [
      [Header.messageId, id],
      [Header.uuid, origin.uuid],
      [Header.seq, String(seq)],
      [Header.generation, String(origin.generation)],
      [Header.timestamp, String(timestamp)],
      [Header.crc, crc],
    ]
    if (origin.streams !== undefined) headers.push([Header.streams, origin.streams])
    if (!whole) headers.push([Header.part, `${from}/${data.length}`])
    if (gapFrom !== undefined) headers.push([Header.gap, String(gapFrom)])
    if (voidFrom !== undefined) headers.push([Header.void, String(voidFrom)])
    messages.push({ id, headers: headerLines(headers), data: whole ? data : data.subarray(from, from + maxBytes) })
  }
  return messages
}

/** A parsed message of a stream. */
export interface StoredPart extends ShippedRecord {
  /** The offset of the message's data in the record. */
  readonly offset: number
  /** The length of the message's data. */
  readonly partBytes: number
  /** The length of the whole record. */
  readonly length: number
  readonly generation: number
  /**
   * The first seq of a range without records that ends directly before this record; `seq` if there is no such range.
   */
  readonly voidFrom: number
  /** The encoding of the streams whose main log holds the record; undefined for any other log. */
  readonly streams: StreamEncoding | undefined
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
  const voidFrom = Math.min(seq, parseWhole(headers.get(Header.void)) ?? seq)
  return {
    uuid,
    seq,
    timestamp,
    crc,
    offset,
    partBytes: dataLength,
    length,
    generation,
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
  { uuid, seq, timestamp, crc }: Pick<ShippedRecord, 'uuid' | 'seq' | 'timestamp' | 'crc'>,
  { generation, owner, streams }: Pick<StoredPart, 'generation' | 'streams'> & { owner: string },
): string {
  return headerLines([
    [Header.messageId, `${uuid}:claim:${generation}:${owner}`],
    [Header.uuid, uuid],
    [Header.seq, String(seq)],
    [Header.generation, String(generation)],
    [Header.timestamp, String(timestamp)],
    [Header.crc, crc.toString(16).padStart(8, '0')],
    [Header.claim, owner],
    ...(streams === undefined ? [] : [[Header.streams, streams] as [string, string]]),
  ])
}

function tooLarge(seq: number, bytes: number, maxBytes: number): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_RECORD_TOO_LARGE',
    `record ${seq} has ${bytes} bytes, but a message of this stream has at most ${maxBytes}: raise the server's max_payload and the stream's max_msg_size, or allow records to be split (oversized: 'split', without --no-split)`,
  )
}
