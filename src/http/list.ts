/** GET of the list of streams, whose format the protocol does not define. */
import { isCode } from '../errors.js'
import { Body } from '../streams/port/body.js'
import { contentTypeOf } from '../streams/port/meta.js'
import type { ServedPort, StreamView } from '../streams/port/port.js'
import { badRequest, HttpError, notFound } from './http-error.js'
import { offsetOf } from './offset.js'
import { needRead } from './rights.js'
import { existing, type HttpCall, reply, type Service } from './service.js'
import { parameters } from './target.js'

const MAX_STREAMS = 1000
const DEFAULT_STREAMS = 100
/** The bytes of records that are read to get the time of the first one. */
const SEEK_BYTES = 1 << 10

/** Lists streams; with the query parameter `at`, finds an offset. */
export function list(service: Service, call: HttpCall): Promise<void> {
  if (call.exchange.method !== 'GET')
    throw new HttpError(405, 'method-not-allowed', 'the method is not supported: use GET', ['allow', 'GET'])
  return parameters(call.query, 'at').length > 0 ? seek(service, call) : listNames(service, call)
}

/**
 * Answers with the offset of the first record of the stream `name` at or after the time `at`, in milliseconds since
 * 1970.
 */
async function seek(service: Service, call: HttpCall): Promise<void> {
  const { exchange, query } = call
  const { scope } = exchange
  const [name = ''] = parameters(query, 'name')
  await needRead(service, call, call.prefix + encodeURIComponent(name), name)
  const [at = ''] = parameters(query, 'at')
  if (!/^[0-9]{1,15}$/.test(at)) throw badRequest('at must be a time in milliseconds since 1970')
  const { access } = service
  const state = existing(await access.find(scope + name))
  let [low, high] = [state.firstSeq, state.visible]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    try {
      const read = () => access.read(state, middle, new Body(state.meta.encoding, SEEK_BYTES))
      const { timeMs } = await service.reads.take(read)
      if (timeMs !== undefined && timeMs < Number(at)) low = middle + 1
      else high = middle
    } catch (error) {
      // Retention has removed the record meanwhile.
      if (!isCode(error, 'ERR_DURLOG_OUT_OF_RANGE')) throw error
      low = middle + 1
    }
  }
  const now = existing(await access.find(scope + name))
  if (now.created !== state.created) throw notFound()
  // Retention may have removed the record `low` too.
  low = Math.max(low, now.firstSeq)
  const headers = ['content-type', 'application/json', 'cache-control', 'no-store']
  reply(service, { exchange }, 200, headers, JSON.stringify({ offset: offsetOf(access, now, low) }))
}

/**
 * Lists streams in the order of their names: those that begin with `prefix` and come after the name `after`, at most
 * `limit`.
 */
async function listNames(service: Service, { exchange, query }: HttpCall): Promise<void> {
  const { scope } = exchange
  const [prefix = ''] = parameters(query, 'prefix')
  const [after = ''] = parameters(query, 'after')
  const [given = String(DEFAULT_STREAMS)] = parameters(query, 'limit')
  const limit = /^[0-9]{1,4}$/.test(given) ? Number(given) : 0
  if (limit < 1 || limit > MAX_STREAMS) throw badRequest(`limit must be 1 to ${MAX_STREAMS}`)
  const { access } = service
  const found = await access.list(scope + prefix, scope + after, limit + 1)
  const streams = found.slice(0, limit).map((state) => describe(access, state, scope))
  const body = JSON.stringify({ streams, more: found.length > limit })
  reply(service, { exchange }, 200, ['content-type', 'application/json', 'cache-control', 'no-store'], body)
}

function describe(access: ServedPort, state: StreamView, scope: string): Record<string, unknown> {
  const { name, meta, visible, firstSeq, endVisible } = state
  return {
    name: name.slice(scope.length),
    contentType: contentTypeOf(meta),
    records: visible - firstSeq,
    nextOffset: offsetOf(access, state, visible),
    closed: endVisible,
  }
}
