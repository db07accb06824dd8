/** Creates a stream with options: empty, with its first records, or as a fork. */
import { invalidArgument, outOfRange } from '../errors.js'
import { codecOf } from './encoding.js'
import { EntryKind } from './entry.js'
import { bareItem, encode, following, type StreamContext } from './items.js'
import type { StreamMeta } from './meta.js'
import { resolveCreateOptions } from './options.js'
import { RecordSource } from './record-source.js'
import type { Item } from './sequencer.js'
import type { StreamAppendResult, StreamForkPoint } from './types.js'

/** A stream that a caller wants to create. */
export interface Wish {
  meta: StreamMeta
  /** The caller gave no seq: that of an earlier creation, or the end of the source. */
  forkAnywhere: boolean
  /** A fork must have the encoding of `meta`, not that of its source. */
  encodingNamed: boolean
  end: boolean
}

/** The results of the creation and of each record. */
export function createStream(context: StreamContext, name: string, options: unknown): Promise<StreamAppendResult[]> {
  const { values, ...creation } = resolveCreateOptions(options, context.codec.name)
  const encodingNamed = (options as { encoding?: unknown } | undefined)?.encoding !== undefined
  return makeStream(context, name, { ...creation, encodingNamed }, ({ encoding }) =>
    values.map((value) => encode(codecOf(encoding), value)),
  )
}

/** As `createStream`, of encoded values. */
export async function makeStream(
  context: StreamContext,
  name: string,
  wish: Wish,
  valuesOf: (meta: StreamMeta) => readonly (Buffer | string)[],
): Promise<StreamAppendResult[]> {
  context.removeExpired(name)
  if (wish.meta.fork !== undefined) context.removeExpired(wish.meta.fork.stream)
  const wanted = withInherited(context, name, wish)
  const { fork } = wanted
  // Nothing is awaited unless a record is cut: the caller's next calls follow the creation.
  const cuts = fork !== undefined && fork.bytes > 0 && context.table().find(fork.stream)?.gone === false
  const { meta, cut } = cuts ? await cutRecord(context, wanted, fork) : { meta: wanted, cut: undefined }
  const creation: Item = {
    ...bareItem(EntryKind.create, name),
    encoding: meta.encoding,
    meta,
    value: JSON.stringify(meta),
  }
  const items = [creation]
  if (cut !== undefined) items.push(following(EntryKind.append, creation, cut))
  for (const value of valuesOf(meta)) items.push(following(EntryKind.append, creation, value))
  if (wish.end) items.push(following(EntryKind.end, creation))
  return context.submit(items)
}

/** The options with what a fork has from its source. */
function withInherited(context: StreamContext, name: string, { meta, forkAnywhere, encodingNamed }: Wish): StreamMeta {
  const { fork } = meta
  const source = fork === undefined ? undefined : context.table().find(fork.stream)
  if (fork === undefined || source === undefined) return meta
  const ownExpiry = meta.ttlMs !== undefined || meta.expiresAtMs !== undefined
  const earlier = context.table().find(name)?.meta.fork
  const seq = earlier?.stream === fork.stream ? earlier.seq : source.next
  return {
    encoding: encodingNamed ? meta.encoding : source.meta.encoding,
    contentType: meta.contentType ?? source.meta.contentType,
    ttlMs: ownExpiry ? meta.ttlMs : source.meta.ttlMs,
    expiresAtMs: ownExpiry ? meta.expiresAtMs : source.meta.expiresAtMs,
    fork: forkAnywhere ? { ...fork, seq } : fork,
    retention: meta.retention ?? source.meta.retention,
  }
}

/** The options of a fork that begins with a part of a record of bytes, and that part. */
async function cutRecord(
  context: StreamContext,
  meta: StreamMeta,
  fork: StreamForkPoint,
): Promise<{ meta: StreamMeta; cut: Buffer | undefined }> {
  if (context.table().find(fork.stream)?.meta.encoding !== 'bytes')
    throw invalidArgument('fork.bytes cuts a record of a stream of bytes only')
  const record = await bytesOf(context, fork)
  if (record.length < fork.bytes)
    throw outOfRange(
      `record ${fork.seq} of "${fork.stream}" has ${record.length} bytes; it cannot be cut at ${fork.bytes}`,
    )
  // A cut after the last byte is no cut.
  if (record.length === fork.bytes)
    return { meta: { ...meta, fork: { ...fork, seq: fork.seq + 1, bytes: 0 } }, cut: undefined }
  return { meta, cut: record.subarray(0, fork.bytes) }
}

async function bytesOf(context: StreamContext, { stream, seq }: StreamForkPoint): Promise<Buffer> {
  const state = context.find(stream)
  if (state === undefined || seq >= state.visible)
    throw outOfRange(`the stream "${stream}" has no record ${seq}, which the fork cuts`)
  const source = new RecordSource<Buffer>(context.files, context.table, codecOf)
  try {
    const [record] = await source.next(state, seq)
    return (record as { value: Buffer }).value
  } finally {
    await source.close()
  }
}
