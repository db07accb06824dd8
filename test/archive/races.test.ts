/**
 * Changes of an archive, of its log and of the connection during the requests of an archiver, a restore or a reader.
 */
import { expect, onTestFinished, test } from 'vitest'
import { listArchive, readArchive } from '../../src/archive/index.js'
import { HEADER_BYTES } from '../../src/archive/piece.js'
import { Segments } from '../../src/archive/segments.js'
import type { Log } from '../../src/index.js'
import { native } from '../../src/native/native.js'
import { archiveAll, archiver, plainRecords, plainRecordsIn, restored, store } from '../fixtures/archive.js'
import { adjustableClock } from '../fixtures/fake-clock.js'
import type { FakeRequest, FakeS3 } from '../fixtures/fake-s3.mjs'
import { codeOf, openUntilDone, scratchLog } from '../fixtures/scratch.js'

const SMALL = { segmentBytes: 65_536 } as const

async function append(log: Log, count: number): Promise<void> {
  for (let at = 0; at < count; at++)
    await log.append(`record ${log.nextSeq} ${'x'.repeat(300)}`, { durability: 'memory' })
}

/** Runs `work` before the first request for which `when` returns true is carried out. */
function before(s3: FakeS3, when: (request: FakeRequest) => boolean, work: () => Promise<void>): void {
  s3.fault = async (request) => {
    if (!when(request)) return undefined
    s3.fault = () => undefined
    await work()
    return undefined
  }
}

/**
 * Returns a log whose archive ends with a part of a segment, and a function that replaces the part with the whole
 * segment.
 */
async function logWithPart(s3: FakeS3): Promise<{ log: Log; merge: () => Promise<void> }> {
  const log = await scratchLog(SMALL)
  await append(log, 300)
  await archiveAll(log, s3)
  expect(s3.keys('/tail/')).toHaveLength(1)
  const merge = async (): Promise<void> => {
    await log.rotate()
    await archiveAll(log, s3)
    expect(s3.keys('/tail/')).toEqual([])
  }
  return { log, merge }
}

const isOfTail = ({ key }: FakeRequest): boolean => key.includes('/tail/')

test('a restore is complete if the last part is merged while the objects are listed', async () => {
  const s3 = await store()
  const { log, merge } = await logWithPart(s3)
  let lists = 0
  before(s3, ({ query }) => /\/(log|tail)\/$/.test(query['prefix'] ?? '') && ++lists === 2, merge)
  expect(await plainRecordsIn(await restored(s3))).toEqual(await plainRecords(log))
  expect(lists).toBe(2)
})

test('an archiver continues if another one merges the last part before the first one has read it', async () => {
  const s3 = await store()
  const { log, merge } = await logWithPart(s3)
  await archiveAll(log, s3, { cursor: 'second' })
  before(s3, (request) => request.method === 'HEAD' && isOfTail(request), merge)
  const reader = await openUntilDone(log.dir, { readOnly: true })
  const made = archiver(reader, s3, { cursor: 'second' })
  await made.idle()
  await append(log, 10)
  await log.sync()
  await reader.refresh()
  await made.idle()
  expect(await plainRecordsIn(await restored(s3))).toEqual(await plainRecords(log))
})

test('records that another archiver has archived and that were then trimmed are no gap', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  await append(log, 200)
  const made = archiver(log, s3)
  await made.idle()
  const archiveAndTrim = async (): Promise<void> => {
    await append(log, 600)
    await archiveAll(log, s3, { cursor: 'second' })
    await log.trimBefore(log.nextSeq)
  }
  await archiveAndTrim()
  await made.idle()
  await made.close()
  const again = archiver(log, s3)
  before(s3, ({ method }) => method === 'HEAD', archiveAndTrim)
  await again.idle()
  expect(log.firstSeq).toBeGreaterThan(800)
  expect(await plainRecordsIn(await restored(s3))).toHaveLength(1400)
})

