/**
 * An archiver is killed at each of its requests, before and after the store acts: its files and the objects of that
 * moment are copied, and another archiver continues with the copies. The killed archiver compresses segments, and the
 * other one does not. The late uploads are requests of the killed archiver that the store receives after its successor
 * has continued.
 */
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Log, open, verify } from '../../src/index.js'
import { archiveAll, archiver, type Plain, plainRecordsIn, restored, store } from '../fixtures/archive.js'
import type { FakeRequest, FakeS3 } from '../fixtures/fake-s3.mjs'
import { openUntilDone, scratchDir } from '../fixtures/scratch.js'

/** The kills of a test. `npm run trial -- archive-requests` makes every one. */
const KILLS = Number(process.env['DURLOG_ARCHIVE_KILLS'] ?? 6)
const SMALL = { segmentBytes: 65_536 } as const
/** Objects that are never replaced. */
const CREATED_ONCE = /\/(log|tail|history)[^/]*\/\d{20}$/

interface Moment {
  request: FakeRequest
  /** A copy of the log's folder. */
  dir: string
  objects: FakeS3['objects']
  /** The objects after the request. */
  objectsAfter: FakeS3['objects']
  /** Every record that was not truncated, also those that were trimmed. */
  records: Plain[]
}

/** Appends and syncs. 12 records fill a segment. `records` is changed as the log. */
async function append(log: Log, records: Plain[], count: number): Promise<void> {
  for (let at = 0; at < count; at++) {
    const text = `record ${log.nextSeq} of generation ${log.generation} ${'x'.repeat(5000)}`
    const timestamp = 1_700_000_000_000 + log.nextSeq
    const seq = await log.append(text, { durability: 'memory', timestamp })
    records.splice(seq, Number.POSITIVE_INFINITY, [seq, timestamp, text])
  }
  await log.sync()
}

/** Archives parts and segments, trims, truncates, and begins two histories. Returns the moment of each request. */
async function archivedMoments(): Promise<Moment[]> {
  const s3 = await store()
  const root = scratchDir()
  const log = await openUntilDone(join(root, 'log'), SMALL)
  const mailer = await log.cursor('mailer')
  const records: Plain[] = []
  const moments: Moment[] = []
  // The archiver stores the positions of cursors after `idle` has settled, while the next step changes the log.
  let isUnchanged = false
  s3.fault = (request) => {
    if (!isUnchanged || request.key.includes('/probe/') || request.query['prefix']?.includes('/probe/'))
      return undefined
    const objects = new Map(s3.objects)
    for (const last of moments.slice(-1)) last.objectsAfter = objects
    const dir = join(root, `at-${moments.length}`)
    cpSync(log.dir, dir, { recursive: true })
    moments.push({ request, dir, objects, objectsAfter: objects, records: [...records] })
    return undefined
  }
  const made = archiver(log, s3, { compress: 'zstd' })
  const step = async (count: number, truncated = 0): Promise<void> => {
    if (truncated > 0) await log.truncateAfter(log.nextSeq - 1 - truncated)
    await append(log, records, count)
    isUnchanged = true
    await made.idle()
    isUnchanged = false
  }
  await step(4)
  await step(3)
  await step(10)
  await mailer.commit(3)
  await step(34)
  await mailer.commit(40)
  await step(20)
  await log.trimBefore(30)
  expect(log.firstSeq).toBeGreaterThan(0)
  await step(3, 6)
  await step(16)
  await append(log, records, 4)
  await step(17, 2)
  await made.close()
  await mailer.close()
  for (const last of moments.slice(-1)) last.objectsAfter = new Map(s3.objects)
  return moments
}

type Work = (log: Log, records: Plain[]) => Promise<void>

async function truncate(log: Log, count: number): Promise<void> {
  if (log.nextSeq - log.firstSeq > count) await log.truncateAfter(log.nextSeq - 1 - count)
}

