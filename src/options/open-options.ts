/** The options of `open`: names, defaults, ranges, checks. */

import { invalidArgument } from '../errors.js'
import { LEVEL_NAMES, LEVELS } from '../native/levels.js'
import type { NativeOptions, NativeRetentionPolicy } from '../native/log.js'
import type { Durability, OpenOptions, Preallocation, RetentionOptions, Strategy } from '../types.js'
import { checkSignal } from './abort-signal.js'
import { bag, choice, flag, type Range, shown, whole } from './checks.js'
import { type Codec, resolveEncoding } from './encoding.js'
import type { ReplicationDestination } from './replication-link.js'

// Imports only types: checking options must not load the addon.

const KIB = 1024
const MIB = 1024 * KIB
const GIB = 1024 * MIB
const KEEPERS = ['cursors', 'nothing'] as const
const MIN_SEGMENT_BYTES = 64 * KIB
/**
 * The smallest `maxBytes`, in segments: a sealed segment, the active one, the next one, and one that is kept for reuse.
 */
const MIN_SEGMENTS = 4
/** The default of `segmentBytes` is `maxBytes` divided by this: a trim removes one segment at a time. */
const DEFAULT_SEGMENTS = 8
/**
 * The part of a segment that no record's payload can use: the header block, and space for a frame's header and markers.
 */
export const SEGMENT_OVERHEAD_BYTES = 8192
const BLOCK_BYTES = 4096
export const SEGMENT_BYTES_RANGE: Range = { min: 64 * KIB, max: GIB, unit: 'bytes', multipleOf: BLOCK_BYTES }
/** The longest payload that the on-disk format allows. */
export const MAX_PAYLOAD_BYTES: number = 128 * MIB

export const STRATEGIES: readonly Strategy[] = ['auto', 'mmap', 'pwrite', 'direct']
export const PREALLOCATIONS: readonly Preallocation[] = ['auto', 'none', 'zero']
/**
 * Defaults other than 0, false and `auto`. The default of `maxRecordBytes` is lower if a segment cannot hold such a
 * record.
 */
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
/** The size of a new log's first segment: small, so that an empty log takes little disk space. */
const FIRST_SEGMENT_BYTES = MIB
/** The strategies with which several processes can write one segment. */
const SHARED_STRATEGIES: readonly Strategy[] = ['auto', 'mmap']
/** The preallocations for a memory map: on a full disk, a store to a block that is not allocated raises SIGBUS. */
const MAPPED_PREALLOCATIONS: readonly Preallocation[] = ['auto', 'zero']
const RECOVERIES = ['strict', 'salvage'] as const

const OPTION_NAMES: readonly string[] = [
  'durability',
  'strategy',
  'preallocate',
  'segmentBytes',
  'maxPendingBytes',
  'maxRecordBytes',
  'commitDelayMicros',
  'waitMs',
  'signal',
  'recovery',
  'retention',
  'encoding',
  'readOnly',
  'create',
  'shared',
  'replicate',
] satisfies (keyof OpenOptions)[]

type OfAnyAccess<Options> = Options extends unknown
  ? Omit<Options, 'readOnly'> & { readOnly?: boolean | undefined }
  : never
/** The options of `open` if `readOnly` is known only at run time. */
export type WriterOrReaderOptions = OfAnyAccess<OpenOptions>

export interface ResolvedOptions {
  level: number
  salvage: boolean
  readOnly: boolean
  shared: boolean
  waitMs: number
  signal: AbortSignal | undefined
  commitDelayMicros: number
  retention: NativeRetentionPolicy | undefined
  codec: Codec | undefined
  replicate: ReplicationDestination | undefined
  native: NativeOptions
}

/** Rejects options that a shared writer must not set, because they would affect the other writers. */
function checkShared(strategy: Strategy, { recovery, retention }: WriterOrReaderOptions): void {
  if (!SHARED_STRATEGIES.includes(strategy))
    throw invalidArgument(`strategy must be one of ${SHARED_STRATEGIES.join(', ')} with "shared"; got "${strategy}"`)
  if (recovery === 'salvage') throw invalidArgument('recovery must be "strict" with "shared"; got "salvage"')
  if (retention !== undefined)
    throw invalidArgument('retention cannot be combined with "shared": call "trimBefore", which trims for all writers')
}

/** The longest payload of a record in a segment of this size. */
export function longestRecordBytes(segmentBytes: number): number {
  return Math.min(MAX_PAYLOAD_BYTES, segmentBytes - SEGMENT_OVERHEAD_BYTES)
}

