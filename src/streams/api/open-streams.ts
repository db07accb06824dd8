/**
 * Opens a folder of streams: only for this process, or shared with other processes through the folder's owner. Each way
 * loads its own modules when it is used: a client does not load those that write a folder.
 */
import { resolve } from 'node:path'
import { resolveDir } from '../../options/call-options.js'
import { loaded } from '../../support/file-system-error.js'
import type { Internals } from '../core/open-store.js'
import { type ResolvedStreamsOptions, resolveStreamsOptions } from '../port/options.js'
import type { Streams, StreamsOptions } from '../port/types.js'
import { markExclusive } from '../processes/address.js'
import { Folder } from './folder.js'

/**
 * Opens the folder of streams `dir`; creates it unless `create` is false. If no other process has it open, every record
 * of the main log is in its stream's file when the promise resolves, unless the checkpoint fails.
 *
 * Rejects with a DurlogError: ERR_DURLOG_INVALID_ARGUMENT (also if the folder has another encoding, or its owner
 * another durability), ERR_DURLOG_NOT_FOUND, ERR_DURLOG_NOT_A_LOG (the folder contains a log), ERR_DURLOG_LOCKED
 * (process `ownerPid` has the folder open), ERR_DURLOG_STALLED (process `ownerPid` has the folder open but does not
 * answer), ERR_DURLOG_CORRUPT (for example, if the log and the catalog are not from the same copy of the folder),
 * ERR_DURLOG_VERSION, or an error of durlog's `open`.
 */
export function openStreams<V = unknown>(
  dir: string | URL,
  options?: StreamsOptions & { encoding?: 'json' | undefined },
): Promise<Streams<V>>
export function openStreams(dir: string | URL, options: StreamsOptions & { encoding: 'utf8' }): Promise<Streams<string>>
export function openStreams(
  dir: string | URL,
  options: StreamsOptions & { encoding: 'buffer' },
): Promise<Streams<Uint8Array>>
export function openStreams(dir: string | URL, options?: StreamsOptions): Promise<Streams<unknown>>
export async function openStreams(dir: string | URL, options?: StreamsOptions): Promise<unknown> {
  const resolved = resolveStreamsOptions(options)
  const path = resolve(resolveDir(dir))
  if (resolved.exclusive) return openExclusive(path, options, { onLocked: () => markExclusive(path) })
  return openShared(path, resolved, false)
}

/** As `openStreams` with `exclusive: true`. */
export async function openExclusive(
  dir: string | URL,
  options: StreamsOptions | undefined,
  internals: Internals,
): Promise<Folder<unknown>> {
  const resolved = resolveStreamsOptions(options)
  const path = resolve(resolveDir(dir))
  const { openLocal } = await loaded(import('../core/open-store.js'))
  return new Folder(await openLocal(path, resolved, internals))
}

/**
 * Opens a folder for a tool: as a client if processes have it open, otherwise as the owner. If `options` has no
 * durability, it uses that of the owner.
 */
export async function joinStreams(dir: string, options: StreamsOptions): Promise<Folder<unknown>> {
  return openShared(resolve(dir), resolveStreamsOptions(options), options.durability === undefined)
}

async function openShared(dir: string, options: ResolvedStreamsOptions, anyLevel: boolean): Promise<Folder<unknown>> {
  const { LinkPort } = await loaded(import('../processes/link-port.js'))
  return new Folder(await LinkPort.open(dir, options, anyLevel))
}
