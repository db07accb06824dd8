/** HTTPS, and the files of certificates and tokens that `durlog serve` reads: docs/SERVE.md, "Rights" and "HTTPS". */
import { execFileSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { platform } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { connect } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import { serveStreams } from '../../src/http/index.js'
import { makePair, withoutOpenssl } from '../fixtures/certificate.js'
import { durlog } from '../fixtures/command.js'
import { durlogServe } from '../fixtures/durlog-serve.js'
import { scratchDir } from '../fixtures/scratch.js'
import { scratchStreams } from '../fixtures/streams.js'

const TOKEN = '0123456789abcdef'
const OTHER_TOKEN = 'fedcba9876543210'

interface Call {
  method?: string
  headers?: Record<string, string>
  body?: string
}

async function call(port: number, ca: Buffer, path: string, { body, ...options }: Call = {}) {
  const sent = request({ host: '127.0.0.1', port, path, ca, agent: false, ...options })
  sent.end(body)
  const [answer] = await once(sent, 'response')
  return { status: answer.statusCode as number, headers: answer.headers, body: await buffer(answer) }
}

/** Returns the fingerprint of the certificate that a new connection gets. */
async function fingerprint(port: number): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  const { fingerprint256 } = socket.getPeerCertificate()
  socket.destroy()
  return fingerprint256
}

const fingerprintOf = (path: string): string => new X509Certificate(readFileSync(path)).fingerprint256

test.skipIf(withoutOpenssl)(
  `durlog serve answers over HTTPS with the given certificate ${withoutOpenssl}`,
  async () => {
    const dir = scratchDir()
    const { cert, key } = makePair(dir, 'a')
    const { child, url, port, exited } = await durlogServe(join(dir, 'streams'), '--tls-cert', cert, '--tls-key', key)
    expect(url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/)
    const ca = readFileSync(cert)
    const put = await call(port, ca, '/s', {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: '[1]',
    })
    expect([put.status, put.headers.location]).toEqual([201, `${url}/s`])
    await expect(fetch(`http://127.0.0.1:${port}/s`)).rejects.toThrow()
    const events = call(port, ca, '/s?offset=-1&live=sse')
    const close = {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'stream-closed': 'true' },
      body: '2',
    }
    expect((await call(port, ca, '/s', close)).status).toBe(204)
    expect((await events).body.toString()).toMatch(/data:\[1.*2\].*"streamClosed":true/s)
    child.kill('SIGTERM')
    expect(await exited).toEqual([0, null])
  },
)

test.skipIf(withoutOpenssl)(`an unusable certificate or key is refused at the start ${withoutOpenssl}`, async () => {
  const dir = scratchDir()
  const [a, b] = [makePair(dir, 'a'), makePair(dir, 'b')]
  const encrypted = join(dir, 'encrypted.key')
  const cipher = ['-aes128', '-passout', 'pass:secret']
  execFileSync('openssl', ['pkey', ...cipher, '-in', a.key, '-out', encrypted], { stdio: 'ignore' })
  const refused = async (cert: string, key: string) => {
    const { code, stderr } = await durlog(['serve', join(dir, 'streams'), '--tls-cert', cert, '--tls-key', key])
    return [code, stderr.split('\n')[0]?.replaceAll(dir, '')]
  }
  expect(await refused(a.cert, b.key)).toEqual([
    65,
    'durlog: BAD_INPUT: --tls-key /b.key is not the key of the certificate --tls-cert /a.crt',
  ])
  expect(await refused(a.key, a.key)).toEqual([
    65,
    expect.stringContaining('--tls-cert /a.key must be a certificate in PEM'),
  ])
  expect(await refused(a.cert, a.cert)).toEqual([
    65,
    expect.stringContaining('--tls-key /a.crt must be a private key in PEM'),
  ])
  expect(await refused(a.cert, encrypted)).toEqual([65, expect.stringContaining('is encrypted: decrypt it')])
  expect(await refused(a.cert, join(dir, 'missing'))).toEqual([
    65,
    expect.stringContaining("can't read --tls-key /missing: ENOENT"),
  ])
  const { streams } = await scratchStreams()
  const tls = { cert: readFileSync(a.cert), key: readFileSync(b.key) }
  await expect(serveStreams(streams, { port: 0, tls })).rejects.toMatchObject({
    code: 'ERR_DURLOG_INVALID_ARGUMENT',
    message: 'tls.key is not the key of the certificate tls.cert',
  })
})

