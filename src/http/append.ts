/** POST: appends a body, closes a stream, or both in one step. */
import { DurlogError } from '../errors.js'
import { EntryKind } from '../streams/entry.js'
import { bareItem, following } from '../streams/items.js'
import { contentTypeOf, mediaType } from '../streams/meta.js'
import type { Item } from '../streams/sequencer.js'
import type { StreamState } from '../streams/state.js'
import type { Producer, StreamAppendResult, StreamEncoding } from '../streams/types.js'
import type { Exchange, HeaderList } from './exchange.js'
import { messagesOf } from './json-body.js'
import { offsetOf } from './offset.js'
import { badRequest, closedStream, conflict } from './refusal.js'
import { type Call, existing, isTrue, reply, type Service } from './service.js'

/** Seqs and epochs take 6 bytes in the log. */
const COUNT_MAX = 2 ** 48 - 1
const WRITER_SEQ_MAX_BYTES = 1024

export function append(service: Service, call: Call): void {
  const { exchange } = call
  const conditions = conditionsOf(exchange)
  exchange.body(service.options.maxBodyBytes, (body) => store(service, call, conditions, body), call.fail)
}

/** The conditions of an append, from the headers of its request. */
interface Conditions {
  closes: boolean
  producer: Producer | undefined
  contentType: string | undefined
  writerSeq: string | undefined
}

function conditionsOf(exchange: Exchange): Conditions {
  const writerSeq = exchange.header('stream-seq')
  if (writerSeq !== undefined && Buffer.byteLength(writerSeq) > WRITER_SEQ_MAX_BYTES)
    throw badRequest(`Stream-Seq has at most ${WRITER_SEQ_MAX_BYTES} bytes`)
  const closes = isTrue(exchange.header('stream-closed'))
  return { closes, producer: producerOf(exchange), contentType: exchange.header('content-type'), writerSeq }
}

/** Never throws. */
function store(service: Service, call: Call, conditions: Conditions, body: Buffer): void {
  const { context } = service
  const { closes, producer, writerSeq } = conditions
  const failed = (error: unknown): void => call.fail(producer === undefined ? error : gapOf(error, producer))
  try {
    context.removeExpired(call.name)
    const state = existing(service, call.name)
    const values = valuesIn(state, conditions, body)
    const items = itemsOf(state, values, closes)
    const first = items[0] as Item
    first.producer = producer
    first.writerSeq = values.length > 0 ? writerSeq : undefined
    const settle = (outcome: StreamAppendResult | Promise<never>): void => {
      if (outcome instanceof Promise) outcome.catch(failed)
      else answer(service, call, outcome, producer, values.length)
    }
    if (items.length === 1) context.appendThen(first, settle)
    else context.submit(items).then(([result]) => settle(result as StreamAppendResult), failed)
  } catch (error) {
    failed(error)
  }
}

/** A group that stores `values` and ends the stream if `closes`. */
function itemsOf({ name, meta }: StreamState, values: (Buffer | string)[], closes: boolean): Item[] {
  const first = bareItem(values.length > 0 ? EntryKind.append : EntryKind.end, name)
  if (values.length === 0) return [first]
  first.encoding = meta.encoding
  first.existing = true
  first.value = values[0] as Buffer | string
  const items = [first]
  for (let at = 1; at < values.length; at++) items.push(following(EntryKind.append, first, values[at]))
  if (closes) items.push(following(EntryKind.end, first))
  return items
}

function answer(
  service: Service,
  call: Call,
  { seq, duplicate }: StreamAppendResult,
  producer: Producer | undefined,
  records: number,
): void {
  const state = service.context.find(call.name)
  const next = duplicate || records === 0 ? (state?.visible ?? 0) : seq + records
  const headers: HeaderList = ['stream-next-offset', offsetOf(next)]
  if (producer !== undefined) {
    const greatest = duplicate ? (state?.producers.get(producer.id)?.seq ?? producer.seq) : producer.seq
    headers.push('producer-epoch', String(producer.epoch), 'producer-seq', String(greatest))
  }
  if (state?.endVisible === true) headers.push('stream-closed', 'true')
  const stored = producer !== undefined && !duplicate
  reply(service, call, stored && records > 0 ? 200 : 204, headers, stored && records > 0 ? '' : undefined)
}

/** The records of a body; none if it is empty. The closed state is reported before another type, so that the client can tell. */
function valuesIn(state: StreamState, { closes, contentType }: Conditions, body: Buffer): (Buffer | string)[] {
  if (body.length === 0) {
    if (closes) return []
    throw badRequest('the body is empty')
  }
  if (contentType === undefined) throw badRequest('Content-Type is missing')
  const expected = contentTypeOf(state.meta)
  if (contentType !== expected && mediaType(contentType) !== mediaType(expected)) {
    if (state.ended) throw closedStream(state.visible)
    throw conflict(`the stream has the content type ${expected}`)
  }
  const values = valuesOf(state.meta.encoding, body)
  if (values.length === 0) throw badRequest('an empty array has no messages')
  return values
}

/** The records of a body. */
export function valuesOf(encoding: StreamEncoding, body: Buffer): (Buffer | string)[] {
  if (encoding === 'json') return messagesOf(body)
  return [encoding === 'text' ? JSON.stringify(body.toString()) : body]
}

function producerOf(exchange: Exchange): Producer | undefined {
  const id = exchange.header('producer-id')
  const epoch = exchange.header('producer-epoch')
  const seq = exchange.header('producer-seq')
  if (id === undefined && epoch === undefined && seq === undefined) return undefined
  if (id === undefined || epoch === undefined || seq === undefined)
    throw badRequest('Producer-Id, Producer-Epoch and Producer-Seq belong together')
  if (id === '' || Buffer.byteLength(id) > 128) throw badRequest('Producer-Id has 1 to 128 bytes')
  return { id, epoch: count('Producer-Epoch', epoch), seq: count('Producer-Seq', seq) }
}

function count(name: string, text: string): number {
  const value = /^[0-9]{1,15}$/.test(text) ? Number(text) : Number.POSITIVE_INFINITY
  if (value > COUNT_MAX) throw badRequest(`${name} must be a whole number up to ${COUNT_MAX}`)
  return value
}

/** A gap within an epoch is a conflict; a new epoch that does not begin with 0 is a mistake. */
function gapOf(error: unknown, { epoch, seq }: Producer): unknown {
  if (!(error instanceof DurlogError) || error.code !== 'ERR_DURLOG_PRODUCER_GAP') return error
  if (error.epoch !== undefined && epoch > error.epoch) return badRequest('a new epoch begins with Producer-Seq 0')
  const expected = String(error.nextSeq ?? 0)
  return conflict('appends of the producer are missing before this one', [
    'producer-expected-seq',
    expected,
    'producer-received-seq',
    String(seq),
  ])
}
