/** All options of `open`, checked and filled in at one place. */
import { resolve } from 'node:path'
import { DurlogError, invalidArgument } from './errors.js'
// Types only: checking options must not need the addon.
import type { LEVEL_CODES, NativeOptions } from './native.js'
import type {
  AppendOptions,
  Durability,
  OpenOptions,
  Payload,
  Preallocation,
  ReadableOptions,
  ReadOptions,
  Strategy,
  WritableOptions,
} from './types.js'

const KIB = 1024
const MIB = 1024 * KIB
const GIB = 1024 * MIB
/** A segment's header block, and room for frames and markers. */
const SEGMENT_OVERHEAD_BYTES = 8192
const BLOCK_BYTES = 4096
/** The longest payload that a frame's length field is given on disk. */
const MAX_PAYLOAD_BYTES = 128 * MIB

const STRATEGIES: readonly Strategy[] = ['auto', 'mmap', 'pwrite', 'direct']
const PREALLOCATIONS: readonly Preallocation[] = [
  'auto',
  'none',
  'sparse',
  'fallocate',
  'keep-size',
  'zero-range',
  'zero',
  'recycle',
]
/** What leaves blocks unallocated: a store through a map into one on a full disk is SIGBUS. */
const UNALLOCATED: readonly Preallocation[] = ['none', 'sparse', 'keep-size']
const LEVELS = { memory: 0, async: 1, sync: 2, full: 3 } as const satisfies typeof LEVEL_CODES
const LEVEL_NAMES = Object.keys(LEVELS) as Durability[]
const RECOVERIES = ['strict', 'salvage'] as const

const OPTION_NAMES: readonly string[] = [
  'durability',
  'strategy',
  'preallocate',
  'segmentBytes',
  'maxPendingBytes',
  'maxRecordBytes',
  'chunkBytes',
  'extentSizeHint',
  'commitDelayMicros',
  'lock',
  'recovery',
  'readOnly',
  'create',
] satisfies (keyof OpenOptions)[]

export interface ResolvedOptions {
  level: number
  salvage: boolean
  readOnly: boolean
  lockWaitMs: number
  commitDelayMicros: number
  native: NativeOptions
}

/** `value` as it stands in an error: short, and telling a string from a number. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value)
  if (typeof value === 'function') return 'a function'
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'object' && value !== null) return 'an object'
  return String(value)
}

function choice<T extends string>(name: string, value: unknown, allowed: readonly T[], preset: T): T {
  if (value === undefined) return preset
  if (typeof value === 'string' && (allowed as readonly string[]).includes(value)) return value as T
  throw invalidArgument(`${name} must be one of ${allowed.join(', ')}; got ${shown(value)}`)
}

interface Range {
  min: number
  max: number
  unit: string
  multipleOf?: number
}

function whole(name: string, value: unknown, range: Range, preset: number): number {
  if (value === undefined) return preset
  const { min, max, unit, multipleOf = 1 } = range
  if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max && value % multipleOf === 0)
    return value
  const multiple = multipleOf === 1 ? '' : `, a multiple of ${multipleOf}`
  throw invalidArgument(
    `${name} must be a whole number of ${unit} from ${min} to ${max}${multiple}; got ${shown(value)}`,
  )
}

function flag(name: string, value: unknown, preset: boolean): boolean {
  if (value === undefined) return preset
  if (typeof value === 'boolean') return value
  throw invalidArgument(`${name} must be true or false; got ${shown(value)}`)
}

function bag(name: string, value: unknown, names: readonly string[]): Record<string, unknown> {
  if (value === undefined) return {}
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalidArgument(`${name} must be an object; got ${shown(value)}`)
  for (const key of Object.keys(value)) {
    if (!names.includes(key)) throw invalidArgument(`${name}: there is no "${key}"; allowed are ${names.join(', ')}`)
  }
  return value as Record<string, unknown>
}

/** The largest power of two that is not above `value`. */
function powerOfTwoWithin(value: number): number {
  return 2 ** Math.floor(Math.log2(value))
}

function resolveChunkBytes(value: unknown, segmentBytes: number): number {
  const max = Math.min(64 * MIB, powerOfTwoWithin(segmentBytes))
  const chunkBytes = whole('chunkBytes', value, { min: 64 * KIB, max, unit: 'bytes' }, Math.min(4 * MIB, max))
  if (chunkBytes !== powerOfTwoWithin(chunkBytes))
    throw invalidArgument(`chunkBytes must be a power of two from ${64 * KIB} to ${max}; got ${chunkBytes}`)
  return chunkBytes
}

