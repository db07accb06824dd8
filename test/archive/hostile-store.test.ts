/**
 * The store is the attacker: every field of every answer that an archive, a restore or a reader of an archive gets may
 * be a lie.
 */
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import type { Bucket } from '../../src/archive/bucket.js'
import { closeGate } from '../../src/archive/gates.js'
import { archive, listArchive, readArchive, restoreArchive } from '../../src/archive/index.js'
import { HistoryNames } from '../../src/archive/layout.js'
import { ConditionFailed } from '../../src/archive/store-errors.js'
import { DurlogError, type Log, open } from '../../src/index.js'
import { archiveAll, type Plain, plainRecords, restored, store } from '../fixtures/archive.js'
import type { FakeAnswer, FakeRequest, FakeS3 } from '../fixtures/fake-s3.mjs'
import { codeOf, openUntilDone, scratchDir } from '../fixtures/scratch.js'

const SMALL = { segmentBytes: 65_536 } as const
const META = 'x-amz-meta-durlog-'
const PIECE = /\/(log|tail)[^/]*\/\d{20}$/

async function append(log: Log, count: number): Promise<void> {
  for (let at = 0; at < count; at++)
    await log.append(`record ${log.nextSeq} ${log.generation} ${'x'.repeat(300)}`, { durability: 'memory' })
}

interface Example {
  s3: FakeS3
  dir: string
  uuid: string
  /** Every record that was ever archived. */
  records: Plain[]
}

/** An archive with whole segments, parts, a boundary, cursors, and a second history; its last segment is compressed. */
async function example(): Promise<Example> {
  const s3 = await store()
  const dir = join(scratchDir(), 'log')
  const log = await openUntilDone(dir, SMALL)
  await append(log, 250)
  await archiveAll(log, s3)
  await append(log, 250)
  const cursor = await log.cursor('worker')
  await cursor.commit(100)
  await cursor.close()
  await archiveAll(log, s3)
  const before = await plainRecords(log)
  await log.truncateAfter(399)
  await append(log, 100)
  await archiveAll(log, s3, { compress: 'zstd' })
  await append(log, 100)
  await archiveAll(log, s3)
  const records = [...before, ...(await plainRecords(log))]
  await log.close()
  for (const part of ['log/', 'tail-', 'boundary', 'cursors', 'history/']) expect(s3.keys(part)).not.toEqual([])
  return { s3, dir, uuid: log.uuid, records }
}

/** Answers requests for which `concerns` is true with another value of `field`. */
function lie(s3: FakeS3, concerns: (request: FakeRequest) => boolean, headers: Record<string, string>): void {
  s3.fault = (request) =>
    concerns(request) ? { alter: (answer) => ({ ...answer, headers: { ...answer.headers, ...headers } }) } : undefined
}

/** The names and sizes of everything below `dir`, and the content of files. */
function treeOf(dir: string): string[] {
  return readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .sort()
    .map((name) => {
      const path = join(dir, name)
      return `${name} ${statSync(path).isDirectory() ? '' : readFileSync(path, 'latin1')}`
    })
}

async function read(s3: FakeS3, cache: string): Promise<Plain[]> {
  const found: Plain[] = []
  for await (const { seq, timestamp, data } of readArchive({ ...s3.access, cache: { dir: cache } }))
    found.push([seq, timestamp, data.toString()])
  return found
}

test('a checksum of the store is never used as a path', async () => {
  const { s3 } = await example()
  const root = scratchDir()
  const victim = join(root, 'victim')
  mkdirSync(join(victim, 'sub'), { recursive: true })
  writeFileSync(join(victim, 'precious.txt'), 'data')
  const before = treeOf(victim)
  for (const sha256 of ['../victim', victim, '..', '.', '', 'F'.repeat(64)]) {
    lie(s3, ({ method, key }) => method === 'HEAD' && PIECE.test(key), { [`${META}sha256`]: sha256 })
    expect(await codeOf(read(s3, join(root, 'cache')))).toBe('ERR_DURLOG_CORRUPT')
    expect(treeOf(victim)).toEqual(before)
  }
})