test.each(['HEAD', 'GET'])(
  'a reader of the archive gets every record if the last part is merged before its %s',
  async (method) => {
    const s3 = await store()
    const { log, merge } = await logWithPart(s3)
    const [first] = s3.keys('/tail/').map((key) => Number(key.slice(-20)))
    before(s3, (request) => request.method === method && isOfTail(request), merge)
    const found: number[] = []
    for await (const { seq } of readArchive({ ...s3.access, from: first as number })) found.push(seq)
    expect(found).toEqual((await plainRecords(log)).slice(first).map(([seq]) => seq))
  },
)

test('a truncation is noticed while the archiver looks for its position', async () => {
  const s3 = await store()
  const { log } = await logWithPart(s3)
  before(
    s3,
    ({ method, key }) => method === 'HEAD' && key.includes('/log/'),
    async () => {
      await log.truncateAfter(99)
      await append(log, 300)
    },
  )
  await archiveAll(log, s3)
  await log.sync()
  await archiveAll(log, s3)
  expect(await plainRecordsIn(await restored(s3))).toEqual(await plainRecords(log))
})

test('an archiver takes a truncation that is not complete for no damage', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  await append(log, 300)
  await log.sync()
  const { generation } = log
  let reads = 0
  before(
    s3,
    ({ method, key }) => method === 'PUT' && key.includes('/log/'),
    async () => {
      await log.truncateAfter(99)
      // As if the truncation had changed the files, but had not ended.
      Object.defineProperty(log, 'generation', { get: () => (reads++ < 5 ? generation : generation + 1) })
    },
  )
  const made = archiver(log, s3)
  const afterIdle = async (): Promise<number> => {
    await made.idle()
    return reads
  }
  await expect.poll(afterIdle).toBeGreaterThan(5)
  await made.idle()
  expect(await plainRecordsIn(await restored(s3))).toEqual(await plainRecords(log))
})

test('no record is archived from a segment that a truncation changes while it is read', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  await append(log, 50)
  await archiveAll(log, s3)
  await append(log, 100)
  const before = await plainRecords(log)
  const { generation } = log
  const { extent } = native
  onTestFinished(() => void Object.assign(native, { extent }))
  native.extent = async (...call) => {
    const found = await extent(...call)
    if (found.beginOffset === HEADER_BYTES) return found
    native.extent = extent
    await log.truncateAfter(99)
    // As if the truncation had changed the files, but had not ended.
    let reads = 0
    Object.defineProperty(log, 'generation', { get: () => (reads++ < 2 ? generation : generation + 1) })
    return found
  }
  await archiveAll(log, s3)
  await append(log, 1)
  await archiveAll(log, s3)
  expect(await plainRecordsIn(await restored(s3))).toEqual(await plainRecords(log))
  expect(await plainRecordsIn(await restored(s3, { generation }))).toEqual(before.slice(0, 50))
})

test('keepAfterAck keeps records that replace archived records while these are sent', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  const pass = adjustableClock('running')
  await append(log, 300)
  await log.sync()
  before(
    s3,
    ({ method, key }) => method === 'PUT' && key.includes('/log/'),
    async () => {
      // The time after which the archiver trims again.
      pass(2000)
      await log.truncateAfter(20)
      await append(log, 600)
      await log.sync()
    },
  )
  const made = archiver(log, s3, { keepAfterAck: { maxBytes: 0 } })
  await made.idle()
  await made.close()
  expect(await plainRecordsIn(await restored(s3))).toHaveLength(621)
})

test('a restore repeats its last request', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  await append(log, 20)
  await log.sync()
  await log.ensureCursor('mailer', { from: 7 })
  await archiveAll(log, s3)
  // Each attempt reads the positions first, to find the end of the archive, and last, to restore them.
  let reads = 0
  s3.fault = ({ method, key }) =>
    method === 'GET' && key.endsWith('/cursors') && ++reads === 2 ? { status: 503, code: 'SlowDown' } : undefined
  const copy = await openUntilDone(await restored(s3))
  expect(reads).toBe(4)
  expect(await copy.cursors()).toMatchObject([{ name: 'mailer', position: 7 }])
})

