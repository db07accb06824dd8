/**
 * Decides whether a change of a stream (append, end, deletion or creation) is stored. The owner and every replay of the
 * log use these functions, so they decide alike.
 */
import { DurlogError, invalidArgument, outOfRange } from '../../errors.js'
import { defaultMeta, type StreamMeta, sameMeta } from '../port/meta.js'
import type { Producer } from '../port/types.js'
import { type Change, EntryKind } from './entry.js'
import { NO_PRODUCERS, type ProducerState, RECENT_APPENDS, type StreamSnapshot, type StreamState } from './state.js'

export const MAX_PRODUCERS = 4096

/** A change that a caller requests, or that a replay finds in the log. */
export interface ProposedChange extends Change {
  expectedSeq: number | undefined
  /** Refuse the change unless the entry at this position created the stream. Not checked in a replay. */
  created?: number | undefined
  /** Of a fork: refuse it unless the entry at this position created its source. Not checked in a replay. */
  source?: number | undefined
  /** Of the deletion of an expired stream: whether the stream still has expired. An earlier call may have used it. */
  hasExpired?: (() => boolean) | undefined
}

/**
 * `stored`: the change is stored and gets `seq`. `duplicate`: it is already stored, with `seq`, or with -1 if its seq
 * is not known; or it is a deletion, and the stream does not exist or has not expired.
 */
export interface Decision {
  outcome: 'stored' | 'duplicate'
  seq: number
}

/** The part of a stream's state on which decisions depend. */
interface View {
  readonly meta: StreamMeta
  readonly next: number
  readonly ended: boolean
  readonly softDeleted: boolean
  readonly writerSeq: string | undefined
  readonly producers: { get(id: string): ProducerState | undefined; readonly size: number }
}

type Find = (name: string) => StreamState | undefined

/**
 * Decides one change by the state `view`, which is undefined if the stream does not exist. Throws the refusal, a
 * DurlogError with one of these codes after ERR_DURLOG_: SEQ_CONFLICT, STREAM_ENDED, STREAM_EXISTS, STREAM_DELETED,
 * PRODUCER_FENCED, PRODUCER_GAP, NOT_FOUND, INVALID_ARGUMENT, OUT_OF_RANGE.
 */
export function decide(wanted: ProposedChange, view: View | undefined, find: Find): Decision {
  const { stream, producer, expectedSeq, kind, encoding } = wanted
  // An earlier deletion may not be durable yet; a duplicate is answered only when it is.
  if (kind === EntryKind.delete && (view === undefined || view.softDeleted || wanted.hasExpired?.() === false))
    return { outcome: 'duplicate', seq: -1 }
  if (view?.softDeleted === true) throw deletedStream(stream)
  if (kind === EntryKind.create) return decideCreation(stream, wanted.meta as StreamMeta, view, find)
  const next = view?.next ?? 0
  if (view === undefined && (kind !== EntryKind.append || wanted.mustExist)) throw noSuchStream(stream)
  if (wanted.created !== undefined && find(stream)?.created !== wanted.created) throw noSuchStream(stream)
  if (producer !== undefined) {
    const previous = view?.producers.get(producer.id)
    if (checkProducer(stream, producer, previous, view))
      return { outcome: 'duplicate', seq: originalSeq(producer, previous) }
    if (previous === undefined && view !== undefined && view.producers.size >= MAX_PRODUCERS)
      throw tooManyProducers(stream)
  }
  if (view?.ended === true) {
    if (kind === EntryKind.end && producer === undefined) return { outcome: 'duplicate', seq: next }
    if (kind !== EntryKind.delete) throw endedStream(stream, next)
  }
  if (expectedSeq !== undefined && expectedSeq !== next) throw conflict(wanted, next)
  if (kind === EntryKind.append && view !== undefined && view.meta.encoding !== encoding)
    throw invalidArgument(
      `the stream "${stream}" has the encoding ${view.meta.encoding}; got a value with the encoding ${encoding}`,
    )
  checkWriterSeq(wanted, view?.writerSeq)
  return { outcome: 'stored', seq: next }
}