test('a reader compares a piece with the answer that chose its place in the cache, and with no later one', async () => {
  const { s3 } = await example()
  const other = 'a'.repeat(64)
  lie(s3, ({ method, key }) => method === 'HEAD' && PIECE.test(key), { [`${META}sha256`]: other })
  const cache = scratchDir()
  expect(await codeOf(read(s3, cache))).toBe('ERR_DURLOG_CORRUPT')
  expect(readdirSync(cache)).not.toContain(other)
})

test('a history that continues itself, or is none, is damaged', async () => {
  const { s3, uuid } = await example()
  const [history = ''] = s3.keys('history/')
  const { etag, metadata } = s3.objects.get(history) as { etag: string; metadata: Record<string, string> }
  for (const text of [
    '{"from":5,"parent":5}',
    '{"from":5,"parent":1}',
    '{"from":-1,"parent":0}',
    '{"from":"../..","parent":0}',
    '{"from":1e300,"parent":0}',
    '{"parent":0}',
    'null',
    '[1,2]',
  ]) {
    s3.objects.set(history, { body: Buffer.from(text), etag, metadata })
    expect(await codeOf(listArchive({ ...s3.access, uuid })), text).toBe('ERR_DURLOG_CORRUPT')
  }
  expect(await codeOf(restored(s3))).toBe('ERR_DURLOG_CORRUPT')
})

test('a list with entries that the archive cannot have is refused, in time that grows with its length', async () => {
  const { s3, uuid } = await example()
  const cases: [change: (xml: string) => string, code: string][] = [
    [(xml) => xml.replace(/<Size>\d+/g, `<Size>${2 ** 50}`), 'ERR_DURLOG_CORRUPT'],
    [(xml) => xml.replace(/<Size>\d+/g, '<Size>0'), 'ERR_DURLOG_CORRUPT'],
    [(xml) => xml.replace(/<Size>\d+/g, '<Size>1e3'), 'ERR_DURLOG_DESTINATION_UNREACHABLE'],
    [(xml) => xml.replace(/<Key>/g, '<Key>../'), 'ERR_DURLOG_DESTINATION_UNREACHABLE'],
    [() => `${'<Contents>'.repeat(1_000_000)}</ListBucketResult>`, 'ERR_DURLOG_NOT_FOUND'],
  ]
  for (const [change, code] of cases) {
    s3.fault = ({ key }) =>
      key === '' ? { alter: (answer) => ({ ...answer, body: Buffer.from(change(answer.body.toString())) }) } : undefined
    expect(await codeOf(listArchive({ ...s3.access, uuid })), String(change)).toBe(code)
  }
})

test('a list without an end is refused, with new entries and without', async () => {
  const { s3, uuid } = await example()
  for (const entries of [20_000, 0]) {
    let page = 0
    s3.fault = ({ key, query }) => {
      if (key !== '') return undefined
      page++
      const names = Array.from({ length: entries }, (_, at) => `${query['prefix']}${page}-${at}`)
      const list = names.map((name) => `<Contents><Key>${name}</Key><Size>1</Size></Contents>`).join('')
      const end = `<IsTruncated>true</IsTruncated><NextContinuationToken>${page}</NextContinuationToken>`
      return { alter: (answer) => ({ ...answer, body: Buffer.from(`${list}${end}</ListBucketResult>`) }) }
    }
    expect(await codeOf(listArchive({ ...s3.access, uuid }))).toBe('ERR_DURLOG_DESTINATION_REFUSED')
    expect(page).toBeLessThan(200)
  }
})

test('cursors of the store get no other names than those of cursors', async () => {
  const { s3 } = await example()
  for (const positions of [{ '../evil': 1 }, { a: -5 }, { a: '7x' }, 5, null]) {
    for (const key of s3.keys('/cursors')) {
      const { etag, metadata } = s3.objects.get(key) as { etag: string; metadata: Record<string, string> }
      s3.objects.set(key, { body: Buffer.from(JSON.stringify({ seq: 1, positions })), etag, metadata })
    }
    expect(await codeOf(restored(s3))).toBe('ERR_DURLOG_CORRUPT')
  }
})

/** Numbers that a seed determines (mulberry32). */
class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed
  }

  /** A whole number below `end`. */
  below(end: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) % end
  }

  of<T>(values: readonly T[]): T {
    return values[this.below(values.length)] as T
  }
}

