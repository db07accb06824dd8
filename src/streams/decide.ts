/** Decides whether an append, an end or a deletion counts. The owner and every replay decide by these functions. */
import { DurlogError } from '../errors.js'
import { EntryKind } from './entry.js'
import { type ProducerState, RECENT_APPENDS, type StreamCapture, type StreamState } from './state.js'
import type { Producer } from './types.js'

export const MAX_PRODUCERS = 4096

export interface Wanted {
  kind: EntryKind
  stream: string
  expectedSeq: number | undefined
  producer: Producer | undefined
}

/** `stored`: it counts, and gets `seq`. `duplicate`: nothing is to be stored; `seq` is the original's, -1 if it is not known. */
export interface Verdict {
  outcome: 'stored' | 'duplicate'
  seq: number
}

/** The part of a stream's state that decides. */
interface View {
  readonly next: number
  readonly ended: boolean
  readonly producers: { get(id: string): ProducerState | undefined; readonly size: number }
}

/**
 * Decides by the state `view`, undefined if there is no such stream. Throws the refusal: SEQ_CONFLICT, STREAM_ENDED,
 * PRODUCER_FENCED, PRODUCER_GAP, NOT_FOUND or OUT_OF_RANGE.
 */
export function decide(wanted: Wanted, view: View | undefined): Verdict {
  const { stream, producer, expectedSeq, kind } = wanted
  const next = view?.next ?? 0
  if (kind !== EntryKind.append && view === undefined) throw noSuchStream(stream)
  if (producer !== undefined) {
    const known = view?.producers.get(producer.id)
    if (checkProducer(stream, producer, known)) return { outcome: 'duplicate', seq: originalSeq(producer, known) }
    if (known === undefined && view !== undefined && view.producers.size >= MAX_PRODUCERS)
      throw tooManyProducers(stream)
  }
  if (view?.ended === true && kind === EntryKind.end) return { outcome: 'duplicate', seq: next }
  if (view?.ended === true && kind === EntryKind.append)
    throw new DurlogError('ERR_DURLOG_STREAM_ENDED', `the stream "${stream}" has ended: append to another one`)
  if (expectedSeq !== undefined && expectedSeq !== next) throw conflict(wanted, next)
  return { outcome: 'stored', seq: next }
}

/** Decides the appends of a batch, each as if the earlier ones were applied. Throws the first refusal. */
export function decideBatch(batch: readonly Wanted[], find: (name: string) => StreamState | undefined): Verdict[] {
  if (batch.length === 1) return [decide(batch[0] as Wanted, find((batch[0] as Wanted).stream))]
  const copies = new Map<string, StreamCapture>()
  return batch.map((wanted) => {
    const state = find(wanted.stream)
    const view = copies.get(wanted.stream) ?? state
    const verdict = decide(wanted, view)
    if (verdict.outcome === 'duplicate') return verdict
    const copy = copies.get(wanted.stream) ?? state?.copy() ?? { next: 0, ended: false, producers: new Map() }
    copies.set(wanted.stream, copy)
    if (wanted.producer !== undefined) advance(copy.producers, wanted.producer, copy.next)
    copy.next++
    return verdict
  })
}

/** The producer's append gets the stream's seq `streamSeq`. */
export function advance(producers: Map<string, ProducerState>, { id, epoch, seq }: Producer, streamSeq: number): void {
  const known = producers.get(id)
  const recent = known?.epoch === epoch ? known.recent : []
  recent.push(streamSeq)
  if (recent.length > RECENT_APPENDS) recent.shift()
  producers.set(id, { epoch, seq, recent })
}

/** Whether the append was stored before. */
function checkProducer(stream: string, { id, epoch, seq }: Producer, known: ProducerState | undefined): boolean {
  if (known !== undefined && epoch < known.epoch)
    throw new DurlogError(
      'ERR_DURLOG_PRODUCER_FENCED',
      `producer "${id}" of the stream "${stream}" is at epoch ${known.epoch}, and epoch ${epoch} is over: another instance has taken its place`,
    )
  const next = known?.epoch === epoch ? known.seq + 1 : 0
  if (seq > next)
    throw new DurlogError(
      'ERR_DURLOG_PRODUCER_GAP',
      `producer "${id}" of the stream "${stream}" must continue with seq ${next} in epoch ${epoch}; got ${seq}`,
      { nextSeq: next },
    )
  return seq < next
}

function originalSeq({ epoch, seq }: Producer, known: ProducerState | undefined): number {
  if (known === undefined || known.epoch !== epoch) return -1
  return known.recent[known.recent.length - 1 - (known.seq - seq)] ?? -1
}

function conflict({ stream, expectedSeq }: Wanted, nextSeq: number): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_SEQ_CONFLICT',
    `the next record of the stream "${stream}" gets seq ${nextSeq}, not ${expectedSeq} (expectedSeq): read the records before it, then decide again`,
    { nextSeq },
  )
}

export function noSuchStream(name: string): DurlogError {
  return new DurlogError('ERR_DURLOG_NOT_FOUND', `there is no stream "${name}"; the first append makes it`)
}

function tooManyProducers(stream: string): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_OUT_OF_RANGE',
    `the stream "${stream}" has ${MAX_PRODUCERS} producers, which is the limit: use an id again with a higher epoch`,
  )
}
