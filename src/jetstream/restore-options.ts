/** The names, defaults and checks of `RestoreOptions`. */
import { DurlogError, invalidArgument } from '../errors.js'
import { checkSignal } from '../options/abort-signal.js'
import { checkSeq, resolveDir } from '../options/call-options.js'
import { bag, callback, isWhole, UUID, whole } from '../options/checks.js'
import { DEFAULTS, SEGMENT_BYTES_RANGE } from '../options/open-options.js'
import {
  RESTORE_OPTION_NAMES,
  type ResolvedRestoreBounds,
  resolveRestoreBounds,
  resolveRestoreRetry,
} from '../ship/options.js'
import { REJOIN_CHECKS, type RejoinMark } from '../ship/rejoin.js'
import type { ShipRetry } from '../ship/types.js'
import { ENCODINGS } from '../streams/port/encoding.js'
import type { StreamEncoding } from '../streams/port/types.js'
import type { MarkChecks } from '../support/restore-folder.js'
import { PLACE_NAMES, type ResolvedPlace, resolvePlace } from './options.js'
import type { RejoinOptions, RestoreOptions } from './types.js'

const RESTORE_NAMES: readonly string[] = [...PLACE_NAMES, ...RESTORE_OPTION_NAMES, 'from', 'segmentBytes']
/** The options of a restore that `takeOver` takes. */
export const TAKE_OVER_NAMES: readonly string[] = RESTORE_NAMES.filter(
  (name) => !['to', 'until', 'follow', 'onCaughtUp'].includes(name),
)
/** The options of a restore that `standBy` takes. */
export const STAND_BY_NAMES: readonly string[] = TAKE_OVER_NAMES.filter((name) => name !== 'from')

export interface ResolvedRestoreOptions extends ResolvedPlace, ResolvedRestoreBounds {
  from: number | undefined
  segmentBytes: number
}

/** The properties of an unfinished restore, which a run that continues it must share. */
export interface StreamRestoreMark extends RejoinMark {
  stream: string
  subject: string
  uuid: string
  /** The first restored seq. */
  first: number
  /** The encoding of the streams whose main log is restored; undefined for any other log. */
  streams?: StreamEncoding | undefined
  /** If the stream drops old messages, it may be empty when the replica continues. */
  seen?: StreamSeen | undefined
}

/** The end of the messages that a replica has read. */
export interface StreamSeen {
  /** When the stream was created: another stream may have the same name later. */
  createdAt: string
  /** The sequence of the last message, and the generation in it. */
  sequence: number
  generation: number
}

export const MARK_CHECKS: MarkChecks<StreamRestoreMark> = {
  ...REJOIN_CHECKS,
  stream: (value) => typeof value === 'string',
  subject: (value) => typeof value === 'string',
  uuid: (value) => typeof value === 'string' && UUID.test(value),
  first: isWhole,
  streams: (value) => ENCODINGS.includes(value as StreamEncoding | undefined),
  seen: (value) => {
    const { createdAt, sequence, generation } = Object(value) as Partial<StreamSeen>
    return value === undefined || (typeof createdAt === 'string' && isWhole(sequence) && isWhole(generation))
  },
}

/** Throws ERR_DURLOG_INVALID_ARGUMENT. */
export function resolveRestoreOptions(options: unknown): ResolvedRestoreOptions {
  const given = bag('restore options', options, RESTORE_NAMES) as unknown as RestoreOptions
  const { from, to } = given
  if (from !== undefined) checkSeq('from', from)
  const bounds = resolveRestoreBounds(given)
  if (from !== undefined && to !== undefined && to <= from)
    throw invalidArgument(`to must be after from, ${from}; got ${to}`)
  const segmentBytes = whole('segmentBytes', given.segmentBytes, SEGMENT_BYTES_RANGE, DEFAULTS.segmentBytes)
  return { ...resolvePlace(given), ...bounds, from, segmentBytes }
}

export interface ResolvedStreamRejoin extends ResolvedPlace {
  into: string
  retryForMs: number
  onRetry: (retry: ShipRetry) => void
  signal: AbortSignal | undefined
}

/** Throws ERR_DURLOG_INVALID_ARGUMENT. */
export function resolveRejoin(options: unknown): ResolvedStreamRejoin {
  const names = [...PLACE_NAMES, 'into', 'retryForMs', 'onRetry', 'signal']
  const given = bag('rejoin options', options, names) as unknown as RejoinOptions
  return {
    ...resolvePlace(given),
    into: resolveDir(given.into),
    retryForMs: resolveRestoreRetry(given.retryForMs).retryForMs,
    onRetry: callback('onRetry', given.onRetry),
    signal: checkSignal(given.signal),
  }
}

export function nothingThere(stream: string, subject: string): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_NOT_FOUND',
    `the stream ${stream} holds no such record on the subject ${subject}: check both names`,
  )
}
