/** PUT: creates a stream, with or without a first body, open or closed, or as a fork. */
import { isCode } from '../errors.js'
import { countOf, NO_VALUES, type SentValues } from '../streams/port/encoding.js'
import { contentTypeOf, defaultMeta, isContentType, mediaType, type StreamMeta } from '../streams/port/meta.js'
import type { CreationRequest, StreamView } from '../streams/port/port.js'
import type { StreamForkPoint } from '../streams/port/types.js'
import { valuesOfLong } from './append.js'
import type { HeaderList } from './exchange.js'
import { badRequest, conflict, gone, notFound } from './http-error.js'
import { offsetOf, parseOffset } from './offset.js'
import { sourceOf } from './rights.js'
import { type HttpCall, isTrue, refuseCoding, reply, type Service, seqOf } from './service.js'

const WHOLE = /^(0|[1-9][0-9]{0,11})$/
const TIME = /^(\d{4}-\d\d-\d\d)[Tt ]([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/

type CreatedState = Pick<StreamView, 'created' | 'meta' | 'visible' | 'ended' | 'endVisible'>

export async function create(service: Service, call: HttpCall): Promise<void> {
  const { access, options } = service
  const { exchange, name } = call
  refuseCoding(exchange)
  const closed = isTrue(exchange.header('stream-closed'))
  const { meta, forkAnywhere } = await requestedMeta(service, call)
  const body = await new Promise<Buffer>((take, fail) => exchange.body(options.maxBodyBytes, take, fail))
  const values = body.length === 0 ? NO_VALUES : await valuesOfLong(meta.encoding, body)
  const request: CreationRequest = { meta, forkAnywhere, encodingNamed: true, end: closed }
  let created: boolean
  let found: StreamView | undefined
  do {
    created = await createOnce(service, call, request, values)
    found = await access.find(name)
    // If the stream existed, it may have been deleted since.
  } while (!created && found === undefined)
  if (!created && found?.softDeleted === true) throw conflict(gone().message)
  // A created stream may have expired, or was deleted, since.
  const state = found === undefined || found.softDeleted ? stateOf(meta, countOf(values), closed) : found
  if (!created && state.ended !== closed)
    throw conflict(`the stream exists and is ${closed ? 'not ' : ''}closed, unlike the request`)
  const nextOffset = offsetOf(access, state, state.visible)
  const headers: HeaderList = ['content-type', contentTypeOf(state.meta), 'stream-next-offset', nextOffset]
  if (state.endVisible) headers.push('stream-closed', 'true')
  if (created) headers.push('location', exchange.origin + call.path)
  reply(service, call, created ? 201 : 200, headers, '')
}

/** Settles with whether this call created the stream. */
async function createOnce(
  { access, live }: Service,
  { name, exchange: { scope } }: HttpCall,
  request: CreationRequest,
  values: SentValues,
): Promise<boolean> {
  const isNew = (await access.find(name)) === undefined
  if (isNew) await live.admitStream(scope)
  let created = false
  try {
    created = await access.create(name, request, values)
  } catch (error) {
    throw isCode(error, 'ERR_DURLOG_STREAM_DELETED') ? conflict(error.message) : error
  } finally {
    if (isNew && !created) live.forgetStream(scope)
  }
  return created
}

/** The state of a stream after its creation. The stream is gone, so its offsets belong to no stream. */
function stateOf(meta: StreamMeta, values: number, ended: boolean): CreatedState {
  const { seq, bytes } = meta.fork ?? { seq: 0, bytes: 0 }
  return { created: -1, meta, visible: seq + (bytes > 0 ? 1 : 0) + values, ended, endVisible: ended }
}

async function requestedMeta(service: Service, call: HttpCall): Promise<{ meta: StreamMeta; forkAnywhere: boolean }> {
  const { exchange } = call
  const given = exchange.header('content-type') ?? ''
  if (given !== '' && !isContentType(given))
    throw badRequest('Content-Type is malformed: send a media type such as application/json')
  const forked = await forkOf(service, call)
  const source = forked?.source.meta
  if (source !== undefined && given !== '' && mediaType(given) !== mediaType(contentTypeOf(source)))
    throw conflict(`a fork must have the content type of its source, ${contentTypeOf(source)}`)
  const contentType = given === '' ? (source === undefined ? 'application/octet-stream' : undefined) : given
  const encoding = source?.encoding ?? (mediaType(contentType as string) === 'application/json' ? 'json' : 'buffer')
  return {
    meta: { ...defaultMeta(encoding), contentType, ...expiryOf(call), fork: forked?.fork },
    forkAnywhere: forked?.anywhere ?? false,
  }
}

function expiryOf({ exchange }: HttpCall): Pick<StreamMeta, 'ttlMs' | 'expiresAtMs'> {
  const ttl = exchange.header('stream-ttl')
  const at = exchange.header('stream-expires-at')
  if (ttl !== undefined && at !== undefined)
    throw badRequest('Stream-TTL and Stream-Expires-At exclude each other: send only one')
  if (ttl !== undefined && !WHOLE.test(ttl)) throw badRequest('Stream-TTL must be a whole number of seconds')
  const atMs = at === undefined ? undefined : timeOf(at)
  if (atMs !== undefined && !(atMs >= 0)) throw badRequest('Stream-Expires-At must be a time in the format of RFC 3339')
  return { ttlMs: ttl === undefined ? undefined : Number(ttl) * 1000, expiresAtMs: atMs }
}

/** Returns NaN for a malformed time, or for a day that its month does not have, which `Date.parse` accepts. */
function timeOf(text: string): number {
  const day = TIME.exec(text)?.[1] ?? ''
  const dayMs = Date.parse(day)
  return new Date(dayMs).toJSON()?.startsWith(day) === true ? Date.parse(text) : Number.NaN
}

interface Forked {
  /** It may be deleted if the fork exists, for which it is kept. */
  source: StreamView
  fork: StreamForkPoint
  /** The request has no Stream-Fork-Offset. */
  anywhere: boolean
}

async function forkOf(service: Service, call: HttpCall): Promise<Forked | undefined> {
  const { exchange } = call
  const path = exchange.header('stream-forked-from')
  const offset = exchange.header('stream-fork-offset')
  const sub = exchange.header('stream-fork-sub-offset')
  if (path === undefined) {
    if (offset !== undefined || sub !== undefined)
      throw badRequest('Stream-Fork-Offset and Stream-Fork-Sub-Offset need Stream-Forked-From')
    return undefined
  }
  if (sub !== undefined && !WHOLE.test(sub)) throw badRequest('Stream-Fork-Sub-Offset must be a whole number')
  const stream = await sourceOf(service, call, path)
  const source = await service.access.find(stream)
  if (source === undefined) throw notFound()
  const count = Number(sub ?? 0)
  if (offset === undefined) {
    if (count > 0) throw badRequest('Stream-Fork-Sub-Offset needs Stream-Fork-Offset')
    return { source, fork: { stream, seq: 0, bytes: 0 }, anywhere: true }
  }
  if ((parseOffset(offset)?.seq ?? 0) > source.visible)
    throw badRequest(`Stream-Fork-Offset is after the end of ${path}: use an offset of its data`)
  const seq = offset === '-1' ? 0 : await seqOf(service, source, offset)
  const json = source.meta.encoding !== 'buffer'
  return { source, fork: { stream, seq: json ? seq + count : seq, bytes: json ? 0 : count }, anywhere: false }
}
