/** Rights, tenants and limits of a handler, its close, and its use by fetch. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { Readable } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import { DurlogError, type DurlogErrorCode } from '../../src/errors.js'
import { EVENT_BYTES } from '../../src/http/events.js'
import { handlerOf } from '../../src/http/handler.js'
import { toHttpError } from '../../src/http/http-error.js'
import type { HandlerOptions, StreamsHandler } from '../../src/http/index.js'
import { streamsHandler } from '../../src/http/index.js'
import { defaultMeta } from '../../src/streams/port/meta.js'
import type { ServedPort } from '../../src/streams/port/port.js'
import { StreamIdentities } from '../../src/streams/port/stream-identities.js'
import { MAX_PRODUCERS } from '../../src/streams/state/decide.js'
import { type Served, serveStreams } from '../fixtures/http.js'
import { scratchStreams, values } from '../fixtures/streams.js'

const METHODS = 'GET, POST, PUT, DELETE, HEAD, OPTIONS'
const JSON_TYPE = { 'content-type': 'application/json' }

async function serveUntilDone(options?: HandlerOptions): Promise<Served> {
  const served = await serveStreams(options)
  onTestFinished(() => served.stop())
  return served
}

/** Returns the statuses of the answers to the five methods for `url`. */
async function statuses(url: string, headers: Record<string, string>): Promise<Record<string, number>> {
  const found: Record<string, number> = {}
  for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'DELETE']) {
    const body = method === 'POST' ? { body: '1' } : {}
    found[method] = (await fetch(url, { method, headers: { ...JSON_TYPE, ...headers }, ...body })).status
  }
  return found
}

const every = (status: number) => ({ GET: status, HEAD: status, POST: status, PUT: status, DELETE: status })

test('the response to a request without the right does not depend on whether the stream exists', async () => {
  const rights: Record<string, object | null | false> = { none: {}, reader: { read: true }, null: null, false: false }
  const { url, streams } = await serveUntilDone({ authorize: ({ header }) => rights[header('authorization') ?? ''] })
  await streams.stream('there').append(1)
  for (const name of ['there', 'missing']) {
    expect(await statuses(`${url}/${name}`, {})).toEqual(every(401))
    for (const authorization of ['null', 'false'])
      expect(await statuses(`${url}/${name}`, { authorization })).toEqual(every(401))
    expect(await statuses(`${url}/${name}`, { authorization: 'none' })).toEqual(every(403))
    const refusals = await statuses(`${url}/${name}`, { authorization: 'reader' })
    expect(refusals).toMatchObject({ POST: 403, PUT: 403, DELETE: 403 })
  }
  expect((await fetch(`${url}/there`, { headers: { authorization: 'reader' } })).status).toBe(200)
  const fork = { authorization: 'reader', 'stream-forked-from': '/missing' }
  expect((await fetch(`${url}/new`, { method: 'PUT', headers: fork })).status).toBe(403)
})

test('a tenant can read and fork only its own streams', async () => {
  const all = { read: true, write: true, create: true, delete: true }
  const { url, streams } = await serveUntilDone({
    authorize: ({ header }) => ({ ...all, tenant: header('authorization') ?? 'x' }),
  })
  const put = (path: string, tenant: string, headers = {}) =>
    fetch(url + path, { method: 'PUT', headers: { ...JSON_TYPE, authorization: tenant, ...headers }, body: '1' })
  expect((await put('/s', 'one')).status).toBe(201)
  expect((await fetch(`${url}/s`, { headers: { authorization: 'two' } })).status).toBe(404)
  expect((await put('/f', 'two', { 'stream-forked-from': '/s' })).status).toBe(404)
  expect((await put('/f', 'two', { 'stream-forked-from': '/../one/s' })).status).toBe(404)
  expect((await put('/f', 'one', { 'stream-forked-from': '/s' })).status).toBe(201)
  expect(await values(streams.stream('one/f').read())).toEqual([1, 1])
})

test('a handler with readOnly refuses every change', async () => {
  const { url, streams } = await serveUntilDone({ readOnly: true })
  await streams.stream('s').append(1)
  expect(await statuses(`${url}/s`, {})).toEqual({ GET: 200, HEAD: 200, POST: 403, PUT: 403, DELETE: 403 })
})

test('OPTIONS lists methods and headers; only the answer to a listed origin allows the page to read it, with cookies', async () => {
  const { url } = await serveUntilDone({ cors: ['https://app.example'] })
  const { url: own } = await serveUntilDone()
  const { url: open } = await serveUntilDone({ cors: '*' })
  const { url: framed } = await serveUntilDone({ cors: 'null' })
  const allowed = async (server: string, origin: string) => {
    const { status, headers } = await fetch(`${server}/s`, { method: 'OPTIONS', headers: { origin } })
    expect([status, headers.get('allow')]).toEqual([204, METHODS])
    expect(headers.get('access-control-allow-methods')).toBe(METHODS)
    expect(headers.get('access-control-allow-headers')).toContain('stream-seq')
    return [headers.get('access-control-allow-origin'), headers.get('access-control-allow-credentials')]
  }
  expect(await allowed(url, 'https://app.example')).toEqual(['https://app.example', 'true'])
  expect(await allowed(url, 'https://other.example')).toEqual([null, null])
  expect(await allowed(own, 'https://app.example')).toEqual([null, null])
  expect(await allowed(open, 'https://app.example')).toEqual(['*', null])
  expect(await allowed(framed, 'null')).toEqual(['null', null])
})

