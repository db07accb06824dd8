/** `durlog serve --log`: serves a plain log as one stream. */
import { type ChildProcess, spawn } from 'node:child_process'
import { renameSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test, vi } from 'vitest'
import { DurlogError } from '../../src/errors.js'
import { serveLog as serveStreamOf } from '../../src/http/index.js'
import { type Log, open } from '../../src/index.js'
import { ReaderLog } from '../../src/log/reader-log.js'
import { offsetAt, seqOf } from '../fixtures/http.js'
import { codeOf, scratchDir } from '../fixtures/scratch.js'

async function writer(dir: string): Promise<Log> {
  const log = await open(dir, { durability: 'sync' })
  onTestFinished(() => log.close())
  return log
}

const CLI = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

/** Starts a server. Returns the URL of the stream. */
async function serveLog(dir: string, ...args: string[]): Promise<string> {
  const command = [CLI, 'serve', '--log', dir, '--port', '0', ...args]
  const child: ChildProcess = spawn(process.execPath, command, { stdio: ['ignore', 'ignore', 'pipe'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  for await (const line of createInterface({ input: child.stderr as NodeJS.ReadableStream })) {
    const url = /at (http\S+)$/.exec(line)?.[1]
    if (url !== undefined) return url
  }
  throw new Error('the server has not started')
}

test('serve --log serves the synced records of a log as one stream, follows its writer, and refuses changes', async () => {
  const dir = join(scratchDir(), 'my orders')
  const log = await writer(dir)
  await log.appendBatch(['one,', 'two,'])
  const url = await serveLog(dir)
  expect(new URL(url).pathname).toBe('/my%20orders')
  const caughtUp = await fetch(url)
  expect([caughtUp.headers.get('content-type'), await caughtUp.text()]).toEqual([
    'application/octet-stream',
    'one,two,',
  ])
  const offset = caughtUp.headers.get('stream-next-offset') as string
  await log.append('three,', { durability: 'memory' })
  const early = await (await fetch(`${url}?offset=${offset}`)).text()
  // The log also syncs records with the durability `memory`, at some time.
  expect(early === '' || log.syncedSeq === 2).toBe(true)
  const poll = fetch(`${url}?offset=${offset}&live=long-poll`)
  await log.sync()
  expect(await (await poll).text()).toBe('three,')
  for (const method of ['POST', 'PUT', 'DELETE'])
    expect((await fetch(url, { method, ...(method !== 'DELETE' && { body: 'x' }) })).status).toBe(403)
  expect((await fetch(`${url}/other`)).status).toBe(404)
})

test('serve --log serves JSON records as messages, and begins at the first record that was not trimmed', async () => {
  const dir = join(scratchDir(), 'events')
  const log = await writer(dir)
  await log.appendBatch(['{"n":1}', '{"n":2}'])
  await log.rotate()
  await log.append('{"n":3}')
  const url = await serveLog(dir, '--content-type', 'application/json')
  expect(await (await fetch(url)).json()).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }])
  await log.trimBefore(2)
  const seen = await fetch(`${url}?offset=now`)
  const poll = fetch(`${url}?offset=${seen.headers.get('stream-next-offset')}&live=long-poll`)
  await log.append('{"n":4}')
  expect(await (await poll).json()).toEqual([{ n: 4 }])
  expect(await (await fetch(url)).json()).toEqual([{ n: 3 }, { n: 4 }])
})

test('a truncation of the log ends event streams, because its offsets may then belong to other records', async () => {
  const dir = join(scratchDir(), 'cut')
  const log = await writer(dir)
  await log.append('a')
  await log.append('b')
  const url = await serveLog(dir)
  const events = await fetch(`${url}?offset=-1&live=sse`)
  let received = ''
  let truncated = false
  // The control event shows that the reader has received both records. The truncation ends the loop.
  for await (const chunk of events.body as ReadableStream<Uint8Array>) {
    received += Buffer.from(chunk).toString()
    if (truncated || !received.includes('event: control')) continue
    truncated = true
    await log.truncateAfter(0)
  }
  expect(truncated).toBe(true)
  const caughtUp = await fetch(url)
  expect(await caughtUp.text()).toBe('a')
  await log.append('c')
  const offset = caughtUp.headers.get('stream-next-offset') as string
  expect(await (await fetch(`${url}?offset=${offset}&live=long-poll`)).text()).toBe('c')
})

