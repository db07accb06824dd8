/** Checks the arguments of an open log's methods and of `repair`, and fills in defaults. */
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { types } from 'node:util'
import { DurlogError, invalidArgument } from '../errors.js'
import { LEVEL_NAMES, LEVELS } from '../native/levels.js'
import type { NativeOptions } from '../native/log.js'
import type {
  AppendDurability,
  AppendOptions,
  AppendSyncOptions,
  Durability,
  LogPosition,
  Payload,
  ReadableOptions,
  ReadOptions,
  WritableOptions,
} from '../types.js'
import { checkSignal } from './abort-signal.js'
import { bag, choice, flag, isUnicode, isUrl, shown, whole } from './checks.js'

/** The core's number for a level's name. Throws ERR_DURLOG_INVALID_ARGUMENT. */
export function levelCode(durability: Durability): number {
  switch (durability) {
    case 'memory':
      return LEVELS.memory
    case 'async':
      return LEVELS.async
    case 'sync':
      return LEVELS.sync
    case 'full':
      return LEVELS.full
    default:
      throw invalidArgument(`durability must be one of ${LEVEL_NAMES.join(', ')}; got ${shown(durability)}`)
  }
}

/** Checks a seq. Throws ERR_DURLOG_INVALID_ARGUMENT. */
export function checkSeq(name: string, seq: unknown, min = 0): void {
  whole(name, seq, { min, max: Number.MAX_SAFE_INTEGER - 1 }, 0)
  if (seq === undefined) throw invalidArgument(`${name} must be a whole number; got undefined`)
}

/**
 * Checks the position of a snapshot. Allows further properties, so that a caller can pass an object that also holds its
 * state.
 */
export function checkLogPosition(value: unknown): LogPosition {
  if (typeof value !== 'object' || value === null)
    throw invalidArgument(`a position must be an object with uuid, generation and seq; got ${shown(value)}`)
  const { uuid, generation, seq, checksum } = value as LogPosition
  if (typeof uuid !== 'string') throw invalidArgument(`uuid must be the UUID of a log; got ${shown(uuid)}`)
  checkSeq('generation', generation)
  checkSeq('seq', seq, -1)
  // A snapshot that was saved without a checksum proves nothing, but is no mistake of the caller.
  if (checksum !== undefined) whole('checksum', checksum, { min: 0, max: 2 ** 32 - 1 }, 0)
  return { uuid, generation, seq, checksum }
}

const READ_OPTION_NAMES: readonly string[] = [
  'from',
  'to',
  'since',
  'until',
  'follow',
  'durableOnly',
  'replicatedOnly',
  'salvage',
  'onGap',
  'signal',
] satisfies (keyof ReadOptions)[]

const APPEND_SYNC_OPTION_NAMES: readonly string[] = ['durability', 'timestamp'] satisfies (keyof AppendSyncOptions)[]
const APPEND_OPTION_NAMES: readonly string[] = [...APPEND_SYNC_OPTION_NAMES, 'expectedSeq', 'signal']
const READABLE_OPTION_NAMES: readonly string[] = [...READ_OPTION_NAMES, 'highWaterMark']
const WRITABLE_OPTION_NAMES: readonly string[] = [
  'durability',
  'highWaterMark',
  'skipEmpty',
  'split',
] satisfies (keyof WritableOptions)[]
/** The default `highWaterMark` of a writable stream in object mode, in values. */
const OBJECTS_HELD = 256
const HIGH_WATER_MARK_MAX = 2 ** 31 - 1
/** The latest time that a `Date` can represent. */
export const TIME_MAX_MS = 8_640_000_000_000_000

function checkTimestamp(timestamp: unknown): number | undefined {
  if (timestamp !== undefined)
    whole('timestamp', timestamp, { min: 0, max: TIME_MAX_MS, unit: 'milliseconds since 1970' }, 0)
  return timestamp as number | undefined
}

/** A date, optionally with a time and a zone. Without a zone it is local time. */
const ISO_TIME = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)\s?(Z|[+-]\d\d:?\d\d)?)?$/i

/** Parses ISO 8601 and returns milliseconds since 1970. NaN for any other text, and for days that do not exist. */
export function parseIsoTime(text: string): number {
  const [, day, time = '00:00', zone = ''] = ISO_TIME.exec(text) ?? []
  if (day === undefined || Number.isNaN(Date.parse(day))) return Number.NaN
  // Date.parse converts a day that does not exist to a later one, such as February 30 to March 2.
  if (new Date(`${day}T00:00Z`).toISOString().slice(0, 10) !== day) return Number.NaN
  return Date.parse(`${day}T${time}${zone.toUpperCase().replace(/(\d\d)(\d\d)$/, '$1:$2')}`)
}

