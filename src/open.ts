/**
 * Opens a log: checks the options, waits for the lock, and returns a writer or a reader. Loads their modules when they
 * are first needed: a reader needs none of a writer's, and a command that only inspects a log needs none of both.
 */

import { atCaller } from './caller-stack.js'
import type { FramingLog } from './log/framing-log.js'
import type { TrimBounds } from './log/maintenance/trim-request.js'
import type { OrderedLog, RestoringLog } from './log/ordered-log.js'
import type { WriterLog } from './log/writer-log.js'
import { native } from './native/native.js'
import { resolveDir } from './options/call-options.js'
import {
  DEFAULTS,
  longestRecordBytes,
  type ResolvedOptions,
  resolveOptions,
  type WriterOrReaderOptions,
} from './options/open-options.js'
import { loaded } from './support/file-system-error.js'
import { refuseStreams } from './support/streams-log.js'
import type { DecodedRecord, Encoding, Log, OpenOptions, ReadOnlyLog, ReadOnlyOptions } from './types.js'

export type { FramingLog, OrderedLog, RestoringLog, WriterLog }

/** The bytes of the frames of the records `first` to `last` of the log in `dir`. Throws like `getSync`. */
export function frameBytes(dir: string, first: number, last: number): number {
  return native.measure(dir, first, last).bytes
}

type Encoded<O, E> = O & { encoding: E }
type LogOf<V> = Log<V, DecodedRecord<V>>
type ReaderOf<V> = ReadOnlyLog<DecodedRecord<V>>

/**
 * Opens the log in folder `dir` for writing, and recovers it after a crash: see `log.recovery`. Creates the log if
 * there is none, unless `create` is false.
 *
 * Rejects with ERR_DURLOG_INVALID_ARGUMENT, ERR_DURLOG_NOT_FOUND, ERR_DURLOG_NOT_A_LOG (also for a folder of streams
 * and its logs, and for a backup), ERR_DURLOG_LOCKED (by process `ownerPid`), ERR_DURLOG_CORRUPT (`path`, `offset`,
 * `lostFirst`, `lostLast`), ERR_DURLOG_VERSION, ERR_DURLOG_OUT_OF_RANGE (the seqs are used up), ERR_DURLOG_NO_SPACE,
 * ERR_DURLOG_REPLICA, ERR_DURLOG_OUT_OF_MEMORY or ERR_DURLOG_IO. If the file system does not support the `strategy` or
 * `preallocate`, a weaker one is used: see `stats()`.
 */
export function open<V = unknown>(dir: string | URL, options: Encoded<OpenOptions, 'json'>): Promise<LogOf<V>>
export function open(dir: string | URL, options: Encoded<OpenOptions, 'utf8'>): Promise<LogOf<string>>
export function open(
  dir: string | URL,
  options: Encoded<OpenOptions, 'buffer'>,
): Promise<Log<Uint8Array, DecodedRecord<Buffer>>>
export function open<V>(dir: string | URL, options: Encoded<OpenOptions, Encoding<V>>): Promise<LogOf<V>>
export function open<V = unknown>(dir: string | URL, options: Encoded<ReadOnlyOptions, 'json'>): Promise<ReaderOf<V>>
export function open(dir: string | URL, options: Encoded<ReadOnlyOptions, 'utf8'>): Promise<ReaderOf<string>>
export function open(dir: string | URL, options: Encoded<ReadOnlyOptions, 'buffer'>): Promise<ReaderOf<Buffer>>
export function open<V>(dir: string | URL, options: Encoded<ReadOnlyOptions, Encoding<V>>): Promise<ReaderOf<V>>
export function open(dir: string | URL, options?: OpenOptions): Promise<Log>
/**
 * Opens the log in folder `dir` for reading only. Takes no lock, and neither recovers the log nor changes its records.
 */
export function open(dir: string | URL, options: ReadOnlyOptions): Promise<ReadOnlyLog>
export function open(dir: string | URL, options?: WriterOrReaderOptions): Promise<Log | ReadOnlyLog>
export async function open(dir: string | URL, options?: WriterOrReaderOptions): Promise<unknown> {
  const path = resolveDir(dir)
  const resolved = resolveOptions(options)
  return await atCaller<unknown>(resolved.readOnly ? openReader(path, resolved) : openPlain(path, resolved))
}

/** The identity of the log that a restored copy continues: its UUID, the first seq to restore, its number of cuts. */
export interface RestoredIdentity {
  uuid: string
  firstSeq: number
  generation: number
}

/**
 * As `open` for writing, for records of any length, also of a replica. If it creates the log, the log has the identity
 * `restored`.
 */
export async function openRestored(
  dir: string,
  restored: RestoredIdentity | undefined,
  options: OpenOptions & { segmentBytes?: number },
): Promise<RestoringLog> {
  const { segmentBytes = DEFAULTS.segmentBytes } = options
  const maxPendingBytes = Math.max(DEFAULTS.maxPendingBytes, segmentBytes)
  const resolved = resolveOptions({ ...options, maxPendingBytes, maxRecordBytes: longestRecordBytes(segmentBytes) })
  const { openWriter, RestoringLog } = await writers()
  return openWriter(dir, { ...resolved, native: { ...resolved.native, ...restored } }, RestoringLog, () => {})
}

/**
 * As `open` for writing, but only `replicate` begins to replicate the log. The first segment of a new log has
 * `firstSegmentBytes`; each later one is twice as long, up to `segmentBytes`. `refuse`: see `openWriter`.
 */
export async function openFraming(
  dir: string,
  options: OpenOptions,
  firstSegmentBytes: number,
  refuse?: (dir: string) => void,
): Promise<FramingLog> {
  const path = resolveDir(dir)
  const resolved = resolveOptions(options)
  const { openWriter, FramingLog } = await writers()
  return openWriter(path, { ...resolved, native: { ...resolved.native, firstSegmentBytes } }, FramingLog, refuse)
}

/** As `open` for writing. */
export async function openOrdered(dir: string, options: OpenOptions): Promise<OrderedLog> {
  const path = resolveDir(dir)
  const resolved = resolveOptions(options)
  const { openWriter, OrderedLog } = await writers()
  return openWriter(path, resolved, OrderedLog)
}

/** Like `log.trimBefore`. `find` is called directly before the trim. */
export async function trimFound(log: WriterLog, find: () => Promise<TrimBounds>): Promise<number> {
  const { WriterLog } = await writers()
  return WriterLog.trimFound(log, find)
}

async function openReader(dir: string, options: ResolvedOptions): Promise<ReadOnlyLog> {
  const { ReaderLog } = await loaded(import('./log/reader-log.js'))
  return new ReaderLog(dir, await native.bounds(dir), options)
}

async function openPlain(dir: string, options: ResolvedOptions): Promise<Log> {
  refuseStreams(dir)
  const { openWriter, WriterLog } = await writers()
  const log = await openWriter(dir, options, WriterLog)
  try {
    WriterLog.replicate(log)
    return log
  } catch (error) {
    await log.close()
    throw error
  }
}

/** The modules of writers. */
function writers(): Promise<typeof import('./log/open-writer.js')> {
  return loaded(import('./log/open-writer.js'))
}
