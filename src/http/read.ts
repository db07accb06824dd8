/** GET by offset and by long-poll, HEAD, and DELETE. */

import { createHash } from 'node:crypto'
import { contentTypeOf } from '../streams/port/meta.js'
import type { StreamView } from '../streams/port/port.js'
import { type BodyChunk, isJson, readChunk } from './chunk.js'
import type { HeaderList } from './exchange.js'
import { badRequest, gone, HttpError, notFound } from './http-error.js'
import { cursorAfter, cursorOf, offsetOf } from './offset.js'
import { existing, type HttpCall, replaced, reply, type Service, seqOf } from './service.js'
import { subscribe } from './sse.js'
import { parameters } from './target.js'

/** How long a cache may use data that does not change, and how much longer while it asks for newer data. */
const CACHE_SECONDS = 60
const STALE_SECONDS = 300
/** The bytes at the end of a body that its ETag depends on. */
const TAG_BYTES = 1024
const SUM_CHARACTERS = 11
/**
 * If a browser opens the URL of a stream, scripts in the data must not run: clients choose the data and its content
 * type, and the origin may be that of the application.
 */
const SANDBOX: HeaderList = ['content-security-policy', 'sandbox']

export async function read(service: Service, call: HttpCall): Promise<void> {
  const { access } = service
  const { name, query, exchange } = call
  const [given, ...others] = parameters(query, 'offset')
  const live = parameters(query, 'live')[0]
  const cursor = cursorOf(parameters(query, 'cursor')[0])
  const found = existing(await access.find(name, true))
  if (others.length > 0) throw badRequest('the parameter offset occurs more than once')
  if (live !== undefined && given === undefined) throw badRequest('the parameter live needs the parameter offset')
  if (live !== undefined && live !== 'long-poll' && live !== 'sse') throw badRequest('live must be long-poll or sse')
  exchange.isLive = live !== undefined
  // An EventSource of a browser connects again with the id of the last event.
  const offset = (live === 'sse' && exchange.header('last-event-id')) || given
  const start = await startOf(service, found, offset)
  if (live === 'sse') return subscribe(service, call, found, { from: start, cursor })
  if (offset === 'now' && live === undefined) return answerNow(service, call, found)
  if (live === 'long-poll' && start === found.visible && !found.endVisible)
    await service.live.waitForChange(found, exchange)
  const { now, chunk, from } = await service.reads.take(() => readOnce(service, name, { found, offset, start }))
  answer(service, call, now, { chunk, from, isNow: offset === 'now', live: live !== undefined, cursor })
}

interface Wanted {
  /** The stream when the request arrived. */
  found: StreamView
  offset: string | undefined
  /** The seq of the offset in `found`. */
  start: number
}

async function readOnce(
  service: Service,
  name: string,
  { found, offset, start }: Wanted,
): Promise<Pick<ReadAnswer, 'chunk' | 'from'> & { now: StreamView }> {
  const { access, options } = service
  for (;;) {
    const now = existing(await access.find(name, true))
    const isReplaced = now.created !== found.created
    if (isReplaced && hasSeq(offset)) throw replaced()
    // Retention may have removed records meanwhile.
    const from = isReplaced || offset === undefined || offset === '-1' ? now.firstSeq : start
    try {
      return { now, from, chunk: await readChunk(service, now, from, options.chunkBytes) }
    } catch (error) {
      const later = existing(await access.find(name))
      if (later.created === now.created) {
        checkKept(later, from)
        throw error
      }
    }
  }
}

/** Returns the seq at which the read begins. */
async function startOf(service: Service, state: StreamView, offset: string | undefined): Promise<number> {
  if (offset === 'now') return state.visible
  if (!hasSeq(offset)) return state.firstSeq
  const seq = await seqOf(service, state, offset)
  checkKept(state, seq)
  return seq
}

/** Whether the offset belongs to one stream, and not to any. */
function hasSeq(offset: string | undefined): offset is string {
  return offset !== undefined && offset !== '-1' && offset !== 'now'
}

function checkKept({ firstSeq }: StreamView, seq: number): void {
  if (seq < firstSeq)
    throw new HttpError(410, 'gone', 'the data at the offset is not kept any more: read from offset=-1')
}

interface ReadAnswer {
  chunk: BodyChunk
  from: number
  /** The request has offset=now, so a later request must not get the same answer. */
  isNow: boolean
  live: boolean
  cursor: number | undefined
}

