/** Decides whether an append, an end or a deletion counts. The owner and every replay decide by these functions. */
import { DurlogError } from '../errors.js'
import { EntryKind } from './entry.js'
import type { ProducerState, StreamState } from './state.js'
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

/** A stream as the earlier items of a batch leave it. */
interface View {
  exists: boolean
  next: number
  ended: boolean
  producers: Map<string, Pick<ProducerState, 'epoch' | 'seq'>>
}

/** Verdicts over several appends, each decided as if the earlier ones were applied, or over one end or deletion. */
export class Decisions {
  readonly #find: (name: string) => StreamState | undefined
  readonly #views = new Map<string, View>()

  constructor(find: (name: string) => StreamState | undefined) {
    this.#find = find
  }

  /** Throws the refusal: SEQ_CONFLICT, STREAM_ENDED, PRODUCER_FENCED, PRODUCER_GAP or NOT_FOUND. */
  decide(wanted: Wanted): Verdict {
    const state = this.#find(wanted.stream)
    const view = this.#viewOf(wanted.stream, state)
    if (wanted.kind === EntryKind.append) return this.#decideAppend(wanted, view, state)
    if (!view.exists) throw noSuchStream(wanted.stream)
    const { next } = view
    if (wanted.expectedSeq !== undefined && wanted.expectedSeq !== next) throw conflict(wanted, next)
    if (wanted.kind === EntryKind.end && view.ended) return { outcome: 'duplicate', seq: next }
    return { outcome: 'stored', seq: next }
  }

  #decideAppend(wanted: Wanted, view: View, state: StreamState | undefined): Verdict {
    const { producer, expectedSeq } = wanted
    if (producer !== undefined) {
      const known = this.#producer(view, state, producer.id)
      const duplicate = checkProducer(wanted.stream, producer, known)
      if (duplicate) return { outcome: 'duplicate', seq: originalSeq(producer, state?.producers.get(producer.id)) }
      const count = (state?.producers.size ?? 0) + view.producers.size
      if (known === undefined && count >= MAX_PRODUCERS) throw tooManyProducers(wanted.stream)
    }
    if (view.ended)
      throw new DurlogError('ERR_DURLOG_STREAM_ENDED', `the stream "${wanted.stream}" has ended: append to another one`)
    if (expectedSeq !== undefined && expectedSeq !== view.next) throw conflict(wanted, view.next)
    if (producer !== undefined) view.producers.set(producer.id, producer)
    view.exists = true
    return { outcome: 'stored', seq: view.next++ }
  }

  #viewOf(name: string, state: StreamState | undefined): View {
    let view = this.#views.get(name)
    if (view === undefined) {
      const exists = state !== undefined
      view = { exists, next: state?.next ?? 0, ended: state?.ended ?? false, producers: new Map() }
      this.#views.set(name, view)
    }
    return view
  }

  #producer(view: View, state: StreamState | undefined, id: string): Pick<ProducerState, 'epoch' | 'seq'> | undefined {
    return view.producers.get(id) ?? state?.producers.get(id)
  }
}

/** Whether the append was stored before. */
function checkProducer(
  stream: string,
  { id, epoch, seq }: Producer,
  known: Pick<ProducerState, 'epoch' | 'seq'> | undefined,
): boolean {
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
