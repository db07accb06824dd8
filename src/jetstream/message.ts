/** A record as messages of a stream: one, or several if it is longer than a message may be. */
import type { MsgHdrs } from '@nats-io/transport-node'
import { DurlogError } from '../errors.js'
import { recordCrc } from '../ship/record-crc.js'
import type { ShipOrigin, ShippedRecord, ShipRecord } from '../ship/types.js'
import { headerLines } from './raw-headers.js'

/** Names of the headers. */
export const Header = {
  uuid: 'Durlog-Uuid',
  seq: 'Durlog-Seq',
  generation: 'Durlog-Generation',
  timestamp: 'Durlog-Timestamp',
  crc: 'Durlog-Crc',
  /** `<offset>/<length>` of a part; absent in a message that is a whole record. */
  part: 'Durlog-Part',
  /** The first seq of a range of lost records that ends right before `void`, or this record. */
  gap: 'Durlog-Gap',
  /** The first seq of a range that never held a record, and that ends right before this one. */
  void: 'Durlog-Void',
  messageId: 'Nats-Msg-Id',
  expectedStream: 'Nats-Expected-Stream',
  expectedLast: 'Nats-Expected-Last-Subject-Sequence',
  expectedLastId: 'Nats-Expected-Last-Msg-Id',
  batchId: 'Nats-Batch-Id',
  batchSequence: 'Nats-Batch-Sequence',
  batchCommit: 'Nats-Batch-Commit',
  markerReason: 'Nats-Marker-Reason',
} as const

/** More than the headers of a message can take. */
export const HEADER_ROOM_BYTES = 1024

/** The longest record that a log can hold. */
export const MAX_RECORD_BYTES: number = 2 ** 27

/** One message of a record. */
export interface RecordMessage {
  /** The server stores one message of an id. */
  readonly id: string
  /** See `headerLines`. */
  readonly headers: string
  readonly data: Uint8Array
}

export interface MessageShape {
  /** Of a message's data. */
  maxBytes: number
  /** Whether a longer record is split. */
  split: boolean
  /** The end of each message id: distinguishes messages from earlier ones that were removed. */
  idSuffix: string
}

/** The messages of `record`, beginning at its byte `offset`. Throws ERR_DURLOG_RECORD_TOO_LARGE. */
export function toMessages(record: ShipRecord, origin: ShipOrigin, shape: MessageShape, offset = 0): RecordMessage[] {
  const { seq, data, timestamp, gapFrom, voidFrom } = record
  const { maxBytes, split, idSuffix } = shape
  if (data.length > maxBytes && !split) throw tooLarge(seq, data.length, maxBytes)
  const crc = recordCrc(origin.uuid, seq, timestamp, data).toString(16).padStart(8, '0')
  const whole = data.length <= maxBytes && offset === 0
  const messages: RecordMessage[] = []
  for (let from = offset; from < data.length; from += maxBytes) {
    const id = `${origin.uuid}:${seq}${from === 0 ? '' : `:${from}`}${idSuffix}`
    const headers: [string, string][] = [
      [Header.messageId, id],
      [Header.uuid, origin.uuid],
      [Header.seq, String(seq)],
      [Header.generation, String(origin.generation)],
      [Header.timestamp, String(timestamp)],
      [Header.crc, crc],
    ]
    if (!whole) headers.push([Header.part, `${from}/${data.length}`])
    if (gapFrom !== undefined) headers.push([Header.gap, String(gapFrom)])
    if (voidFrom !== undefined) headers.push([Header.void, String(voidFrom)])
    messages.push({ id, headers: headerLines(headers), data: whole ? data : data.subarray(from, from + maxBytes) })
  }
  return messages
}

/** A stored message, parsed. */
export interface StoredPart extends ShippedRecord {
  /** The position of its data in the record. */
  readonly offset: number
  /** The length of its data. */
  readonly partBytes: number
  /** Of the whole record. */
  readonly length: number
  readonly generation: number
  /** The first seq of a range that never held a record, and that ends right before this one; `seq` without any. */
  readonly voidFrom: number
}

/** Whether the server stored this message itself, when the last message of a subject expired or was removed. */
export function isDeletionMarker(headers: MsgHdrs | undefined): boolean {
  return headers?.has(Header.markerReason) === true
}

/** Undefined for a message that durlog did not publish. */
export function parseMessage(headers: MsgHdrs | undefined, dataLength: number): StoredPart | undefined {
  if (headers === undefined) return undefined
  const uuid = headers.get(Header.uuid)
  const seq = wholeNumber(headers.get(Header.seq))
  const timestamp = wholeNumber(headers.get(Header.timestamp))
  const crcText = headers.get(Header.crc)
  if (uuid === '' || seq === undefined || timestamp === undefined || !/^[0-9a-f]{8}$/.test(crcText)) return undefined
  const [offset, length] = headers.has(Header.part)
    ? headers.get(Header.part).split('/').map(wholeNumber)
    : [0, dataLength]
  if (offset === undefined || length === undefined || offset + dataLength > length || length > MAX_RECORD_BYTES)
    return undefined
  const crc = Number.parseInt(crcText, 16)
  const generation = wholeNumber(headers.get(Header.generation)) ?? 0
  const voidFrom = Math.min(seq, wholeNumber(headers.get(Header.void)) ?? seq)
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
  }
}

function wholeNumber(text: string): number | undefined {
  const value = Number(text)
  return /^\d{1,16}$/.test(text) && Number.isSafeInteger(value) ? value : undefined
}

function tooLarge(seq: number, bytes: number, maxBytes: number): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_RECORD_TOO_LARGE',
    `record ${seq} has ${bytes} bytes, and a message of this stream at most ${maxBytes}: raise the server's max_payload and the stream's max_msg_size, or allow records to be split (oversized: 'split', without --no-split)`,
  )
}