/** Checks `options` and fills in what is left out. Throws ERR_DURLOG_INVALID_ARGUMENT. */
export function resolveOptions(options?: OpenOptions): ResolvedOptions {
  const given = bag('options', options, OPTION_NAMES) as OpenOptions
  const lock = bag('lock', given.lock, ['waitMs'])

  const strategy = choice('strategy', given.strategy, STRATEGIES, 'auto')
  const preallocate = choice('preallocate', given.preallocate, PREALLOCATIONS, 'auto')
  if (strategy === 'mmap' && UNALLOCATED.includes(preallocate)) {
    const allowed = PREALLOCATIONS.filter((name) => !UNALLOCATED.includes(name))
    throw invalidArgument(
      `preallocate must be one of ${allowed.join(', ')} with strategy "mmap", which stores only into allocated blocks; got "${preallocate}"`,
    )
  }

  const segmentBytes = whole(
    'segmentBytes',
    given.segmentBytes,
    { min: 64 * KIB, max: GIB, unit: 'bytes', multipleOf: BLOCK_BYTES },
    64 * MIB,
  )
  const maxPendingBytes = whole(
    'maxPendingBytes',
    given.maxPendingBytes,
    { min: 64 * KIB, max: 2 * GIB, unit: 'bytes' },
    32 * MIB,
  )
  const longest = Math.min(MAX_PAYLOAD_BYTES, Math.min(segmentBytes, maxPendingBytes) - SEGMENT_OVERHEAD_BYTES)
  const maxRecordBytes = whole(
    'maxRecordBytes',
    given.maxRecordBytes,
    { min: 1, max: longest, unit: 'bytes' },
    Math.min(16 * MIB, longest),
  )
  const chunkBytes = resolveChunkBytes(given.chunkBytes, segmentBytes)
  const extentSizeHint = whole(
    'extentSizeHint',
    given.extentSizeHint,
    { min: 0, max: GIB, unit: 'bytes', multipleOf: BLOCK_BYTES },
    0,
  )
  const salvage = choice('recovery', given.recovery, RECOVERIES, 'strict') === 'salvage'

  const level = LEVELS[choice('durability', given.durability, LEVEL_NAMES, 'sync')]

  return {
    level,
    salvage,
    readOnly: flag('readOnly', given.readOnly, false),
    lockWaitMs: whole('lock.waitMs', lock['waitMs'], { min: 0, max: 2 ** 31 - 1, unit: 'milliseconds' }, 0),
    commitDelayMicros: whole(
      'commitDelayMicros',
      given.commitDelayMicros,
      { min: 0, max: 1_000_000, unit: 'microseconds' },
      0,
    ),
    native: {
      strategy,
      preallocate,
      segmentBytes,
      maxPendingBytes,
      maxRecordBytes,
      chunkBytes,
      extentSizeHint,
      create: flag('create', given.create, true),
      salvage,
      expectedLevel: level,
    },
  }
}

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
  whole(name, seq, { min, max: Number.MAX_SAFE_INTEGER - 1, unit: 'records' }, 0)
  if (seq === undefined) throw invalidArgument(`${name} must be a seq; got undefined`)
}

const READ_OPTION_NAMES: readonly string[] = [
  'from',
  'to',
  'follow',
  'durableOnly',
  'salvage',
  'onGap',
  'signal',
] satisfies (keyof ReadOptions)[]

const APPEND_OPTION_NAMES: readonly string[] = ['durability', 'signal'] satisfies (keyof AppendOptions)[]
const APPEND_SYNC_OPTION_NAMES: readonly string[] = ['durability']
const READABLE_OPTION_NAMES: readonly string[] = [...READ_OPTION_NAMES, 'highWaterMark']
const WRITABLE_OPTION_NAMES: readonly string[] = ['durability', 'highWaterMark'] satisfies (keyof WritableOptions)[]
const HIGH_WATER_MARK_MAX = 2 ** 31 - 1

function checkSignal(signal: unknown): AbortSignal | undefined {
  if (signal === undefined || signal instanceof AbortSignal) return signal
  throw invalidArgument(`signal must be an AbortSignal; got ${shown(signal)}`)
}

