/** Requests of an attacker. HOSTILE_REQUESTS sets how many, HOSTILE_SEED which. */
import { readdirSync } from 'node:fs'
import { connect } from 'node:net'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { serveStreams } from '../fixtures/http.js'
import { scratchDir } from '../fixtures/scratch.js'

const REQUESTS = Number(process.env['HOSTILE_REQUESTS'] ?? 6000)
const SEED = Number(process.env['HOSTILE_SEED'] ?? 1)
const IN_PIPELINE = 50

function random(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'TRACE', 'PROPFIND', 'get', 'LOCK']
const SEGMENTS = [
  ...[
    's',
    't',
    '..',
    '.',
    '%2e%2e',
    '%2e%2e%2f',
    '..%5c',
    '%00',
    '%ff',
    '%c0%ae',
    '%',
    '%zz',
    '__ds',
    '__ds/streams',
    '',
  ],
  ...[
    'con',
    'NUL',
    'a'.repeat(2000),
    '%F0%9F%98%80',
    '%ed%a0%80',
    '*',
    '~',
    ';',
    '@',
    'log',
    'catalog',
    'x%0d%0ay',
    '%7e',
  ],
]
const QUERIES = [
  ...['', 'offset=-1', 'offset=now', 'offset=', 'offset=-1&offset=now', 'offset=%00', 'offset=9999999999999999'],
  ...['offset=0000000000000000_0000000000000000', 'offset=0000000000000000_9999999999999999', 'offset=1e3', 'live=sse'],
  ...[
    'offset=-1&live=x',
    'live',
    'offset=-1&cursor=99999999999999999999',
    'offset=../../etc/passwd',
    '=',
    '&&&',
    '%',
    'offset=%zz',
  ],
]
const HEADERS = [
  ...[
    'Content-Type: application/json',
    'Content-Type: text/plain',
    'Content-Type: ',
    'Content-Type: a/b;\tc',
    'Content-Type: é/x',
  ],
  ...[
    'Stream-TTL: 0',
    'Stream-TTL: 99999999999999',
    'Stream-TTL: 999999999999',
    'Stream-Expires-At: 9999-99-99T99:99:99Z',
  ],
  ...[
    'Stream-Expires-At: 1970-01-01T00:00:00Z',
    'Stream-Closed: true',
    'Stream-Seq: \u00ff\u00fe',
    `Stream-Seq: ${'z'.repeat(3000)}`,
  ],
  ...[
    'Producer-Id: p',
    'Producer-Epoch: 0',
    'Producer-Seq: 0',
    'Producer-Epoch: 281474976710656',
    'Producer-Seq: 9007199254740993',
  ],
  ...[
    'Producer-Seq: -1',
    'Producer-Id: \u00e9',
    'Stream-Forked-From: /s',
    'Stream-Forked-From: /../../etc',
    'Stream-Forked-From: %',
  ],
  ...[
    'Stream-Fork-Offset: -1',
    'Stream-Fork-Offset: 0000000000000000_9999999999999999',
    'Stream-Fork-Sub-Offset: 99999999999',
  ],
  ...[
    'Stream-Fork-Sub-Offset: 1',
    'If-None-Match: *',
    'Expect: 100-continue',
    'X-Request-Id: a\tb',
    'Origin: null',
    'Range: bytes=0-',
  ],
]
const BODIES = [
  '',
  '1',
  '[]',
  '[1,2]',
  '{"a":',
  '[[[[',
  '\u0000',
  '"\\ud800"',
  '[1,]',
  'x'.repeat(3000),
  '{"__proto__":1}',
]
/** These end the connection: each is sent alone. */
const BROKEN = [
  'GET / HTTP/9.9\r\n\r\n',
  'GET\r\n\r\n',
  '\r\n\r\n\r\n',
  'POST /s HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  'POST /s HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n',
  'POST /s HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
  'POST /s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n',
  'POST /s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\nx\r\n',
  'POST /s HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\nContent-Type: text/plain\r\n\r\nabc',
  `GET /s HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(40_000)}\r\n\r\n`,
  `GET /${'z'.repeat(40_000)} HTTP/1.1\r\nHost: x\r\n\r\n`,
  'GET /s\r\nX: y HTTP/1.1\r\n\r\n',
  'GET /s HTTP/1.1\r\nHost: x\r\nX\u0000: y\r\n\r\n',
  'GET http://[::1 HTTP/1.1\r\nHost: x\r\n\r\n',
  '\u0016\u0003\u0001\u0002',
]

