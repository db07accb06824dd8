import { expect, test } from 'vitest'
import { listArchive, probeBucket } from '../../src/archive/index.js'
import type { Log } from '../../src/index.js'
import {
  archiveAll,
  archiver,
  plainRecords,
  plainRecordsIn,
  restored,
  stopCode,
  store,
  untestedStore,
} from '../fixtures/archive.js'
import type { FakeFault, FakeRequest, FakeS3 } from '../fixtures/fake-s3.mjs'
import { codeOf, openUntilDone, scratchLog } from '../fixtures/scratch.js'

const SMALL = { segmentBytes: 65_536 } as const
const SEGMENTS = /\/(log|tail)[^/]*\/\d{20}$/

async function append(log: Log, count: number): Promise<void> {
  for (let at = 0; at < count; at++)
    await log.append(`record ${log.nextSeq} ${'x'.repeat(300)}`, { durability: 'memory' })
}

/** No object of the log was replaced by another content. */
function nothingOverwritten(s3: FakeS3): void {
  expect(s3.overwritten.filter((key) => SEGMENTS.test(key))).toEqual([])
}

/** Fails a quarter of the requests to objects of the log, chosen by a fixed sequence of numbers. */
function failing(faults: readonly FakeFault[]): (request: FakeRequest) => FakeFault | undefined {
  let state = 12_345
  return ({ key }) => {
    if (!SEGMENTS.test(key)) return undefined
    state = (state * 48_271) % 2_147_483_647
    return (state >> 8) % 4 === 0 ? faults[(state >> 16) % faults.length] : undefined
  }
}

test('a store that fails, drops connections or loses responses gets every record once', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  await archiveAll(log, s3)
  s3.fault = failing([
    { status: 500 },
    { drop: true },
    { dropAfter: true },
    { status: 409, code: 'ConditionalRequestConflict' },
    { status: 503, code: 'SlowDown' },
  ])
  const made = archiver(log, s3)
  for (let round = 0; round < 12; round++) {
    await append(log, 80)
    await made.idle()
  }
  expect(made.stats().retries).toBeGreaterThan(0)
  s3.fault = () => undefined
  nothingOverwritten(s3)
  expect(await plainRecordsIn(await restored(s3))).toEqual(await plainRecords(log))
  s3.fault = failing([{ status: 500 }, { drop: true }, { dropAfter: true }])
  expect(await plainRecordsIn(await restored(s3))).toEqual(await plainRecords(log))
})

test('a create whose response was lost is found and not repeated', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  await append(log, 10)
  let lost = 0
  s3.fault = ({ method, key }) =>
    method === 'PUT' && SEGMENTS.test(key) && lost++ === 0 ? { dropAfter: true } : undefined
  await archiveAll(log, s3)
  expect(s3.keys('/tail/')).toHaveLength(1)
  expect(s3.requests.filter(({ method, key }) => method === 'PUT' && SEGMENTS.test(key))).toHaveLength(1)
  nothingOverwritten(s3)
})

test.each([
  [403, 'AccessDenied', 'ERR_DURLOG_DESTINATION_REFUSED'],
  [403, 'SignatureDoesNotMatch', 'ERR_DURLOG_DESTINATION_REFUSED'],
  [501, 'NotImplemented', 'ERR_DURLOG_DESTINATION_REFUSED'],
  [301, 'PermanentRedirect', 'ERR_DURLOG_DESTINATION_REFUSED'],
  [404, 'NoSuchBucket', 'ERR_DURLOG_DESTINATION_MISSING'],
])('%i %s stops the archiver', async (status, code, expected) => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  await append(log, 1)
  s3.fault = () => ({ status, code })
  const made = archiver(log, s3)
  const stopped = stopCode(made)
  expect(await codeOf(made.idle())).toBe(expected)
  expect(await stopped).toBe(expected)
})

test('a token that has expired is renewed if credentials is a function', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  await append(log, 1)
  let calls = 0
  s3.fault = () => (calls < 3 ? { status: 400, code: 'ExpiredToken' } : undefined)
  const credentials = () => ({ accessKeyId: `key-${++calls}`, secretAccessKey: 'secret', sessionToken: 'token' })
  await archiveAll(log, s3, { credentials })
  expect(calls).toBeGreaterThan(3)
  s3.fault = () => ({ status: 400, code: 'ExpiredToken' })
  const made = archiver(log, s3)
  made.on('error', () => {})
  expect(await codeOf(made.idle())).toBe('ERR_DURLOG_DESTINATION_REFUSED')
})

