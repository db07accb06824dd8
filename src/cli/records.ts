/**
 * Converts records to lines of JSON and back: {"seq", "timestamp", "data"}, and "encoding" if "data" is not plain
 * UTF-8.
 */

import { isUtf8 } from 'node:buffer'
import { parseIsoTime, TIME_MAX_MS } from '../options/call-options.js'
import { InputError } from '../terminal/input-error.js'
import { formatTime } from '../terminal/output.js'
import type { LogRecord } from '../types.js'

export type LineEncoding = 'utf8' | 'base64' | 'json'
export const LINE_ENCODINGS: readonly LineEncoding[] = ['utf8', 'base64', 'json']
/** The encodings of export. `auto` keeps every byte: it uses UTF-8 if the payload is valid UTF-8, otherwise base64. */
export type ExportEncoding = 'auto' | LineEncoding
export const EXPORT_ENCODINGS: readonly ExportEncoding[] = ['auto', ...LINE_ENCODINGS]

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Returns the line of a record, with its newline. Throws InputError if the payload is not valid in this encoding. */
export function toJsonLine(record: LogRecord, encoding: ExportEncoding): string {
  if (encoding === 'auto') return toReadableJsonLine(record)
  const { seq, timestamp } = record
  const named = encoding === 'utf8' ? '' : `,"encoding":"${encoding}"`
  return `{"seq":${seq},"timestamp":${timestamp},"data":${encodeData(record, encoding)}${named}}\n`
}

/**
 * Returns the line of a record: as UTF-8 if the payload is valid UTF-8, otherwise as base64 with `"encoding":"base64"`.
 * The time is in milliseconds since 1970, or ISO 8601 with `iso`.
 */
export function toReadableJsonLine(record: LogRecord, iso = false): string {
  const { seq, timestamp, data } = record
  const text = decodeUtf8(data)
  const rest = text === undefined ? `"${data.toString('base64')}","encoding":"base64"` : JSON.stringify(text)
  const time = iso ? `"${formatTime(timestamp)}"` : timestamp
  return `{"seq":${seq},"timestamp":${time},"data":${rest}}\n`
}

function encodeData({ seq, data }: LogRecord, encoding: LineEncoding): string {
  if (encoding === 'base64') return `"${data.toString('base64')}"`
  const text = decodeUtf8(data)
  if (text === undefined) throw new InputError(`record ${seq} is not UTF-8; export it with --encoding base64`)
  if (encoding === 'utf8') return JSON.stringify(text)
  try {
    JSON.parse(text)
  } catch {
    throw new InputError(`record ${seq} is not JSON; export it with --encoding utf8 or base64`)
  }
  // In valid JSON, line breaks occur only between tokens, so they can be replaced with spaces.
  return text.replace(/[\r\n]/g, ' ')
}

function decodeUtf8(data: Uint8Array): string | undefined {
  try {
    return strictUtf8.decode(data)
  } catch {
    return undefined
  }
}

export interface JsonRecord {
  data: Buffer
  /** The "seq" and "timestamp" of the line; undefined if the line has none. */
  seq: unknown
  timestamp: unknown
}

/** The text of a line. Throws InputError if it is not UTF-8. */
export function textOf(line: Buffer, place: string): string {
  if (isUtf8(line)) return line.toString()
  throw new InputError(`${place} is not UTF-8`)
}

/** Parses a line of JSON. `place` names the line in errors, and `remedy` ends them. */
export function parseJsonLine(line: Buffer, place: string, remedy = ''): unknown {
  const text = textOf(line, place)
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new InputError(`${place} is not JSON: ${(error as Error).message}${remedy}`)
  }
}

/** Parses a line that `toJsonLine` has written. The line's "encoding" overrides `preset`. */
export function fromJsonLine(line: Buffer, preset: LineEncoding, place: string): JsonRecord {
  const value = parseJsonLine(line, place, '; to store each line unchanged, use "durlog append"')
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, 'data'))
    throw new InputError(
      `${place} has no "data", so "durlog export" has not written it; to store each line unchanged, use "durlog append" or --plain`,
    )
  const { data, encoding = preset, seq, timestamp } = value as Record<string, unknown>
  if (!LINE_ENCODINGS.includes(encoding as LineEncoding))
    throw new InputError(
      `${place}: "encoding" must be one of ${LINE_ENCODINGS.join(', ')}; got ${JSON.stringify(encoding)}`,
    )
  const bytes = toBytes(data, encoding as LineEncoding, place)
  if (bytes.length === 0) throw new InputError(`${place}: "data" is empty; a record has at least one byte`)
  return { data: bytes, seq, timestamp }
}

/** Returns the time in the member `name` of a line's value. */
export function timeIn(value: unknown, name: string, place: string): number {
  if (typeof value === 'object' && value !== null && Object.hasOwn(value, name))
    return toTime((value as Record<string, unknown>)[name], name, place)
  throw new InputError(`${place} has no member "${name}", which must be the record's time`)
}

/** Converts a record's time, milliseconds since 1970 or ISO 8601, to milliseconds since 1970. */
export function toTime(time: unknown, name: string, place: string): number {
  const ms = typeof time === 'string' ? Math.floor(parseIsoTime(time)) : time
  if (typeof ms === 'number' && Number.isInteger(ms) && ms >= 0 && ms <= TIME_MAX_MS) return ms
  throw new InputError(
    `${place}: "${name}" must be milliseconds since 1970, a whole number up to ${TIME_MAX_MS}, or ISO 8601; got ${JSON.stringify(time)}`,
  )
}

function toBytes(data: unknown, encoding: LineEncoding, place: string): Buffer {
  if (encoding === 'json') return Buffer.from(JSON.stringify(data))
  if (typeof data !== 'string')
    throw new InputError(
      `${place}: "data" must be a string with encoding ${encoding}; use --encoding json for other values`,
    )
  if (encoding === 'utf8') return Buffer.from(data)
  const bytes = Buffer.from(data, 'base64')
  if (bytes.toString('base64').replace(/=+$/, '') !== data.replace(/=+$/, ''))
    throw new InputError(`${place}: "data" is not base64`)
  return bytes
}