const VALUES: readonly string[] = [
  '',
  '0',
  '1',
  '-1',
  '5',
  '99',
  '1e3',
  '0x10',
  '1.5',
  'NaN',
  'Infinity',
  '4095',
  '4096',
  '1073741825',
  '9007199254740991',
  '9007199254740993',
  '1'.repeat(30),
  '..',
  '../victim',
  '/tmp',
  'x'.repeat(3000),
  '__proto__',
  'null',
  'true',
  '[]',
  '{}',
  '00000000000000000001',
  'json',
  'a'.repeat(64),
  'Mon, 01 Jan 2999 00:00:00 GMT',
  '</Contents>',
  '&#xffffff;',
  '\u00ff',
]
const HEADERS: readonly string[] = [
  ...['version', 'last', 'records', 'oldest', 'newest', 'generation', 'sha256', 'previous', 'zstd', 'streams'].map(
    (name) => `${META}${name}`,
  ),
  ...['etag', 'date', 'retry-after', 'location', 'content-range', 'content-type', 'x-amz-bucket-region'],
]
const STATUSES = [200, 201, 204, 206, 301, 400, 403, 404, 409, 412, 416, 429, 500, 503]
const ELEMENTS = ['Key', 'Size', 'IsTruncated', 'NextContinuationToken', 'Prefix', 'Contents', 'Code', 'Message']

type Alter = (answer: FakeAnswer) => FakeAnswer

/** One way to change answers, with the same value each time. */
function alteration(random: Random): Alter {
  const value = random.of(VALUES)
  const header = random.of(HEADERS)
  const element = random.of(ELEMENTS)
  const status = random.of(STATUSES)
  const at = random.below(10_000)
  return random.of<Alter>([
    (answer) => ({ ...answer, headers: { ...answer.headers, [header]: value } }),
    (answer) => ({ ...answer, headers: { ...answer.headers, [header]: value } }),
    ({ headers, ...answer }) => {
      const { [header]: _, ...others } = headers
      return { ...answer, headers: others }
    },
    (answer) => ({ ...answer, status }),
    // One element of the XML, one member of the JSON, or one byte.
    (answer) => ({
      ...answer,
      body: changedText(answer.body, new RegExp(`<${element}>[^<]*`, 'g'), `<${element}>${value}`),
    }),
    (answer) => ({
      ...answer,
      body: changedText(answer.body, /(?<="(from|parent|seq|worker|positions)":)[^,}]+/g, value || '""'),
    }),
    (answer) => ({
      ...answer,
      body: changedText(answer.body, /"(from|parent|seq|worker|positions)"/, JSON.stringify(value)),
    }),
    ({ body, ...answer }) => {
      const changed = Buffer.from(body)
      if (changed.length > 0) changed[at % changed.length] = (changed[at % changed.length] as number) ^ (1 << (at % 8))
      return { ...answer, body: changed }
    },
    ({ body, ...answer }) => ({ ...answer, body: body.subarray(0, at % (body.length + 1)) }),
    ({ body, ...answer }) => ({ ...answer, body: Buffer.concat([body, Buffer.from(value)]) }),
  ])
}

/** Changes text, but not the frames of a piece. */
function changedText(body: Buffer, pattern: RegExp, value: string): Buffer {
  return body.length < 4096
    ? Buffer.from(
        body.toString('latin1').replace(pattern, () => value),
        'latin1',
      )
    : body
}

/** Changes some answers of the store, so that two answers about the same object may differ. */
function lies(random: Random): FakeS3['fault'] {
  const made = Array.from({ length: 1 + random.below(2) }, () => ({
    alter: alteration(random),
    concerns: random.of<(request: FakeRequest) => boolean>([
      ({ key }) => key === '',
      ({ key }) => PIECE.test(key),
      ({ method }) => method === 'HEAD',
      ({ method, key }) => method === 'GET' && PIECE.test(key),
      ({ key }) => key !== '' && !PIECE.test(key),
      () => true,
    ]),
    oneIn: random.of([1, 1, 2, 5]),
  }))
  return (request) => {
    const chosen = made.filter(({ concerns, oneIn }) => concerns(request) && random.below(oneIn) === 0)
    if (chosen.length === 0) return undefined
    return { alter: (answer) => chosen.reduce((changed, { alter }) => alter(changed), answer) }
  }
}