test('a change that a page of another origin requests is refused unless cors has its origin', async () => {
  const origin = 'https://app.example'
  for (const [cors, sent, status] of [
    [[], { 'sec-fetch-site': 'cross-site' }, 403],
    [['https://other.example'], { 'sec-fetch-site': 'cross-site' }, 403],
    [[origin], { 'sec-fetch-site': 'cross-site' }, 204],
    [[origin], { 'sec-fetch-site': 'cross-site', cookie: 'a=b' }, 204],
    ['*', { 'sec-fetch-site': 'cross-site' }, 204],
    ['*', { 'sec-fetch-site': 'cross-site', cookie: 'a=b' }, 403],
    [[], { 'sec-fetch-site': 'same-site' }, 403],
    [[origin], { 'sec-fetch-site': 'same-site' }, 204],
    [[], { 'sec-fetch-site': 'same-origin' }, 204],
    [[], { 'sec-fetch-site': 'none' }, 204],
    // Over HTTP a browser sends no Sec-Fetch-Site.
    [[], {}, 403],
    [[], { origin: 'null' }, 403],
    [[origin], {}, 204],
    ['*', {}, 204],
    [[], { origin: 'http://own' }, 204],
  ] as const) {
    const { url, streams } = await serveUntilDone({ cors })
    await streams.stream('s').append(1)
    const headers = { origin, ...sent }
    if (headers.origin === 'http://own') headers.origin = url
    const post = { method: 'POST', headers: { ...headers, ...JSON_TYPE }, body: '1' }
    expect([cors, sent, (await fetch(`${url}/s`, post)).status]).toEqual([cors, sent, status])
    expect((await fetch(`${url}/s`, { headers })).status).toBe(200)
    for (const method of ['PUT', 'DELETE'])
      expect((await fetch(`${url}/${method}`, { method, headers })).status === 403).toBe(status === 403)
  }
})

test('an answer to a request with credentials is never public, and at the end of an open stream a cache asks again', async () => {
  const { url, streams } = await serveUntilDone({ chunkBytes: 1 })
  await streams.stream('s').appendAll([1, 2])
  const get = async (target: string, headers = {}) => fetch(`${url}/s${target}`, { headers })
  const cacheOf = async (target: string, headers = {}) => (await get(target, headers)).headers.get('cache-control')
  const first = await get('?offset=-1')
  const next = `?offset=${first.headers.get('stream-next-offset')}`
  expect(first.headers.get('cache-control')).toMatch(/^public, max-age=60/)
  expect(await cacheOf(next)).toBe('public, no-cache')
  const etag = (await get(next)).headers.get('etag') as string
  expect((await get(next, { 'if-none-match': etag })).status).toBe(304)
  for (const credentials of [{ cookie: 'a=b' }, { authorization: 'Bearer x' }]) {
    expect(await cacheOf('?offset=-1', credentials)).toMatch(/^private, max-age=60/)
    expect(await cacheOf(next, credentials)).toBe('private, no-cache')
  }
  await streams.stream('s').end()
  expect(await cacheOf(next)).toMatch(/^public, max-age=60/)
})

test('a condition that the server does not check refuses the request, and nothing is changed', async () => {
  const { url, streams, stop } = await serveStreams()
  onTestFinished(stop)
  await streams.stream('s').append(1)
  const etag = (await fetch(`${url}/s`)).headers.get('etag') as string
  for (const condition of ['if-match', 'if-none-match'])
    for (const method of ['POST', 'PUT', 'DELETE'])
      for (const value of [etag, '*', '"other"']) {
        const headers = { [condition]: value, 'content-type': 'application/json' }
        const answer = await fetch(`${url}/s`, { method, headers, ...(method === 'POST' && { body: '2' }) })
        expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining('Stream-Seq')])
      }
  expect((await fetch(`${url}/s`, { headers: { 'if-match': '"other"' } })).status).toBe(400)
  expect(await (await fetch(`${url}/s`)).json()).toEqual([1])
})

test('an EventSource continues with the id of the last event, and does not connect again after the end', async () => {
  const { url, streams } = await serveUntilDone()
  const stream = streams.stream('s')
  await stream.appendAll([1, 2])
  const head = await fetch(`${url}/s`, { method: 'HEAD' })
  const eventsFrom = (id: string) => fetch(`${url}/s?offset=-1&live=sse`, { headers: { 'last-event-id': id } })
  const events = await fetch(`${url}/s?offset=-1&live=sse`)
  expect(events.headers.get('cache-control')).toBe('no-cache, no-transform')
  await stream.append(3)
  await stream.end()
  const ids = [...(await events.text()).matchAll(/^id: (\S+)\nevent: (\w+)$/gm)].map(([, id, type]) => [type, id])
  const last = (await fetch(`${url}/s`, { method: 'HEAD' })).headers.get('stream-next-offset') as string
  expect(ids.slice(0, 2)).toEqual(['data', 'control'].map((type) => [type, head.headers.get('stream-next-offset')]))
  expect(ids.at(-1)).toEqual(['control', last])
  expect(await (await eventsFrom(ids[0]?.[1] as string)).text()).toMatch(/data:\[3\]/)
  expect((await eventsFrom(last)).status).toBe(204)
})

