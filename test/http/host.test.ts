/** The check of the header Host, without which a web page whose name is rebound to this machine can use the server. */
import { readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { request as requestTls } from 'node:https'
import { connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { isAllowedHost } from '../../src/http/host.js'
import { type ServerOptions, serveLog, serveStreams, streamsHandler } from '../../src/http/index.js'
import { resolveServerOptions } from '../../src/http/options.js'
import { open } from '../../src/index.js'
import { makePair, withoutOpenssl } from '../fixtures/certificate.js'
import { durlogServe } from '../fixtures/durlog-serve.js'
import { scratchDir } from '../fixtures/scratch.js'
import { scratchStreams } from '../fixtures/streams.js'

async function serve(options: ServerOptions): Promise<string> {
  const { streams } = await scratchStreams()
  const server = await serveStreams(streams, { port: 0, ...options })
  onTestFinished(() => server.close())
  return server.url
}

/** Sends a request with this Host. Returns the status and the body of its answer. */
async function ask(url: string, host: string, method = 'GET'): Promise<{ status: number; body: string }> {
  const send = url.startsWith('https') ? requestTls : request
  return new Promise((resolve, reject) => {
    const headers = { host, 'content-type': 'text/plain' }
    const sent = send(url, { method, headers, agent: false, rejectUnauthorized: false }, async (answer) =>
      resolve({ status: answer.statusCode ?? 0, body: await text(answer) }),
    )
    sent.once('error', reject).end()
  })
}

const statusOf = async (url: string, host: string, method?: string) => (await ask(url, host, method)).status

test('an address, localhost, a name under localhost and a listed name are allowed as Host', () => {
  const names = ['localhost', 'LocalHost', 'localhost.', 'app.localhost', 'a.b.LOCALHOST.', 'streams.example', 'my_box']
  const addresses = ['127.0.0.1', '10.0.0.7', '0.0.0.0', '[::1]', '[2001:DB8::1]', '[::ffff:127.0.0.1]']
  for (const host of [...names, 'Streams.Example.', ...addresses])
    for (const port of ['', ':', ':80', ':4437'])
      expect([host + port, isAllowedHost(host + port, ['streams.example', 'my_box'])]).toEqual([host + port, true])
})

test.each([
  '',
  'evil.example',
  'evil.example:4437',
  'localhost.evil.example',
  '127.0.0.1.evil.example',
  'evil-localhost',
  'evillocalhost',
  '.streams.example',
  'sub.streams.example',
  'streams.example.evil.example',
  'evil.example:80@localhost',
  'localhost@evil.example',
  'localhost:80@evil.example',
  'evil.example#.localhost',
  'evil.example/.localhost',
  'evil.example\\.localhost',
  'evil.example, localhost',
  'evil.example localhost',
  'localhost evil.example',
  'localhost:evil.example',
  'localhost:80:80',
  'localhost..',
  '127.0.0.1.2',
  '127.0.0.256',
  '::1',
  '[::1',
  '[::1]evil.example',
  '[evil.example]',
  '[127.0.0.1]',
  '[localhost]',
  'http://localhost',
])('%s is not allowed as Host', (host) => {
  expect(isAllowedHost(host, ['streams.example'])).toBe(false)
})

test('a server without authorize refuses every request with another name as Host, and stores nothing', async () => {
  const url = await serve({ ui: true })
  for (const path of ['/', '/healthz', '/metrics', '/openapi.json', '/s', '/__ds/streams', '/%', '/__ds/x'])
    for (const method of ['GET', 'HEAD', 'PUT', 'POST', 'DELETE', 'OPTIONS', 'PATCH'])
      expect([path, method, await statusOf(url + path, 'evil.example', method)]).toEqual([path, method, 403])
  const { body } = await ask(`${url}/s`, 'evil.example:4437')
  expect(JSON.parse(body).error).toEqual({
    code: 'unknown-host',
    message:
      'the Host "evil.example:4437" is not an IP address, localhost or an allowed name: allow it with --allow-host (option hosts), or use --token-file (option authorize)',
  })
  expect((await ask(`${url}/__ds/streams`, 'localhost')).body).toContain('"streams":[]')
  for (const path of ['/', '/healthz', '/metrics', '/openapi.json'])
    expect([path, await statusOf(url + path, 'localhost:9')]).toEqual([path, 200])
  expect(await statusOf(`${url}/s`, '[::1]', 'PUT')).toBe(201)
})

test('a server without authorize refuses a request of HTTP/1.0 without Host', async () => {
  const socket = connect(Number(new URL(await serve({})).port), '127.0.0.1')
  socket.write('GET /healthz HTTP/1.0\r\n\r\n')
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 403 .*the Host \\"\\" is not/s)
})

test('a served log is protected in the same way', async () => {
  const dir = join(scratchDir(), 'orders')
  const log = await open(dir)
  await log.close()
  const server = await serveLog(dir, { port: 0 })
  onTestFinished(() => server.close())
  expect([await statusOf(server.url, 'evil.example'), await statusOf(server.url, 'localhost')]).toEqual([403, 200])
})

test('a refused request is reported to onRequest and counted', async () => {
  const reports: unknown[] = []
  const url = await serve({ onRequest: ({ target, status }) => void reports.push([target, status]) })
  await ask(`${url}/healthz`, 'evil.example')
  expect(reports).toEqual([['/healthz', 403]])
  expect((await ask(`${url}/metrics`, 'localhost')).body).toContain('{method="GET",status="403"} 1')
})

test('with authorize every Host is allowed, unless hosts lists the names', async () => {
  const authorize = () => ({ read: true, create: true })
  const all = await serve({ authorize })
  const listed = await serve({ authorize, hosts: ['Streams.example'] })
  expect(await statusOf(`${all}/s`, 'evil.example', 'PUT')).toBe(201)
  expect(await statusOf(`${listed}/s`, 'evil.example', 'PUT')).toBe(403)
  expect(await statusOf(`${listed}/s`, 'streams.example', 'PUT')).toBe(201)
})

test.skipIf(withoutOpenssl !== '')(
  `with tls every Host is allowed, because the certificate names the server ${withoutOpenssl}`,
  async () => {
    const files = makePair(scratchDir(), 'own')
    const url = await serve({ tls: { cert: readFileSync(files.cert), key: readFileSync(files.key) } })
    expect(await statusOf(`${url}/healthz`, 'streams.example')).toBe(200)
  },
)

test('a handler of an application checks the Host only if it has hosts, and of the Fetch API that of the URL', async () => {
  const { streams } = await scratchStreams()
  const own = async (url: string, hosts?: string[]) =>
    (await streamsHandler(streams, { hosts }).fetch(new Request(url, { headers: { host: 'localhost' } }))).status
  expect(await own('http://evil.example/s')).toBe(404)
  expect(await own('http://evil.example/s', [])).toBe(403)
  expect(await own('http://streams.example:3000/s', ['streams.example'])).toBe(404)
  expect(await own('http://[::1]:3000/s', [])).toBe(404)
})

test('the name on which a server listens is allowed as Host', () => {
  for (const hosts of [undefined, ['other.example']]) {
    const { handlerOptions } = resolveServerOptions({ host: 'Streams.example', hosts })
    expect(isAllowedHost('streams.example:4437', handlerOptions.hosts)).toBe(true)
    expect(isAllowedHost('evil.example', handlerOptions.hosts)).toBe(false)
  }
  for (const host of ['::1', '0.0.0.0', 'a.']) expect(() => resolveServerOptions({ host })).not.toThrow()
  expect(resolveServerOptions({ host: 'a.example', authorize: () => undefined }).handlerOptions.hosts).toBe(undefined)
})

test('a name that no Host has is refused as an option', async () => {
  const { streams } = await scratchStreams()
  for (const name of ['', 'streams.example:80', 'https://streams.example', '*', '.example', 'a.', 'bücher.example', 7])
    expect(() => streamsHandler(streams, { hosts: ['a', name as string] })).toThrow('hosts must be names')
})

test('durlog serve allows the names of --allow-host, and with a token file all', async () => {
  const dir = scratchDir()
  const own = await durlogServe(join(dir, 'own'), '--allow-host', 'streams.example', 'b', '--allow-host', 'c')
  for (const host of ['streams.example', 'b:80', 'c', 'localhost']) expect(await statusOf(own.url, host)).toBe(404)
  expect(await statusOf(own.url, 'evil.example')).toBe(403)
  const tokens = join(dir, 'tokens')
  writeFileSync(tokens, '0123456789abcdef r\n')
  const checked = await durlogServe(join(dir, 'checked'), '--token-file', tokens, '--allow-host', 'streams.example')
  expect(await statusOf(`${checked.url}/healthz`, 'evil.example')).toBe(200)
  expect(await statusOf(`${checked.url}/s`, 'evil.example')).toBe(401)
})

test('a request with several Host headers gets 400 at every path', async () => {
  const url = await serve({ hosts: ['a.example'], ui: true })
  for (const path of ['/', '/s', '/healthz', '/metrics', '/__ds/streams']) {
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    socket.end(`GET ${path} HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\nhost: a.example\r\n\r\n`)
    expect([path, (await text(socket)).slice(0, 12)]).toEqual([path, 'HTTP/1.1 400'])
  }
})