/** The changes of the log between the kill and the next archiver. */
const CHANGES: readonly Work[] = [
  async () => {},
  (log, records) => append(log, records, 3),
  (log, records) => append(log, records, 20),
  async (log, records) => {
    await truncate(log, 1)
    await append(log, records, 3)
  },
  async (log, records) => {
    await truncate(log, 4)
    await append(log, records, 15)
  },
  async (log, records) => {
    await truncate(log, 12)
    await append(log, records, 3)
  },
]

/** The upload of the request arrives at the store, which checks its condition. */
function arrive(
  s3: FakeS3,
  { request: { key, headers }, objectsAfter }: Pick<Moment, 'request' | 'objectsAfter'>,
): void {
  const found = s3.objects.get(key)
  if (headers['if-none-match'] === '*' && found !== undefined) return
  if (headers['if-match'] !== undefined && headers['if-match'] !== found?.etag) return
  s3.objects.set(key, objectsAfter.get(key) as NonNullable<typeof found>)
}

/** Without most of the text, so that a failure can be printed. */
function shortened(records: readonly Plain[]): string[] {
  return records.map(([seq, time, text]) => `${seq} ${time} ${text.slice(0, 30)} ${text.length}`)
}

async function expectArchived(s3: FakeS3, log: Log, records: readonly Plain[]): Promise<void> {
  const dir = await restored(s3)
  expect(shortened(await plainRecordsIn(dir))).toEqual(shortened(records))
  expect(await verify(dir)).toMatchObject({ state: 'clean', uuid: log.uuid })
  expect(s3.overwritten.filter((key) => CREATED_ONCE.test(key))).toEqual([])
}

/** Continues with `objects` after `change`. `after` is called when everything is archived. */
async function continueFrom(
  moment: Moment,
  change: Work,
  { objects, after = () => {} }: { objects: FakeS3['objects']; after?: (s3: FakeS3) => void },
): Promise<void> {
  const s3 = await store()
  s3.objects = new Map([...objects, ...s3.objects])
  const dir = join(scratchDir(), 'log')
  cpSync(moment.dir, dir, { recursive: true })
  const records = [...moment.records]
  const log = await open(dir, SMALL)
  await change(log, records)
  await archiveAll(log, s3)
  after(s3)
  await expectArchived(s3, log, records)
  await append(log, records, 13)
  await archiveAll(log, s3)
  await archiveAll(log, s3)
  await expectArchived(s3, log, records)
  const newest = s3.keys('/history/').at(-1)?.slice(-20)
  const folder = (name: string): string[] => s3.keys(newest === undefined ? `/${name}/` : `/${name}-${newest}/`)
  const segment = Number(folder('log').at(-1)?.slice(-20) ?? -1)
  expect(folder('tail').filter((key) => Number(key.slice(-20)) <= segment)).toEqual([])
  await log.close()
}

/** At most KILLS of `all`, at equal distances. */
function sampled<T>(all: readonly T[]): T[] {
  const step = Math.max(1, all.length / KILLS)
  return all.filter((_, at) => at % step < 1)
}

test('an archive is complete after an archiver was killed at any request, and a late upload changes no archived record', async () => {
  const moments = await archivedMoments()
  const kills = moments.flatMap((moment, at) => {
    const isRead = ['GET', 'HEAD'].includes(moment.request.method)
    const before = { moment, objects: moment.objects }
    return isRead || moments[at + 1] === undefined ? [before] : [before, { moment, objects: moment.objectsAfter }]
  })
  expect(kills.length).toBeGreaterThan(90)
  const changed = kills.map((kill, at) => ({ ...kill, change: CHANGES[at % CHANGES.length] as Work }))
  for (const { moment, objects, change } of sampled(changed)) await continueFrom(moment, change, { objects })

  const uploads = moments.filter(({ request }) => request.method === 'PUT')
  expect(uploads.length).toBeGreaterThan(20)
  const late = uploads.flatMap((moment) => CHANGES.slice(4).map((change) => ({ moment, change })))
  for (const { moment, change } of sampled(late))
    await continueFrom(moment, change, { objects: moment.objects, after: (s3) => arrive(s3, moment) })
})

