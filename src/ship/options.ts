/** The options of a shipper that do not depend on the kind of destination: names, defaults, ranges. */
import { invalidArgument } from '../errors.js'
import type { Duration, ReadableLog } from '../index.js'
import { checkSignal } from '../options/abort-signal.js'
import { checkSeq, toTimeMs } from '../options/call-options.js'
import { bag, callback, choice, flag, shown, whole } from '../options/checks.js'
import { LEASE_MS, LEASE_RANGE } from './lease.js'
import type { CommonRestoreOptions, ShipperOptions, ShipRetry } from './types.js'

const MIB = 2 ** 20
const MAX_MS = 2 ** 31 - 1
const MAX_BYTES = 2 ** 53 - 1

export const SHIPPER_OPTION_NAMES: readonly string[] = [
  'cursor',
  'maxInFlight',
  'maxInFlightBytes',
  'retryForMs',
  'laggingMs',
  'skipGaps',
  'keepAfterAck',
  'signal',
] satisfies (keyof ShipperOptions)[]

/** `KeepAfterAck` in numbers. */
export interface ResolvedKeep {
  maxAgeMs?: number
  maxBytes?: number
}

/** The options that only the option `replicate` of `open` has. */
export interface ReplicateOptions {
  /**
   * The appends that the log refuses after another writer has taken over, with ERR_DURLOG_FENCED: those at every level
   * (`all`, the default), or only those at `replicated`.
   */
  fencedAppends?: 'all' | 'replicated' | undefined
  /**
   * Hold a lease in the destination for this many milliseconds: `standBy` takes over when it has ended. It is renewed
   * five times as often. Default: no lease.
   */
  leaseMs?: Duration | undefined
}

/** Divides the options of a destination of `replicate`. Throws ERR_DURLOG_INVALID_ARGUMENT. */
export function resolveReplicate<O extends ReplicateOptions>(
  name: string,
  options: O,
): { keepsLocal: boolean; leaseMs: number | undefined; rest: Omit<O, keyof ReplicateOptions> } {
  if (typeof options !== 'object' || options === null)
    throw invalidArgument(`${name} options must be an object; got ${shown(options)}`)
  const { fencedAppends, leaseMs, ...rest } = options
  return {
    keepsLocal: choice('fencedAppends', fencedAppends, ['all', 'replicated'], 'all') === 'replicated',
    leaseMs: leaseMs === undefined ? undefined : whole('leaseMs', leaseMs, LEASE_RANGE, LEASE_MS),
    rest,
  }
}

export interface ResolvedReplicatorOptions {
  cursor: string
  retryForMs: number
  laggingMs: number
  keep: ResolvedKeep | undefined
  signal: AbortSignal | undefined
}

export interface ResolvedShipperOptions extends ResolvedReplicatorOptions {
  maxInFlight: number
  maxInFlightBytes: number
  skipGaps: boolean
}

/** Throws ERR_DURLOG_INVALID_ARGUMENT. */
export function checkLog(log: unknown): asserts log is ReadableLog {
  const { cursor, uuid } = Object(log) as Partial<ReadableLog>
  if (typeof cursor !== 'function' || typeof uuid !== 'string')
    throw invalidArgument(`log must be a log that open() returned; got ${shown(log)}`)
}

/** The default of `retryForMs` for a call that ends. */
const RESTORE_RETRY_MS = 300_000

/** Infinity without a limit. Throws ERR_DURLOG_INVALID_ARGUMENT. */
export function resolveRetryFor(value: unknown, preset: number = Number.POSITIVE_INFINITY): number {
  const range = { min: 1, max: MAX_MS, unit: 'milliseconds' }
  return value === Number.POSITIVE_INFINITY ? value : whole('retryForMs', value, range, preset)
}

interface RestoreRetry {
  /** Infinity without a limit. */
  retryForMs: number
  /**
   * As `retryForMs`, after a replica has caught up once: by default it then continues over any outage, as a shipper
   * does.
   */
  replicaRetryForMs: number
}

/** Throws ERR_DURLOG_INVALID_ARGUMENT. */
export function resolveRestoreRetry(value: unknown): RestoreRetry {
  return { retryForMs: resolveRetryFor(value, RESTORE_RETRY_MS), replicaRetryForMs: resolveRetryFor(value) }
}

