/**
 * The broker is the attacker: every field of every message that a shipper, a restore, a replica or a standby gets may
 * be a lie. A proxy changes what a real server sends.
 */
import { join } from 'node:path'
import { Transform } from 'node:stream'
import type { Msg } from '@nats-io/transport-node'
import { describe, expect, test } from 'vitest'
import { DurlogError, open } from '../src/index.js'
import { restore, ship, takeOver } from '../src/jetstream/index.js'
import { pubAckIn } from '../src/jetstream/pub-ack.js'
import { missingServer } from './fixtures/nats.mjs'
import { records, scratchDir } from './fixtures/scratch.js'
import { type Admin, admin, makeStream, STREAM, SUBJECT, server } from './fixtures/ship.js'
import { proxyTo } from './fixtures/tcp-peers.js'
import { pickOf, random } from './http/hostile-requests.js'

if (missingServer !== '') process.stdout.write(`skipped: ${missingServer}\n`)

/** One message of the server: a line of the protocol, and what follows it. */
interface Message {
  /** The words of the line: MSG or HMSG, the subject, the id of the subscription, and lengths. */
  words: string[]
  /** The headers as text; undefined without headers. */
  headers: string | undefined
  data: Buffer
}

/** Returns the messages to send instead of `message`. */
type Alter = (message: Message) => Message[]

const LINE = '\r\n'

/** Splits what a server sends into lines and messages, and changes these. */
class Altered extends Transform {
  readonly #alter: Alter
  #rest = Buffer.alloc(0)

  constructor(alter: Alter) {
    super()
    this.#alter = alter
  }

