/** Generates the requests of an attacker. */

/** Returns a generator of numbers from 0 to below 1, which depend only on `seed`. */
export function random(seed: number): () => number {
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
  ...['offset=-1&live=sse', 'offset=now&live=sse', 'offset=now&live=long-poll'],
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
/** Malformed requests. Each ends its connection, so it is sent alone. */
export const BROKEN = [
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

export function pickOf(next: () => number): <T>(from: readonly T[]) => T {
  return (from) => from[Math.floor(next() * from.length)] as never
}

export interface Request {
  text: string
  /** The answer may have no end. */
  isEndless: boolean
}

/** Returns a request for a stream with a strange name, or for `name`. */
export function requestOf(next: () => number, authorization: string, name?: string): Request {
  const pick = pickOf(next)
  const method = next() < 0.8 ? pick(METHODS.slice(0, 5)) : pick(METHODS)
  const path = name ?? Array.from({ length: 1 + Math.floor(next() * 3) }, () => pick(SEGMENTS)).join('/')
  const query = pick(QUERIES)
  const target = next() < 0.03 ? `http://other.example/${path}` : `/${path}${query === '' ? '' : `?${query}`}`
  const isEndless = query.includes('&live=')
  const headers = Array.from({ length: Math.floor(next() * 5) }, () => pick(HEADERS))
  if (name !== undefined && next() < 0.1) headers.push(`Stream-Forked-From: /${name}`)
  if (authorization !== '') headers.push(`Authorization: Bearer ${authorization}`)
  if (next() < 0.7) headers.push('Content-Type: application/json')
  const body = method === 'POST' || method === 'PUT' ? pick(BODIES) : ''
  const isChunked = body !== '' && next() < 0.2
  headers.push(isChunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${Buffer.byteLength(body, 'latin1')}`)
  const sent = isChunked
    ? `${body.length.toString(16)};ext="${next() < 0.1 ? '\r' : 'x'}"\r\n${body}\r\n0\r\nTrailer: x\r\n\r\n`
    : body
  const text = `${method} ${target} HTTP/1.1\r\nHost: x\r\n${[...new Set(headers)].join('\r\n')}\r\n\r\n${sent}`
  return { text, isEndless }
}
