/** Creates a stream with options: empty, with first records, or as a fork. */
import { invalidArgument, outOfRange } from '../errors.js'
import { checkForkSeq } from './decide.js'
import { codecOf } from './encoding.js'
import { EntryKind } from './entry.js'
import { bareItem, following, followingAppend, hold, type StreamContext } from './items.js'
import type { StreamMeta } from './meta.js'
import { resolveCreateOptions } from './options.js'
import { RecordSource } from './record-source.js'
import type { Item } from './sequencer.js'
import type { StreamState } from './state.js'
import type { StreamTable } from './table.js'
import type { StreamAppendResult, StreamForkPoint } from './types.js'

/** A request of a caller to create a stream. */
export interface CreationRequest {
  meta: StreamMeta
  /**
   * A fork whose caller gave no seq: it gets the seq of the existing fork of that name, otherwise the next seq of the
   * source.
   */
  forkAnywhere: boolean
  /** The caller has chosen the encoding. Otherwise a fork gets the encoding of its source. */
  encodingNamed: boolean
  end: boolean
}

/** Creates a stream. Settles with the results of the creation and of each record. */
export function createStream(context: StreamContext, name: string, options: unknown): Promise<StreamAppendResult[]> {
  const { values, ...creation } = resolveCreateOptions(options, context.encoding)
  const encodingNamed = (options as { encoding?: unknown } | undefined)?.encoding !== undefined
  return makeStream(context, name, { ...creation, encodingNamed }, (first) =>
    values.map((value) => followingAppend(first, value)),
  )
}

/** Like `createStream`. `appendsOf` returns the appends that follow the creation. */
export async function makeStream(
  context: StreamContext,
  name: string,
  request: CreationRequest,
  appendsOf: (creation: Item) => readonly Item[],
): Promise<StreamAppendResult[]> {
  context.removeExpired(name)
  const { fork } = request.meta
  if (fork !== undefined) context.removeExpired(fork.stream)
  const creation = bareItem(EntryKind.create, name)
  const appends = appendsOf(creation)
  // Nothing is awaited unless a part of a record is copied, so that the caller's next calls come after the creation.
  const cuts = fork !== undefined && fork.bytes > 0 && context.table().find(fork.stream) !== undefined
  if (cuts) for (const append of appends) hold(append)
  const { meta, cut } = cuts ? await cutRecord(context, request.meta, fork) : { meta: request.meta, cut: undefined }
  creation.draft = { creation: { ...request, meta } }
  const items = [creation]
  if (cut !== undefined) items.push(following(EntryKind.append, creation, cut))
  items.push(...appends)
  if (request.end) items.push(following(EntryKind.end, creation))
  return context.submit(items)
}

/** Returns the options, with those that a fork gets from its source. */
export function withInherited(
  table: StreamTable,
  name: string,
  { meta, forkAnywhere, encodingNamed }: CreationRequest,
): StreamMeta {
  const { fork } = meta
  const source = fork === undefined ? undefined : table.find(fork.stream)
  if (fork === undefined || source === undefined) return meta
  const ownExpiry = meta.ttlMs !== undefined || meta.expiresAtMs !== undefined
  const earlier = table.find(name)?.meta.fork
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

/** Returns the options of a fork with `fork.bytes`, and the part of the source's record that it copies. */
async function cutRecord(
  context: StreamContext,
  meta: StreamMeta,
  fork: StreamForkPoint,
): Promise<{ meta: StreamMeta; cut: Buffer | undefined }> {
  if (context.table().find(fork.stream)?.meta.encoding !== 'bytes')
    throw invalidArgument('fork.bytes must be 0 unless the source is a stream of bytes')
  const record = await bytesOf(context, fork)
  if (record.length < fork.bytes)
    throw outOfRange(
      `fork.bytes is ${fork.bytes}, but record ${fork.seq} of the stream "${fork.stream}" has only ${record.length} bytes`,
    )
  // The whole record is shared, not copied.
  if (record.length === fork.bytes)
    return { meta: { ...meta, fork: { ...fork, seq: fork.seq + 1, bytes: 0 } }, cut: undefined }
  return { meta, cut: record.subarray(0, fork.bytes) }
}

/** The source of a fork. It may be deleted: a repeated creation of a fork for which it is kept succeeds. */
function sourceOf(context: StreamContext, stream: string): StreamState | undefined {
  const state = context.table().find(stream)
  return state?.softDeleted === true ? state : context.find(stream)
}

async function bytesOf(context: StreamContext, { stream, seq }: StreamForkPoint): Promise<Buffer> {
  const state = sourceOf(context, stream)
  if (state === undefined || seq >= state.visible)
    throw outOfRange(`fork.bytes needs record ${seq} of the stream "${stream}", which has no such record`)
  const source = new RecordSource<Buffer>(context.files, context.table, codecOf)
  try {
    const [record] = await source.next(state, seq)
    // A repeated creation reads the record again.
    checkForkSeq(stream, seq, state)
    return (record as { value: Buffer }).value
  } finally {
    await source.close()
  }
}
