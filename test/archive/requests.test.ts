import { randomBytes } from 'node:crypto'
import { expect, onTestFinished, test, vi } from 'vitest'
import { listArchive, type ReadArchiveOptions, readArchive } from '../../src/archive/index.js'
import type { Log } from '../../src/index.js'
import { archiveAll, archiver, plainRecords, plainRecordsIn, restored, stopCode, store } from '../fixtures/archive.js'
import { codeOf, openUntilDone, scratchLog } from '../fixtures/scratch.js'

const SMALL = { segmentBytes: 65_536 } as const
const SEGMENTS = /\/(log|tail)[^/]*\/\d{20}$/

async function append(log: Log, count: number): Promise<void> {
  for (let at = 0; at < count; at++)
    await log.append(`record ${log.nextSeq} ${'x'.repeat(300)}`, { durability: 'memory' })
}

/** A log whose second segment has five ranges. */
async function largeLog(): Promise<Log> {
  const length = 36 * 2 ** 20
  const log = await scratchLog({ maxRecordBytes: length, maxPendingBytes: 2 * length })
  await append(log, 1)
  await log.rotate()
  await log.append(randomBytes(length), { durability: 'memory' })
  await log.rotate()
  await append(log, 1)
  return log
}

async function readAll(options: ReadArchiveOptions): Promise<number> {
  let count = 0
  for await (const _ of readArchive(options)) count++
  return count
}

function never(): Promise<never> {
  return new Promise(() => {})
}

test('credentials() that does not settle ends with the timeout, with the signal, and with close', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  await append(log, 1)
  await archiveAll(log, s3)
  const access = { ...s3.access, credentials: never }
  expect(await codeOf(listArchive({ ...access, timeoutMs: 1 }))).toBe('ERR_DURLOG_DESTINATION_UNREACHABLE')
  const stopping = new AbortController()
  const restoring = restored(s3, { credentials: never, signal: stopping.signal })
  stopping.abort(new Error('stopped'))
  await expect(restoring).rejects.toThrow('stopped')
  await archiver(log, s3, { credentials: never, cursor: 'second' }).close()
})

test('a restore continues after credentials() has failed', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  await append(log, 700)
  await archiveAll(log, s3)
  let calls = 0
  const credentials = () => {
    if ([2, 9].includes(calls++)) throw new Error('no token')
    return s3.access.credentials
  }
  expect(await plainRecordsIn(await restored(s3, { credentials }))).toEqual(await plainRecords(log))
})

test.each([
  [() => Promise.reject(new Error('no token')), 'ERR_DURLOG_DESTINATION_UNREACHABLE'],
  [() => undefined as never, 'ERR_DURLOG_DESTINATION_REFUSED'],
])('a failure of credentials() is reported by calls that try once', async (credentials, code) => {
  const s3 = await store()
  expect(await codeOf(listArchive({ ...s3.access, credentials }))).toBe(code)
  expect(await codeOf(readAll({ ...s3.access, credentials }))).toBe(code)
})

test('the longest timeoutMs does not end requests at once', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  await append(log, 1)
  await archiveAll(log, s3, { timeoutMs: 2 ** 31 - 1 })
  s3.fault = () => ({ delayMs: 20 })
  expect((await listArchive({ ...s3.access, timeoutMs: 2 ** 31 - 1 })).points).toHaveLength(1)
})

test('empty credentials of the environment count as missing', async () => {
  const s3 = await store()
  vi.stubEnv('AWS_ACCESS_KEY_ID', '')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', '')
  onTestFinished(() => void vi.unstubAllEnvs())
  const code = await codeOf(listArchive({ ...s3.access, credentials: undefined }))
  expect(code).toBe('ERR_DURLOG_INVALID_ARGUMENT')
})

