/** POST: appends a body, closes a stream, or both in one step. */
import { isUtf8 } from 'node:buffer'
import { DurlogError, isCode } from '../errors.js'
import { SPLIT_AT_ONCE_BYTES } from '../options/json-text.js'
import {
  countOf,
  EncodedValue,
  NO_VALUES,
  RECORD_MAX_BYTES,
  type SentValues,
  sentValue,
} from '../streams/port/encoding.js'
import { isContinuation, LONG_TEXT_BYTES } from '../streams/port/long-text.js'
import { contentTypeOf, mediaType } from '../streams/port/meta.js'
import type { KnownGroup, StreamView } from '../streams/port/port.js'
import type { Producer, StreamAppendResult, StreamEncoding } from '../streams/port/types.js'
import { TimeSlice } from '../support/time-slice.js'
import type { Exchange, HeaderList } from './exchange.js'
import { badRequest, closedStream, conflict, type HttpError } from './http-error.js'
import { messagesOf, messagesOfLong } from './json-body.js'
import { offsetOf } from './offset.js'
import { ReceivedBody } from './received-body.js'
import { existing, type HttpCall, isTrue, refuseCoding, reply, type Service } from './service.js'

const WRITER_SEQ_MAX_BYTES = 1024
const QUOTES = '""'
/** The refusals of appends that a closed stream gives too. */
const AFTER_CLOSE = [
  'ERR_DURLOG_STREAM_ENDED',
  'ERR_DURLOG_SEQ_CONFLICT',
  'ERR_DURLOG_PRODUCER_GAP',
  'ERR_DURLOG_PRODUCER_FENCED',
] as const

export function append(service: Service, call: HttpCall): void | Promise<void> {
  const { exchange } = call
  refuseCoding(exchange)
  const conditions = conditionsOf(exchange)
  const received = (body: Buffer): void => {
    if (body.length <= SPLIT_AT_ONCE_BYTES) store(service, call, conditions, body)
    else storeLong(service, call, conditions, body).catch(call.fail)
  }
  const take = (): void => exchange.body(service.options.maxBodyBytes, received, call.fail)
  if (!exchange.waitsToSend && !exchange.mayPass) return take()
  return Promise.resolve(service.access.find(call.name)).then((found) => {
    existing(found)
    take()
  })
}

/** The messages of a body, for the stream that the entry at `created` created. */
interface Split {
  created: number
  messages: SentValues
}

/** Converts a long body on another thread, or in several turns of the event loop, before it is stored. */
async function storeLong(service: Service, call: HttpCall, conditions: Conditions, body: Buffer): Promise<void> {
  const found = await service.access.find(call.name)
  if (found === undefined || !hasTypeOf(found, conditions.contentType ?? '')) {
    store(service, call, conditions, body)
    return
  }
  const messages = await valuesOfLong(found.meta.encoding, body)
  store(service, call, conditions, body, { created: found.created, messages })
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
    throw badRequest(`Stream-Seq must have at most ${WRITER_SEQ_MAX_BYTES} bytes`)
  const closes = isTrue(exchange.header('stream-closed'))
  return { closes, producer: producerOf(exchange), contentType: exchange.header('content-type'), writerSeq }
}

/** Never throws: an error is the answer. */
function store(service: Service, call: HttpCall, conditions: Conditions, body: Buffer, split?: Split): void {
  const { closes, producer, writerSeq } = conditions
  let records = 0
  let created = -1
  const groupOf = (found: StreamView | undefined): KnownGroup => {
    const stream = existing(found)
    const values = valuesIn(service, stream, conditions, body, split)
    records = countOf(values)
    created = stream.created
    return { values, end: closes, producer, writerSeq }
  }
  const failed = (error: unknown): void => {
    const refusal = producer === undefined ? error : gapOf(error, producer)
    if (AFTER_CLOSE.some((code) => isCode(error, code))) refuse(service, call, refusal).catch(call.fail)
    else call.fail(refusal)
  }
  const settle = (outcome: StreamAppendResult | Promise<never>): void => {
    if (outcome instanceof Promise) outcome.catch(failed)
    else if (outcome.duplicate || records === 0)
      answerUnchanged(service, call, producer, outcome.duplicate).catch(failed)
    else answer(service, call, offsetOf(service.access, { created }, outcome.seq + records), conditions)
  }
  try {
    service.access.appendTo(call.name, groupOf, settle)
  } catch (error) {
    failed(error)
  }
}

/** Answers a request that has stored records. `next` is the offset after the last one. */
function answer(service: Service, call: HttpCall, next: string, { closes, producer }: Conditions): void {
  const headers: HeaderList = ['stream-next-offset', next]
  if (producer !== undefined) pushProducer(headers, producer, producer.seq)
  if (closes) headers.push('stream-closed', 'true')
  if (producer === undefined) reply(service, call, 204, headers)
  else reply(service, call, 200, headers, '')
}

/** Answers a request that has stored no record: it only closed the stream, or it was a repeated request. */
async function answerUnchanged(
  service: Service,
  call: HttpCall,
  producer: Producer | undefined,
  duplicate: boolean,
): Promise<void> {
  const { access } = service
  const { name } = call
  const found = existing(await access.find(name))
  const nextOffset = offsetOf(access, found, found.visible)
  const headers: HeaderList = ['stream-next-offset', nextOffset]
  if (producer !== undefined) {
    const last = duplicate ? await access.lastAppend(name, producer.id) : undefined
    // Only the request that has closed the stream may be repeated.
    if (duplicate && found.ended && !(last?.isEnd && last.seq === producer.seq)) throw closedStream(nextOffset)
    pushProducer(headers, producer, last?.seq ?? producer.seq)
  }
  if (found.endVisible) headers.push('stream-closed', 'true')
  reply(service, call, 204, headers)
}