test('an archiver gives up after retryForMs without success', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  await append(log, 1)
  s3.fault = () => ({ status: 500 })
  const made = archiver(log, s3, { retryForMs: 1 })
  made.on('error', () => {})
  expect(await codeOf(made.idle())).toBe('ERR_DURLOG_DESTINATION_UNREACHABLE')
})

test('a store that ignores conditions is refused before anything is archived', async () => {
  const s3 = await untestedStore()
  s3.ignoresConditions = true
  const log = await scratchLog(SMALL)
  await append(log, 1)
  const made = archiver(log, s3)
  const stopped = new Promise<Error>((resolve) => made.once('error', resolve))
  expect(await codeOf(made.idle())).toBe('ERR_DURLOG_DESTINATION_REFUSED')
  expect((await stopped).message).toContain('of 32 creates at once, exactly one succeeds: 32 succeeded')
  expect(s3.keys()).toEqual([expect.stringMatching(/probe\.json$/)])
})

test('a store that fails during the probe is not refused', async () => {
  const s3 = await untestedStore()
  const log = await scratchLog(SMALL)
  await append(log, 1)
  let failures = 0
  // The whole first race.
  s3.fault = ({ method, key }) => {
    if (method !== 'PUT' || !key.includes('/probe/') || failures === 32) return undefined
    failures++
    return failures % 2 === 0 ? { drop: true } : { status: 503, code: 'SlowDown' }
  }
  await archiveAll(log, s3)
  expect(failures).toBe(32)
  expect(await plainRecordsIn(await restored(s3))).toEqual(await plainRecords(log))
})

test('a request that fails in the probe costs one repeated step, not the probe', async () => {
  const s3 = await untestedStore()
  const log = await scratchLog(SMALL)
  await append(log, 1)
  let requests = 0
  // Every 20th request: on average two of each race, and the probe has 8 races.
  s3.fault = ({ key, query }) => {
    if (!key.includes('/probe/') && query['prefix']?.includes('/probe/') !== true) return undefined
    requests++
    return requests % 20 === 0 ? { status: 503, code: 'SlowDown' } : undefined
  }
  const made = archiver(log, s3)
  let retries = 0
  made.on('retry', () => retries++)
  await made.idle()
  expect(retries).toBe(0)
  expect(requests).toBeGreaterThan(100)
  expect(requests).toBeLessThan(600)
})

test('a store is tested once for all archives of a prefix, and again if its URL has changed', async () => {
  const s3 = await untestedStore()
  let probes = 0
  s3.fault = ({ method, key }) => {
    if (method === 'PUT' && key.endsWith('probe.json')) probes++
    return undefined
  }
  for (let at = 0; at < 2; at++) {
    const log = await scratchLog(SMALL)
    await append(log, 1)
    await archiveAll(log, s3)
  }
  expect(probes).toBe(1)
  const log = await scratchLog(SMALL)
  await append(log, 1)
  await archiveAll(log, s3, { endpoint: s3.access.endpoint.replace('127.0.0.1', 'localhost') })
  expect(probes).toBe(2)
})

test('an archiver refuses a store that probeBucket has found unsafe, until a new test passes', async () => {
  const s3 = await store()
  s3.ignoresConditions = true
  expect((await probeBucket(s3.access)).every(({ ok }) => ok)).toBe(false)
  s3.ignoresConditions = false
  const log = await scratchLog(SMALL)
  await append(log, 1)
  await expect(archiveAll(log, s3)).rejects.toMatchObject({
    code: 'ERR_DURLOG_DESTINATION_REFUSED',
    message: expect.stringContaining('"durlog doctor" with the URL of the prefix tests it again'),
  })
  expect((await probeBucket(s3.access)).every(({ ok }) => ok)).toBe(true)
  await archiveAll(log, s3)
})

test('two archivers of one log store each record once', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  const reader = await openUntilDone(log.dir, { readOnly: true })
  const both = [archiver(log, s3, { flushMs: 1 }), archiver(reader, s3, { flushMs: 1, cursor: 'second' })]
  for (let round = 0; round < 20; round++) {
    await append(log, 37)
    await log.sync()
    if (round % 3 === 0) await Promise.all(both.map((one) => one.idle()))
  }
  await Promise.all(both.map((one) => one.idle()))
  nothingOverwritten(s3)
  expect(await plainRecordsIn(await restored(s3))).toEqual(await plainRecords(log))
})

