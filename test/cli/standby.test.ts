import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'
import { store } from '../fixtures/archive.js'
import { startDurlog } from '../fixtures/command.js'
import { scratchDir } from '../fixtures/scratch.js'

/** A server on any port; returns a function that waits for a line on stderr. */
function serve(dir: string, endpoint: string, ...args: string[]) {
  const env = { ...process.env, AWS_ACCESS_KEY_ID: 'key', AWS_SECRET_ACCESS_KEY: 'secret', AWS_ENDPOINT_URL: endpoint }
  const flags = ['--port', '0', '--replicate', 's3://bucket/test', '--lease', '1s', ...args]
  const child = startDurlog(['serve', dir, ...flags], { env })
  const lines = createInterface({ input: child.stderr as NodeJS.ReadableStream })[Symbol.asyncIterator]()
  const read: string[] = []
  const line = async (pattern: RegExp): Promise<string> => {
    for (;;) {
      const { value, done } = await lines.next()
      if (done) throw new Error(`the server has ended: ${read.join('\n')}`)
      read.push(value)
      const found = pattern.exec(value)
      if (found !== null) return found[1] ?? ''
    }
  }
  return { child, line }
}

test('durlog serve --standby answers 503 until the other server is killed, and then serves what was acknowledged', async () => {
  const s3 = await store()
  const { endpoint } = s3.access
  const first = serve(join(scratchDir(), 'a'), endpoint)
  const url = await first.line(/serving .* at (http\S+)/)
  const headers = { 'content-type': 'application/json' }
  expect((await fetch(`${url}/s`, { method: 'PUT', body: '[1,2]', headers })).status).toBe(201)
  const second = serve(join(scratchDir(), 'b'), endpoint, '--standby')
  const standing = await second.line(/standing by for .* at (http\S+)/)
  const refused = await fetch(`${standing}/s`)
  expect([refused.status, await refused.json()]).toMatchObject([503, { error: { code: 'standby' } }])
  expect((await fetch(`${standing}/healthz`)).status).toBe(503)
  expect(await (await fetch(`${standing}/metrics`)).text()).toMatch(/^durlog_standby 1$/m)
  // The replica has caught up, and has seen the lease.
  await expect
    .poll(() => s3.requests.filter(({ method, key }) => method === 'GET' && key.endsWith('/lease')).length)
    .toBeGreaterThan(1)
  first.child.kill('SIGKILL')
  const next = await second.line(/serving .* at (http\S+)/)
  expect(await (await fetch(`${next}/s`)).json()).toEqual([1, 2])
  second.child.kill('SIGTERM')
  expect(await once(second.child, 'exit')).toEqual([0, null])
})

/** A folder that was served with `--replicate`, so that a server with `--standby` opens it at once. */
async function servedFolder(endpoint: string): Promise<string> {
  const dir = join(scratchDir(), 'a')
  const { child, line } = serve(dir, endpoint)
  await line(/serving/)
  child.kill('SIGTERM')
  await once(child, 'exit')
  return dir
}

test('SIGTERM ends a server with --standby while it opens the folder and waits for the destination', async () => {
  const s3 = await store()
  const { endpoint } = s3.access
  const dir = await servedFolder(endpoint)
  let hasStood = false
  const silent = new Promise<void>((resolve) => {
    s3.fault = ({ method }) => {
      if (!hasStood || method !== 'PUT') return undefined
      resolve()
      return { answerAfter: () => new Promise(() => {}) }
    }
  })
  const { child, line } = serve(dir, endpoint, '--standby')
  await line(/standing by/)
  hasStood = true
  await silent
  const exit = once(child, 'exit')
  child.kill('SIGTERM')
  expect(await exit).toEqual([0, null])
})

test('a server with --standby reads its files again at SIGHUP, and answers a long body with 503', async () => {
  const s3 = await store()
  const { endpoint } = s3.access
  // It holds the lease for the whole test.
  await serve(join(scratchDir(), 'a'), endpoint, '--lease', '60s').line(/serving/)
  const tokens = join(scratchDir(), 'tokens')
  writeFileSync(tokens, 'a-token-of-this-test rw\n')
  const { child, line } = serve(
    join(scratchDir(), 'b'),
    endpoint,
    '--lease',
    '60s',
    '--standby',
    '--token-file',
    tokens,
  )
  const url = await line(/standing by for .* at (http\S+)/)
  child.kill('SIGHUP')
  await line(/were read again/)
  for (let i = 0; i < 5; i++)
    expect((await fetch(`${url}/s`, { method: 'POST', body: Buffer.alloc(8 << 20) })).status).toBe(503)
})

test('a server with --standby needs the same rights for its metrics, and has the same limits, as the active one', async () => {
  const s3 = await store()
  const { endpoint } = s3.access
  // It holds the lease for the whole test.
  await serve(join(scratchDir(), 'a'), endpoint, '--lease', '60s').line(/serving/)
  const tokens = join(scratchDir(), 'tokens')
  writeFileSync(tokens, 'a-token-of-this-test rw\na-token-that-lists l\n')
  const flags = ['--lease', '60s', '--standby', '--token-file', tokens, '--max-connections', '1']
  const url = await serve(join(scratchDir(), 'b'), endpoint, ...flags).line(/standing by for .* at (http\S+)/)
  const metrics = async (token: string): Promise<number> =>
    (await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${token}`, connection: 'close' } })).status
  expect(await metrics('a-token-of-this-test')).toBe(403)
  expect(await metrics('a-token-that-lists')).toBe(200)
  const port = Number(new URL(url).port)
  const first = connect(port, '127.0.0.1')
  await once(first, 'connect')
  // Its answer shows that the server has counted the connection.
  first.write('GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n')
  expect(String(await once(first, 'data'))).toMatch(/^HTTP\/1.1 503 .*keep-alive/is)
  const second = connect(port, '127.0.0.1').resume()
  await once(second, 'close')
  expect(second.bytesRead).toBe(0)
  first.destroy()
})
