/** The options of `open`: names, defaults, ranges, checks. */

import { invalidArgument } from '../errors.js'
import { LEVEL_NAMES, LEVELS } from '../native/levels.js'
// A type only: checking options must not need the addon.
import type { NativeOptions, NativeRetentionPolicy } from '../native/native.js'
import type { Durability, OpenOptions, Preallocation, ReadOnlyOptions, Strategy } from '../types.js'
import { bag, choice, flag, type Range, whole } from './checks.js'
import { type Codec, resolveEncoding } from './encoding.js'
import { checkRetentionFits, defaultSegmentBytes, resolveRetention } from './retention-options.js'

const KIB = 1024
const MIB = 1024 * KIB
const GIB = 1024 * MIB
/** A segment's header block, and room for frames and markers. */
export const SEGMENT_OVERHEAD_BYTES = 8192
const BLOCK_BYTES = 4096
export const SEGMENT_BYTES_RANGE: Range = { min: 64 * KIB, max: GIB, unit: 'bytes', multipleOf: BLOCK_BYTES }
/** The longest payload that the format allows. */
const MAX_PAYLOAD_BYTES = 128 * MIB

export const STRATEGIES: readonly Strategy[] = ['auto', 'mmap', 'pwrite', 'direct']
export const PREALLOCATIONS: readonly Preallocation[] = [
  'auto',
  'none',
  'sparse',
  'fallocate',
  'keep-size',
  'zero-range',
  'zero',
  'recycle',
]
/** Defaults that are not zero, false or `auto`. `maxRecordBytes` is lower if no record of that length fits. */
export const DEFAULTS: {
  durability: Durability
  segmentBytes: number
  maxPendingBytes: number
  maxRecordBytes: number
} = {
  durability: 'sync',
  segmentBytes: 64 * MIB,
  maxPendingBytes: 32 * MIB,
  maxRecordBytes: 16 * MIB,
}
/** These leave blocks unallocated: on a full disk a store into one through a map is SIGBUS. */
const UNALLOCATED: readonly Preallocation[] = ['none', 'sparse', 'keep-size']
/** What several writers of one segment can do. */
const SHARED_STRATEGIES: readonly Strategy[] = ['auto', 'mmap']
const SHARED_PREALLOCATIONS: readonly Preallocation[] = ['auto', 'fallocate', 'zero']
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
  'waitMs',
  'recovery',
  'retention',
  'encoding',
  'readOnly',
  'create',
  'shared',
] satisfies (keyof OpenOptions)[]

export interface ResolvedOptions {
  level: number
  salvage: boolean
  readOnly: boolean
  shared: boolean
  waitMs: number
  commitDelayMicros: number
  retention: NativeRetentionPolicy | undefined
  codec: Codec | undefined
  native: NativeOptions
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

/** Options that a shared writer must not set: they would affect the other writers. */
function checkShared(strategy: Strategy, preallocate: Preallocation, { recovery, retention }: OpenOptions): void {
  if (!SHARED_STRATEGIES.includes(strategy))
    throw invalidArgument(`strategy must be one of ${SHARED_STRATEGIES.join(', ')} with "shared"; got "${strategy}"`)
  if (!SHARED_PREALLOCATIONS.includes(preallocate)) {
    const allowed = SHARED_PREALLOCATIONS.join(', ')
    throw invalidArgument(`preallocate must be one of ${allowed} with "shared"; got "${preallocate}"`)
  }
  if (recovery === 'salvage') throw invalidArgument('recovery must be "strict" with "shared"; got "salvage"')
  if (retention !== undefined)
    throw invalidArgument('retention must be left out with "shared", where trimBefore removes for all writers')
}

/** Checks `options` and fills in defaults. Throws ERR_DURLOG_INVALID_ARGUMENT. */
export function resolveOptions(options?: OpenOptions | ReadOnlyOptions): ResolvedOptions {
  const given = bag('options', options, OPTION_NAMES) as OpenOptions

  const strategy = choice('strategy', given.strategy, STRATEGIES, 'auto')
  const preallocate = choice('preallocate', given.preallocate, PREALLOCATIONS, 'auto')
  if (strategy === 'mmap' && UNALLOCATED.includes(preallocate)) {
    const allowed = PREALLOCATIONS.filter((name) => !UNALLOCATED.includes(name))
    throw invalidArgument(
      `preallocate must be one of ${allowed.join(', ')} with strategy "mmap", which stores only into allocated blocks; got "${preallocate}"`,
    )
  }

  const retention = resolveRetention(given.retention)
  const shared = flag('shared', given.shared, false)
  if (shared) checkShared(strategy, preallocate, given)

  const segmentBytes = whole(
    'segmentBytes',
    given.segmentBytes,
    SEGMENT_BYTES_RANGE,
    defaultSegmentBytes(retention, DEFAULTS.segmentBytes),
  )
  checkRetentionFits(retention, segmentBytes)
  const maxPendingBytes = whole(
    'maxPendingBytes',
    given.maxPendingBytes,
    { min: 64 * KIB, max: 2 * GIB, unit: 'bytes' },
    DEFAULTS.maxPendingBytes,
  )
  const longest = Math.min(MAX_PAYLOAD_BYTES, Math.min(segmentBytes, maxPendingBytes) - SEGMENT_OVERHEAD_BYTES)
  const maxRecordBytes = whole(
    'maxRecordBytes',
    given.maxRecordBytes,
    { min: 1, max: longest, unit: 'bytes' },
    Math.min(DEFAULTS.maxRecordBytes, longest),
  )
  const chunkBytes = resolveChunkBytes(given.chunkBytes, segmentBytes)
  const extentSizeHint = whole(
    'extentSizeHint',
    given.extentSizeHint,
    { min: 0, max: GIB, unit: 'bytes', multipleOf: BLOCK_BYTES },
    0,
  )
  const salvage = choice('recovery', given.recovery, RECOVERIES, 'strict') === 'salvage'

  const level = LEVELS[choice('durability', given.durability, LEVEL_NAMES, DEFAULTS.durability)]

  return {
    level,
    salvage,
    readOnly: flag('readOnly', given.readOnly, false),
    shared,
    waitMs: whole('waitMs', given.waitMs, { min: 0, max: 2 ** 31 - 1, unit: 'milliseconds' }, 0),
    commitDelayMicros: whole(
      'commitDelayMicros',
      given.commitDelayMicros,
      { min: 0, max: 1_000_000, unit: 'microseconds' },
      0,
    ),
    retention,
    codec: resolveEncoding(given.encoding),
    native: {
      strategy,
      preallocate,
      segmentBytes,
      maxPendingBytes,
      maxRecordBytes,
      chunkBytes,
      extentSizeHint,
      create: flag('create', given.create, true),
      shared,
      salvage,
      uuid: '',
      firstSeq: 0,
      generation: 0,
      expectedLevel: level,
      // A bounded log has room for the next segment and one more.
      maxRecyclable: retention === undefined || retention.maxBytes === -1 ? 2 : 1,
    },
  }
}