test('a cursor never goes back, and one that cannot be exceeded is refused', async () => {
  const { url, streams } = await serveUntilDone({ longPollMs: 1 })
  await streams.stream('s').create()
  const poll = (cursor: string) => fetch(`${url}/s?offset=now&live=long-poll&cursor=${cursor}`)
  let cursor = '999999999999999'
  for (let i = 0; i < 3; i++) {
    const next = (await poll(cursor)).headers.get('stream-cursor') as string
    expect(Number(next)).toBeGreaterThan(Number(cursor))
    cursor = next
  }
  expect((await poll(String(Number.MAX_SAFE_INTEGER))).status).toBe(400)
  expect((await poll('9'.repeat(400))).status).toBe(400)
})

test('a closed stream refuses every append, also an earlier duplicate, except the request that has closed it', async () => {
  const { url, streams } = await serveUntilDone()
  await streams.stream('s').create()
  const post = async (seq: number, epoch = 0, extra = {}, id = 'p') => {
    const producer = { 'producer-id': id, 'producer-epoch': String(epoch), 'producer-seq': String(seq) }
    const headers = { ...JSON_TYPE, ...producer, ...extra }
    const answer = await fetch(`${url}/s`, { method: 'POST', headers, body: '1' })
    return [answer.status, answer.headers.get('stream-closed')]
  }
  const closing = { 'stream-closed': 'true' }
  expect(await post(0, 1)).toEqual([200, null])
  expect(await post(1, 1, closing)).toEqual([200, 'true'])
  expect(await post(1, 1, closing)).toEqual([204, 'true'])
  const others = [post(0, 1), post(0, 1, closing), post(2, 1), post(5, 1), post(3, 2), post(0, 0), post(4, 0, {}, 'q')]
  for (const other of others) expect(await other).toEqual([409, 'true'])
})

