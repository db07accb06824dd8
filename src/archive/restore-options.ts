/** The names, defaults and checks of the options of `listArchive`, `restoreArchive` and `readArchive`. */
import { invalidArgument } from '../errors.js'
import type { ReadableLog } from '../index.js'
import { checkSignal } from '../options/abort-signal.js'
import { checkSeq, resolveDir, toTimeMs } from '../options/call-options.js'
import { bag, flag, shown, whole } from '../options/checks.js'
import { RESTORE_OPTION_NAMES, type ResolvedRestoreBounds, resolveRestoreBounds } from '../ship/options.js'
import { BUCKET_OPTION_NAMES, type ResolvedBucket, resolveBucket } from './bucket-options.js'
import type { ArchiveChoice, BucketAccess, ReadArchiveOptions, RejoinOptions, RestoreArchiveOptions } from './types.js'

export const CHOICE_NAMES: readonly string[] = [...BUCKET_OPTION_NAMES, 'uuid', 'generation']

const NAMES: readonly string[] = [...CHOICE_NAMES, ...RESTORE_OPTION_NAMES, 'pollMs']
/** The options of a restore that `standBy` takes. */
export const STAND_BY_NAMES: readonly string[] = NAMES.filter(
  (name) => !['generation', 'to', 'until', 'follow', 'onCaughtUp'].includes(name),
)
/** The options of a restore that `takeOver` takes. */
export const TAKE_OVER_NAMES: readonly string[] = STAND_BY_NAMES.filter((name) => name !== 'pollMs')
const MS = { min: 1, max: 2 ** 31 - 1, unit: 'milliseconds' }

export interface ResolvedChoice {
  bucket: ResolvedBucket
  uuid: string | undefined
  generation: number | undefined
}

export interface ResolvedRestore extends ResolvedChoice, ResolvedRestoreBounds {
  pollMs: number
}

/** Throws ERR_DURLOG_INVALID_ARGUMENT. */
export function resolveChoice(given: ArchiveChoice): ResolvedChoice {
  const { uuid, generation } = given
  if (uuid !== undefined && typeof uuid !== 'string') throw invalidArgument(`uuid must be a string; got ${shown(uuid)}`)
  if (generation !== undefined) checkSeq('generation', generation)
  return { bucket: resolveBucket(given), uuid, generation }
}

export interface ResolvedRejoin {
  access: BucketAccess
  bucket: ResolvedBucket
  into: string
  signal: AbortSignal | undefined
}

/** Throws ERR_DURLOG_INVALID_ARGUMENT. */
export function resolveRejoin(options: unknown): ResolvedRejoin {
  const given = bag('rejoin options', options, [...BUCKET_OPTION_NAMES, 'into', 'signal']) as unknown as RejoinOptions
  const { into, signal, ...access } = given
  return { access, bucket: resolveBucket(access), into: resolveDir(into), signal: checkSignal(signal) }
}

/** Throws ERR_DURLOG_INVALID_ARGUMENT. */
export function resolveRestore(options: unknown): ResolvedRestore {
  const given = bag('restoreArchive options', options, NAMES) as unknown as RestoreArchiveOptions
  const pollMs = whole('pollMs', given.pollMs, MS, 1000)
  return { ...resolveChoice(given), ...resolveRestoreBounds(given), pollMs }
}

const READ_NAMES: readonly string[] = [
  ...CHOICE_NAMES,
  ...([
    'log',
    'from',
    'to',
    'until',
    'follow',
    'durableOnly',
    'cache',
    'signal',
  ] satisfies (keyof ReadArchiveOptions)[]),
]

export interface ResolvedArchiveRead extends ResolvedChoice {
  log: ReadableLog | undefined
  from: number | undefined
  to: number
  untilMs: number
  follow: boolean
  durableOnly: boolean
  cacheDir: string | undefined
  cacheBytes: number
  signal: AbortSignal | undefined
}

/** Throws ERR_DURLOG_INVALID_ARGUMENT. */
export function resolveRead(options: unknown): ResolvedArchiveRead {
  const given = bag('readArchive options', options, READ_NAMES) as unknown as ReadArchiveOptions
  const { log, from, to, until } = given
  if (log !== undefined && typeof log.read !== 'function')
    throw invalidArgument(`log must be a log that open() returned; got ${shown(log)}`)
  if (from !== undefined) checkSeq('from', from, -Number.MAX_SAFE_INTEGER)
  if (to !== undefined) checkSeq('to', to)
  const follow = flag('follow', given.follow, false)
  if (follow && log === undefined)
    throw invalidArgument('follow needs the option log, because it waits for new records of that log')
  if (follow && until !== undefined)
    throw invalidArgument('until cannot be combined with follow: records before that time may still be appended')
  const { dir, maxBytes } = bag('cache', given.cache, ['dir', 'maxBytes'])
  return {
    ...resolveChoice(given),
    log,
    from,
    to: to ?? Number.POSITIVE_INFINITY,
    untilMs: until === undefined ? Number.POSITIVE_INFINITY : toTimeMs('until', until),
    follow,
    durableOnly: flag('durableOnly', given.durableOnly, false),
    cacheDir: dir === undefined ? undefined : resolveDir(dir),
    cacheBytes: whole('cache.maxBytes', maxBytes, { min: 0, max: 2 ** 53 - 1, unit: 'bytes' }, 2 ** 30),
    signal: checkSignal(given.signal),
  }
}