  override _transform(chunk: Buffer, _: unknown, done: () => void): void {
    this.#rest = Buffer.concat([this.#rest, chunk])
    while (this.#takeOne());
    done()
  }

  #takeOne(): boolean {
    const end = this.#rest.indexOf(LINE)
    if (end === -1) return false
    const words = this.#rest.toString('latin1', 0, end).split(' ')
    const hasHeaders = words[0] === 'HMSG'
    const begin = end + LINE.length
    if (words[0] === 'INFO') {
      const info = { words: ['INFO'], headers: undefined, data: this.#rest.subarray('INFO '.length, end) }
      for (const { data } of this.#alter(info))
        this.push(Buffer.concat([Buffer.from('INFO '), data, Buffer.from(LINE)]))
    } else if (hasHeaders || words[0] === 'MSG') {
      const length = Number(words.at(-1))
      if (this.#rest.length < begin + length + LINE.length) return false
      const headerBytes = hasHeaders ? Number(words.at(-2)) : 0
      const message = {
        words: words.slice(0, hasHeaders ? -2 : -1),
        headers: hasHeaders ? this.#rest.toString('latin1', begin, begin + headerBytes) : undefined,
        data: this.#rest.subarray(begin + headerBytes, begin + length),
      }
      for (const made of this.#alter(message)) this.push(bytesOf(made))
      this.#rest = this.#rest.subarray(begin + length + LINE.length)
      return true
    } else this.push(this.#rest.subarray(0, begin))
    this.#rest = this.#rest.subarray(begin)
    return true
  }
}

function bytesOf({ words, headers, data }: Message): Buffer {
  const own = Buffer.from(headers ?? '', 'latin1')
  const lengths = headers === undefined ? [data.length] : [own.length, own.length + data.length]
  const [, ...rest] = words
  const line = [headers === undefined ? 'MSG' : 'HMSG', ...rest, ...lengths].join(' ')
  return Buffer.concat([Buffer.from(line + LINE, 'latin1'), own, data, Buffer.from(LINE)])
}

/** Values that replace a member of an answer. */
const MEMBERS: readonly unknown[] = [
  null,
  0,
  1,
  2,
  -1,
  0.5,
  7,
  2 ** 31,
  2 ** 53,
  1e300,
  '',
  'x',
  '7',
  'x'.repeat(5000),
  [],
  {},
  [null],
  true,
  false,
]
const TEXTS: readonly string[] = [
  '',
  '{}',
  'null',
  '[]',
  '7',
  '"x"',
  '{"error":{}}',
  '{"error":null}',
  '{"error":7}',
  '{"',
]
const HEADER_VALUES: readonly string[] = [
  '',
  '0',
  '1',
  '5',
  '-1',
  '1.5',
  '9007199254740991',
  '9007199254740993',
  '1'.repeat(30),
  'x',
  '0/7',
  '7/7',
  '0/999999999',
  '00000000',
  'ffffffff',
  'json',
  'x'.repeat(3000),
  '__proto__',
]
const HEADER_NAMES: readonly string[] = [
  ...['Uuid', 'Seq', 'Generation', 'Timestamp', 'Crc', 'Part', 'First', 'Base', 'Void', 'Claim', 'Streams'].map(
    (name) => `Durlog-${name}`,
  ),
  ...['Nats-Sequence', 'Nats-Subject', 'Nats-Stream', 'Nats-Time-Stamp', 'Nats-Marker-Reason', 'Nats-Pending-Messages'],
]
const STATUSES: readonly string[] = ['100', '404', '408', '409 Consumer Deleted', '409', '503', '400', '999', 'x']

/** Replaces or removes a random member of `value`, at any depth. */
function wrong(value: unknown, next: () => number): unknown {
  const pick = pickOf(next)
  const keys = typeof value === 'object' && value !== null ? Object.keys(value) : []
  if (keys.length === 0 || next() < 0.05) return pick(MEMBERS)
  const key = pick(keys)
  const { [key]: member, ...others } = value as Record<string, unknown>
  return next() < 0.2 ? others : { ...(value as object), [key]: wrong(member, next) }
}

function wrongJson(data: Buffer, next: () => number): Buffer {
  try {
    return Buffer.from(JSON.stringify(wrong(JSON.parse(data.toString()), next)))
  } catch {
    return data
  }
}

/** One way to change messages. */
function alteration(next: () => number): Alter {
  const pick = pickOf(next)
  const [text, name, value, status] = [pick(TEXTS), pick(HEADER_NAMES), pick(HEADER_VALUES), pick(STATUSES)]
  const json: Alter = (message) => [{ ...message, data: wrongJson(message.data, next) }]
  const header: Alter = (message) => [
    { ...message, headers: message.headers?.replace(new RegExp(`${name}: ?[^\r]*`, 'i'), `${name}: ${value}`) },
  ]
  return pick<Alter>([
    json,
    json,
    json,
    json,
    header,
    header,
    header,
    (message) => [{ ...message, data: Buffer.from(text) }],
    // A status instead of headers, or a header that the server has not sent.
    (message) => [{ ...message, headers: `NATS/1.0 ${status}\r\n\r\n` }],
    (message) => [{ ...message, headers: `NATS/1.0\r\n${name}: ${value}\r\n\r\n` }],
    (message) => [{ ...message, headers: undefined }],
    (message) => [{ ...message, data: message.data.subarray(0, Math.floor(next() * message.data.length)) }],
    (message) => {
      const data = Buffer.from(message.data)
      if (data.length > 0) data[Math.floor(next() * data.length)] = Math.floor(next() * 256)
      return [{ ...message, data }]
    },
    (message) => [message, message],
    () => [],
  ])
}

/** Changes some of the messages, in the same way each time. */
function lies(next: () => number): Alter {
  const pick = pickOf(next)
  const alter = alteration(next)
  const isConcerned = pick<(message: Message) => boolean>([
    ({ data }) => data[0] === 0x7b,
    ({ headers }) => headers !== undefined,
    ({ words }) => words[0] !== 'INFO',
    ({ words }) => words[0] === 'INFO',
    () => true,
  ])
  const oneIn = pick([1, 2, 3, 5])
  let left = pick([1, 2, 1000])
  return (message) => {
    if (!isConcerned(message) || next() * oneIn >= 1 || left-- <= 0) return [message]
    return alter(message)
  }
}

/** `DURLOG_FUZZ_FACTOR=50 npx vitest run test/jetstream-hostile.test.ts` makes 50 times as many rounds. */
const FACTOR = Number(process.env['DURLOG_FUZZ_FACTOR'] ?? 1)
const FIRST_SEED = Number(process.env['DURLOG_FUZZ_SEED'] ?? 1)
const RECORDS = Array.from({ length: 40 }, (_, at) => `record ${at}`)

interface Attack {
  /** The URL of the server that lies. */
  url: string
  /** A connection to the server itself. */
  look: Admin
  next: () => number
}

test.each([...TEXTS, '{"seq":0}', '{"seq":"7"}', '{"seq":-1}', '{"seq":0.5}', '{"stream":"ORDERS"}'])(
  'the answer %j to a published message is no acknowledgement',
  (text) => {
    const answer = { json: () => JSON.parse(text) }
    expect(() => pubAckIn(answer as Msg, 'publishing')).toThrow('publishing')
  },
)

/** Short times, because a lie may be an answer that never comes. */
const IMPATIENT = { timeoutMs: 150, retryForMs: 300 }

async function logWith(texts: readonly string[]): Promise<string> {
  const dir = join(scratchDir(), 'log')
  await using log = await open(dir)
  await log.appendBatch(texts)
  return dir
}

/** Ships the log in `dir` with `access`, and closes the shipper. */
async function shipTo(dir: string, options: Omit<Parameters<typeof ship>[1], 'stream' | 'subject'>): Promise<void> {
  await using log = await open(dir)
  await using shipping = ship(log, { stream: STREAM, subject: SUBJECT, ...options })
  shipping.on('error', () => {})
  await shipping.idle()
}

/** Checks that the log in `dir` holds records of `RECORDS`, and no others. */
async function expectTrue(dir: string): Promise<string[]> {
  await using log = await open(dir, { readOnly: true })
  const found = (await records(log.read())).map(({ seq, data }) => [seq, data.toString()] as const)
  expect(found).toEqual(found.map(([seq]) => [seq, RECORDS[seq]]))
  expect(found.length).toBeGreaterThan(0)
  return found.map(([, text]) => text)
}

const USES: Record<string, { rounds: number; use: (attack: Attack) => Promise<void> }> = {
  'a shipper': {
    rounds: 24,
    use: async ({ url, look, next }) => {
      await look.manager.streams.purge(STREAM)
      const dir = await logWith(RECORDS)
      await shipTo(dir, { servers: url, ...IMPATIENT, pack: next() < 0.5 })
      // The shipper has resolved, so the stream has every record.
      const restored = join(scratchDir(), 'restored')
      await restore(restored, { servers: look.url, stream: STREAM, subject: SUBJECT })
      expect(await expectTrue(restored)).toEqual(RECORDS)
    },
  },
  'a restore': {
    rounds: 16,
    use: async ({ url }) => {
      const dir = join(scratchDir(), 'restored')
      await restore(dir, { servers: url, stream: STREAM, subject: SUBJECT, ...IMPATIENT })
      await expectTrue(dir)
    },
  },
  'a replica': {
    rounds: 8,
    use: async ({ url }) => {
      const dir = join(scratchDir(), 'replica')
      const ending = new AbortController()
      const { signal } = ending
      const onCaughtUp = (): void => ending.abort()
      await restore(dir, {
        servers: url,
        stream: STREAM,
        subject: SUBJECT,
        ...IMPATIENT,
        follow: true,
        signal,
        onCaughtUp,
      })
      await expectTrue(dir)
    },
  },
  'a copy that takes over': {
    rounds: 8,
    use: async ({ url }) => {
      const dir = join(scratchDir(), 'copy')
      await takeOver(dir, { servers: url, stream: STREAM, subject: SUBJECT, ...IMPATIENT, force: true })
      await expectTrue(dir)
    },
  },
}

describe.skipIf(missingServer !== '').each(Object.entries(USES))(
  'whatever the broker sends, %s',
  (_, { rounds, use }) => {
    test('ends with a code, or has done what it says', { timeout: 240_000 * FACTOR }, async () => {
      const nats = await server()
      const look = await admin(nats)
      await makeStream(look)
      await shipTo(await logWith(RECORDS), { servers: nats.url })
      let alter: Alter = (message) => [message]
      const { url } = await proxyTo(nats.port, undefined, () => new Altered((message) => alter(message)))
      for (let seed = FIRST_SEED; seed < FIRST_SEED + rounds * FACTOR; seed++) {
        const next = random(seed)
        alter = lies(next)
        const failure = await use({ url, look, next }).then(
          () => undefined,
          (error: unknown) => error,
        )
        if (failure !== undefined && !(failure instanceof DurlogError))
          throw new Error(`seed ${seed}`, { cause: failure })
      }
    })
  },
)