test('a body in chunks of one byte is taken in many turns of the event loop, also if it is refused', async () => {
  const { streams } = await scratchStreams()
  await streams.stream('s').create()
  const handler = streamsHandler(streams)
  let pauses = 0
  const server = createServer((request, response) => {
    request.on('pause', () => pauses++)
    handler(request, response)
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const send = async (name: string): Promise<string> => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    const head = `POST /${name} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`
    socket.write(`${head}${[...`"${'x'.repeat(5000)}"`].map((one) => `1\r\n${one}\r\n`).join('')}0\r\n\r\n`)
    const [answer] = (await once(socket, 'data')) as [Buffer]
    socket.destroy()
    return answer.toString('latin1', 9, 12)
  }
  expect(await send('s')).toBe('204')
  expect(pauses).toBe(9)
  expect(await values(streams.stream('s').read())).toEqual(['x'.repeat(5000)])
  expect(await send('none')).toBe('404')
  expect(pauses).toBe(18)
})

test('only the request that has closed a stream may be repeated, also after a restart', async () => {
  const { streams, reopen } = await scratchStreams()
  const handlers = [streamsHandler(streams)]
  const send = async (name: string, extra: Record<string, string>, body = '') => {
    const request = new Request(`http://localhost/${name}`, {
      method: 'POST',
      headers: { ...JSON_TYPE, ...extra },
      body,
    })
    return (await (handlers.at(-1) as StreamsHandler).fetch(request)).status
  }
  const closing = { 'stream-closed': 'true' }
  const producer = (id: string) => ({ 'producer-id': id, 'producer-epoch': '0', 'producer-seq': '0' })
  for (const name of ['empty', 'one', 'both', 'other']) {
    await streams.stream(name).create()
    expect(await send(name, producer('early'), '[1,2]')).toBe(200)
  }
  expect(await send('empty', { ...producer('p'), ...closing })).toBe(204)
  expect(await send('one', closing, '3')).toBe(204)
  expect(await send('both', { ...producer('p'), ...closing }, '[3,4]')).toBe(200)
  expect(await send('other', closing)).toBe(204)
  const repeat = async () => {
    for (const name of ['empty', 'one', 'both', 'other'])
      expect(await send(name, { ...producer('early'), ...closing }, '[1,2]')).toBe(409)
    expect(await send('empty', { ...producer('p'), ...closing })).toBe(204)
    expect(await send('both', { ...producer('p'), ...closing }, '[3,4]')).toBe(204)
  }
  await repeat()
  handlers.push(streamsHandler(await reopen()))
  await repeat()
})

test('a close with a smaller Stream-Seq is refused, and one with a greater or without one is not', async () => {
  const { url, streams } = await serveUntilDone()
  for (const name of ['a', 'b']) await streams.stream(name).append(1, { writerSeq: '5' })
  const close = async (name: string, seq?: string) => {
    const headers = { 'stream-closed': 'true', ...(seq !== undefined && { 'stream-seq': seq }) }
    return (await fetch(`${url}/${name}`, { method: 'POST', headers })).status
  }
  expect([await close('a', '3'), await close('a', '5'), await close('a', '6')]).toEqual([409, 409, 204])
  expect([await close('b'), await close('b', '1')]).toEqual([204, 204])
})

test('a producer has epochs and seqs up to 2^53 - 1, also after a checkpoint', async () => {
  const { url, streams } = await serveUntilDone()
  await streams.stream('s').create()
  const post = async (epoch: string, seq: string) => {
    const headers = { ...JSON_TYPE, 'producer-id': 'p', 'producer-epoch': epoch, 'producer-seq': seq }
    const answer = await fetch(`${url}/s`, { method: 'POST', headers, body: '1' })
    return [answer.status, answer.headers.get('producer-epoch')]
  }
  expect(await post(String(2 ** 48), '0')).toEqual([200, String(2 ** 48)])
  expect(await post('9007199254740991', '0')).toEqual([200, '9007199254740991'])
  expect(await post('9007199254740991', '0')).toEqual([204, '9007199254740991'])
  await streams.checkpoint()
  expect(await post('9007199254740990', '0')).toEqual([403, '9007199254740991'])
  expect(await post('9007199254740992', '0')).toEqual([400, null])
})

test('maxStreams counts neither refused creations nor deleted streams', async () => {
  const { url } = await serveUntilDone({ maxStreams: 1 })
  const put = async (name: string, body = '1') =>
    (await fetch(`${url}/${name}`, { method: 'PUT', headers: JSON_TYPE, body })).status
  expect([await put('a', '{'), await put('a', '{'), await put('a'), await put('b')]).toEqual([400, 400, 201, 429])
  expect((await fetch(`${url}/a`, { method: 'DELETE' })).status).toBe(204)
  expect([await put('b'), await put('a')]).toEqual([201, 429])
})

test('a search for a time needs the right to read the stream', async () => {
  const { url, streams } = await serveUntilDone({
    authorize: ({ stream, header }) => ({ list: true, read: header('x') === 'r' && stream !== 'other' }),
  })
  for (const name of ['s', 'other']) await streams.stream(name).append(1)
  const seek = async (name: string, headers = {}) =>
    (await fetch(`${url}/__ds/streams?at=1&name=${name}`, { headers })).status
  expect([await seek('s'), await seek('s', { x: 'r' }), await seek('other', { x: 'r' })]).toEqual([403, 200, 403])
})

test('HEAD gives a time to live in whole seconds', async () => {
  const { url, streams } = await serveUntilDone()
  await streams.stream('s').create({ ttlMs: 3_599_500 })
  expect((await fetch(`${url}/s`, { method: 'HEAD' })).headers.get('stream-ttl')).toBe('3600')
})

test('a body above maxBodyBytes is refused with 413, and a stream above maxStreams with 429', async () => {
  const { url, streams } = await serveUntilDone({ maxBodyBytes: 100, maxStreams: 2 })
  const put = (path: string, body: string) => fetch(url + path, { method: 'PUT', headers: JSON_TYPE, body })
  expect((await put('/a', JSON.stringify('x'.repeat(100)))).status).toBe(413)
  expect([(await put('/a', '1')).status, (await put('/b', '1')).status]).toEqual([201, 201])
  const refused = await put('/c', '1')
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '10'])
  expect((await put('/a', '2')).status).toBe(200)
  const chunks = Readable.toWeb(Readable.from(Array.from({ length: 100 }, () => Buffer.alloc(1000, ' '))))
  const sent = await fetch(`${url}/a`, {
    method: 'POST',
    headers: JSON_TYPE,
    body: chunks,
    duplex: 'half',
  } as object)
  expect(sent.status).toBe(413)
  expect(await values(streams.stream('a').read())).toEqual([1])
})

test('a new producer above the limit of a stream is refused with 400, and known producers can append', async () => {
  const { url, streams } = await serveUntilDone()
  await streams.appendBatch(
    Array.from({ length: MAX_PRODUCERS }, (_, at) => ({
      stream: 's',
      value: at,
      producer: { id: `p${at}`, epoch: 0, seq: 0 },
    })),
  )
  const append = (id: string, epoch: number, seq: number) =>
    fetch(`${url}/s`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'producer-id': id,
        'producer-epoch': String(epoch),
        'producer-seq': String(seq),
      },
      body: '1',
    })
  const refused = await append('another', 0, 0)
  expect([refused.status, (await refused.json()).error.message]).toEqual([
    400,
    expect.stringContaining(`has ${MAX_PRODUCERS} producers, which is the limit`),
  ])
  expect((await append('p0', 0, 1)).status).toBe(200)
  expect((await append('p1', 1, 0)).status).toBe(200)
})

test('live reads above maxLive are refused with 503 and Retry-After', async () => {
  const { url, streams } = await serveUntilDone({ maxLive: 1, longPollMs: 60_000 })
  await streams.stream('s').create()
  const first = new AbortController()
  const live = fetch(`${url}/s?offset=now&live=sse`, { signal: first.signal })
  await live
  const refused = await fetch(`${url}/s?offset=now&live=long-poll`)
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5'])
  first.abort()
})