test.skipIf(withoutOpenssl || platform() === 'win32')(
  `SIGHUP reads the certificate and the tokens again without closing connections ${withoutOpenssl}`,
  async () => {
    const dir = scratchDir()
    const [a, b] = [makePair(dir, 'a'), makePair(dir, 'b')]
    const [cert, key, tokens] = [join(dir, 'cert'), join(dir, 'key'), join(dir, 'tokens')]
    copyFileSync(a.cert, cert)
    copyFileSync(a.key, key)
    writeFileSync(tokens, `${TOKEN} rwc\n`)
    const files = ['--tls-cert', cert, '--tls-key', key, '--token-file', tokens]
    const { child, port, line } = await durlogServe(join(dir, 'streams'), ...files)
    const reload = async (): Promise<string> => {
      child.kill('SIGHUP')
      return line()
    }
    const json = (token: string) => ({ authorization: `Bearer ${token}`, 'content-type': 'application/json' })
    const ca = Buffer.concat([readFileSync(a.cert), readFileSync(b.cert)])
    const post = async (token: string, headers = {}) =>
      (await call(port, ca, '/s', { method: 'POST', headers: { ...json(token), ...headers }, body: '1' })).status
    expect((await call(port, ca, '/s', { method: 'PUT', headers: json(TOKEN) })).status).toBe(201)
    const events = request({ host: '127.0.0.1', port, path: '/s?offset=-1&live=sse', ca, headers: json(TOKEN) })
    events.end()
    const [answer] = await once(events, 'response')

    copyFileSync(b.cert, cert)
    writeFileSync(tokens, `${OTHER_TOKEN} rw\n`)
    expect(await reload()).toMatch(
      /^durlog: the new files are not used, and the old contents stay in use: .* is not the key of/,
    )
    expect([await fingerprint(port), await post(TOKEN)]).toEqual([fingerprintOf(a.cert), 204])
    copyFileSync(b.key, key)
    writeFileSync(tokens, '')
    expect(await reload()).toMatch(/stay in use: .*tokens has no token$/)
    expect([await fingerprint(port), await post(TOKEN)]).toEqual([fingerprintOf(a.cert), 204])
    writeFileSync(tokens, `${OTHER_TOKEN} rw\n`)
    expect(await reload()).toBe('durlog: the files of --token-file, --tls-cert and --tls-key were read again')
    expect([await fingerprint(port), await post(TOKEN)]).toEqual([fingerprintOf(b.cert), 401])
    expect(await post(OTHER_TOKEN, { 'stream-closed': 'true' })).toBe(204)
    expect((await buffer(answer)).toString()).toContain('"streamClosed":true')
  },
)

test('setTls of a server without HTTPS throws ERR_DURLOG_INVALID_ARGUMENT', async () => {
  const { streams } = await scratchStreams()
  const server = await serveStreams(streams, { port: 0 })
  onTestFinished(() => server.close())
  expect(() => server.setTls({ cert: '', key: '' })).toThrow(
    expect.objectContaining({ code: 'ERR_DURLOG_INVALID_ARGUMENT' }),
  )
})

test('a token file without a token, or with a repeated token, is refused at the start', async () => {
  const dir = scratchDir()
  const tokens = join(dir, 'tokens')
  const refused = async (text: string) => {
    writeFileSync(tokens, text)
    const { code, stderr } = await durlog(['serve', join(dir, 'streams'), '--token-file', tokens])
    return [code, stderr.replaceAll(dir, '').trim()]
  }
  expect(await refused('# none\n')).toEqual([65, 'durlog: BAD_INPUT: /tokens has no token'])
  expect(await refused(`${TOKEN} r\n${TOKEN} rw\n`)).toEqual([
    65,
    'durlog: BAD_INPUT: /tokens, line 2: an earlier line has this token',
  ])
})