/** What `append` and `appendBatch` were given; each option is read once. Throws ERR_DURLOG_INVALID_ARGUMENT. */
export function resolveAppendOptions(
  options: unknown,
  level: number,
): { level: number; signal: AbortSignal | undefined } {
  const { durability, signal } = bag('append options', options, APPEND_OPTION_NAMES) as AppendOptions
  return { level: durability === undefined ? level : levelCode(durability), signal: checkSignal(signal) }
}

/** The level that `appendSync` was asked for. Throws ERR_DURLOG_INVALID_ARGUMENT. */
export function resolveSyncLevel(options: unknown, level: number): number {
  const { durability } = bag('appendSync options', options, APPEND_SYNC_OPTION_NAMES) as AppendOptions
  return durability === undefined ? level : levelCode(durability)
}

/** What `writable` was given. Throws ERR_DURLOG_INVALID_ARGUMENT. */
export function resolveWritableOptions(options: unknown, level: number): { level: number; highWaterMark: number } {
  const given = bag('writable options', options, WRITABLE_OPTION_NAMES) as WritableOptions
  const range = { min: 1, max: HIGH_WATER_MARK_MAX, unit: 'bytes' }
  return {
    level: given.durability === undefined ? level : levelCode(given.durability),
    highWaterMark: whole('highWaterMark', given.highWaterMark, range, MIB),
  }
}

/** What `readable` was given: its own options, and those of the reader. Throws ERR_DURLOG_INVALID_ARGUMENT. */
export function resolveReadableOptions(options: unknown): { highWaterMark: number; readOptions: ReadOptions } {
  const { highWaterMark, ...readOptions } = bag('readable options', options, READABLE_OPTION_NAMES) as ReadableOptions
  const range = { min: 1, max: HIGH_WATER_MARK_MAX, unit: 'records' }
  return { highWaterMark: whole('highWaterMark', highWaterMark, range, 256), readOptions }
}

const REPAIR_OPTION_NAMES: readonly string[] = ['apply', 'backup']

/** What `repair` was given. Throws ERR_DURLOG_INVALID_ARGUMENT. */
export function resolveRepairOptions(options: unknown): { apply: boolean; backup: string } {
  const { apply, backup } = bag('repair options', options, REPAIR_OPTION_NAMES)
  const applies = flag('apply', apply, false)
  if (backup !== undefined && (typeof backup !== 'string' || backup === ''))
    throw invalidArgument(`backup must be a folder's path; got ${shown(backup)}`)
  if (applies && backup === undefined) throw invalidArgument("backup must be a folder's path with apply; got undefined")
  return { apply: applies, backup: backup === undefined ? '' : resolve(backup) }
}

/** The shortest record's frame. */
const MIN_FRAME_BYTES = 32

/**
 * The records of a batch in an array that nobody else knows; each element is read once. What a getter or a proxy
 * runs meanwhile is over before the first record is framed. Throws ERR_DURLOG_INVALID_ARGUMENT or
 * ERR_DURLOG_BATCH_TOO_LARGE.
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

/** Checks what `read` was given. Throws ERR_DURLOG_INVALID_ARGUMENT. */
export function checkReadOptions(options: ReadOptions): void {
  const given = bag('read options', options, READ_OPTION_NAMES) as ReadOptions
  if (given.from !== undefined) checkSeq('from', given.from)
  if (given.to !== undefined) checkSeq('to', given.to)
  flag('follow', given.follow, false)
  flag('durableOnly', given.durableOnly, false)
  flag('salvage', given.salvage, false)
  if (given.onGap !== undefined && typeof given.onGap !== 'function')
    throw invalidArgument(`onGap must be a function; got ${shown(given.onGap)}`)
  checkSignal(given.signal)
}

/** Checks a record before it has to wait for room. Throws what framing it would. */
export function checkPayload(data: unknown, maxRecordBytes: number): void {
  if (typeof data !== 'string' && !(data instanceof Uint8Array))
    throw invalidArgument(`a record must be a Uint8Array or a string; got ${shown(data)}`)
  const bytes = typeof data === 'string' ? Buffer.byteLength(data) : data.byteLength
  if (bytes === 0) throw new DurlogError('ERR_DURLOG_RECORD_EMPTY', 'a record has at least one byte; got none')
  if (bytes > maxRecordBytes)
    throw new DurlogError(
      'ERR_DURLOG_RECORD_TOO_LARGE',
      `a record has at most ${maxRecordBytes} bytes (maxRecordBytes); got ${bytes}`,
    )
}