function requestOf(next: () => number): string {
  const pick = <T>(from: readonly T[]): T => from[Math.floor(next() * from.length)] as T
  const method = next() < 0.8 ? pick(METHODS.slice(0, 5)) : pick(METHODS)
  const path = Array.from({ length: 1 + Math.floor(next() * 3) }, () => pick(SEGMENTS)).join('/')
  const query = pick(QUERIES)
  const target = next() < 0.03 ? `http://other.example/${path}` : `/${path}${query === '' ? '' : `?${query}`}`
  const headers = Array.from({ length: Math.floor(next() * 5) }, () => pick(HEADERS))
  if (next() < 0.7) headers.push('Content-Type: application/json')
  const body = method === 'POST' || method === 'PUT' ? pick(BODIES) : ''
  const isChunked = body !== '' && next() < 0.2
  headers.push(isChunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${Buffer.byteLength(body, 'latin1')}`)
  const sent = isChunked ? `${body.length.toString(16)};ext="\r"\r\n${body}\r\n0\r\nTrailer: x\r\n\r\n` : body
  return `${method} ${target} HTTP/1.1\r\nHost: x\r\n${[...new Set(headers)].join('\r\n')}\r\n\r\n${sent}`
}

/** Sends everything on one connection; settles with the statuses of the answers when the server or the client ends it. */
function send(port: number, requests: readonly string[], endAfterMs = 2000): Promise<number[]> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    let text = ''
    const timer = setTimeout(() => socket.destroy(), endAfterMs)
    socket.on('data', (data) => {
      text += data.toString('latin1')
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      clearTimeout(timer)
      resolve([...text.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map(([, status]) => Number(status)))
    })
    socket.write(Buffer.from(requests.join(''), 'latin1'))
    // Node's server answers what it has received before it closes its side.
    if (requests.length > 1) socket.end()
  })
}

test('hostile requests neither end the server nor cause a 500, and nothing is written outside the folder', async () => {
  const dir = join(scratchDir(), 'streams')
  const { url, server, streams, stop } = await serveStreams({ cors: '*', longPollMs: 1 }, dir)
  onTestFinished(async () => {
    await stop()
  })
  const { port } = server.address() as { port: number }
  const next = random(SEED)
  const counts = new Map<number, number>()
  for (let sent = 0; sent < REQUESTS; sent += IN_PIPELINE) {
    const batch = Array.from({ length: IN_PIPELINE }, () => requestOf(next))
    const broken = BROKEN[Math.floor(next() * BROKEN.length)] as string
    const answers = await Promise.all([send(port, batch), sent % 1000 === 0 ? send(port, [broken], 50) : []])
    for (const status of answers.flat()) counts.set(status, (counts.get(status) ?? 0) + 1)
  }
  const statuses = [...counts.keys()].sort((a, b) => a - b)
  expect(statuses.filter((status) => status >= 500 && status !== 501)).toEqual([])
  expect(statuses).toEqual(expect.arrayContaining([200, 201, 204, 400, 404, 405]))
  expect((await fetch(`${url}/alive`, { method: 'PUT' })).status).toBe(201)
  await streams.checkpoint()
  expect(readdirSync(dirname(dir))).toEqual(['streams'])
  // Names of the folder itself have no character that a stream's name could add.
  expect(readdirSync(dir).filter((name) => !/^[a-z]+$/.test(name))).toEqual([])
  const outside = readdirSync(join(dir, 'streams')).filter((file) => !/^[a-z0-9._~%-]+\.(jsonl|frames)$/.test(file))
  expect(outside).toEqual([])
}, 600_000)

test('a request that sends its headers or its body slowly holds up nothing', async () => {
  const { url, server, stop } = await serveStreams()
  onTestFinished(async () => {
    await stop()
  })
  const { port } = server.address() as { port: number }
  const slow = Array.from({ length: 200 }, (_, at) => {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {})
    socket.write(at % 2 === 0 ? 'GET /s HTTP/1.1\r\nHost' : 'PUT /s HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n1')
    return socket
  })
  onTestFinished(() => {
    for (const socket of slow) socket.destroy()
  })
  expect((await fetch(`${url}/t`, { method: 'PUT' })).status).toBe(201)
  expect((await fetch(`${url}/s`)).status).toBe(404)
})