function answer(
  service: Service,
  call: HttpCall,
  state: StreamView,
  { chunk, from, isNow, live, cursor }: ReadAnswer,
): void {
  const { access } = service
  const { body, next } = chunk
  const atEnd = next === state.visible
  const closed = atEnd && state.endVisible
  const headers: HeaderList = ['stream-next-offset', offsetOf(access, state, next)]
  if (atEnd) headers.push('stream-up-to-date', 'true')
  if (closed) headers.push('stream-closed', 'true')
  if (live) headers.push('stream-cursor', String(cursorAfter(cursor)))
  const empty = next === from
  const isFinal = live || !atEnd || closed
  headers.push('cache-control', empty || isNow ? 'no-store' : cacheControl(service, call, state, isFinal))
  // The same URL has other data for another user.
  if (service.options.authorize !== undefined) headers.push('vary', 'authorization, cookie')
  if (live && empty) {
    reply(service, call, 204, headers)
    return
  }
  if (!isNow) {
    // If an older copy of the folder was put back, other data have the same offsets.
    const sum = createHash('sha256').update(body.subarray(-TAG_BYTES)).digest('base64url').slice(0, SUM_CHARACTERS)
    const etag = `"${offsetOf(access, state, from)}:${next}:${sum}${closed ? ':c' : ''}"`
    headers.push('etag', etag)
    if (matches(call.exchange.header('if-none-match'), etag)) {
      reply(service, call, 304, headers)
      return
    }
  }
  headers.push('content-type', contentTypeOf(state.meta), ...SANDBOX)
  reply(service, call, 200, headers, body, () => service.memory.sent(body))
}

/** Answers a read with offset=now: the offset of the end, without data. */
function answerNow(service: Service, call: HttpCall, state: StreamView): void {
  const headers: HeaderList = [...tailHeaders(service, state), 'stream-up-to-date', 'true', 'cache-control', 'no-store']
  reply(service, call, 200, headers, isJson(state) ? '[]' : '')
}

function tailHeaders({ access }: Service, state: StreamView): HeaderList {
  const nextOffset = offsetOf(access, state, state.visible)
  const headers = ['content-type', contentTypeOf(state.meta), 'stream-next-offset', nextOffset]
  if (state.endVisible) headers.push('stream-closed', 'true')
  return headers
}

export async function head(service: Service, call: HttpCall): Promise<void> {
  const state = existing(await service.access.find(call.name))
  const { ttlMs, expiresAtMs } = state.meta
  const headers: HeaderList = [...tailHeaders(service, state), 'cache-control', 'no-store']
  if (ttlMs !== undefined) headers.push('stream-ttl', String(Math.ceil(ttlMs / 1000)))
  if (expiresAtMs !== undefined) headers.push('stream-expires-at', new Date(expiresAtMs).toISOString())
  headers.push('etag', `"${offsetOf(service.access, state, state.visible)}${state.endVisible ? ':c' : ''}"`)
  reply(service, call, 200, headers)
}

export async function remove(service: Service, call: HttpCall): Promise<void> {
  const { access, live } = service
  const existed = await access.delete(call.name)
  const kept = await access.find(call.name)
  if (!existed) throw kept?.softDeleted === true ? gone() : notFound()
  if (kept === undefined) live.forgetStream(call.exchange.scope)
  reply(service, call, 204, [])
}

/**
 * An answer to a request with credentials is only for its client. At the end of an open stream, a client that has
 * appended would get old data from its own cache, so the cache must ask with the ETag. A cache must not keep data for
 * longer than the stream lives.
 */
function cacheControl({ options }: Service, { exchange }: HttpCall, { lifeMs }: StreamView, isFinal: boolean): string {
  if (options.cache === 'no-store') return 'no-store'
  const isPrivate = exchange.header('authorization') !== undefined || exchange.header('cookie') !== undefined
  const cache = isPrivate ? 'private' : options.cache
  if (!isFinal) return `${cache}, no-cache`
  const leftSeconds = lifeMs / 1000
  if (leftSeconds < CACHE_SECONDS + STALE_SECONDS)
    return `${cache}, max-age=${Math.max(0, Math.min(CACHE_SECONDS, Math.floor(leftSeconds)))}`
  return `${cache}, max-age=${CACHE_SECONDS}, stale-while-revalidate=${STALE_SECONDS}`
}

function matches(wanted: string | undefined, etag: string): boolean {
  if (wanted === undefined) return false
  return wanted.split(',').some((one) => one.trim().replace(/^W\//, '') === etag || one.trim() === '*')
}
