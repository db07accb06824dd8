/** Creates a stream: empty, with first records, or as a fork. */
import { invalidArgument, outOfRange } from '../../errors.js'
import { RecordSource } from '../files/record-source.js'
import { codecOf, countOf, EncodedValue, packedOf, type SentValues, withFirst } from '../port/encoding.js'
import type { StreamMeta } from '../port/meta.js'
import type { CreationRequest } from '../port/port.js'
import type { StreamAppendResult, StreamForkPoint } from '../port/types.js'
import { checkForkSeq } from '../state/decide.js'
import type { RequestId } from '../state/dedup-table.js'
import { EntryKind } from '../state/entry.js'
import type { StreamState } from '../state/state.js'
import { bareItem } from './items.js'
import type { StreamStore } from './store.js'

/** Creates a stream, and appends `values` in the same step. Settles with the result of the creation. */
export async function makeStream(
  folder: StreamStore,
  { name, creation, values }: { name: string; creation: CreationRequest; values: SentValues },
  request?: RequestId,
): Promise<StreamAppendResult> {
  folder.removeExpired(name)
  const { fork } = creation.meta
  if (fork !== undefined) folder.removeExpired(fork.stream)
  const item = bareItem(EntryKind.create, name)
  // Nothing is awaited unless a part of a record is copied, so that the caller's next calls come after the creation.
  const cuts = fork !== undefined && fork.bytes > 0 && folder.table.find(fork.stream) !== undefined
  const { meta, cut, source }: CutFork = cuts ? await cutRecord(folder, creation.meta, fork) : { meta: creation.meta }
  item.draft = { ...creation, meta }
  item.source = source
  const all = cut === undefined ? values : withFirst(new EncodedValue('buffer', cut), values)
  if (countOf(all) > 0 || creation.end) item.rest = { values: packedOf(all), end: creation.end }
  return new Promise((resolve) => folder.sequencer.submit(item, request, resolve))
}

interface CutFork {
  meta: StreamMeta
  /** The part of the source's record that the fork copies. */
  cut?: Buffer | undefined
  /** As `ProposedChange.source`. */
  source?: number | undefined
}

/** Returns the parts of a fork with `fork.bytes`. */
async function cutRecord(folder: StreamStore, meta: StreamMeta, fork: StreamForkPoint): Promise<CutFork> {
  const source = folder.table.find(fork.stream)?.created
  if (folder.table.find(fork.stream)?.meta.encoding !== 'buffer')
    throw invalidArgument('fork.bytes must be 0 unless the source is a stream of bytes')
  const record = await bytesOf(folder, fork)
  if (record.length < fork.bytes)
    throw outOfRange(
      `fork.bytes is ${fork.bytes}, but record ${fork.seq} of the stream "${fork.stream}" has only ${record.length} bytes`,
    )
  // The whole record is shared, not copied.
  if (record.length === fork.bytes) return { meta: { ...meta, fork: { ...fork, seq: fork.seq + 1, bytes: 0 } }, source }
  return { meta, cut: record.subarray(0, fork.bytes), source }
}

/** The source of a fork. It may be deleted: a repeated creation of a fork for which it is kept succeeds. */
function sourceOf(folder: StreamStore, stream: string): StreamState | undefined {
  const state = folder.table.find(stream)
  return state?.softDeleted === true ? state : folder.visible(stream)
}

async function bytesOf(folder: StreamStore, { stream, seq }: StreamForkPoint): Promise<Buffer> {
  const state = sourceOf(folder, stream)
  if (state === undefined || seq >= state.visible)
    throw outOfRange(`fork.bytes needs record ${seq} of the stream "${stream}", which has no such record`)
  const source = new RecordSource<Buffer>(folder.folder, () => folder.table, codecOf)
  try {
    const [record] = await source.next(state, seq)
    // A repeated creation reads the record again.
    checkForkSeq(stream, seq, state)
    return (record as { value: Buffer }).value
  } finally {
    await source.close()
  }
}