test.each(['sse', 'long-poll'])(
  'a client that has gone before its live read (%s) begins takes no place',
  async (live) => {
    let [onArrival, onEnd] = [() => {}, () => {}]
    const arrived = new Promise<void>((resolve) => {
      onArrival = resolve
    })
    const ended = new Promise<void>((resolve) => {
      onEnd = resolve
    })
    const { url, streams } = await serveUntilDone({
      maxLive: 1,
      longPollMs: 60_000,
      authorize: async ({ header }) => {
        if (header('x-waits') !== undefined) {
          onArrival()
          await ended
        }
        return { read: true }
      },
      onRequest: onEnd,
    })
    await streams.stream('s').create()
    const leaving = new AbortController()
    const gone = fetch(`${url}/s?offset=now&live=${live}`, { signal: leaving.signal, headers: { 'x-waits': '1' } })
    await arrived
    leaving.abort()
    await expect(gone).rejects.toThrow()
    await ended
    const next = await fetch(`${url}/s?offset=now&live=sse`)
    expect(next.status).toBe(200)
    await next.body?.cancel()
  },
)

test('when maxLive is reached, a tenant with fewer live reads gets the place of the oldest of the tenant with most', async () => {
  const { url, streams } = await serveUntilDone({
    maxLive: 4,
    longPollMs: 60_000,
    authorize: ({ header }) => ({ read: true, tenant: header('x-tenant') as string }),
  })
  for (const tenant of ['many', 'few', 'new']) await streams.stream(`${tenant}/s`).create()
  const get = (tenant: string, live: string): Promise<Response> =>
    fetch(`${url}/s?offset=now&live=${live}`, { headers: { 'x-tenant': tenant } })
  const oldest = await get('many', 'sse')
  const others = [await get('many', 'sse'), await get('many', 'sse'), await get('few', 'sse')]
  expect((await get('many', 'sse')).status).toBe(503)
  const admitted = await get('few', 'sse')
  expect(await oldest.text()).toContain('"upToDate":true')
  // The tenants have two each, so neither takes a place of the other.
  expect((await get('few', 'long-poll')).status).toBe(503)
  expect((await get('many', 'long-poll')).status).toBe(503)
  expect((await get('new', 'sse')).status).toBe(200)
  for (const { body } of [...others, admitted]) await body?.cancel().catch(() => {})
})

test('a text stream refuses bytes that are not UTF-8, and stores all others unchanged', async () => {
  const { url, streams } = await serveUntilDone()
  await streams.stream('s').create({ encoding: 'utf8' })
  const post = async (body: ArrayBuffer | string): Promise<number> =>
    (await fetch(`${url}/s`, { method: 'POST', headers: { 'content-type': 'text/plain' }, body })).status
  for (const bytes of [[0xff], [0x61, 0xc3], [0xed, 0xa0, 0x80]])
    expect(await post(Uint8Array.from(bytes).buffer)).toBe(400)
  const text = '\ufeffé\u0000\ufffd😀'
  expect(await post(text)).toBe(204)
  expect(await values(streams.stream('s').read())).toEqual([text])
})

test('JSON values are stored as the text that was sent', async () => {
  const { url, streams } = await serveUntilDone()
  const body = '[1.0, 12345678901234567890,\r\n {"a" : [ "x,]\\"\\\\" , {}]\n}, "\\u2028", [] , [[1],[2]]]'
  await fetch(`${url}/s`, { method: 'PUT', headers: JSON_TYPE, body })
  const text = await (await fetch(`${url}/s`)).text()
  expect(text).toBe('[1.0,12345678901234567890,{"a" : [ "x,]\\"\\\\" , {}] },"\\u2028",[],[[1],[2]]]')
  await streams.checkpoint()
  expect(await (await fetch(`${url}/s`)).text()).toBe(text)
  expect(
    (await fetch(`${url}/s`, { method: 'POST', headers: JSON_TYPE, body: Buffer.from([0x22, 0xff, 0x22]) })).status,
  ).toBe(400)
})

test('reads in several chunks deliver every byte once, from memory and from the file', async () => {
  const { url, streams } = await serveUntilDone({ chunkBytes: 10_000 })
  const stream = streams.stream('s')
  await stream.create({ encoding: 'buffer' })
  const expected = createHash('sha256')
  for (let i = 0; i < 100; i++) {
    const record = Buffer.alloc(1 + ((i * 997) % 3000), i)
    expected.update(record)
    await stream.append(record)
    if (i === 70) await streams.checkpoint()
  }
  const found = createHash('sha256')
  let requests = 0
  for (let offset = '-1'; ; requests++) {
    const answer = await fetch(`${url}/s?offset=${offset}`)
    found.update(Buffer.from(await answer.arrayBuffer()))
    offset = answer.headers.get('stream-next-offset') as string
    if (answer.headers.get('stream-up-to-date') === 'true') break
  }
  expect(requests).toBeGreaterThan(5)
  expect(found.digest('hex')).toBe(expected.digest('hex'))
})

test('a read from an offset that retention has removed is answered with 410, and a read from the beginning with the remaining records', async () => {
  const { url, streams } = await serveUntilDone()
  const stream = streams.stream('s')
  await stream.create({ retention: { maxRecords: 16 } })
  await stream.append(0)
  const old = (await fetch(`${url}/s`)).headers.get('stream-next-offset') as string
  for (let i = 1; i < 100; i++) void stream.append(i)
  await streams.checkpoint()
  for (const live of ['', '&live=long-poll', '&live=sse'])
    expect((await fetch(`${url}/s?offset=${old}${live}`)).status).toBe(410)
  const { firstSeq = 0 } = (await stream.info()) ?? {}
  expect(firstSeq).toBeGreaterThan(1)
  const kept = Array.from({ length: 100 - firstSeq }, (_, at) => firstSeq + at)
  for (const query of ['', '?offset=-1']) expect(await (await fetch(`${url}/s${query}`)).json()).toEqual(kept)
  const fork = { 'stream-forked-from': '/s', 'stream-fork-offset': old }
  expect((await fetch(`${url}/fork`, { method: 'PUT', headers: fork })).status).toBe(400)
})