/**
 * Decides the changes of a batch. In a group the first change decides for all. In other batches each change is decided
 * as if the earlier ones were stored. Throws the first refusal.
 */
export function decideBatch(batch: readonly ProposedChange[], find: Find): Decision[] {
  const first = batch[0] as ProposedChange
  if (batch.length === 1) return [decide(first, find(first.stream), find)]
  if ((batch[1] as ProposedChange).follows) return decideGroup(batch, decide(first, find(first.stream), find))
  const copies = new Map<string, StreamSnapshot & { meta: StreamMeta }>()
  return batch.map((wanted) => {
    const state = find(wanted.stream)
    const meta = state?.meta ?? defaultMeta(wanted.encoding)
    let copy = copies.get(wanted.stream)
    if (copy !== undefined) copy.meta = meta
    const verdict = decide(wanted, copy ?? state, find)
    if (verdict.outcome === 'duplicate') return verdict
    if (copy === undefined) {
      copy = { meta, ...(state?.takeSnapshot() ?? emptySnapshot()) }
      copies.set(wanted.stream, copy)
    }
    if (wanted.producer !== undefined) advance(copy, wanted.producer)
    if (wanted.writerSeq !== undefined) copy.writerSeq = wanted.writerSeq
    copy.next++
    return verdict
  })
}

function decideGroup(group: readonly ProposedChange[], { outcome, seq: first }: Decision): Decision[] {
  let seq = first
  return group.map(({ kind }) => {
    const verdict: Decision = { outcome, seq }
    if (kind === EntryKind.append && seq !== -1) seq++
    return verdict
  })
}

function emptySnapshot(): StreamSnapshot {
  return {
    next: 0,
    ended: false,
    endedFrom: undefined,
    softDeleted: false,
    writerSeq: undefined,
    producers: NO_PRODUCERS,
    forks: 0,
    updatedMs: undefined,
  }
}

/** Decides a creation. If the stream exists with the same options, it is a duplicate. */
function decideCreation(name: string, meta: StreamMeta, view: View | undefined, find: Find): Decision {
  if (view !== undefined) {
    if (sameMeta(meta, view.meta)) return { outcome: 'duplicate', seq: view.next }
    throw new DurlogError(
      'ERR_DURLOG_STREAM_EXISTS',
      `the stream "${name}" exists with other options: delete it, or choose another name`,
    )
  }
  const { fork } = meta
  if (fork === undefined) return { outcome: 'stored', seq: 0 }
  const source = find(fork.stream)
  if (source === undefined) throw noSuchStream(fork.stream)
  if (source.softDeleted) throw deletedStream(fork.stream)
  if (source.meta.encoding !== meta.encoding)
    throw invalidArgument(
      `a fork must have the encoding of its source, which is ${source.meta.encoding}; got ${meta.encoding}`,
    )
  if (fork.seq > source.next || (fork.bytes > 0 && fork.seq === source.next))
    throw outOfRange(
      `fork.seq is ${fork.seq}, but the next seq of the source "${fork.stream}" is ${source.next}: choose an earlier one`,
    )
  return { outcome: 'stored', seq: fork.seq }
}

/**
 * Throws ERR_DURLOG_OUT_OF_RANGE if `wanted` creates a fork at a seq that its source does not keep any more, and
 * ERR_DURLOG_NOT_FOUND if the source is not `wanted.source`. A replay must not check this: the source may have dropped
 * the records after the fork was deleted.
 */
export function checkForkStart({ meta, source }: ProposedChange, find: Find): void {
  if (meta?.fork === undefined) return
  const { stream, seq } = meta.fork
  const found = find(stream)
  if (source !== undefined && found?.created !== source)
    throw new DurlogError('ERR_DURLOG_NOT_FOUND', `the stream "${stream}" was deleted while it was forked`)
  checkForkSeq(stream, seq, found)
}

