/** GET by offset and by long-poll, HEAD, and DELETE. */
import { EntryKind } from '../streams/entry.js'
import { bareItem } from '../streams/items.js'
import { contentTypeOf, lifeOf } from '../streams/meta.js'
import type { StreamState } from '../streams/state.js'
import { bodyOf, type Chunk, isJson, readChunk } from './chunk.js'
import type { HeaderList } from './exchange.js'
import { cursorAfter, offsetOf } from './offset.js'
import { badRequest, notFound, Refusal } from './refusal.js'
import { type Call, existing, reply, type Service, seqOf } from './service.js'
import { subscribe } from './sse.js'
import { parameters } from './target.js'

/** How long a cache may keep data that does not change, and use it while it asks for news. */
const CACHE_SECONDS = 60
const STALE_SECONDS = 300

export async function read(service: Service, call: Call): Promise<void> {
  const { context } = service
  const { name, query, exchange } = call
  const state = existing(service, name)
  const [offset, ...others] = parameters(query, 'offset')
  const live = parameters(query, 'live')[0]
  const cursor = parameters(query, 'cursor')[0]
  if (others.length > 0) throw badRequest('there are several offsets')
  if (live !== undefined && offset === undefined) throw badRequest('a live read needs an offset')
  if (live !== undefined && live !== 'long-poll' && live !== 'sse') throw badRequest('live is long-poll or sse')
  let from = startOf(state, offset)
  state.use()
  if (live === 'sse') return subscribe(service, call, state, { from, cursor })
  if (offset === 'now' && live === undefined) return answerNow(service, call, state)
  if (live === 'long-poll' && from === state.visible && !state.endVisible)
    await service.live.waitForChange(name, exchange, () => {
      const now = context.find(name)
      return now?.created !== state.created || now.visible > from || now.endVisible
    })
  const now = existing(service, name)
  if (now.created !== state.created) throw notFound()
  now.use()
  const chunk = await service.reads.take(async () => {
    // Retention may have removed records meanwhile.
    if (offset === undefined || offset === '-1') from = now.firstSeq
    try {
      return await readChunk(context, now, from, service.options.chunkBytes)
    } catch (error) {
      checkKept(now, from)
      throw error
    }
  })
  answer(service, call, now, { chunk, from, live: live !== undefined, cursor })
}

/** The seq at which the request begins. */
function startOf(state: StreamState, offset: string | undefined): number {
  if (offset === 'now') return state.visible
  if (offset === undefined || offset === '-1') return state.firstSeq
  const seq = seqOf(offset)
  if (seq > state.visible) throw badRequest('the offset is after the end of the stream')
  checkKept(state, seq)
  return seq
}

function checkKept({ firstSeq }: StreamState, seq: number): void {
  if (seq < firstSeq) throw new Refusal(410, 'gone', 'the data at the offset is not kept any more')
}

interface Answer {
  chunk: Chunk
  from: number
  live: boolean
  cursor: string | undefined
}

function answer(service: Service, call: Call, state: StreamState, { chunk, from, live, cursor }: Answer): void {
  const { next } = chunk
  const atEnd = next === state.visible
  const closed = atEnd && state.endVisible
  const headers: HeaderList = ['stream-next-offset', offsetOf(next)]
  if (atEnd) headers.push('stream-up-to-date', 'true')
  if (closed) headers.push('stream-closed', 'true')
  if (live) headers.push('stream-cursor', String(cursorAfter(cursor)))
  const empty = chunk.records.length === 0
  headers.push('cache-control', empty ? 'no-store' : cacheControl(service, state))
  if (live && empty) {
    reply(service, call, 204, headers)
    return
  }
  const etag = `"${state.created.toString(36)}:${offsetOf(from)}:${offsetOf(next)}${closed ? ':c' : ''}"`
  headers.push('etag', etag)
  if (matches(call.exchange.header('if-none-match'), etag)) {
    reply(service, call, 304, headers)
    return
  }
  headers.push('content-type', contentTypeOf(state.meta))
  reply(service, call, 200, headers, bodyOf(state, chunk))
}

/** The end of the stream, without data. */
function answerNow(service: Service, call: Call, state: StreamState): void {
  const headers: HeaderList = [...tailHeaders(state), 'stream-up-to-date', 'true', 'cache-control', 'no-store']
  reply(service, call, 200, headers, isJson(state) ? '[]' : '')
}

function tailHeaders(state: StreamState): HeaderList {
  const headers = ['content-type', contentTypeOf(state.meta), 'stream-next-offset', offsetOf(state.visible)]
  if (state.endVisible) headers.push('stream-closed', 'true')
  return headers
}

export function head(service: Service, call: Call): void {
  const state = existing(service, call.name)
  const { ttlMs, expiresAtMs } = state.meta
  const headers: HeaderList = [...tailHeaders(state), 'cache-control', 'no-store']
  if (ttlMs !== undefined) headers.push('stream-ttl', String(ttlMs / 1000))
  if (expiresAtMs !== undefined) headers.push('stream-expires-at', new Date(expiresAtMs).toISOString())
  headers.push('etag', `"${state.created.toString(36)}:${offsetOf(state.visible)}${state.endVisible ? ':c' : ''}"`)
  reply(service, call, 200, headers)
}

export async function remove(service: Service, call: Call): Promise<void> {
  existing(service, call.name)
  await service.context.submit([bareItem(EntryKind.delete, call.name)])
  reply(service, call, 204, [])
}

/** Not longer than the stream lives. */
function cacheControl({ options }: Service, state: StreamState): string {
  if (options.cache === 'no-store') return 'no-store'
  const leftSeconds = lifeOf(state.meta, state.usedMs) / 1000
  if (leftSeconds < CACHE_SECONDS + STALE_SECONDS)
    return `${options.cache}, max-age=${Math.max(0, Math.min(CACHE_SECONDS, Math.floor(leftSeconds)))}`
  return `${options.cache}, max-age=${CACHE_SECONDS}, stale-while-revalidate=${STALE_SECONDS}`
}

function matches(wanted: string | undefined, etag: string): boolean {
  if (wanted === undefined) return false
  return wanted.split(',').some((one) => one.trim().replace(/^W\//, '') === etag || one.trim() === '*')
}