/** Converts a TimePoint to whole milliseconds since 1970, rounded up. Throws ERR_DURLOG_INVALID_ARGUMENT. */
export function toTimeMs(name: string, time: unknown): number {
  const ms = types.isDate(time) ? time.getTime() : typeof time === 'string' ? parseIsoTime(time) : time
  if (typeof ms === 'number' && ms >= 0 && ms <= TIME_MAX_MS) return Math.ceil(ms)
  throw invalidArgument(`${name} must be a Date, milliseconds since 1970 or text in ISO 8601; got ${shown(time)}`)
}

/**
 * The checked options of an append. Without a `timestamp` the record gets the clock's time; without an `expectedSeq`,
 * any seq.
 */
export interface AppendCall {
  level: number
  timestamp: number | undefined
  expectedSeq: number | undefined
}

/** Checks the options of `append` and `appendBatch`. Reads each property once. Throws ERR_DURLOG_INVALID_ARGUMENT. */
export function resolveAppendOptions(
  options: unknown,
  level: number,
): { call: AppendCall; signal: AbortSignal | undefined; replicated: boolean } {
  const given = bag('append options', options, APPEND_OPTION_NAMES) as AppendOptions
  const { durability, timestamp, expectedSeq, signal } = given
  if (expectedSeq !== undefined) checkSeq('expectedSeq', expectedSeq)
  const replicated = durability === 'replicated'
  const call = {
    level: durability === undefined ? level : replicated ? LEVELS.sync : levelCode(durability),
    timestamp: checkTimestamp(timestamp),
    expectedSeq,
  }
  return { call, signal: checkSignal(signal), replicated }
}

/** Checks the arguments of `reached`. Throws ERR_DURLOG_INVALID_ARGUMENT. */
export function resolveReached(
  seq: unknown,
  durability: AppendDurability | undefined,
  options: unknown,
): { level: number; signal: AbortSignal | undefined; replicated: boolean } {
  checkSeq('seq', seq)
  const { signal } = bag('reached options', options, ['signal'])
  const replicated = durability === 'replicated'
  const level = durability === undefined || replicated ? LEVELS.sync : levelCode(durability)
  return { level, signal: checkSignal(signal), replicated }
}

/** Checks the options of `appendSync`. Throws ERR_DURLOG_INVALID_ARGUMENT. */
export function resolveAppendSyncOptions(
  options: unknown,
  level: number,
): { level: number; timestamp: number | undefined } {
  const { durability, timestamp } = bag('appendSync options', options, APPEND_SYNC_OPTION_NAMES) as AppendSyncOptions
  return { level: durability === undefined ? level : levelCode(durability), timestamp: checkTimestamp(timestamp) }
}

/** Checks the options of `writable`. Throws ERR_DURLOG_INVALID_ARGUMENT. */
export function resolveWritableOptions(
  options: unknown,
  level: number,
  objects: boolean,
): { level: number; highWaterMark: number; skipEmpty: boolean; lines: boolean } {
  const given = bag('writable options', options, WRITABLE_OPTION_NAMES) as WritableOptions
  const range = { min: 1, max: HIGH_WATER_MARK_MAX, unit: objects ? 'values' : 'bytes' }
  for (const name of ['skipEmpty', 'split'] as const)
    if (objects && given[name] !== undefined)
      throw invalidArgument(`${name} is allowed only for streams of bytes: with this encoding each chunk is a value`)
  return {
    level: given.durability === undefined ? level : levelCode(given.durability),
    highWaterMark: whole('highWaterMark', given.highWaterMark, range, objects ? OBJECTS_HELD : 2 ** 20),
    skipEmpty: flag('skipEmpty', given.skipEmpty, false),
    lines: choice('split', given.split, ['chunks', 'lines'], 'chunks') === 'lines',
  }
}

/** Checks the options of `readable`, and separates those of the reader. Throws ERR_DURLOG_INVALID_ARGUMENT. */
export function resolveReadableOptions(options: unknown): { highWaterMark: number; readOptions: ReadOptions } {
  const { highWaterMark, ...readOptions } = bag('readable options', options, READABLE_OPTION_NAMES) as ReadableOptions
  const range = { min: 1, max: HIGH_WATER_MARK_MAX, unit: 'records' }
  return { highWaterMark: whole('highWaterMark', highWaterMark, range, 256), readOptions }
}

const REPAIR_OPTION_NAMES: readonly string[] = ['apply', 'backup']

/** Checks the options of `repair`. Throws ERR_DURLOG_INVALID_ARGUMENT. */
export function resolveRepairOptions(options: unknown): { apply: boolean; backup: string } {
  const { apply, backup } = bag('repair options', options, REPAIR_OPTION_NAMES)
  const applies = flag('apply', apply, false)
  if (backup !== undefined && (typeof backup !== 'string' || backup === ''))
    throw invalidArgument(`backup must be a folder's path; got ${shown(backup)}`)
  if (applies && backup === undefined)
    throw invalidArgument(
      "backup must be a folder's path, which apply requires for a copy of the cut bytes; got undefined",
    )
  return { apply: applies, backup: backup === undefined ? '' : resolve(backup) }
}