test.each(['s3://bucket/../other', 's3://bucket/a/./b', 's3://..', 's3://bucket/\ud800'])(
  'the bucket %s, whose URL would name another object, is refused',
  async (bucket) => {
    const s3 = await store()
    expect(await codeOf(listArchive({ ...s3.access, bucket }))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
  },
)

test.each([
  { endpoint: 'http://user:s3cr/et@host:9000' },
  { endpoint: 's3://user:s3cret@host:9000' },
  { bucket: 's3://user:s3cret@bucket/prefix' },
])('the error about %j does not repeat the password', async (options) => {
  const access = { bucket: 's3://bucket', credentials: { accessKeyId: 'key', secretAccessKey: 'secret' } }
  await expect(listArchive({ ...access, ...options })).rejects.toThrow(/^(?!.*s3cr).* must be .*…@/)
})

test('a write that is answered with status 200 and an error is not taken for done', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  await append(log, 10)
  let failures = 0
  s3.fault = ({ method, key }) =>
    method === 'PUT' && SEGMENTS.test(key) && failures++ < 2 ? { status: 200, code: 'InternalError' } : undefined
  await archiveAll(log, s3)
  expect(failures).toBe(3)
  expect(await plainRecordsIn(await restored(s3))).toEqual(await plainRecords(log))
})

test('a list that names the same next page again ends', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  await append(log, 700)
  await archiveAll(log, s3)
  s3.pageSize = 2
  s3.repeatsPages = true
  expect(await codeOf(listArchive(s3.access))).toBe('ERR_DURLOG_DESTINATION_UNREACHABLE')
})

test('responses that end early are read again, and are not taken for damage', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  await append(log, 10)
  const consumer = await log.cursor('consumer')
  await consumer.commit(4)
  await consumer.close()
  await archiveAll(log, s3)
  const cut = new Set<string>()
  s3.fault = ({ method, key }) => {
    if (method !== 'GET' || key === '' || cut.has(key)) return undefined
    cut.add(key)
    return { endAfter: 9 }
  }
  expect(await codeOf(readAll(s3.access))).toBe('ERR_DURLOG_DESTINATION_UNREACHABLE')
  expect(await plainRecordsIn(await restored(s3))).toEqual(await plainRecords(log))
  expect([...cut].some((key) => key.endsWith('/cursors'))).toBe(true)
})

test('an archiver whose boundary is always refused pauses, and gives up after retryForMs', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  await append(log, 10)
  await archiveAll(log, s3)
  await append(log, 300)
  s3.fault = ({ method, key }) =>
    method === 'PUT' && key.endsWith('/boundary') ? { status: 412, code: 'PreconditionFailed' } : undefined
  const made = archiver(log, s3, { retryForMs: 1 })
  const stopped = stopCode(made)
  expect(await codeOf(made.idle())).toBe('ERR_DURLOG_DESTINATION_UNREACHABLE')
  expect(await stopped).toBe('ERR_DURLOG_DESTINATION_UNREACHABLE')
})

test.each(['none', 'zstd'] as const)(
  'an object of many ranges (%s) is restored although every fourth request fails',
  async (compress) => {
    const s3 = await store()
    const log = await largeLog()
    await archiveAll(log, s3, { compress })
    expect(s3.objects.get(s3.keys('/log/')[1] as string)?.body.length).toBeGreaterThan(36 * 2 ** 20)
    let reads = 0
    s3.fault = ({ headers }) =>
      headers['range'] !== undefined && ++reads % 4 === 0 ? { status: 503, code: 'SlowDown' } : undefined
    const dir = await restored(s3, { retryForMs: 2000 })
    expect(await plainRecordsIn(dir)).toEqual(await plainRecords(log))
  },
)

test('a restore whose first range fails ends its other requests before it repeats them', async () => {
  const s3 = await store()
  const log = await largeLog()
  await archiveAll(log, s3)
  const stopping = new AbortController()
  let lists = 0
  let most = 0
  s3.fault = ({ headers, query }) => {
    most = Math.max(most, s3.waiting)
    // Each attempt makes several lists, of which one is of folders.
    if (query['delimiter'] !== undefined && ++lists === 4) stopping.abort()
    const { range } = headers
    if (range === undefined) return undefined
    return /^bytes=0-/.test(range) ? { status: 500 } : never()
  }
  await restored(s3, { signal: stopping.signal }).catch(() => {})
  // The object has five ranges.
  expect(most).toBeGreaterThan(2)
  expect(most).toBeLessThan(10)
  await s3.stop()
})