/** Refuses a request. If the stream is closed, the client must learn that, whatever else is wrong. */
async function refuse({ access }: Service, { name }: HttpCall, refusal: unknown): Promise<never> {
  const found = existing(await access.find(name))
  throw found.ended ? closedStream(offsetOf(access, found, found.visible)) : refusal
}

function pushProducer(headers: HeaderList, { epoch }: Producer, seq: number): void {
  headers.push('producer-epoch', String(epoch), 'producer-seq', String(seq))
}

/**
 * Returns the records of a body; none if the body is empty and the request closes the stream. Otherwise throws an
 * HttpError. If the stream is closed and the content type is wrong, it reports that the stream is closed, so that the
 * client learns of that.
 */
function valuesIn(
  { access }: Service,
  state: StreamView,
  { closes, contentType }: Conditions,
  body: Buffer,
  split: Split | undefined,
): SentValues {
  if (body.length === 0) {
    if (closes) return NO_VALUES
    throw badRequest('the body is empty: send data, or Stream-Closed: true')
  }
  if (contentType === undefined) throw badRequest('Content-Type is missing: send the content type of the stream')
  if (!hasTypeOf(state, contentType)) {
    if (state.endVisible) throw closedStream(offsetOf(access, state, state.visible))
    throw conflict(`the stream has the content type ${contentTypeOf(state.meta)}: append with the same type`)
  }
  if (split !== undefined && split.created !== state.created)
    throw conflict('the stream was deleted and created again during the request: repeat the request')
  const values = split?.messages ?? valuesOf(state.meta.encoding, body)
  if (countOf(values) === 0) throw badRequest('the body is an empty array: send at least one message')
  return values
}

function hasTypeOf({ meta }: StreamView, contentType: string): boolean {
  const expected = contentTypeOf(meta)
  return contentType === expected || mediaType(contentType) === mediaType(expected)
}

/** Returns the records of a body. Throws an HttpError with status 400 or 413. */
function valuesOf(encoding: StreamEncoding, body: Buffer): SentValues {
  if (encoding === 'json') return messagesOf(body)
  if (encoding === 'buffer') return sentValue(encoding, body)
  // Other bytes would be replaced by U+FFFD.
  if (!isUtf8(body)) throw notText()
  return new EncodedValue(encoding, JSON.stringify(body.toString()))
}

/** Like `valuesOf`. Long JSON is split on another thread, and long text is encoded in several turns. */
export async function valuesOfLong(encoding: StreamEncoding, body: Buffer): Promise<SentValues> {
  if (encoding === 'json') return messagesOfLong(body)
  if (encoding === 'buffer' || body.length <= LONG_TEXT_BYTES) return valuesOf(encoding, body)
  if (!isUtf8(body)) throw notText()
  const json = new ReceivedBody(body.length + QUOTES.length)
  const slice = new TimeSlice()
  json.add(Buffer.from(QUOTES.slice(0, 1)))
  // A text whose JSON is too long is refused when it is stored.
  for (let at = 0; at < body.length && json.length <= RECORD_MAX_BYTES; ) {
    if (slice.isSpent) await slice.nextTurn()
    let end = Math.min(at + LONG_TEXT_BYTES, body.length)
    while (isContinuation(body[end])) end--
    json.add(Buffer.from(JSON.stringify(body.toString('utf8', at, end)).slice(1, -1)))
    at = end
  }
  json.add(Buffer.from(QUOTES.slice(1)))
  return sentValue(encoding, json.bytes)
}

function notText(): HttpError {
  return badRequest('the body is not text in UTF-8')
}

function producerOf(exchange: Exchange): Producer | undefined {
  const id = exchange.header('producer-id')
  const epoch = exchange.header('producer-epoch')
  const seq = exchange.header('producer-seq')
  if (id === undefined && epoch === undefined && seq === undefined) return undefined
  if (id === undefined || epoch === undefined || seq === undefined)
    throw badRequest('Producer-Id, Producer-Epoch and Producer-Seq belong together: send all three or none')
  if (id === '' || Buffer.byteLength(id) > 128) throw badRequest('Producer-Id must have 1 to 128 bytes')
  return { id, epoch: count('Producer-Epoch', epoch), seq: count('Producer-Seq', seq) }
}

function count(name: string, text: string): number {
  const value = /^[0-9]+$/.test(text) ? Number(text) : Number.NaN
  if (!Number.isSafeInteger(value)) throw badRequest(`${name} must be a whole number up to 2^53 - 1`)
  return value
}

/**
 * Turns a gap of the producer into a 409 with the expected seq. If the producer began a new epoch with a seq above 0,
 * into a 400.
 */
function gapOf(error: unknown, { epoch, seq }: Producer): unknown {
  if (!(error instanceof DurlogError) || error.code !== 'ERR_DURLOG_PRODUCER_GAP') return error
  if (error.epoch !== undefined && epoch > error.epoch)
    return badRequest('a new Producer-Epoch must begin with Producer-Seq 0')
  const expected = String(error.nextSeq ?? 0)
  return conflict('earlier appends of the producer are missing: repeat them from Producer-Expected-Seq on', [
    'producer-expected-seq',
    expected,
    'producer-received-seq',
    String(seq),
  ])
}