test('a subscriber that does not read is dropped, and other subscribers get all data', async () => {
  const dropped: unknown[] = []
  const { url, streams, server } = await serveUntilDone({
    slowReaderMs: 50,
    onRequest: ({ dropped: reason }) => reason !== undefined && dropped.push(reason),
  })
  await streams.stream('s').create({ encoding: 'buffer', contentType: 'text/plain' })
  const { port } = server.address() as { port: number }
  const slow = connect(port, '127.0.0.1')
  const closed = new Promise((resolve) => slow.once('close', resolve))
  slow.on('error', () => {})
  slow.write('GET /s?offset=-1&live=sse HTTP/1.1\r\nHost: x\r\n\r\n')
  await new Promise((resolve) => slow.once('readable', resolve))
  const fast = await fetch(`${url}/s?offset=-1&live=sse`)
  let received = 0
  const reading = (async () => {
    for await (const part of fast.body as unknown as AsyncIterable<Uint8Array>) {
      received += part.length
      if (received > 40 << 20) return
    }
  })()
  for (let i = 0; i < 42; i++) await streams.stream('s').append(Buffer.alloc(1 << 20, 0x61))
  await reading
  slow.resume()
  await closed
  expect(dropped).toContain('slow-reader')
})

test.each([true, false])(
  'concurrent requests do not create more than maxStreams streams (exclusive: %s)',
  async (exclusive) => {
    const { streams } = await scratchStreams({ exclusive })
    const { fetch: handle } = streamsHandler(streams, { maxStreams: 3 })
    const put = (_: unknown, at: number) => handle(new Request(`http://x/${at}`, { method: 'PUT', headers: JSON_TYPE }))
    const answers = await Promise.all(Array.from({ length: 20 }, put))
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(3)
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(17)
  },
)

test('a long-poll is answered when the stream gets records, ends or is deleted', async () => {
  const { url, streams, handler } = await serveUntilDone({ longPollMs: 2 ** 31 - 1 })
  const stream = streams.stream('s')
  await stream.create({ values: [1] })
  const poll = async (change: () => Promise<unknown>): Promise<Response> => {
    const answer = fetch(`${url}/s?offset=now&live=long-poll`)
    await expect.poll(() => handler.metrics()).toContain('durlog_http_live_requests 1')
    await change()
    return answer
  }
  expect(await (await poll(() => stream.append(2))).json()).toEqual([2])
  // The time of a long-poll says nothing about the server: no histogram has it.
  await expect.poll(() => handler.metrics()).toContain('durlog_http_requests_total{method="GET",status="200"} 1')
  expect(await handler.metrics()).not.toContain('durlog_http_request_seconds_count{method="GET"}')
  const ended = await poll(() => stream.end())
  expect([ended.status, ended.headers.get('stream-closed')]).toEqual([204, 'true'])
  await stream.delete()
  await stream.create({ values: [3] })
  expect((await poll(() => stream.delete())).status).toBe(404)
})

test('a query that is not percent-encoded UTF-8 is answered with 400, and the server lives', async () => {
  const { url, handler } = await serveUntilDone()
  const queries = ['offset', 'live', 'cursor'].flatMap((name) => [`${name}=%`, `${name}=%ff`])
  for (const target of [...queries.map((query) => `s?${query}`), '__ds/streams?prefix=%zz', '__ds/streams?live=%&at=%'])
    expect((await fetch(`${url}/${target}`)).status, target).toBe(400)
  await expect.poll(() => handler.metrics()).toContain('durlog_http_requests_total{method="GET",status="400"} 8')
})

test('close ends long-polls, and event streams with a control event', async () => {
  const { url, streams, handler } = await serveUntilDone({ longPollMs: 60_000 })
  await streams.stream('s').append(1)
  const events = await fetch(`${url}/s?offset=now&live=sse`)
  const poll = fetch(`${url}/s?offset=now&live=long-poll`)
  await expect.poll(() => handler.metrics()).toContain('durlog_http_live_requests 2')
  await handler.close()
  expect((await poll).status).toBe(204)
  const text = await events.text()
  expect(text.match(/event: control/g)).toHaveLength(2)
  expect(text).toMatch(/"streamNextOffset":"[0-9]{16}_0000000000000001"/)
})

test('fetch returns the same responses as the server, also with event streams', async () => {
  const { streams } = await scratchStreams()
  const handler = streamsHandler(streams, { prefix: '/v1/' })
  const call = (path: string, init?: RequestInit) => handler.fetch(new Request(`https://host.example${path}`, init))
  const put = await call('/v1/a%2Fb', { method: 'PUT', headers: JSON_TYPE, body: '[1,2]' })
  expect([put.status, put.headers.get('location')]).toEqual([201, 'https://host.example/v1/a%2Fb'])
  expect((await call('/other')).status).toBe(404)
  const events = await call('/v1/a%2Fb?offset=-1&live=sse')
  await call('/v1/a/b', { method: 'POST', headers: { ...JSON_TYPE, 'stream-closed': 'true' }, body: '3' })
  expect(await events.text()).toContain('data:[3]')
  const read = await call('/v1/a/b')
  expect([read.status, await read.text()]).toEqual([200, '[1,2,3]'])
  expect((await call('/v1/a/b', { method: 'HEAD' })).headers.get('stream-closed')).toBe('true')
  await handler.close()
})

