/** Creates a stream: empty, with first records, or as a fork. */
import { invalidArgument, outOfRange } from '../../errors.js'
import type { FolderFiles } from '../files/folder-files.js'
import { RecordSource } from '../files/record-source.js'
import { codecOf, countOf, EncodedValue, packedOf, type SentValues, withFirst } from '../port/encoding.js'
import type { StreamMeta } from '../port/meta.js'
import type { CreationRequest, Settle } from '../port/port.js'
import type { StreamAppendResult, StreamForkPoint } from '../port/types.js'
import { checkForkSeq } from '../state/decide.js'
import type { RequestId } from '../state/dedup-table.js'
import { EntryKind } from '../state/entry.js'
import type { StreamState } from '../state/state.js'
import type { StreamTable } from '../state/table.js'
import { bareItem, type Item } from './items.js'

/** The parts of a folder that a creation uses. */
export interface CreationFolder {
  readonly table: StreamTable
  readonly folder: { files: FolderFiles }
  readonly sequencer: {
    submit(item: Item, request: RequestId | undefined, settle: Settle<StreamAppendResult>): void
  }
  find(name: string): StreamState | undefined
  removeExpired(name: string): void
}

/** Creates a stream, and appends `values` in the same step. Settles with the result of the creation. */
export async function makeStream(
  folder: CreationFolder,
  { name, creation, values }: { name: string; creation: CreationRequest; values: SentValues },
  request?: RequestId,
): Promise<StreamAppendResult> {
  folder.removeExpired(name)
  const { fork } = creation.meta
  if (fork !== undefined) folder.removeExpired(fork.stream)
  const item = bareItem(EntryKind.create, name)
  // Nothing is awaited unless a part of a record is copied, so that the caller's next calls come after the creation.
  const cuts = fork !== undefined && fork.bytes > 0 && folder.table.find(fork.stream) !== undefined
  const { meta, cut } = cuts ? await cutRecord(folder, creation.meta, fork) : { meta: creation.meta, cut: undefined }
  item.draft = { ...creation, meta }
  const all = cut === undefined ? values : withFirst(new EncodedValue('buffer', cut), values)
  if (countOf(all) > 0 || creation.end) item.rest = { values: packedOf(all), end: creation.end }
  return new Promise((resolve) => folder.sequencer.submit(item, request, resolve))
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
  folder: CreationFolder,
  meta: StreamMeta,
  fork: StreamForkPoint,
): Promise<{ meta: StreamMeta; cut: Buffer | undefined }> {
  if (folder.table.find(fork.stream)?.meta.encoding !== 'buffer')
    throw invalidArgument('fork.bytes must be 0 unless the source is a stream of bytes')
  const record = await bytesOf(folder, fork)
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
function sourceOf(folder: CreationFolder, stream: string): StreamState | undefined {
  const state = folder.table.find(stream)
  return state?.softDeleted === true ? state : folder.find(stream)
}

async function bytesOf(folder: CreationFolder, { stream, seq }: StreamForkPoint): Promise<Buffer> {
  const state = sourceOf(folder, stream)
  if (state === undefined || seq >= state.visible)
    throw outOfRange(`fork.bytes needs record ${seq} of the stream "${stream}", which has no such record`)
  const source = new RecordSource<Buffer>(folder.folder.files, () => folder.table, codecOf)
  try {
    const [record] = await source.next(state, seq)
    // A repeated creation reads the record again.
    checkForkSeq(stream, seq, state)
    return (record as { value: Buffer }).value
  } finally {
    await source.close()
  }
}
