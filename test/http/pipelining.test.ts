/** Requests that a client sends before it has the responses to its earlier ones, broken off, or with a wrong length. */
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { serveStreams as serve } from '../../src/http/index.js'
import { openStreams } from '../../src/streams/index.js'
import { scratchDir } from '../fixtures/scratch.js'
import { pickOf, random } from './hostile-requests.js'

const SEED = 7
const CONNECTIONS = 20
const REQUESTS = 60

interface Answer {
  status: number
  body: string
}

async function start(dir: string, options: Parameters<typeof serve>[1] = {}) {
  const streams = await openStreams(dir, { exclusive: true })
  const server = await serve(streams, { port: 0, ...options })
  const stop = async (): Promise<void> => {
    await server.close()
    await streams.close()
  }
  onTestFinished(stop)
  return { port: Number(new URL(server.url).port), stop }
}

function requestOf(method: string, path: string, body = '', headers = ''): string {
  const type = 'Content-Type: text/plain\r\n'
  return `${method} ${path} HTTP/1.1\r\nHost: localhost\r\n${type}${headers}Content-Length: ${body.length}\r\n\r\n${body}`
}

/** A connection that reads the answers in order. `methods` are those of its requests. */
class Client {
  readonly answers: Answer[] = []
  readonly socket: Socket
  readonly closed: Promise<unknown>
  readonly #methods: readonly string[]
  #text = ''
  #onAnswer = (): void => {}

  constructor(port: number, methods: readonly string[]) {
    this.#methods = methods
    this.socket = connect(port, '127.0.0.1')
    this.closed = new Promise((resolve) => this.socket.once('close', resolve))
    this.socket.on('error', () => {})
    this.socket.on('data', (data) => this.#receive(data.toString('latin1')))
  }

  /** Settles when there are `count` answers, or when the connection is closed. */
  async answered(count: number): Promise<void> {
    const enough = new Promise<void>((resolve) => {
      this.#onAnswer = () => {
        if (this.answers.length >= count) resolve()
      }
      this.#onAnswer()
    })
    await Promise.race([enough, this.closed])
  }

  #receive(text: string): void {
    this.#text += text
    for (;;) {
      const end = this.#text.indexOf('\r\n\r\n')
      if (end === -1) return
      const head = this.#text.slice(0, end)
      const status = Number(head.slice(9, 12))
      const hasBody = this.#methods[this.answers.length] !== 'HEAD' && status !== 204
      const length = hasBody ? Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0) : 0
      if (this.#text.length < end + 4 + length) return
      this.answers.push({ status, body: this.#text.slice(end + 4, end + 4 + length) })
      this.#text = this.#text.slice(end + 4 + length)
      this.#onAnswer()
    }
  }
}

/** The records of each stream, as text; none for a stream that does not exist. */
async function recordsIn(dir: string, names: readonly string[]): Promise<string[][]> {
  const streams = await openStreams(dir, { exclusive: true })
  const found: string[][] = []
  for (const name of names) {
    const records: string[] = []
    const stream = streams.stream(name)
    if ((await stream.info()) !== undefined) for await (const { value } of stream.read()) records.push(String(value))
    found.push(records)
  }
  await streams.close()
  return found
}

/** The answers that a client gets if it sends each request after the answer to the previous one. */
class Model {
  #records: string[] | undefined
  #closed = false