/** The length of the shortest record's frame. */
const MIN_FRAME_BYTES = 32

/**
 * Copies the records of a batch to a new array. Reads each element once, so that no code of a getter or a proxy runs
 * after the first record is framed. Throws ERR_DURLOG_INVALID_ARGUMENT or ERR_DURLOG_BATCH_TOO_LARGE.
 */
export function collectBatch(list: unknown, { segmentBytes, maxPendingBytes }: NativeOptions): Payload[] {
  if (!Array.isArray(list) || list.length === 0)
    throw invalidArgument(`a batch must be an array of at least one record; got ${shown(list)}`)
  const { length } = list
  const maxBytes = Math.min(segmentBytes, maxPendingBytes)
  if (length * MIN_FRAME_BYTES > maxBytes)
    throw new DurlogError(
      'ERR_DURLOG_BATCH_TOO_LARGE',
      `a batch of ${length} records takes at least ${length * MIN_FRAME_BYTES} bytes; it must fit into ${maxBytes} (segmentBytes, maxPendingBytes)`,
    )
  const records: Payload[] = []
  for (let i = 0; i < length; i++) records.push(list[i] as Payload)
  return records
}

/**
 * Checks the options of `read`. Returns times in milliseconds, because the caller may change a `Date` before its use.
 * Throws ERR_DURLOG_INVALID_ARGUMENT.
 */
export function resolveReadOptions(options: unknown): ReadOptions {
  const given = bag('read options', options, READ_OPTION_NAMES) as ReadOptions
  if (given.from !== undefined) checkSeq('from', given.from, 1 - Number.MAX_SAFE_INTEGER)
  if (given.to !== undefined) checkSeq('to', given.to)
  if (given.since !== undefined) given.since = toTimeMs('since', given.since)
  if (given.until !== undefined) given.until = toTimeMs('until', given.until)
  if (flag('follow', given.follow, false) && given.until !== undefined)
    throw invalidArgument('until cannot be combined with follow: records before that time may still be appended')
  flag('durableOnly', given.durableOnly, false)
  flag('replicatedOnly', given.replicatedOnly, false)
  flag('salvage', given.salvage, false)
  if (given.onGap !== undefined && typeof given.onGap !== 'function')
    throw invalidArgument(`onGap must be a function; got ${shown(given.onGap)}`)
  checkSignal(given.signal)
  return given
}

/** Checks the text of a record. Throws the error that the core would throw. */
export function checkText(text: string): void {
  if (isUnicode(text)) return
  throw invalidArgument(
    "a record's text has half of a surrogate pair, which UTF-8 cannot express: cut text between characters, or repair it with toWellFormed()",
  )
}

/**
 * Checks a record before it waits for room, and returns its number of bytes. Throws the error that the core would throw
 * when it frames the record.
 */
export function checkPayload(data: unknown, maxRecordBytes: number): number {
  if (typeof data !== 'string' && !types.isUint8Array(data))
    throw invalidArgument(
      `a record must be a Uint8Array or a string; got ${shown(data)}; open the log with encoding: 'json' to store values`,
    )
  if (typeof data === 'string') checkText(data)
  const bytes = typeof data === 'string' ? Buffer.byteLength(data) : data.byteLength
  if (bytes === 0) throw new DurlogError('ERR_DURLOG_RECORD_EMPTY', 'a record has at least one byte; got none')
  if (bytes > maxRecordBytes)
    throw new DurlogError(
      'ERR_DURLOG_RECORD_TOO_LARGE',
      `a record has at most ${maxRecordBytes} bytes (maxRecordBytes); got ${bytes}`,
    )
  return bytes
}

/** The appends of a log or of a folder of streams that wait for room hold at most this many bytes. */
export const HELD_MAX_BYTES: number = 256 * 2 ** 20
/** The bytes that an append that waits takes besides its records: its promise and the objects that settle it. */
export const HELD_CALL_BYTES = 512

/** Returns the bytes that a record has now, for a record that is framed later. */
export function ownBytes<T>(data: T): T | Buffer {
  return types.isUint8Array(data) ? Buffer.from(data) : data
}

/** Converts a path or a file: URL to an absolute path. Throws ERR_DURLOG_INVALID_ARGUMENT. */
export function resolveDir(dir: unknown): string {
  const path = typeof dir === 'string' ? dir : pathOf(dir)
  if (path !== undefined && path !== '' && !path.includes('\0')) return resolve(path)
  throw invalidArgument(`dir must be a folder's path or file: URL; got ${shown(isUrl(dir) ? dir.href : dir)}`)
}

/** Undefined if `url` is not a URL of a path, such as `file://host/log`. */
function pathOf(url: unknown): string | undefined {
  if (!isUrl(url) || url.protocol !== 'file:') return undefined
  try {
    return fileURLToPath(url)
  } catch {
    return undefined
  }
}
