/** The server of `durlog serve`: its paths that are not streams, its tokens and its shutdown. */
import { createHash } from 'node:crypto'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import type { Server } from 'node:http'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { type ServerOptions, serveStreams } from '../../src/http/index.js'
import { PAGE } from '../../src/http/page.js'
import { openStreams } from '../../src/streams/index.js'
import { durlogServe } from '../fixtures/durlog-serve.js'
import { seqOf } from '../fixtures/http.js'
import { codeOf, scratchDir } from '../fixtures/scratch.js'
import { scratchStreams } from '../fixtures/streams.js'

async function serve(options: ServerOptions): Promise<string> {
  const { streams } = await scratchStreams()
  const server = await serveStreams(streams, { port: 0, ...options })
  onTestFinished(() => server.close())
  return server.url
}

test('the page has less than 60 KB, and its policy allows only its own script and style', async () => {
  const url = await serve({ ui: true })
  const answer = await fetch(url)
  const policy = answer.headers.get('content-security-policy') ?? ''
  expect(await answer.text()).toBe(PAGE)
  expect(Buffer.byteLength(PAGE)).toBeLessThan(60_000)
  for (const tag of ['script', 'style']) {
    const content = PAGE.slice(PAGE.indexOf(`<${tag}>`) + tag.length + 2, PAGE.indexOf(`</${tag}>`))
    const hash = createHash('sha256').update(content).digest('base64')
    expect(policy).toContain(`${tag}-src 'sha256-${hash}'`)
  }
  expect(policy).toContain("default-src 'none'")
  expect(policy).not.toContain('unsafe')
  expect((await fetch(await serve({}))).status).toBe(404)
})

test('/healthz needs no rights; the metrics and the list of streams need the right to list', async () => {
  const url = await serve({ authorize: ({ header }) => ({ read: true, list: header('x') === 'list' }) })
  const status = async (path: string, headers = {}) => (await fetch(url + path, { headers })).status
  expect(await status('/healthz')).toBe(200)
  expect([await status('/metrics'), await status('/__ds/streams')]).toEqual([403, 403])
  expect([await status('/metrics', { x: 'list' }), await status('/__ds/streams', { x: 'list' })]).toEqual([200, 200])
  expect(await (await fetch(`${url}/openapi.json`)).json()).toMatchObject({ openapi: '3.1.0' })
})

test('the OpenAPI document has the bodies of requests and the statuses of refused ones', async () => {
  const url = await serve({ maxStreams: 1, maxBodyBytes: 10 })
  const { paths } = await (await fetch(`${url}/openapi.json`)).json()
  const { put, post } = paths['/{stream}']
  const send = async (method: string, headers: Record<string, string> = {}, body = '1') => {
    const init = { method, headers: { 'content-type': 'application/json', ...headers }, body }
    return String((await fetch(`${url}/s`, init)).status)
  }
  const refused = async (method: string) => [
    await send(method, { 'content-encoding': 'gzip' }),
    await send(method, {}, '"more than 10"'),
  ]
  for (const [method, { requestBody, responses }] of [
    ['PUT', put],
    ['POST', post],
  ]) {
    expect(Object.keys(requestBody.content)).toEqual(['*/*'])
    const statuses = await refused(method)
    expect(statuses).toEqual(['415', '413'])
    for (const status of statuses) expect(responses).toHaveProperty([status])
  }
  expect(await send('PUT')).toBe('201')
  expect((await fetch(`${url}/another`, { method: 'PUT' })).status).toBe(429)
  expect(put.responses).toHaveProperty(['429'])
})

test('an error of authorize refuses the metrics, and the server continues', async () => {
  const url = await serve({
    authorize: () => {
      throw new Error('the token cannot be parsed')
    },
    onError: () => {},
  })
  expect((await fetch(`${url}/metrics`)).status).toBe(403)
  expect((await fetch(`${url}/healthz`)).status).toBe(200)
})

