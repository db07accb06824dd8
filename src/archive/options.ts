/** The names, defaults and checks of `ArchiveOptions`. */
import type { ReadableLog } from '../index.js'
import { bag, choice, whole } from '../options/checks.js'
import { checkCursorName } from '../options/cursor-options.js'
import { type ResolvedReplicatorOptions, resolveShipperOptions } from '../ship/options.js'
import { BUCKET_OPTION_NAMES, type ResolvedBucket, resolveBucket } from './bucket-options.js'
import type { ArchiveOptions } from './types.js'

const MIB = 2 ** 20
const MAX_MS = 2 ** 31 - 1
/** The default of `historyMs`: a week. */
const HISTORY_MS = 7 * 86_400_000
/** The default of `laggingMs`, as a multiple of `flushMs`. */
const LAGGING_FLUSHES = 3

const NAMES: readonly string[] = [
  ...BUCKET_OPTION_NAMES,
  ...([
    'flushMs',
    'flushBytes',
    'keepAfterAck',
    'compress',
    'historyMs',
    'cursor',
    'retryForMs',
    'laggingMs',
    'signal',
  ] satisfies (keyof ArchiveOptions)[]),
]

export interface ResolvedArchiveOptions {
  bucket: ResolvedBucket
  replicator: ResolvedReplicatorOptions
  flushMs: number
  flushBytes: number
  compresses: boolean
  historyMs: number
}

/** As `resolveShipperOptions`. */
export function resolveArchiveOptions(log: ReadableLog | undefined, options: unknown): ResolvedArchiveOptions {
  const given = bag('archive options', options, NAMES) as unknown as ArchiveOptions
  const flushMs = whole('flushMs', given.flushMs, { min: 1, max: MAX_MS, unit: 'milliseconds' }, 10_000)
  const { cursor = 'archive', retryForMs, laggingMs = Math.min(MAX_MS, LAGGING_FLUSHES * flushMs), signal } = given
  checkCursorName(cursor)
  return {
    bucket: resolveBucket(given),
    replicator: resolveShipperOptions(log, {
      cursor,
      retryForMs,
      laggingMs,
      signal,
      keepAfterAck: given.keepAfterAck,
    }),
    flushMs,
    compresses: choice('compress', given.compress, ['none', 'zstd'], 'none') === 'zstd',
    historyMs: whole('historyMs', given.historyMs, { min: 0, max: 2 ** 53 - 1, unit: 'milliseconds' }, HISTORY_MS),
    flushBytes: whole('flushBytes', given.flushBytes, { min: 65_536, max: 64 * MIB, unit: 'bytes' }, 64 * MIB),
  }
}