/** Throws ERR_DURLOG_OUT_OF_RANGE if `source`, the stream `stream`, does not keep the record `seq` any more. */
export function checkForkSeq(stream: string, seq: number, source: StreamState | undefined): void {
  // A checkpoint in progress may already have decided to drop older records.
  const first = Math.max(source?.firstSeq ?? 0, source?.snapshot?.first ?? 0)
  if (seq < first)
    throw outOfRange(
      `fork.seq is ${seq}, but the source "${stream}" keeps records from seq ${first} on: choose a later one`,
    )
}

function checkWriterSeq({ stream, writerSeq }: ProposedChange, greatest: string | undefined): void {
  if (writerSeq === undefined || greatest === undefined) return
  if (Buffer.compare(Buffer.from(writerSeq), Buffer.from(greatest)) > 0) return
  throw new DurlogError(
    'ERR_DURLOG_SEQ_CONFLICT',
    `writerSeq must be greater than "${greatest}", the writerSeq of an earlier append to the stream "${stream}"; got "${writerSeq}"`,
  )
}

/** Records in `stream` that the producer's append gets the next seq. */
export function advance(stream: StreamSnapshot, { id, epoch, seq }: Producer): void {
  const previous = stream.producers.get(id)
  const recent = previous?.epoch === epoch ? previous.recent : []
  recent.push(stream.next)
  if (recent.length > RECENT_APPENDS) recent.shift()
  if (stream.producers === NO_PRODUCERS) stream.producers = new Map()
  const producers = stream.producers as Map<string, ProducerState>
  producers.set(id, { epoch, seq, recent })
}

/** Whether the append is already stored. Throws if the producer has a higher epoch, or if the append skips a seq. */
function checkProducer(
  stream: string,
  { id, epoch, seq }: Producer,
  previous: ProducerState | undefined,
  view: View | undefined,
): boolean {
  if (previous !== undefined && epoch < previous.epoch)
    throw new DurlogError(
      'ERR_DURLOG_PRODUCER_FENCED',
      `producer "${id}" of the stream "${stream}" is at epoch ${previous.epoch}, so epoch ${epoch} is refused: another instance has replaced this one; to continue, use an epoch above ${previous.epoch}`,
      { epoch: previous.epoch },
    )
  const next = previous?.epoch === epoch ? previous.seq + 1 : 0
  if (seq <= next) return seq < next
  if (view?.ended === true) throw endedStream(stream, view.next)
  throw new DurlogError(
    'ERR_DURLOG_PRODUCER_GAP',
    `producer "${id}" of the stream "${stream}" must continue with seq ${next} in epoch ${epoch}; got ${seq}: repeat the missing appends first`,
    { nextSeq: next, ...(previous !== undefined && { epoch: previous.epoch }) },
  )
}

function originalSeq({ epoch, seq }: Producer, previous: ProducerState | undefined): number {
  if (previous === undefined || previous.epoch !== epoch) return -1
  return previous.recent[previous.recent.length - 1 - (previous.seq - seq)] ?? -1
}

function conflict({ stream, expectedSeq }: ProposedChange, nextSeq: number): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_SEQ_CONFLICT',
    `expectedSeq is ${expectedSeq}, but the next record of the stream "${stream}" gets seq ${nextSeq}: read the records before it, then decide again`,
    { nextSeq },
  )
}

function endedStream(stream: string, nextSeq: number): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_STREAM_ENDED',
    `the stream "${stream}" has ended and takes no more records: append to another stream`,
    {
      nextSeq,
    },
  )
}

function deletedStream(stream: string): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_STREAM_DELETED',
    `the stream "${stream}" was deleted, and its forks still need its records: delete the forks, or choose another name`,
  )
}

export function noSuchStream(name: string): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_NOT_FOUND',
    `the stream "${name}" does not exist: create it, or append a first record`,
  )
}

function tooManyProducers(stream: string): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_OUT_OF_RANGE',
    `the stream "${stream}" has ${MAX_PRODUCERS} producers, which is the limit: use the id of one of them, with a higher epoch`,
  )
}