test('an archiver that was stopped before a create does no harm after the name was deleted', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  await append(log, 10)
  await archiveAll(log, s3)
  await append(log, 10)
  await log.sync()
  const reader = await openUntilDone(log.dir, { readOnly: true })
  let release: () => void = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  let reached: () => void = () => {}
  const waiting = new Promise<void>((resolve) => {
    reached = resolve
  })
  let isHeld = false
  s3.fault = async ({ method, key }) => {
    if (isHeld || method !== 'PUT' || !SEGMENTS.test(key)) return undefined
    isHeld = true
    reached()
    await held
    return undefined
  }
  const stopped = archiver(reader, s3, { flushMs: 1, cursor: 'stopped' })
  await waiting
  // The stopped one would create tail/10. The other one creates it, merges it and deletes it.
  await archiveAll(log, s3)
  expect(s3.keys('/tail/').map((key) => Number(key.slice(-20)))).toEqual([0, 10])
  await append(log, 300)
  await archiveAll(log, s3)
  expect(s3.keys('/tail/').every((key) => Number(key.slice(-20)) > 20)).toBe(true)
  release()
  await reader.refresh()
  await stopped.idle()
  expect(s3.keys('/tail/').every((key) => Number(key.slice(-20)) > 20)).toBe(true)
  nothingOverwritten(s3)
  expect(await plainRecordsIn(await restored(s3))).toEqual(await plainRecords(log))
})

test('lists of many pages are read completely', async () => {
  const s3 = await store()
  s3.pageSize = 2
  const log = await scratchLog(SMALL)
  await append(log, 1200)
  await archiveAll(log, s3)
  expect(s3.keys('/log/').length).toBeGreaterThan(4)
  await archiveAll(log, s3)
  expect(await plainRecordsIn(await restored(s3))).toEqual(await plainRecords(log))
})

test('lists in another order that name objects twice are understood', async () => {
  const s3 = await store()
  s3.pageSize = 3
  s3.isUnordered = true
  const log = await scratchLog(SMALL)
  for (let part = 0; part < 3; part++) {
    await append(log, 300)
    await archiveAll(log, s3)
  }
  expect((await listArchive(s3.access)).points).toHaveLength(s3.keys('/log/').length + s3.keys('/tail/').length)
  expect(await plainRecordsIn(await restored(s3))).toEqual(await plainRecords(log))
})

test('an object that was changed or removed is noticed by a restore', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  await append(log, 800)
  await archiveAll(log, s3)
  const key = s3.keys('/log/')[1] as string
  const intact = s3.objects.get(key) as NonNullable<ReturnType<typeof s3.objects.get>>
  const body = Buffer.from(intact.body)
  body.writeUInt8(body.readUInt8(5000) ^ 1, 5000)
  s3.objects.set(key, { ...intact, body })
  expect(await codeOf(restored(s3))).toBe('ERR_DURLOG_CORRUPT')
  const metadata = { ...intact.metadata, 'x-amz-meta-durlog-previous': '0'.repeat(64) }
  s3.objects.set(key, { ...intact, metadata })
  expect(await codeOf(restored(s3))).toBe('ERR_DURLOG_CORRUPT')
  s3.objects.delete(key)
  expect(await codeOf(restored(s3))).toBe('ERR_DURLOG_DESTINATION_GAP')
})

test.each(['first', 'last'])(
  'the %s object without a byte is noticed by a restore, and no shorter log is restored',
  async (which) => {
    const s3 = await store()
    const log = await scratchLog(SMALL)
    await append(log, 800)
    await archiveAll(log, s3)
    const key = s3
      .keys()
      .filter((name) => SEGMENTS.test(name))
      .at(which === 'first' ? 0 : -1) as string
    const intact = s3.objects.get(key) as NonNullable<ReturnType<typeof s3.objects.get>>
    s3.objects.set(key, { ...intact, body: Buffer.alloc(0) })
    expect(await codeOf(restored(s3))).toBe('ERR_DURLOG_CORRUPT')
  },
)

test('a list that ends without its continuation is not taken for the whole archive', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  for (let round = 0; round < 3; round++) {
    await append(log, 10)
    await archiveAll(log, s3)
  }
  s3.pageSize = 2
  s3.withoutTokens = true
  expect(await codeOf(restored(s3, { retryForMs: 1 }))).toBe('ERR_DURLOG_DESTINATION_UNREACHABLE')
})
