/**
 * Requests of an attacker. HOSTILE_REQUESTS sets their number, HOSTILE_SEED chooses them: `npm run trial -- hostile`.
 */
import { readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { platform } from 'node:os'
import { dirname, join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { durlogServe, type Serving } from '../fixtures/durlog-serve.js'
import { scratchDir } from '../fixtures/scratch.js'
import { BROKEN, pickOf, type Request, random, requestOf } from './hostile-requests.js'

const REQUESTS = Number(process.env['HOSTILE_REQUESTS'] ?? 6000)
const TIMEOUT_MS = 240_000 + REQUESTS * 10
const SEED = Number(process.env['HOSTILE_SEED'] ?? 1)
/** The number of concurrent requests. One half shares a connection; each of the others has its own. */
const BATCH = 100
const MEBIBYTE = 1 << 20
/** The memory that the server may need in addition to its memory after a third of the requests. */
const SPARE_BYTES = 96 * MEBIBYTE

const ALL = 'all-rights-0123456789'
const READER = 'reader-0123456789'
const WRITER = 'writer-0123456789'
const TENANT = 'tenant-0123456789'
const TOKENS = `${ALL} rwcdl\n${READER} r\n${WRITER} w\n${TENANT} rwcdl one\n`
const CREDENTIALS = [ALL, ALL, ALL, ALL, TENANT, READER, WRITER, 'unknown-0123456789', '']

/** Starts a server with the folder `dir` and the tokens. */
async function serve(dir: string): Promise<Serving> {
  const tokens = join(scratchDir(), 'tokens')
  writeFileSync(tokens, TOKENS)
  return durlogServe(dir, '--token-file', tokens, '--max-streams', '300', '--cors', '*', '--ui')
}

/** How a client sends its request and ends its connection. */
const WAYS = ['half-close', 'pieces', 'leave', 'break'] as const

interface Client {
  port: number
  next: () => number
}

/** Sends `text` in `way`. Resolves with the received text when the connection is closed. */
async function send({ port, next }: Client, text: string, way: (typeof WAYS)[number]): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  let received = ''
  const closed = new Promise((resolve) => socket.once('close', resolve))
  socket.on('error', () => {})
  socket.on('data', (data) => {
    received += data.toString('latin1')
    if (way === 'leave') socket.destroy()
  })
  const bytes = Buffer.from(text, 'latin1')
  if (way === 'break') {
    socket.write(bytes.subarray(0, Math.floor(next() * bytes.length)), () => socket.resetAndDestroy())
  } else if (way === 'pieces') {
    for (let at = 0; at < bytes.length && !socket.destroyed; ) {
      const end = at + 1 + Math.floor(next() * 400)
      socket.write(bytes.subarray(at, end))
      at = end
      await setImmediate()
    }
    socket.end()
  } else {
    socket.write(bytes)
    if (way === 'half-close') socket.end()
  }
  await closed
  return received
}

const statusesIn = (text: string): number[] =>
  [...text.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map(([, status]) => Number(status))

/** Sends one request on a new connection. */
function sendAlone(client: Client, { text, isEndless }: Request): Promise<string> {
  const way = pickOf(client.next)(WAYS)
  return send(client, text, isEndless && way !== 'break' ? 'leave' : way)
}

/** Sends many requests on one connection, without those whose answers have no end, which would block the others. */
function sendTogether(client: Client, requests: readonly Request[]): Promise<string> {
  const texts = requests.filter(({ isEndless }) => !isEndless).map(({ text }) => text)
  return send(client, texts.join(''), 'half-close')
}

/** Opens connections that do not finish sending their headers, or their body. */
function slowSockets(port: number, count: number): Socket[] {
  return Array.from({ length: count }, (_, at) => {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {})
    socket.on('data', () => {})
    const head = `PUT /s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ALL}\r\nContent-Length: 9\r\n\r\n1`
    socket.write(at % 2 === 0 ? 'GET /s HTTP/1.1\r\nHost' : head)
    return socket
  })
}

const isLinux = platform() === 'linux'

/** Returns the number of sockets that a process has open. */
function socketsOf(pid: number): number {
  const folder = `/proc/${pid}/fd`
  return readdirSync(folder).filter((fd) => {
    try {
      return readlinkSync(join(folder, fd)).startsWith('socket:')
    } catch {
      return false
    }
  }).length
}

function memoryOf(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024
}

test(
  'hostile requests do not end the server, cause a 500, write outside the folder, or leave sockets open or memory in use',
  async () => {
    const dir = join(scratchDir(), 'streams')
    const { child, url, port, exited } = await serve(dir)
    const pid = child.pid as number
    const next = random(SEED)
    const client = { port, next }
    const sockets = isLinux ? socketsOf(pid) : 0
    const slow = slowSockets(port, 40)
    const slowClosed = slow.map((socket) => new Promise((resolve) => socket.once('close', resolve)))
    const counts = new Map<number, number>()
    let memory = 0
    for (let sent = 0; sent < REQUESTS; sent += BATCH) {
      const requests = Array.from({ length: BATCH }, () => requestOf(next, pickOf(next)(CREDENTIALS)))
      const answers = [sendTogether(client, requests.slice(0, BATCH / 2))]
      for (const request of requests.slice(BATCH / 2)) answers.push(sendAlone(client, request))
      if (sent % 1000 === 0) answers.push(send(client, pickOf(next)(BROKEN), 'half-close'))
      for (const answer of await Promise.all(answers))
        for (const status of statusesIn(answer)) counts.set(status, (counts.get(status) ?? 0) + 1)
      if (isLinux && memory === 0 && sent > REQUESTS / 3) memory = memoryOf(pid)
    }
    const statuses = [...counts.keys()].sort((a, b) => a - b)
    expect(statuses.filter((status) => status >= 500 && status !== 501)).toEqual([])
    expect(statuses).toEqual(expect.arrayContaining([200, 201, 204, 400, 401, 403, 404, 405]))
    await Promise.all(slowClosed)
    if (isLinux) {
      await expect.poll(() => socketsOf(pid)).toBe(sockets)
      if (process.env['HOSTILE_REQUESTS'] !== undefined)
        console.log(
          `${REQUESTS} requests: ${memory} bytes of memory, then ${memoryOf(pid)}; ${JSON.stringify([...counts])}`,
        )
      expect(memoryOf(pid)).toBeLessThan(memory + SPARE_BYTES)
    }
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
    child.kill('SIGTERM')
    expect(await exited).toEqual([0, null])
    expect(readdirSync(dirname(dir))).toEqual(['streams'])
    // The names in the folder consist of letters. A stream with a hostile name would add another one.
    expect(readdirSync(dir).filter((name) => !/^[a-z]+$/.test(name))).toEqual([])
    const outside = readdirSync(join(dir, 'streams')).filter((file) => !/^[a-z0-9._~%-]+\.(jsonl|frames)$/.test(file))
    expect(outside).toEqual([])
  },
  TIMEOUT_MS,
)

test(
  'the response to a request without the right never depends on whether the stream exists',
  async () => {
    const { url, port } = await serve(join(scratchDir(), 'streams'))
    const authorization = `Bearer ${ALL}`
    const put = { method: 'PUT', headers: { authorization, 'content-type': 'application/json' }, body: '[1,2]' }
    expect((await fetch(`${url}/there`, put)).status).toBe(201)
    const next = random(SEED + 1)
    const client = { port, next }
    const rights: Record<string, readonly string[]> = { [READER]: ['GET', 'HEAD'], [WRITER]: ['POST'] }
    let compared = 0
    for (let sent = 0; sent < REQUESTS / 10; sent += 10) {
      const pairs = Array.from({ length: 10 }, async () => {
        const token = pickOf(next)([READER, WRITER, 'unknown-0123456789', ''])
        const { text } = requestOf(next, token, 'there')
        if (rights[token]?.includes(text.slice(0, text.indexOf(' ')))) return
        const [there, missing] = await Promise.all(
          [text, text.replaceAll('there', 'misst')].map(async (request) => {
            const answer = await send(client, request, 'half-close')
            return answer.replace(/^Date: .*$/m, '')
          }),
        )
        expect(missing).toBe(there?.replaceAll('there', 'misst'))
        compared++
      })
      await Promise.all(pairs)
    }
    expect(compared).toBeGreaterThan(REQUESTS / 30)
  },
  TIMEOUT_MS,
)

test('a target with a fragment, or with bytes that are not percent-encoded, is refused and creates no stream', async () => {
  const { url, port } = await serve(join(scratchDir(), 'streams'))
  const authorization = `Authorization: Bearer ${ALL}`
  const client = { port, next: random(SEED) }
  for (const method of ['PUT', 'GET', 'OPTIONS'])
    for (const target of [
      '/x#y',
      '/x?offset=-1#y',
      '/#',
      'http://x/x#y',
      '/healthz#y',
      '/\u00fcbung',
      '/x?offset=\u00ff',
    ]) {
      const request = `${method} ${target} HTTP/1.1\r\nHost: x\r\n${authorization}\r\nContent-Length: 0\r\n\r\n`
      expect([target, (await send(client, request, 'half-close')).split('\r\n')[0]]).toEqual([
        target,
        'HTTP/1.1 400 Bad Request',
      ])
    }
  const headers = { authorization: `Bearer ${ALL}` }
  expect((await fetch(`${url}/x%23y`, { method: 'PUT', headers })).status).toBe(201)
  const fork = (from: string) =>
    fetch(`${url}/fork`, { method: 'PUT', headers: { ...headers, 'stream-forked-from': from } })
  expect([(await fork('/x#y')).status, (await fork('/x%23y')).status]).toEqual([400, 201])
  const { streams } = await (await fetch(`${url}/__ds/streams`, { headers })).json()
  expect(streams.map(({ name }: { name: string }) => name)).toEqual(['fork', 'x#y'])
})

test('requests that send their headers or bodies slowly do not delay other requests', async () => {
  const { url, port } = await serve(join(scratchDir(), 'streams'))
  const slow = slowSockets(port, 200)
  onTestFinished(() => {
    for (const socket of slow) socket.destroy()
  })
  const headers = { authorization: `Bearer ${ALL}` }
  expect((await fetch(`${url}/t`, { method: 'PUT', headers })).status).toBe(201)
  expect((await fetch(`${url}/s`, { headers })).status).toBe(404)
})