test('a lack of space, file descriptors or memory, and a failed device, are answered with 503 and Retry-After', async () => {
  const answers = (code: DurlogErrorCode) => {
    const { status, headers } = toHttpError(new DurlogError(code, 'failed'))
    return [status, headers[0], headers[1]]
  }
  const lacks = ['NO_SPACE', 'TOO_MANY_FILES', 'OUT_OF_MEMORY', 'BACKPRESSURE', 'STALLED'] as const
  for (const lack of lacks) expect(answers(`ERR_DURLOG_${lack}`)).toEqual([503, 'retry-after', '5'])
  for (const failure of ['SYNC_FAILED', 'LATCHED', 'CLOSED'] as const)
    expect(answers(`ERR_DURLOG_${failure}`)).toEqual([503, 'retry-after', '10'])
  const { url, streams, handler } = await serveUntilDone()
  await streams.stream('s').append(1)
  expect(handler.isHealthy()).toBe(true)
  await streams.close()
  const post = await fetch(`${url}/s`, { method: 'POST', headers: JSON_TYPE, body: '2' })
  expect([post.status, post.headers.get('retry-after'), handler.isHealthy()]).toEqual([503, '10', false])
})

test('onError gets the cause of a 500 and the first failure of the device, and clients do not get the cause', async () => {
  const errors: unknown[] = []
  const options: HandlerOptions = {
    onError: (error) => errors.push(error),
    authorize: ({ stream }) => {
      if (stream === 'fails') throw new Error('secret of authorize')
      return { read: true, write: true }
    },
  }
  const { url, streams } = await serveUntilDone(options)
  const failed = await fetch(`${url}/fails`)
  expect([failed.status, await failed.text()]).toEqual([500, expect.not.stringContaining('secret')])
  expect(errors).toMatchObject([{ message: 'secret of authorize' }])
  await streams.stream('s').append(1)
  await streams.close()
  for (let i = 0; i < 2; i++) await fetch(`${url}/s`, { method: 'POST', headers: JSON_TYPE, body: '2' })
  expect(errors.slice(1)).toMatchObject([{ code: 'ERR_DURLOG_CLOSED' }])
})

test.each([
  [
    'throws',
    () => {
      throw new Error('the log is full')
    },
  ],
  ['rejects', () => Promise.reject(new Error('the log is full'))],
])('if onRequest %s, onError gets the error, and the server continues', async (_, onRequest) => {
  const errors: unknown[] = []
  const { url } = await serveUntilDone({ onRequest, onError: (error) => errors.push(error) })
  for (let i = 0; i < 2; i++) expect((await fetch(`${url}/missing`)).status).toBe(404)
  await expect.poll(() => errors).toMatchObject([{ message: 'the log is full' }, { message: 'the log is full' }])
})

test('a fragment of the URL of a fetch request is not a part of the name', async () => {
  const { streams } = await scratchStreams({ exclusive: true })
  const handler = streamsHandler(streams)
  const put = await handler.fetch(new Request('https://host.example/a%23b?x#fragment', { method: 'PUT' }))
  expect([put.status, put.headers.get('location')]).toEqual([201, 'https://host.example/a%23b'])
  expect(await streams.stream('a#b').info()).toMatchObject({ name: 'a#b' })
  await handler.close()
})

test('a body with 100,001 messages is refused with 413, and a body with 100,000 is stored', async () => {
  const { url, streams } = await serveUntilDone()
  await streams.stream('s').create()
  const post = async (messages: number) =>
    (await fetch(`${url}/s`, { method: 'POST', headers: JSON_TYPE, body: `[${'1,'.repeat(messages - 1)}1]` })).status
  expect([await post(100_001), await post(100_000)]).toEqual([413, 204])
  expect(await streams.stream('s').info()).toMatchObject({ nextSeq: 100_000 })
})

test('a character whose bytes are in several records is not divided between two events', async () => {
  const { url } = await serveUntilDone()
  const headers = { 'content-type': 'text/plain' }
  await fetch(`${url}/s`, { method: 'PUT', headers })
  const [first = 0, second = 0, third = 0] = Buffer.from('€')
  // The first record alone fills an event.
  const text = 'x'.repeat(EVENT_BYTES - 1)
  // After the whole character, the stream ends inside another one.
  const parts = [[...Buffer.from(text), first], [second], [third, 0x21], [first]]
  for (const bytes of parts) await fetch(`${url}/s`, { method: 'POST', headers, body: Buffer.from(bytes) })
  await fetch(`${url}/s`, { method: 'POST', headers: { 'stream-closed': 'true' } })
  const events = await (await fetch(`${url}/s?offset=-1&live=sse`)).text()
  const data = [...events.matchAll(/^event: data\ndata:(.*)$/gm)].map(([, line]) => line)
  expect(data).toEqual([`${text}€!`, '\ufffd'])
})