test('after a truncation of the log, its earlier offsets and ETags are refused at once, also those below the cut', async () => {
  const dir = join(scratchDir(), 'cut')
  const log = await writer(dir)
  await log.append('a')
  await log.append('b')
  const server = await serveStreamOf(dir, { port: 0, longPollMs: 2 ** 31 - 1 })
  onTestFinished(() => server.close())
  const caughtUp = await fetch(server.url)
  const offset = caughtUp.headers.get('stream-next-offset') as string
  const poll = fetch(`${server.url}?offset=${offset}&live=long-poll`)
  const metrics = async (): Promise<string> => (await fetch(new URL('/metrics', server.url))).text()
  await expect.poll(metrics).toContain('durlog_http_live_requests 1')
  await log.truncateAfter(0)
  expect((await poll).status).toBe(410)
  await log.appendBatch(['B', 'c'])
  for (const seq of [0, 1, 2]) expect((await fetch(`${server.url}?offset=${offsetAt(offset, seq)}`)).status).toBe(410)
  const headers = { 'if-none-match': caughtUp.headers.get('etag') as string }
  await expect.poll(async () => (await fetch(server.url, { headers })).text()).toBe('aBc')
})

test('after a truncation of the log, a reader gets no offset after records that it has not received', async () => {
  const dir = join(scratchDir(), 'cut')
  const log = await writer(dir)
  await log.appendBatch(['a'])
  await log.appendBatch(['b', 'c', 'd'])
  const server = await serveStreamOf(dir, { port: 0 })
  onTestFinished(() => server.close())
  await log.truncateAfter(0)
  const caughtUp = await fetch(`${server.url}?offset=-1`)
  expect([await caughtUp.text(), seqOf(caughtUp.headers.get('stream-next-offset'))]).toEqual(['a', 1])
})

test('a log whose name is a path of the server itself is refused', async () => {
  const dir = join(scratchDir(), 'metrics')
  await writer(dir)
  expect(await codeOf(serveStreamOf(dir, { port: 0 }))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
  const server = await serveStreamOf(dir, { port: 0, prefix: '/v1/' })
  await server.close()
})

test('a content type that cannot be the value of a header is refused', async () => {
  const dir = join(scratchDir(), 'log')
  await writer(dir)
  for (const contentType of ['text', 'text/plain\r\nx: 1', '', 'text/\u2603'])
    expect(await codeOf(serveStreamOf(dir, { port: 0, contentType }))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
})

test('a truncation directly after the server has found a record hides no later records', async () => {
  const dir = join(scratchDir(), 'cut')
  const log = await writer(dir)
  await log.append('a')
  const server = await serveStreamOf(dir, { port: 0 })
  onTestFinished(() => server.close())
  const cut = vi.spyOn(ReaderLog.prototype, 'refresh').mockImplementationOnce(async function (this: ReaderLog) {
    await log.truncateAfter(0)
    await this.refresh()
  })
  onTestFinished(() => cut.mockRestore())
  const identity = async (): Promise<unknown> =>
    (await fetch(server.url)).headers.get('stream-next-offset')?.split('_')[0]
  const before = await identity()
  await log.appendBatch(['b', 'c'])
  await expect.poll(identity).not.toBe(before)
  const caughtUp = await fetch(server.url)
  const offset = caughtUp.headers.get('stream-next-offset') as string
  expect(await caughtUp.text()).toBe('a')
  await log.append('d')
  expect(await (await fetch(`${server.url}?offset=${offset}&live=long-poll`)).text()).toBe('d')
})

test('while the log cannot be read, /healthz answers 503 with the reason, and a read is no 404', async () => {
  const dir = join(scratchDir(), 'orders')
  const log = await writer(dir)
  await log.append('a')
  const errors: unknown[] = []
  const server = await serveStreamOf(dir, { port: 0, onError: (error) => errors.push(error) })
  onTestFinished(() => server.close())
  const healthz = async (): Promise<unknown> => {
    const answer = await fetch(new URL('/healthz', server.url))
    return [answer.status, await answer.text()]
  }
  expect(await healthz()).toEqual([200, 'ok\n'])
  renameSync(dir, `${dir}.away`)
  expect(await healthz()).toEqual([503, 'failed: the log cannot be read: ERR_DURLOG_NOT_FOUND\n'])
  expect((await fetch(server.url)).status).toBe(500)
  expect(errors).toMatchObject([{ code: 'ERR_DURLOG_IO', cause: { code: 'ERR_DURLOG_NOT_FOUND' } }])
  renameSync(`${dir}.away`, dir)
  expect(await healthz()).toEqual([200, 'ok\n'])
  expect(await (await fetch(server.url)).text()).toBe('a')
})

test('while the newest record cannot be read, /healthz answers 503 with the reason', async () => {
  const dir = join(scratchDir(), 'orders')
  await writer(dir)
  const damaged = vi.spyOn(ReaderLog.prototype, 'read').mockImplementation(() => {
    throw new DurlogError('ERR_DURLOG_CORRUPT', 'damaged')
  })
  onTestFinished(() => damaged.mockRestore())
  const server = await serveStreamOf(dir, { port: 0 })
  onTestFinished(() => server.close())
  const healthz = async (): Promise<string> => (await fetch(new URL('/healthz', server.url))).text()
  expect(await healthz()).toBe('failed: the log cannot be read: ERR_DURLOG_CORRUPT\n')
  damaged.mockRestore()
  expect(await healthz()).toBe('ok\n')
})