  answer(method: string, body: string, closes: boolean): Answer {
    const records = this.#records
    if (method === 'PUT') {
      this.#records ??= []
      if (records === undefined) return { status: 201, body: '' }
      return this.#closed ? { status: 409, body: '*' } : { status: 200, body: '' }
    }
    if (records === undefined) return { status: 404, body: method === 'HEAD' ? '' : '*' }
    if (method === 'GET') return { status: 200, body: records.join('') }
    if (method === 'HEAD') return { status: 200, body: '' }
    if (method === 'DELETE') {
      this.#records = undefined
      this.#closed = false
      return { status: 204, body: '' }
    }
    if (this.#closed) return { status: 409, body: '*' }
    records.push(body)
    this.#closed = closes
    return { status: 204, body: '' }
  }
}

test.each([
  ['without', {}],
  ['with', { authorize: async () => setImmediate({ read: true, write: true, create: true, delete: true }) }],
])('pipelined requests get the answers that they get one after the other, %s authorize', async (_, options) => {
  const { port } = await start(join(scratchDir(), 'streams'), options)
  const next = random(SEED)
  const pick = pickOf(next)
  const clients = Array.from({ length: CONNECTIONS }, async (_, at) => {
    const model = new Model()
    const methods = Array.from({ length: REQUESTS }, () =>
      pick(['POST', 'POST', 'POST', 'GET', 'HEAD', 'PUT', 'DELETE']),
    )
    const expected: Answer[] = []
    const texts = methods.map((method, n) => {
      const body = method === 'POST' ? `${at}.${n};` : ''
      const closes = method === 'POST' && next() < 0.1
      expected.push(model.answer(method, body, closes))
      return requestOf(method, `/s${at}`, body, closes ? 'Stream-Closed: true\r\n' : '')
    })
    const client = new Client(port, methods)
    const bytes = texts.join('')
    for (let from = 0; from < bytes.length; ) {
      const to = from + 1 + Math.floor(next() * 3000)
      client.socket.write(bytes.slice(from, to))
      from = to
      await setImmediate()
    }
    await client.answered(REQUESTS)
    client.socket.destroy()
    const found = client.answers.map(({ status, body }, n) => ({
      status,
      body: expected[n]?.body === '*' && body !== '' ? '*' : body,
    }))
    expect(found).toEqual(expected)
  })
  await Promise.all(clients)
})

test('of pipelined appends that are broken off at any byte, those that arrived are stored once and in order, and no others', async () => {
  const dir = join(scratchDir(), 'streams')
  const { port, stop } = await start(dir)
  const chunked = (path: string, parts: readonly string[]): string =>
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n${parts
      .map((part) => `${part.length.toString(16)}\r\n${part}\r\n`)
      .join('')}0\r\n\r\n`
  const requestsTo = (path: string): string[] => [
    requestOf('PUT', path),
    requestOf('POST', path, 'first'),
    chunked(path, ['sec', 'ond']),
    requestOf('GET', path),
    requestOf('POST', path, 'third'),
  ]
  const RECORDS = ['', 'first', 'second', '', 'third']
  const total = requestsTo('/s000.0').join('').length
  const least = new Map<string, string[]>()
  const most = new Map<string, string[]>()
  const cut = async (at: number, waits: boolean): Promise<void> => {
    const name = `s${String(at).padStart(3, '0')}.${Number(waits)}`
    const texts = requestsTo(`/${name}`)
    const complete = texts.filter((_, n) => texts.slice(0, n + 1).join('').length <= at).length
    const client = new Client(port, ['PUT', 'POST', 'POST', 'GET', 'POST'])
    const sent = new Promise((resolve) => client.socket.write(texts.join('').slice(0, at), resolve))
    await sent
    if (waits) await client.answered(complete)
    client.socket.resetAndDestroy()
    await client.closed
    const records = RECORDS.slice(0, complete).filter(Boolean)
    most.set(name, records)
    least.set(name, RECORDS.slice(0, client.answers.length).filter(Boolean))
    if (!waits) return
    expect(client.answers).toHaveLength(complete)
    expect(client.answers[3]?.body ?? 'firstsecond').toBe('firstsecond')
  }
  for (let at = 1; at <= total; at += 8) {
    const positions = Array.from({ length: Math.min(8, total + 1 - at) }, (_, n) => at + n)
    await Promise.all(positions.flatMap((position) => [cut(position, true), cut(position, false)]))
  }
  await stop()
  const names = [...most.keys()]
  for (const [at, stored] of (await recordsIn(dir, names)).entries()) {
    const name = names[at] as string
    expect(most.get(name)?.slice(0, stored.length), name).toEqual(stored)
    expect(stored.length, name).toBeGreaterThanOrEqual((least.get(name) as string[]).length)
  }
})

test.each([
  ['too short', 3],
  ['too long', 9],
])(
  'after an append with a Content-Length that is %s, the error for the rest is not the answer to the append',
  async (_, length) => {
    const dir = join(scratchDir(), 'streams')
    const { port, stop } = await start(dir)
    const client = new Client(port, ['PUT', 'POST', ''])
    client.socket.write(requestOf('PUT', '/s'))
    await client.answered(1)
    const wrong = requestOf('POST', '/s', 'record').replace('Content-Length: 6', `Content-Length: ${length}`)
    client.socket.write(wrong + requestOf('POST', '/s', 'later'))
    await client.closed
    const stored = (wrong + requestOf('POST', '/s', 'later')).split('\r\n\r\n').slice(1).join('\r\n\r\n')
    await stop()
    expect(await recordsIn(dir, ['s'])).toEqual([[stored.slice(0, length)]])
    expect([[], [204], [204, 400]]).toContainEqual(client.answers.slice(1).map(({ status }) => status))
  },
)

test('a connection on which more than 100 requests wait is closed, and its live read ends', async () => {
  const { port } = await start(join(scratchDir(), 'streams'))
  const methods = ['PUT', 'GET', ...Array.from({ length: 99 }, () => 'HEAD')]
  const texts = methods.map((method, at) => requestOf(method, at === 1 ? '/s?offset=-1&live=long-poll' : '/s'))
  const client = new Client(port, methods)
  client.socket.write(texts.join(''))
  const other = new Client(port, ['POST'])
  await client.answered(1)
  other.socket.write(requestOf('POST', '/s', 'record'))
  await client.answered(methods.length)
  other.socket.destroy()
  expect(client.answers.map(({ status }) => status)).toEqual([201, ...Array.from({ length: 100 }, () => 200)])
  client.socket.destroy()
  for (const path of ['/s', '/healthz']) {
    const greedy = new Client(port, methods)
    const live = requestOf('GET', '/s?offset=now&live=long-poll')
    greedy.socket.write(live + requestOf('HEAD', path).repeat(101))
    await greedy.closed
    expect(greedy.answers).toEqual([])
  }
})