/** `DURLOG_FUZZ_FACTOR=50 npx vitest run test/archive/hostile-store.test.ts` makes 50 times as many rounds. */
const FACTOR = Number(process.env['DURLOG_FUZZ_FACTOR'] ?? 1)
/** The longest single allocation that an object may cause: a segment of 1 GiB, and what zstd adds. */
const LONGEST_BYTES = 2 ** 30 + 2 ** 21
const MOST_REQUESTS = 3000

type Use = (s3: FakeS3, root: string, random: Random, made: Example) => Promise<void>

const USES: Record<string, { rounds: number; use: Use }> = {
  'a reader': {
    rounds: 24,
    use: async (s3, root, _, { records }) => {
      const known = new Set(records.map((record) => record.join(' ')))
      const found = await read(s3, join(root, 'cache'))
      expect(found.filter((record) => !known.has(record.join(' ')))).toEqual([])
    },
  },
  'a list': {
    rounds: 16,
    use: async (s3) => void (await listArchive(s3.access)),
  },
  'a restore': {
    rounds: 16,
    use: async (s3, root) => {
      await restoreArchive(join(root, 'target'), { ...s3.access, retryForMs: 1 })
      await using log = await open(join(root, 'target'), { readOnly: true })
      expect(log.nextSeq).toBeGreaterThan(0)
    },
  },
  'an archiver': {
    rounds: 16,
    use: async (s3, root, random, { dir }) => {
      const log = await open(dir, SMALL)
      try {
        await log.append('another', { durability: 'memory' })
        const made = archive(log, { ...s3.access, retryForMs: 1, cursor: random.of(['archive', 'second']) })
        made.on('error', () => {})
        await made.idle().finally(() => made.close())
      } finally {
        await log.close()
      }
      expect(root).not.toBe('')
    },
  },
}

test.each(Object.entries(USES))(
  'whatever the store answers, %s ends with a code, touches no other file, and takes bounded memory and requests',
  { timeout: 120_000 * FACTOR },
  async (_, { rounds, use }) => {
    const made = await example()
    const { s3 } = made
    const objects = new Map(s3.objects)
    const allocated = vi.spyOn(Buffer, 'allocUnsafeSlow')
    for (let seed = 1; seed <= rounds * FACTOR; seed++) {
      const root = scratchDir()
      mkdirSync(join(root, 'victim'))
      writeFileSync(join(root, 'victim', 'precious.txt'), 'data')
      const random = new Random(seed)
      s3.objects = new Map(objects)
      s3.requests = []
      s3.fault = lies(random)
      const failure = await use(s3, root, random, made).then(
        () => undefined,
        (error: unknown) => error,
      )
      const place = `seed ${seed}`
      if (failure !== undefined && !(failure instanceof DurlogError)) throw new Error(place, { cause: failure })
      expect(s3.requests.length, place).toBeLessThan(MOST_REQUESTS)
      expect(treeOf(join(root, 'victim')), place).toEqual(['precious.txt data'])
      expect(
        readdirSync(root).filter((name) => !['victim', 'cache', 'target'].includes(name)),
        place,
      ).toEqual([])
    }
    expect(Math.max(0, ...allocated.mock.calls.map(([bytes]) => bytes))).toBeLessThan(LONGEST_BYTES)
  },
)

test('a claim ends, if the store says of each gate that another copy has closed it', async () => {
  let puts = 0
  const bucket = {
    list: async () => [],
    put: async () => {
      if (++puts > 1000) throw new Error('the claim does not end')
      throw new ConditionFailed('exists')
    },
    head: async () => ({ fence: '1' }),
    getJson: async () => ({ value: { generation: 1, owner: 'other' }, etag: '1' }),
  }
  const own = { generation: 2, owner: 'own' }
  await closeGate(bucket as unknown as Bucket, new HistoryNames('root/', 1), own)
  expect(puts).toBeGreaterThan(1)
})
