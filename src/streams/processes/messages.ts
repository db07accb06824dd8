/** The payloads of the frames between the owner and its clients. */
import { readlinkSync } from 'node:fs'
import process from 'node:process'
import { DurlogError, type DurlogErrorCode } from '../../errors.js'
import type { AppendDurability, CommitOptions, CursorOptions } from '../../index.js'
import type { Body, BodyRead } from '../port/body.js'
import { ENCODING_NUMBERS, EncodedValue } from '../port/encoding.js'
import { checkStreamName } from '../port/file-name.js'
import { resolveReadAllOptions, resolveReadOptions } from '../port/options.js'
import type { AllBounds, ReadBounds, SeenState } from '../port/port.js'
import type { StreamAppendResult, StreamEncoding } from '../port/types.js'
import type { FileDisk } from '../state/state.js'
import { type FrameMaker, FrameType, jsonOf, type MadeFrame, payloadOf, type SocketFrame } from './frames.js'
import { encodingAt } from './submission.js'

export const PROTOCOL = 'durlog-streams'
export const PROTOCOL_VERSION = 11

/** The PID namespace of this process. Its id names another process, or none, in a process of another namespace. */
export const PID_NAMESPACE: string = pidNamespace()

function pidNamespace(): string {
  if (process.platform !== 'linux') return ''
  try {
    return readlinkSync('/proc/self/ns/pid')
  } catch {
    return ''
  }
}

/** The payload of `hello`, the client's first frame. */
export interface Hello {
  protocol: string
  version: number
  /** The id of the folder that the client has opened, see `folderIdOf`. */
  folder: string
  /** The client's id: 16 hex digits. */
  client: string
  pidNamespace: string
  /** The durability that the caller has chosen, if any. */
  durability: string | undefined
  /** The encoding that the caller has chosen, if any. */
  encoding: string | undefined
}

/** The payload of `welcome`, which accepts a client. */
export interface Welcome {
  pid: number
  pidNamespace: string
  durability: AppendDurability
  encoding: StreamEncoding
  changes: unknown[]
  /** As `ServedPort.checkpointFailure`. */
  checkpointFailure?: object | undefined
  /** The members of `StreamIdentities`. */
  uuid: string
  generation: number
}

/**
 * The records to read. With `created`, the stream must be the one that the entry at this position created: some of its
 * records were delivered. `change` has no records: it ends when the state of the stream differs from `seen`.
 */
export type ReadRequest =
  | ({ kind: 'stream'; stream: string; created?: number | undefined } & ReadBounds)
  | ({ kind: 'all' } & AllBounds)
  | { kind: 'list'; prefix: string; from?: number | undefined }
  | { kind: 'change'; seen: SeenState }

/** The checked payload of `read`. Throws if it is malformed. */
export function readRequestOf(payload: unknown): ReadRequest {
  const request = Object(payload) as ReadRequest
  if (request.kind === 'list' || request.kind === 'change') return request
  const { from, to, untilMs: until, follow, durableOnly } = request
  if (request.kind === 'all') resolveReadAllOptions({ from, to, until, follow, durableOnly })
  else {
    checkStreamName(request.stream)
    resolveReadOptions({ from, to, until, follow, durableOnly })
  }
  return request
}

export type PortCall =
  | { op: 'find'; stream: string; isRead: boolean }
  | { op: 'inherits'; stream: string; identity: string; seq: number }
  | { op: 'lastAppend'; stream: string; producer: string }
  | ({ op: 'body' } & BodyRequest)
  | { op: 'streams'; prefix: string; after: string; count: number }
  | { op: 'count'; prefix: string }
  | { op: 'stats' }
  | { op: 'info'; stream: string }
  | { op: 'checkpoint' }
  | { op: 'openCursor'; name: string; options?: CursorOptions }
  | { op: 'commit'; name: string; position: number; options: CommitOptions }
  | { op: 'closeCursor'; name: string }
  | { op: 'removeCursor'; name: string }

/** A request for records of the stream that the entry at `created` created: from seq `from` to seq `to` - 1. */
export interface BodyRequest {
  stream: string
  created: number
  from: number
  to: number
  maxBytes: number
  /** The client gets records also if they are in a file. Otherwise it gets the file's description and reads it. */
  fromFile: boolean
}

/** The description of a file, as JSON. */
export interface SentFile extends Omit<FileDisk, 'index'> {
  fileName: string
  /** The records of the read stream before this seq are in the file's stream. */
  end: number
  /** The index entries of `FileDisk` in base64. */
  index: string
}

/**
 * A record in the form in which it is sent to a reader. In a read of all streams, an entry of the main log: `seq` is
 * its position, and the value has its bytes. In a list, a stream: `seq` is the position of the entry that created it.
 */
export interface SentRecord {
  seq: number
  timestamp: number
  position: number
  value: EncodedValue
}