type RestoreBounds = CommonRestoreOptions & {
  to?: number | undefined
  onProgress?: ((done: number, total: number) => void) | undefined
}

export const RESTORE_OPTION_NAMES: readonly string[] = [
  'to',
  'until',
  'follow',
  'retryForMs',
  'onProgress',
  'onCaughtUp',
  'onRetry',
  'signal',
] satisfies (keyof RestoreBounds)[]

export interface ResolvedRestoreBounds extends RestoreRetry {
  to: number
  untilMs: number
  follow: boolean
  onProgress: (done: number, total: number) => void
  onCaughtUp: (nextSeq: number) => void
  onRetry: (retry: ShipRetry) => void
  signal: AbortSignal | undefined
}

/** Throws ERR_DURLOG_INVALID_ARGUMENT. */
export function resolveRestoreBounds(given: RestoreBounds): ResolvedRestoreBounds {
  const { to, until } = given
  if (to !== undefined) checkSeq('to', to)
  const follow = flag('follow', given.follow, false)
  if (follow && (to !== undefined || until !== undefined))
    throw invalidArgument('follow cannot be combined with to or until: a restore that follows does not end')
  return {
    to: to ?? Number.POSITIVE_INFINITY,
    untilMs: until === undefined ? Number.POSITIVE_INFINITY : toTimeMs('until', until),
    follow,
    ...resolveRestoreRetry(given.retryForMs),
    onProgress: callback('onProgress', given.onProgress),
    onCaughtUp: callback('onCaughtUp', given.onCaughtUp),
    onRetry: callback('onRetry', given.onRetry),
    signal: checkSignal(given.signal),
  }
}

/** Divides the options of `takeOver`: those of a restore with `names`, and `force`. */
export function resolveForce(options: unknown, names: readonly string[]): { force: boolean; rest: unknown } {
  const { force, ...rest } = bag('takeOver options', options, [...names, 'force'])
  return { force: flag('force', force, false), rest }
}

/** `log` is undefined if it is not open yet, and will be open for writing. Throws ERR_DURLOG_INVALID_ARGUMENT. */
export function resolveShipperOptions(
  log: ReadableLog | undefined,
  given: ShipperOptions,
  maxInFlight = 2000,
): ResolvedShipperOptions {
  const { cursor, retryForMs } = given
  if (cursor !== undefined && typeof cursor !== 'string')
    throw invalidArgument(`cursor must be a cursor's name; got ${shown(cursor)}`)
  return {
    cursor: cursor ?? 'ship',
    maxInFlight: whole('maxInFlight', given.maxInFlight, { min: 1, max: 65_536, unit: 'records' }, maxInFlight),
    maxInFlightBytes: whole(
      'maxInFlightBytes',
      given.maxInFlightBytes,
      { min: 1, max: 2 ** 31, unit: 'bytes' },
      8 * MIB,
    ),
    retryForMs: resolveRetryFor(retryForMs),
    laggingMs: whole('laggingMs', given.laggingMs, { min: 1, max: MAX_MS, unit: 'milliseconds' }, 10_000),
    skipGaps: flag('skipGaps', given.skipGaps, false),
    keep: resolveKeep(log, given.keepAfterAck),
    signal: checkSignal(given.signal),
  }
}

function resolveKeep(log: ReadableLog | undefined, value: unknown): ResolvedKeep | undefined {
  if (value === undefined) return undefined
  const { maxAgeMs, maxBytes } = bag('keepAfterAck', value, ['maxAgeMs', 'maxBytes'])
  if (log?.readOnly)
    throw invalidArgument(
      'keepAfterAck needs a log that is open for writing, because only the writer trims it; got a read-only log',
    )
  if (maxAgeMs === undefined && maxBytes === undefined)
    throw invalidArgument('keepAfterAck must have maxAgeMs or maxBytes; got neither')
  const limits: ResolvedKeep = {}
  if (maxAgeMs !== undefined)
    limits.maxAgeMs = whole('keepAfterAck.maxAgeMs', maxAgeMs, { min: 0, max: MAX_BYTES, unit: 'milliseconds' }, 0)
  if (maxBytes !== undefined)
    limits.maxBytes = whole('keepAfterAck.maxBytes', maxBytes, { min: 0, max: MAX_BYTES, unit: 'bytes' }, 0)
  return limits
}