test('a stream cannot be created at a path that the server answers itself', async () => {
  const url = await serve({ ui: true })
  for (const path of ['/', '/healthz', '/metrics', '/openapi.json']) {
    for (const method of ['PUT', 'POST', 'DELETE']) {
      const answer = await fetch(url + path, { method })
      expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
    }
    expect((await fetch(url + path, { method: 'HEAD' })).status).toBe(200)
  }
  for (const path of ['/__ds/x', '/%5F_ds/x', '/__d%73'])
    expect((await fetch(url + path, { method: 'PUT' })).status).toBe(501)
  expect((await fetch(`${url}/healthz/x`, { method: 'PUT' })).status).toBe(201)
})

test('the list returns pages of streams in the order of their names, and the offset for a time', async () => {
  const { streams } = await scratchStreams()
  const server = await serveStreams(streams, { port: 0 })
  onTestFinished(() => server.close())
  for (const name of ['a/2', 'b', 'a/1', 'a/3']) await streams.stream(name).append(name)
  const list = async (query: string) => (await fetch(`${server.url}/__ds/streams?${query}`)).json()
  expect(await list('prefix=a/&limit=2')).toMatchObject({ streams: [{ name: 'a/1' }, { name: 'a/2' }], more: true })
  for (const prefix of ['a/', '', 'b', 'x']) {
    for (const limit of [1, 2, 3, 4, 5]) {
      const expected = ['a/1', 'a/2', 'a/3', 'b'].filter((name) => name.startsWith(prefix))
      const { streams: listed, more } = await list(`prefix=${prefix}&limit=${limit}`)
      expect(listed.map(({ name }: { name: string }) => name)).toEqual(expected.slice(0, limit))
      expect(more).toBe(expected.length > limit)
    }
  }
  expect(await list('prefix=a/&after=a/2')).toMatchObject({ streams: [{ name: 'a/3', records: 1 }], more: false })
  expect(seqOf((await list('name=b&at=0')).offset)).toBe(0)
  expect(seqOf((await list(`name=b&at=${Date.now() + 60_000}`)).offset)).toBe(1)
})

test('durlog serve accepts the tokens of its file; at SIGTERM it ends events with a control event and exits with 0', async () => {
  const dir = scratchDir()
  const tokens = join(dir, 'tokens')
  writeFileSync(tokens, '# all\n0123456789abcdef rwcdl\nfedcba9876543210 r one\n')
  const { child, url, exited } = await durlogServe(join(dir, 'streams'), '--token-file', tokens)
  const bearer = (token: string) => ({ authorization: `Bearer ${token}`, 'content-type': 'application/json' })
  const all = bearer('0123456789abcdef')
  expect((await fetch(`${url}/one/s`, { method: 'PUT', headers: all, body: '1' })).status).toBe(201)
  expect((await fetch(`${url}/one/s`)).status).toBe(401)
  expect(await (await fetch(`${url}/s`, { headers: bearer('fedcba9876543210') })).text()).toBe('[1]')
  expect((await fetch(`${url}/s`, { method: 'DELETE', headers: bearer('fedcba9876543210') })).status).toBe(403)
  const events = await fetch(`${url}/one/s?offset=-1&live=sse`, { headers: all })
  let received = ''
  for await (const part of events.body as unknown as AsyncIterable<Uint8Array>) {
    if (received === '') child.kill('SIGTERM')
    received += Buffer.from(part).toString()
  }
  expect(received.match(/event: control/g)).toHaveLength(2)
  expect(await exited).toEqual([0, null])
})