export interface RecordsHeader {
  /** Of a stream: the position of the entry that created it, or -1 if it is not known. */
  created: number
  /** The seq after the last record, at which to continue. */
  next: number
}

const RESULT_BYTES = 7
export const RECORD_HEADER_BYTES = 23
export const RECORDS_HEADER_BYTES = 12
const BODY_HEADER_BYTES = 12

/**
 * The answer to a submission. `duplicate` means: of a creation, that the stream existed; of a deletion, that it did not
 * exist.
 */
export function storedFrame(maker: FrameMaker, number: number, results: readonly StreamAppendResult[]): MadeFrame {
  let at = maker.begin(FrameType.stored, number, results.length * RESULT_BYTES)
  const { bytes } = maker
  for (const { seq, duplicate } of results) {
    bytes.writeIntLE(seq, at, 6)
    bytes[at + 6] = duplicate ? 1 : 0
    at += RESULT_BYTES
  }
  return maker
}

export function resultsOf({ bytes, at: start, end }: SocketFrame): StreamAppendResult[] {
  const results: StreamAppendResult[] = []
  for (let at = start; at < end; at += RESULT_BYTES)
    results.push({ seq: bytes.readIntLE(at, 6), duplicate: bytes[at + 6] === 1 })
  return results
}

/** Writes the beginning of a frame of records. Returns the offset after it. */
export function writeRecordsHeader(bytes: Buffer, at: number, { created, next }: RecordsHeader): number {
  return bytes.writeUIntLE(next, bytes.writeIntLE(created, at, 6), 6)
}

export function recordsHeader(payload: Buffer): RecordsHeader {
  return { created: payload.readIntLE(0, 6), next: payload.readUIntLE(6, 6) }
}

/** Writes a record at the offset `at`. Returns the offset after it. */
export function writeRecord(bytes: Buffer, at: number, record: SentRecord): number {
  bytes.writeUIntLE(record.seq, at, 6)
  bytes.writeUIntLE(record.timestamp, at + 6, 6)
  bytes.writeUIntLE(record.position, at + 12, 6)
  bytes.writeUInt32LE(record.value.data.length, at + 18)
  bytes[at + 22] = ENCODING_NUMBERS[record.value.encoding]
  const valueAt = at + RECORD_HEADER_BYTES
  return valueAt + record.value.data.copy(bytes, valueAt)
}

export function* recordsIn(payload: Buffer): Generator<SentRecord, void, undefined> {
  for (let at = RECORDS_HEADER_BYTES; at < payload.length; ) {
    const valueAt = at + RECORD_HEADER_BYTES
    const end = valueAt + payload.readUInt32LE(at + 18)
    yield {
      seq: payload.readUIntLE(at, 6),
      timestamp: payload.readUIntLE(at + 6, 6),
      position: payload.readUIntLE(at + 12, 6),
      value: new EncodedValue(encodingAt(payload, at + 22), payload.subarray(valueAt, end)),
    }
    at = end
  }
}

/** The answer to a request for records: those of `body`. */
export function bodyFrame(
  maker: FrameMaker,
  id: number,
  { next, timeMs = -1 }: BodyRead,
  { records }: Body,
): MadeFrame {
  let at = maker.begin(FrameType.body, id, BODY_HEADER_BYTES + records.length)
  at = maker.bytes.writeUIntLE(next, at, 6)
  at = maker.bytes.writeIntLE(timeMs, at, 6)
  records.copy(maker.bytes, at)
  return maker
}

/** Adds the records of a frame of `bodyFrame` to `body`, if they fit. `from` is the seq of the first one. */
export function addBody(payload: Buffer, from: number, body: Body): BodyRead {
  const timeMs = payload.readIntLE(6, 6)
  if (timeMs === -1 || !body.addAll(payload.subarray(BODY_HEADER_BYTES))) return { next: from, timeMs: undefined }
  return { next: payload.readUIntLE(0, 6), timeMs }
}

/** The payload of `event`. */
export interface SentEvent {
  name: string
  value: unknown
}

/** An error in the form in which it is sent. */
export function sentError(error: unknown): object {
  if (!(error instanceof DurlogError)) return { code: 'ERR_DURLOG_IO', message: (error as Error).message }
  const { code, message, cause, stack, ...details } = error
  void cause
  void stack
  return { code, message, ...details }
}

export function receivedError(sent: unknown): DurlogError {
  const { code, message, ...details } = sent as { code: DurlogErrorCode; message: string }
  return new DurlogError(code, message, details)
}

/** The value of the answer to a call, or the payload of a body. Throws the error of the answer. */
export function answeredValue(answer: SocketFrame): unknown {
  if (answer.type === FrameType.body) return payloadOf(answer)
  const { value, error } = jsonOf(answer) as { value: unknown; error?: unknown }
  if (error !== undefined) throw receivedError(error)
  return value
}
