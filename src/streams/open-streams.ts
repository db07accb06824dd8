/** Opens a folder of streams for this process alone or, with others, by its owner. */
import { resolve } from 'node:path'
import { resolveDir } from '../options/call-options.js'
import { openWithInternals } from './open.js'
import { resolveStreamsOptions } from './options.js'
import { markExclusive } from './processes/address.js'
import { RemoteStreams } from './processes/remote-streams.js'
import type { Streams, StreamsOptions } from './types.js'

/**
 * Opens the folder of streams `dir`, making it unless `create` is false. When it resolves, every record that the log holds is in
 * its stream's file.
 *
 * Rejects with ERR_DURLOG_INVALID_ARGUMENT (also if the folder has another encoding), ERR_DURLOG_NOT_FOUND,
 * ERR_DURLOG_NOT_A_LOG (the folder contains a log), ERR_DURLOG_LOCKED (by process `ownerPid`), ERR_DURLOG_CORRUPT (the log and the
 * catalog do not belong together), ERR_DURLOG_VERSION, or as `open` of durlog does.
 */
export function openStreams<V = unknown>(
  dir: string | URL,
  options?: StreamsOptions & { encoding?: 'json' | undefined },
): Promise<Streams<V>>
export function openStreams(dir: string | URL, options: StreamsOptions & { encoding: 'text' }): Promise<Streams<string>>
export function openStreams(
  dir: string | URL,
  options: StreamsOptions & { encoding: 'bytes' },
): Promise<Streams<Uint8Array>>
export async function openStreams(dir: string | URL, options?: StreamsOptions): Promise<unknown> {
  const resolved = resolveStreamsOptions(options)
  const path = resolve(resolveDir(dir))
  if (resolved.exclusive) return openWithInternals(path, options, { onLocked: () => markExclusive(path) })
  const streams = new RemoteStreams<unknown>(path, resolved)
  await streams.open(resolved.waitMs)
  return streams
}

/** For tools: as a client of the processes that have the folder open, or as its owner; with the level that they use. */
export async function joinStreams(dir: string, options: StreamsOptions): Promise<RemoteStreams<unknown>> {
  const resolved = resolveStreamsOptions(options)
  const streams = new RemoteStreams<unknown>(resolve(dir), resolved, options.durability === undefined)
  await streams.open(resolved.waitMs)
  return streams
}