test('SIGTERM ends the server even if clients do not read their responses or do not finish their requests', async () => {
  const { child, url, port, exited } = await durlogServe(join(scratchDir(), 'streams'))
  const headers = { 'content-type': 'text/plain' }
  expect((await fetch(`${url}/s`, { method: 'PUT', headers, body: 'x'.repeat(8 << 20) })).status).toBe(201)
  const waiting = [
    'GET /s HTTP/1.1\r\nHost: localhost\r\n\r\n',
    'GET /s?offset=-1&live=sse HTTP/1.1\r\nHost: localhost\r\n\r\n',
    'GET /s?offset=now&live=long-poll HTTP/1.1\r\nHost: localhost\r\n\r\nGET /s HTTP/1.1\r\nHost: localhost\r\n\r\n',
    'POST /s HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: 9\r\n\r\n1',
    'GET /s HTT',
  ]
  for (const request of waiting) {
    const socket = connect(port, '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    socket.on('error', () => {})
    socket.pause()
    await new Promise((resolve) => socket.write(request, resolve))
  }
  await expect.poll(async () => (await fetch(`${url}/metrics`)).text()).toContain('durlog_http_live_requests 2')
  child.kill('SIGTERM')
  expect(await exited).toEqual([0, null])
})

test('SIGHUP ends a server without files to read again, like SIGTERM', async () => {
  const { child, url, exited } = await durlogServe(join(scratchDir(), 'streams'))
  expect((await fetch(`${url}/healthz`)).status).toBe(200)
  child.kill('SIGHUP')
  expect(await exited).toEqual([0, null])
})

test.each([
  [['--shared'], 'shared'],
  [[], 'ERR_DURLOG_LOCKED'],
])(
  'if another process opens the folder of durlog serve with the flags %j, the outcome is: %s',
  async (flags, outcome) => {
    const dir = join(scratchDir(), 'streams')
    const { url } = await durlogServe(dir, ...flags)
    const headers = { 'content-type': 'application/json' }
    expect((await fetch(`${url}/s`, { method: 'PUT', headers, body: '1' })).status).toBe(201)
    const append = async (): Promise<string> => {
      const streams = await openStreams(dir)
      onTestFinished(() => streams.close())
      await streams.stream('s').append(2)
      return (await fetch(`${url}/s`)).text()
    }
    if (outcome === 'shared') expect(await append()).toBe('[1,2]')
    else expect(await codeOf(append())).toBe(outcome)
  },
)

test('a client that expects 100 Continue sends no body that is refused', async () => {
  const { streams } = await scratchStreams()
  await streams.stream('s').create({ encoding: 'buffer' })
  const authorize = ({ header }: { header(name: string): string | undefined }) => ({ write: header('x') === 'w' })
  const server = await serveStreams(streams, { port: 0, maxBodyBytes: 10, authorize })
  onTestFinished(() => server.close())
  const send = async (path: string, headers: string): Promise<[Socket, string]> => {
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    const head = `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/octet-stream\r\n${headers}`
    socket.write(`${head}Expect: 100-continue\r\n\r\n`)
    const [data] = await once(socket, 'data')
    return [socket, String(data)]
  }
  for (const [path, headers, status] of [
    ['/s', 'X: w\r\nContent-Length: 11\r\n', 413],
    ['/none', 'X: w\r\nContent-Length: 5\r\n', 404],
    ['/s', 'Content-Length: 5\r\n', 403],
  ] as const) {
    const [, answer] = await send(path, headers)
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} [^]*^connection: close\r$`, 'im'))
  }
  const [socket, first] = await send('/s', 'X: w\r\nContent-Length: 5\r\n')
  expect(first).toBe('HTTP/1.1 100 Continue\r\n\r\n')
  socket.write('hello')
  expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1.1 204 /)
})

test('an error of a connection, for example a lack of descriptors, does not end the server', async () => {
  const url = await serve({})
  const started = new Promise<Server>((resolve) => {
    const take = (message: unknown): void => {
      unsubscribe('http.server.request.start', take)
      resolve((message as { server: Server }).server)
    }
    subscribe('http.server.request.start', take)
  })
  const status = async () => (await fetch(`${url}/healthz`)).status
  expect(await status()).toBe(200)
  const server = await started
  for (let i = 0; i < 2; i++) server.emit('error', new Error('accept EMFILE'))
  expect(await status()).toBe(200)
})

test('a server whose streams are closed answers a request for metrics', async () => {
  const { streams } = await scratchStreams({ exclusive: true })
  const server = await serveStreams(streams, { port: 0 })
  onTestFinished(() => server.close())
  await streams.close()
  const answer = await fetch(`${server.url}/metrics`)
  expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('durlog_http_live_requests 0')])
})

test('the page is at the prefix, where its relative URLs are those of the streams', async () => {
  const url = await serve({ ui: true, prefix: '/v1/' })
  const statusOf = async (path: string) => (await fetch(new URL(path, `${url}/v1/`))).status
  expect([await statusOf('.'), await statusOf('__ds/streams'), await statusOf('/')]).toEqual([200, 200, 404])
})