/** Checks `options` and fills in defaults. Throws ERR_DURLOG_INVALID_ARGUMENT. */
export function resolveOptions(options?: WriterOrReaderOptions): ResolvedOptions {
  const given = bag('options', options, OPTION_NAMES) as WriterOrReaderOptions

  const strategy = choice('strategy', given.strategy, STRATEGIES, 'auto')
  const preallocate = choice('preallocate', given.preallocate, PREALLOCATIONS, 'auto')
  const shared = flag('shared', given.shared, false)
  if (shared) checkShared(strategy, given)
  if ((shared || strategy === 'mmap') && !MAPPED_PREALLOCATIONS.includes(preallocate))
    throw invalidArgument(
      `preallocate must be one of ${MAPPED_PREALLOCATIONS.join(', ')} with ${shared ? '"shared"' : 'strategy "mmap"'}, which stores only into allocated blocks; got "${preallocate}"`,
    )

  const retention = resolveRetention(given.retention)

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
  const longest = longestRecordBytes(Math.min(segmentBytes, maxPendingBytes))
  const maxRecordBytes = whole(
    'maxRecordBytes',
    given.maxRecordBytes,
    { min: 1, max: longest, unit: 'bytes' },
    Math.min(DEFAULTS.maxRecordBytes, longest),
  )
  const salvage = choice('recovery', given.recovery, RECOVERIES, 'strict') === 'salvage'

  const level = LEVELS[choice('durability', given.durability, LEVEL_NAMES, DEFAULTS.durability)]

  return {
    level,
    salvage,
    readOnly: flag('readOnly', given.readOnly, false),
    shared,
    waitMs: whole('waitMs', given.waitMs, { min: 0, max: 2 ** 31 - 1, unit: 'milliseconds' }, 0),
    signal: checkSignal(given.signal),
    commitDelayMicros: whole(
      'commitDelayMicros',
      given.commitDelayMicros,
      { min: 0, max: 1_000_000, unit: 'microseconds' },
      0,
    ),
    retention,
    codec: resolveEncoding(given.encoding),
    replicate: resolveReplicate(given.replicate, shared),
    native: {
      strategy,
      preallocate,
      segmentBytes,
      firstSegmentBytes: segmentBytes > FIRST_SEGMENT_BYTES ? FIRST_SEGMENT_BYTES : 0,
      maxPendingBytes,
      maxRecordBytes,
      create: flag('create', given.create, true),
      shared,
      salvage,
      uuid: '',
      firstSeq: 0,
      generation: 0,
      expectedLevel: level,
      // With `maxBytes`, the limit includes space for two further segments: the next one, and one that is kept for
      // reuse.
      maxRecyclable: retention === undefined || retention.maxBytes === -1 ? 2 : 1,
    },
  }
}

function resolveReplicate(value: unknown, shared: boolean): ReplicationDestination | undefined {
  if (value === undefined) return undefined
  if (typeof (Object(value) as Partial<ReplicationDestination>).start !== 'function')
    throw invalidArgument(
      `replicate must be a destination that archiveTo() of durlog/archive or jetstream() of durlog/jetstream has returned; got ${shown(value)}`,
    )
  if (shared) throw invalidArgument('replicate cannot be combined with shared: one process replicates the log')
  return value as ReplicationDestination
}

/** Checks the option. Undefined without it. */
function resolveRetention(value: unknown): NativeRetentionPolicy | undefined {
  if (value === undefined) return undefined
  const given = bag('retention', value, ['maxBytes', 'maxAgeMs', 'keepFor']) as RetentionOptions
  const { MAX_SAFE_INTEGER: max } = Number
  const bytes = { min: MIN_SEGMENTS * MIN_SEGMENT_BYTES, max, unit: 'bytes' }
  const policy = {
    maxBytes: whole('retention.maxBytes', given.maxBytes, bytes, -1),
    maxAgeMs: whole('retention.maxAgeMs', given.maxAgeMs, { min: 1000, max, unit: 'milliseconds' }, -1),
    before: -1,
    passedBefore: -1,
    keepForCursors: choice('retention.keepFor', given.keepFor, KEEPERS, 'cursors') === 'cursors',
  }
  if (policy.maxBytes === -1 && policy.maxAgeMs === -1)
    throw invalidArgument('retention must have maxBytes, maxAgeMs or both; got neither')
  return policy
}

/** The segment size of a log without the option `segmentBytes`. */
function defaultSegmentBytes(policy: NativeRetentionPolicy | undefined, preset: number): number {
  if (policy === undefined || policy.maxBytes === -1) return preset
  const part = Math.floor(policy.maxBytes / DEFAULT_SEGMENTS / (4 * KIB)) * 4 * KIB
  return Math.max(MIN_SEGMENT_BYTES, Math.min(preset, part))
}

function checkRetentionFits(policy: NativeRetentionPolicy | undefined, segmentBytes: number): void {
  if (policy === undefined || policy.maxBytes === -1 || policy.maxBytes >= MIN_SEGMENTS * segmentBytes) return
  throw invalidArgument(
    `retention.maxBytes must be at least ${MIN_SEGMENTS} times segmentBytes (${segmentBytes}); got ${policy.maxBytes}`,
  )
}