test('an incomplete list of objects is not taken for the whole list', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  await append(log, 1000)
  await archiveAll(log, s3)
  let lists = 0
  s3.fault = ({ query }) => (query['prefix']?.endsWith('/log/') && lists++ === 0 ? { endAfter: 400 } : undefined)
  expect(await plainRecordsIn(await restored(s3))).toEqual(await plainRecords(log))
  expect(lists).toBe(2)
  s3.fault = ({ query }) => (query['prefix'] !== undefined ? { endAfter: 400 } : undefined)
  expect(await codeOf(listArchive(s3.access))).toBe('ERR_DURLOG_DESTINATION_UNREACHABLE')
})

test('a piece that a truncation has removed meanwhile is not found, which does not stop an archiver', async () => {
  const log = await scratchLog()
  await append(log, 10)
  await log.truncateAfter(4)
  const segments = new Segments(log.dir)
  onTestFinished(() => segments.close())
  const range = { seq: 8, endSeq: 10, maxBytes: 2 ** 20, compresses: false }
  expect(await segments.read({ firstSeq: 0, endSeq: undefined }, range)).toBe(undefined)
})

test('an archiver continues in a history of which another one has archived no record yet', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  await append(log, 10)
  for (const cursor of ['first', 'second']) await archiveAll(log, s3, { cursor })
  await log.truncateAfter(4)
  await append(log, 1)
  s3.fault = ({ method, key }) => (method === 'PUT' && key.includes('/tail-') ? { status: 500 } : undefined)
  const failing = archiveAll(log, s3, { cursor: 'first', retryForMs: 1 })
  expect(await codeOf(failing)).toBe('ERR_DURLOG_DESTINATION_UNREACHABLE')
  expect(s3.keys('/history/')).toHaveLength(1)
  s3.fault = () => undefined
  await archiveAll(log, s3, { cursor: 'second' })
  expect(await plainRecordsIn(await restored(s3))).toEqual(await plainRecords(log))
})

test('records that were trimmed before the first one was archived are reported as lost', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  await append(log, 700)
  s3.fault = () => ({ status: 500 })
  expect(await codeOf(archiveAll(log, s3, { retryForMs: 1 }))).toBe('ERR_DURLOG_DESTINATION_UNREACHABLE')
  s3.fault = () => undefined
  await log.sync()
  const first = await log.trimBefore(400)
  await expect(archiveAll(log, s3)).rejects.toMatchObject({
    code: 'ERR_DURLOG_DESTINATION_GAP',
    lostFirst: 0,
    lostLast: first - 1,
    message: expect.stringContaining('--remove archive'),
  })
  await log.removeCursor('archive')
  await archiveAll(log, s3)
  expect(await plainRecordsIn(await restored(s3))).toEqual(await plainRecords(log))
})

test('the error for records that were trimmed before the first one of a new history was archived names a possible way', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  await append(log, 700)
  await log.truncateAfter(600)
  s3.fault = ({ method, key }) => (method === 'PUT' && /\/(log|tail)-/.test(key) ? { status: 500 } : undefined)
  expect(await codeOf(archiveAll(log, s3, { retryForMs: 1 }))).toBe('ERR_DURLOG_DESTINATION_UNREACHABLE')
  expect(s3.keys('/history/')).toHaveLength(1)
  s3.fault = () => undefined
  await log.sync()
  await log.trimBefore(400)
  await log.removeCursor('archive')
  await expect(archiveAll(log, s3)).rejects.toMatchObject({
    code: 'ERR_DURLOG_DESTINATION_GAP',
    message: expect.stringContaining('or begin a new destination'),
  })
  const bucket = 's3://bucket/other'
  await archiveAll(log, s3, { bucket })
  expect(await plainRecordsIn(await restored(s3, { bucket }))).toEqual(await plainRecords(log))
})