test('the event of a text keeps its lines and their spaces', async () => {
  const { url, streams } = await serveUntilDone()
  const text = ' a\r\n b\r\rc\n\n  data: d\u2028data: e\n'
  await streams.stream('s').create({ encoding: 'buffer', contentType: 'text/plain' })
  await streams.stream('s').append(Buffer.from(text), { end: true })
  const events = await (await fetch(`${url}/s?offset=-1&live=sse`)).text()
  const [data = ''] = events.split('\n\n')
  const [id, type, ...lines] = data.split('\n')
  expect([id, type]).toEqual([expect.stringMatching(/^id: /), 'event: data'])
  expect(lines.map((line) => /^data: ?([^\n]*)$/.exec(line)?.[1])).toEqual(text.split(/\r\n|\r|\n/))
})

test('a fetch request whose body breaks off is answered with 400', async () => {
  const { streams } = await scratchStreams({ exclusive: true })
  const thrown: unknown[] = []
  const onError = (error: unknown) => void thrown.push(error)
  const handler = streamsHandler(streams, { onError })
  await streams.stream('s').append(1)
  const body = new ReadableStream({ pull: (controller) => controller.error(new Error('broken off')) })
  const broken = new Request('http://x/s', { method: 'POST', headers: JSON_TYPE, body, duplex: 'half' } as RequestInit)
  expect((await handler.fetch(broken)).status).toBe(400)
  expect(thrown).toEqual([])
  await handler.close()
})

test('a body of the Fetch API whose parts share memory is stored as it was sent', async () => {
  const { streams } = await scratchStreams({ exclusive: true })
  const handler = streamsHandler(streams)
  onTestFinished(() => handler.close())
  const part = new Uint8Array(2)
  const pull = (controller: ReadableStreamDefaultController): void => {
    if (part[0] === 3) {
      controller.close()
      return
    }
    part.fill((part[0] as number) + 1)
    controller.enqueue(part)
  }
  const body = new ReadableStream({ pull }, { highWaterMark: 0 })
  const init = { method: 'PUT', body, duplex: 'half' } as RequestInit
  expect((await handler.fetch(new Request('http://localhost/s', init))).status).toBe(201)
  const stored = await handler.fetch(new Request('http://localhost/s'))
  expect([...new Uint8Array(await stored.arrayBuffer())]).toEqual([1, 1, 2, 2, 3, 3])
})

const NOTHING = {
  identities: new StreamIdentities('', 0),
  checkOpen: () => {},
  checkpointFailure: undefined,
  stats: () => ({ streams: 0, memTableBytes: 0 }),
}

test('a request without an answer does not make a server healthy whose appends fail', async () => {
  const appendTo = (): never => {
    throw new DurlogError('ERR_DURLOG_LATCHED', 'the device has failed')
  }
  const handler = handlerOf({ ...NOTHING, appendTo } as unknown as ServedPort, { onError: () => {} })
  const post = (init: object) =>
    handler.fetch(new Request('http://x/s', { method: 'POST', headers: JSON_TYPE, ...init }))
  expect((await post({ body: '1' })).status).toBe(503)
  expect(handler.isHealthy()).toBe(false)
  const disconnect = new AbortController()
  void post({ body: new ReadableStream({}), duplex: 'half', signal: disconnect.signal })
  disconnect.abort()
  expect(await handler.metrics()).toContain('durlog_http_requests_total{method="POST",status="0"} 1')
  expect(handler.isHealthy()).toBe(false)
})

test('DELETE reports that the stream did not exist, also if it was created directly after', async () => {
  const access = { ...NOTHING, delete: async () => false, find: () => ({ softDeleted: false }) }
  const { fetch } = handlerOf(access as unknown as ServedPort)
  expect((await fetch(new Request('http://x/s', { method: 'DELETE' }))).status).toBe(404)
})

test('an append to a closed stream is refused with 409, also if the stream was created again meanwhile', async () => {
  const ended = new DurlogError('ERR_DURLOG_STREAM_ENDED', 'the stream has ended')
  const access = {
    ...NOTHING,
    appendTo: (_name: string, _groupOf: unknown, settle: (outcome: Promise<never>) => void) =>
      settle(Promise.reject(ended)),
    find: () => ({ softDeleted: false, ended: false }),
  }
  const { fetch } = handlerOf(access as unknown as ServedPort)
  const init = { method: 'POST', headers: JSON_TYPE, body: '1' }
  expect((await fetch(new Request('http://x/s', init))).status).toBe(409)
})

test('a stream is reported as closed only after its end has reached the durability level', async () => {
  const view = { created: 0, visible: 0, softDeleted: false, meta: defaultMeta('json'), ended: true, endVisible: false }
  const appendTo = (_name: string, groupOf: (stream: object) => never): never => groupOf(view)
  const { fetch } = handlerOf({ ...NOTHING, appendTo, find: () => view } as unknown as ServedPort)
  const post = () => fetch(new Request('http://x/s', { method: 'POST', headers: { 'content-type': 'a/b' }, body: '1' }))
  const early = await post()
  expect([early.status, early.headers.get('stream-closed')]).toEqual([409, null])
  view.endVisible = true
  expect((await post()).headers.get('stream-closed')).toBe('true')
})