test('a new history begins with the same record after a kill and a late upload to the previous history', async () => {
  const s3 = await store()
  const log = await openUntilDone(join(scratchDir(), 'log'), SMALL)
  const records: Plain[] = []
  const made = archiver(log, s3)
  await append(log, records, 4)
  await made.idle()
  await append(log, records, 4)
  await made.idle()
  await made.close()
  const parts = new Map(s3.objects)
  // The upload of the whole segment is late.
  await append(log, records, 5)
  await archiveAll(log, s3)
  const [key] = s3.keys('/log/') as [string]
  const late = s3.objects.get(key) as NonNullable<ReturnType<typeof s3.objects.get>>
  s3.objects = parts
  await log.truncateAfter(6)
  await append(log, records, 2)
  // An archiver is killed after the first object of the new history.
  let puts = 0
  s3.fault = ({ method, key }) => {
    if (method !== 'PUT' || !CREATED_ONCE.test(key)) return undefined
    return puts++ === 0 ? undefined : { status: 403, code: 'AccessDenied' }
  }
  await archiveAll(log, s3).catch(() => {})
  s3.fault = () => undefined
  s3.objects.set(key, late)
  await append(log, records, 1)
  await archiveAll(log, s3)
  await expectArchived(s3, log, records)
})

test('a late upload of a whole segment that was trimmed meanwhile does no harm', async () => {
  const s3 = await store()
  const log = await openUntilDone(join(scratchDir(), 'log'), SMALL)
  const records: Plain[] = []
  for (let part = 0; part < 2; part++) {
    await append(log, records, 2)
    await archiveAll(log, s3)
  }
  await log.rotate()
  const parts = new Map(s3.objects)
  await archiveAll(log, s3)
  const [key] = s3.keys('/log/') as [string]
  const late = s3.objects.get(key) as NonNullable<ReturnType<typeof s3.objects.get>>
  s3.objects = parts
  await append(log, records, 1)
  await log.trimBefore(4)
  expect(log.firstSeq).toBe(4)
  for (const count of [2, 3, 12]) {
    await append(log, records, count)
    await archiveAll(log, s3)
    s3.objects.set(key, late)
    await expectArchived(s3, log, records)
  }
})

test('positions of cursors are not restored after their records were truncated, or after a late upload', async () => {
  const s3 = await store()
  const log = await openUntilDone(join(scratchDir(), 'log'), SMALL)
  const records: Plain[] = []
  const mailer = await log.cursor('mailer')
  const restoredCursors = async (): Promise<[string, number][]> => {
    const copy = await openUntilDone(await restored(s3))
    return (await copy.cursors()).map(({ name, position }) => [name, position])
  }
  await append(log, records, 9)
  await mailer.commit(4)
  await archiveAll(log, s3)
  const objects = s3.objects
  s3.objects = new Map(objects)
  await mailer.commit(7)
  const requests: FakeRequest[] = []
  s3.fault = (request) => void (request.method === 'PUT' && requests.push(request))
  await archiveAll(log, s3)
  s3.fault = () => undefined
  const [request] = requests as [FakeRequest]
  expect(request.key).toMatch(/cursors$/)
  const late = { request, objectsAfter: s3.objects }
  s3.objects = objects
  await mailer.seek(2)
  await archiveAll(log, s3)
  arrive(s3, late)
  expect(await restoredCursors()).toEqual([['mailer', 2]])
  await mailer.commit(7)
  await archiveAll(log, s3)
  await log.truncateAfter(3)
  await append(log, records, 8)
  await archiveAll(log, s3)
  arrive(s3, late)
  expect(await restoredCursors()).toEqual([])
})
