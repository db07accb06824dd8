/** The names, defaults and checks of `RestoreOptions`. */
import { DurlogError, invalidArgument } from '../errors.js'
import { checkSignal } from '../options/abort-signal.js'
import { checkSeq, resolveDir, toTimeMs } from '../options/call-options.js'
import { bag, callback, flag, whole } from '../options/checks.js'
import { DEFAULTS, SEGMENT_BYTES_RANGE } from '../options/open-options.js'
import { type RestoreRetry, resolveRestoreRetry } from '../ship/options.js'
import type { RejoinMark } from '../ship/rejoin.js'
import type { ShipRetry } from '../ship/types.js'
import type { StreamEncoding } from '../streams/port/types.js'
import { PLACE_NAMES, type ResolvedPlace, resolvePlace } from './options.js'
import type { RejoinOptions, RestoreOptions } from './types.js'

const RESTORE_NAMES: readonly string[] = [
  ...PLACE_NAMES,
  ...([
    'from',
    'to',
    'until',
    'follow',
    'segmentBytes',
    'retryForMs',
    'onProgress',
    'onCaughtUp',
    'onRetry',
    'signal',
  ] satisfies (keyof RestoreOptions)[]),
]

export interface ResolvedRestoreOptions extends ResolvedPlace, RestoreRetry {
  from: number | undefined
  to: number
  untilMs: number
  follow: boolean
  segmentBytes: number
  onProgress: (restored: number, total: number) => void
  onCaughtUp: (nextSeq: number) => void
  onRetry: (retry: ShipRetry) => void
  signal: AbortSignal | undefined
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
}

/** Throws ERR_DURLOG_INVALID_ARGUMENT. */
export function resolveTakeOver(options: unknown): { force: boolean; rest: unknown } {
  const names = RESTORE_NAMES.filter((name) => !['to', 'until', 'follow', 'onCaughtUp'].includes(name))
  const { force, ...rest } = bag('takeOver options', options, [...names, 'force'])
  return { force: flag('force', force, false), rest }
}

/** The options of a restore that `standBy` takes. */
export const STAND_BY_NAMES: readonly string[] = RESTORE_NAMES.filter(
  (name) => !['from', 'to', 'until', 'follow'].includes(name),
)

/** Throws ERR_DURLOG_INVALID_ARGUMENT. */
export function resolveRestoreOptions(options: unknown): ResolvedRestoreOptions {
  const given = bag('restore options', options, RESTORE_NAMES) as unknown as RestoreOptions
  const { from, to, until } = given
  if (from !== undefined) checkSeq('from', from)
  if (to !== undefined) checkSeq('to', to)
  if (from !== undefined && to !== undefined && to <= from)
    throw invalidArgument(`to must be after from, ${from}; got ${to}`)
  const follow = flag('follow', given.follow, false)
  if (follow && (to !== undefined || until !== undefined))
    throw invalidArgument('follow cannot be combined with to or until: a restore that follows does not end')
  return {
    ...resolvePlace(given),
    from,
    to: to ?? Number.POSITIVE_INFINITY,
    untilMs: until === undefined ? Number.POSITIVE_INFINITY : toTimeMs('until', until),
    follow,
    segmentBytes: whole('segmentBytes', given.segmentBytes, SEGMENT_BYTES_RANGE, DEFAULTS.segmentBytes),
    ...resolveRestoreRetry(given.retryForMs),
    onProgress: callback('onProgress', given.onProgress),
    onCaughtUp: callback('onCaughtUp', given.onCaughtUp),
    onRetry: callback('onRetry', given.onRetry),
    signal: checkSignal(given.signal),
  }
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