test.each([
  ['7', 7000],
  ['Thu, 01 Jan 2026 00:00:07 GMT', 7000],
  ['3600', 60_000],
])('the pause after a response with Retry-After: %s is that long, up to a minute', async (after, expectedMs) => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  await append(log, 1)
  const headers = { 'retry-after': after, date: 'Thu, 01 Jan 2026 00:00:00 GMT' }
  s3.fault = () => ({ status: 503, code: 'SlowDown', headers })
  const made = archiver(log, s3)
  const { pauseMs } = await new Promise<{ pauseMs: number }>((resolve) => made.once('retry', resolve))
  expect(pauseMs).toBe(expectedMs)
})

test('a store whose clock differs from the local one is used with its own clock, also after a change', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  let skewMs = 3_600_000
  let refused = 0
  s3.fault = ({ headers }) => {
    const timeMs = Date.now() + skewMs
    const signed = /^(....)(..)(..)T(..)(..)(..)Z$/.exec(headers['x-amz-date'] ?? '') as RegExpExecArray
    const [, year, month, day, hour, minute, second] = signed
    const signedMs = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`)
    if (Math.abs(signedMs - timeMs) < 900_000) return undefined
    refused++
    return { status: 403, code: 'RequestTimeTooSkewed', headers: { date: new Date(timeMs).toUTCString() } }
  }
  const made = archiver(log, s3)
  for (const next of [-3_600_000, 0]) {
    await append(log, 10)
    await made.idle()
    skewMs = next
  }
  // The probe sends 32 requests at the same time.
  expect(refused).toBeGreaterThan(1)
  expect(made.stats().retries).toBe(0)
  skewMs = 86_400_000
  expect((await listArchive(s3.access)).points).toHaveLength(2)
  expect(await plainRecordsIn(await restored(s3))).toEqual(await plainRecords(log))
})

test('a request is repeated once with the clock of the store, even if its servers have different clocks', async () => {
  const s3 = await store()
  let requests = 0
  s3.fault = () => {
    const timeMs = Date.now() + (requests++ % 2 === 0 ? 3_600_000 : -3_600_000)
    return { status: 403, code: 'RequestTimeTooSkewed', headers: { date: new Date(timeMs).toUTCString() } }
  }
  expect(await codeOf(listArchive(s3.access))).toBe('ERR_DURLOG_DESTINATION_REFUSED')
  expect(requests).toBe(2)
})

test('an endless response ends, and takes little memory', async () => {
  const s3 = await store()
  s3.fault = () => ({ isEndless: true })
  await expect(listArchive(s3.access)).rejects.toThrow('the response has more than 16777216 bytes')
})

test('the message of a redirect names the target', async () => {
  const s3 = await store()
  s3.fault = () => ({ status: 301, code: 'Moved', headers: { location: 'https://other.example/' } })
  await expect(listArchive(s3.access)).rejects.toThrow('redirects to https://other.example/: correct the endpoint')
})

test.each(['none', 'zstd'] as const)('bytes that were changed on the way (%s) are read again', async (compress) => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  await append(log, 700)
  await archiveAll(log, s3, { compress })
  let changes = 0
  s3.fault = ({ method, key }) =>
    method === 'GET' && /\/log\/\d/.test(key) && changes++ < 2 ? { changesBody: true } : undefined
  expect(await plainRecordsIn(await restored(s3, { retryForMs: 1 }))).toEqual(await plainRecords(log))
  expect(changes).toBeGreaterThan(2)
})

test('a restore waits as long as Retry-After demands, but not longer than retryForMs', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  await append(log, 1)
  await archiveAll(log, s3)
  s3.fault = ({ headers }) =>
    headers['range'] === undefined
      ? undefined
      : { status: 429, code: 'TooManyRequests', headers: { 'retry-after': '60' } }
  expect(await codeOf(restored(s3, { retryForMs: 1 }))).toBe('ERR_DURLOG_DESTINATION_UNREACHABLE')
})

test('the position of a cursor with the name __proto__ is restored', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  await append(log, 10)
  await log.sync()
  const cursor = await log.cursor('__proto__')
  await cursor.commit(4)
  await cursor.close()
  await archiveAll(log, s3)
  const copy = await openUntilDone(await restored(s3))
  expect((await copy.cursors()).map(({ name, position }) => [name, position])).toEqual([['__proto__', 5]])
})
