/** Checks the option `retention`. Each function throws ERR_DURLOG_INVALID_ARGUMENT. */
import { invalidArgument } from '../errors.js'
// Imports only types: checking options must not load the addon.
import type { NativeRetentionPolicy } from '../native/log.js'
import type { RetentionOptions } from '../types.js'
import { bag, choice, whole } from './checks.js'

const KIB = 1024
const KEEPERS = ['cursors', 'nothing'] as const
const MIN_SEGMENT_BYTES = 64 * KIB
/**
 * The smallest `maxBytes`, in segments: a sealed segment, the active one, the next one, and one that is kept for reuse.
 */
const MIN_SEGMENTS = 4
/** The default of `segmentBytes` is `maxBytes` divided by this: a trim removes one segment at a time. */
const DEFAULT_SEGMENTS = 8

/** Checks the option. Undefined without it. */
export function resolveRetention(value: unknown): NativeRetentionPolicy | undefined {
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
export function defaultSegmentBytes(policy: NativeRetentionPolicy | undefined, preset: number): number {
  if (policy === undefined || policy.maxBytes === -1) return preset
  const part = Math.floor(policy.maxBytes / DEFAULT_SEGMENTS / (4 * KIB)) * 4 * KIB
  return Math.max(MIN_SEGMENT_BYTES, Math.min(preset, part))
}

export function checkRetentionFits(policy: NativeRetentionPolicy | undefined, segmentBytes: number): void {
  if (policy === undefined || policy.maxBytes === -1 || policy.maxBytes >= MIN_SEGMENTS * segmentBytes) return
  throw invalidArgument(
    `retention.maxBytes must be at least ${MIN_SEGMENTS} times segmentBytes (${segmentBytes}); got ${policy.maxBytes}`,
  )
}
