/** Checks the options of `trim`. Throws ERR_DURLOG_INVALID_ARGUMENT. */
import { types } from 'node:util'
import { invalidArgument } from '../errors.js'
import type { NativeRetentionPolicy } from '../native/log.js'
import type { TrimOptions } from '../types.js'
import { checkSignal } from './abort-signal.js'
import { checkSeq, toTimeMs } from './call-options.js'
import { bag, choice, flag, whole } from './checks.js'

const NAMES: readonly string[] = [
  'before',
  'maxBytes',
  'maxAgeMs',
  'keepFor',
  'dryRun',
  'waitMs',
  'signal',
] satisfies (keyof TrimOptions)[]

export interface ResolvedTrim {
  /** The policy without `before`, which is separate because it may be a time. */
  policy: NativeRetentionPolicy
  before: number | { timeMs: number } | undefined
  dryRun: boolean
  waitMs: number
  signal: AbortSignal | undefined
}

export function resolveTrimOptions(options: unknown): ResolvedTrim {
  const given = bag('trim options', options, NAMES) as TrimOptions
  const { MAX_SAFE_INTEGER: max } = Number
  const { before } = given
  if (before !== undefined && !types.isDate(before)) checkSeq('before', before)
  if (before === undefined && given.maxBytes === undefined && given.maxAgeMs === undefined)
    throw invalidArgument('trim must have before, maxBytes or maxAgeMs; got none of them')
  return {
    policy: {
      before: -1,
      passedBefore: -1,
      maxBytes: whole('maxBytes', given.maxBytes, { min: 0, max, unit: 'bytes' }, -1),
      maxAgeMs: whole('maxAgeMs', given.maxAgeMs, { min: 0, max, unit: 'milliseconds' }, -1),
      keepForCursors: choice('keepFor', given.keepFor, ['cursors', 'nothing'], 'cursors') === 'cursors',
    },
    before: types.isDate(before) ? { timeMs: toTimeMs('before', before) } : before,
    dryRun: flag('dryRun', given.dryRun, false),
    waitMs: whole('waitMs', given.waitMs, { min: 0, max: 2 ** 31 - 1, unit: 'milliseconds' }, 10_000),
    signal: checkSignal(given.signal),
  }
}
