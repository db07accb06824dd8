import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { listArchive } from '../../src/archive/index.js'
import type { Log } from '../../src/index.js'
import { open, verify } from '../../src/index.js'
import { archiveAll, archiver, plainRecords, plainRecordsIn, restored, stopCode, store } from '../fixtures/archive.js'
import type { FakeS3 } from '../fixtures/fake-s3.mjs'
import { codeOf, openUntilDone, scratchDir, scratchLog } from '../fixtures/scratch.js'

const SMALL = { segmentBytes: 65_536 } as const

async function append(log: Log, count: number, bytes = 300): Promise<void> {
  for (let at = 0; at < count; at++)
    await log.append(`record ${log.nextSeq} ${'x'.repeat(bytes)}`, { durability: 'memory' })
}

const bodyOf = (s3: FakeS3, key: string): Buffer => s3.objects.get(key)?.body ?? Buffer.alloc(0)
const firstSeqs = (keys: readonly string[]): number[] => keys.map((key) => Number(key.split('/').at(-1)))

test('each archived object is a segment that verify accepts', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  await append(log, 500)
  await archiveAll(log, s3)
  expect(s3.keys('/log/').length).toBeGreaterThan(1)
  expect(s3.keys('/tail/')).toHaveLength(1)
  const dir = scratchDir()
  for (const key of [...s3.keys('/log/'), ...s3.keys('/tail/')]) {
    const name = `${key.split('/').at(-1)}.seg`
    mkdirSync(join(dir, name))
    writeFileSync(join(dir, name, name), bodyOf(s3, key))
    expect(await verify(join(dir, name))).toMatchObject({ state: 'clean', uuid: log.uuid })
  }
})

test('a restored log has the same seqs, times, bytes, and UUID', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  await append(log, 500)
  await log.appendBatch(['a', 'b', 'c'])
  await archiveAll(log, s3)
  const dir = await restored(s3)
  expect(await plainRecordsIn(dir)).toEqual(await plainRecords(log))
  expect(await verify(dir)).toMatchObject({ state: 'clean', uuid: log.uuid, nextSeq: 503 })
})

test('parts are archived while a segment is written, and removed when the whole segment is archived', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  const made = archiver(log, s3)
  for (let part = 0; part < 3; part++) {
    await append(log, 10)
    await made.idle()
  }
  expect(firstSeqs(s3.keys('/tail/'))).toEqual([0, 10, 20])
  const before = await plainRecordsIn(await restored(s3))
  expect(before).toEqual(await plainRecords(log))
  await append(log, 250)
  await made.idle()
  expect(firstSeqs(s3.keys('/log/'))).toContain(0)
  expect(firstSeqs(s3.keys('/tail/')).every((seq) => seq > 20)).toBe(true)
  expect(JSON.parse(bodyOf(s3, s3.keys('/boundary')[0] as string).toString()).seq).toBe(20)
  expect(await plainRecordsIn(await restored(s3))).toEqual(await plainRecords(log))
  expect(s3.overwritten.filter((key) => /\/(log|tail)\//.test(key))).toEqual([])
})

test('an archiver continues after the last archived record', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  await append(log, 300)
  await archiveAll(log, s3)
  const stored = s3.requests.filter(({ method, key }) => method === 'PUT' && key.includes('/log/')).length
  await append(log, 300)
  await archiveAll(log, s3)
  const keys = s3.requests.filter(({ method, key }) => method === 'PUT' && key.includes('/log/')).map(({ key }) => key)
  expect(new Set(keys).size).toBe(keys.length)
  expect(keys.length).toBeGreaterThan(stored)
  expect(await plainRecordsIn(await restored(s3))).toEqual(await plainRecords(log))
})

test('a read-only log is archived while its writer appends', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  await append(log, 300)
  await log.sync()
  const reader = await openUntilDone(log.dir, { readOnly: true })
  const made = archiver(reader, s3)
  await made.idle()
  await append(log, 300)
  await log.sync()
  await made.idle()
  expect(made.stats()).toMatchObject({ archivedSeq: 599, records: 600, lag: { records: 0 } })
  expect(await plainRecordsIn(await restored(s3))).toEqual(await plainRecords(log))
})

test('only synced records are archived', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  await append(log, 10)
  const made = archiver(log, s3, { flushMs: 1 })
  await log.append('synced')
  await made.idle()
  log.write('in memory only')
  const passes = s3.requests.length
  for (let at = 0; at < 20 && log.syncedSeq === 10; at++) await new Promise((resolve) => setImmediate(resolve))
  expect(made.stats().archivedSeq).toBeLessThanOrEqual(log.syncedSeq)
  expect(passes).toBeGreaterThan(0)
})

test('a restore ends at a seq, also inside a batch, and at a moment', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  for (let at = 0; at < 400; at++)
    await log.append('x'.repeat(300), { durability: 'memory', timestamp: 1_000_000 + 10 * at })
  const { first } = await log.appendBatch(['a', 'b', 'c'], { timestamp: 1_010_000 })
  await archiveAll(log, s3)
  const all = await plainRecords(log)
  for (const to of [1, 17, 400, first + 3, 10_000]) {
    expect(await plainRecordsIn(await restored(s3, { to }))).toEqual(all.slice(0, to))
  }
  // A batch is restored as a whole or not at all.
  for (const to of [first + 1, first + 2]) {
    expect(await plainRecordsIn(await restored(s3, { to }))).toEqual(all.slice(0, first))
  }
  for (const until of [1_000_001, 1_000_005, 1_002_340, 1_003_999, 2_000_000]) {
    const dir = await restored(s3, { until })
    expect(await plainRecordsIn(dir)).toEqual(all.filter(([, time]) => time < until))
  }
  expect(await codeOf(restored(s3, { until: 1_000_000 }))).toBe('ERR_DURLOG_NOT_FOUND')
})

test('a restored log continues the archive that it came from', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  await append(log, 300)
  await archiveAll(log, s3)
  await log.close()
  const dir = await restored(s3)
  const copy = await openUntilDone(dir, SMALL)
  await append(copy, 300)
  await archiveAll(copy, s3)
  const { histories } = await listArchive(s3.access)
  expect(histories).toMatchObject([
    { generation: 0, nextSeq: 300 },
    { generation: 1, from: 300, nextSeq: 600 },
  ])
  expect(await plainRecordsIn(await restored(s3))).toEqual(await plainRecords(copy))
})

test('a truncation of archived records begins a new history, and both can be restored', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  await append(log, 400)
  await archiveAll(log, s3)
  const old = await plainRecords(log)
  await log.truncateAfter(249)
  for (let at = 0; at < 20; at++) await log.append(`other ${at}`)
  const forks: number[][] = []
  const made = archiver(log, s3)
  made.on('forked', (...fork) => forks.push(fork))
  await made.idle()
  expect(forks).toHaveLength(1)
  expect(await plainRecordsIn(await restored(s3))).toEqual(await plainRecords(log))
  expect(await plainRecordsIn(await restored(s3, { generation: 0 }))).toEqual(old)
  await append(log, 300)
  await made.idle()
  expect(await plainRecordsIn(await restored(s3))).toEqual(await plainRecords(log))
  await log.truncateAfter(99)
  await append(log, 5)
  await made.idle()
  expect(forks).toHaveLength(2)
  expect(await plainRecordsIn(await restored(s3))).toEqual(await plainRecords(log))
  expect(await plainRecordsIn(await restored(s3, { generation: 0 }))).toEqual(old)
})

test('a truncation before the previous one begins a history without the records that it removed', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  const made = archiver(log, s3)
  for (let part = 0; part < 6; part++) {
    await append(log, 10)
    await made.idle()
  }
  const versions = [await plainRecords(log)]
  for (const last of [44, 14]) {
    await log.truncateAfter(last)
    await append(log, 3)
    await made.idle()
    versions.push(await plainRecords(log))
  }
  expect(await plainRecordsIn(await restored(s3))).toEqual(versions[2])
  const { histories } = await listArchive(s3.access)
  expect(histories.map(({ nextSeq, from }) => [nextSeq, from])).toEqual([
    [60, 0],
    [48, 40],
    [18, 10],
  ])
  for (const [at, { generation }] of histories.entries())
    expect(await plainRecordsIn(await restored(s3, { generation }))).toEqual(versions[at])
})

test('after a truncation of records that were not archived, the new history shares all archived records', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  await append(log, 50)
  const made = archiver(log, s3)
  await made.idle()
  await log.append('not archived')
  await log.truncateAfter(49)
  await log.append('instead')
  await made.idle()
  const { histories } = await listArchive(s3.access)
  expect(histories).toMatchObject([{ generation: 0 }, { generation: 1, from: 50, nextSeq: 51 }])
  expect(await plainRecordsIn(await restored(s3))).toEqual(await plainRecords(log))
})

/** The same log twice: a copy of the folder, to which other records are appended. */
async function twoCopies(s3: FakeS3): Promise<[Log, Log]> {
  const log = await scratchLog(SMALL)
  await append(log, 50)
  await archiveAll(log, s3)
  const copy = await openUntilDone(await restored(s3), SMALL)
  return [log, copy]
}

test('two logs with the same UUID and other records do not mix', async () => {
  const s3 = await store()
  const [log, copy] = await twoCopies(s3)
  await copy.append('of the copy')
  await archiveAll(copy, s3)
  await log.append('of the original')
  const stopped = archiver(log, s3)
  const code = stopCode(stopped)
  expect(await codeOf(stopped.idle())).toBe('ERR_DURLOG_DESTINATION_OTHER')
  expect(await code).toBe('ERR_DURLOG_DESTINATION_OTHER')
  expect(await plainRecordsIn(await restored(s3))).toEqual(await plainRecords(copy))
})

test('an older copy of the log is refused', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  await append(log, 50)
  await archiveAll(log, s3)
  const { uuid } = log
  expect(uuid).toBeTypeOf('string')
  const dir = join(scratchDir(), 'older')
  mkdirSync(dir)
  const key = s3.keys('/tail/')[0] as string
  // The beginning of the archived part: three records of 344 bytes.
  writeFileSync(join(dir, `${key.split('/').at(-1)}.seg`), bodyOf(s3, key).subarray(0, 4096 + 3 * 336))
  const older = await openUntilDone(dir, SMALL)
  const stopped = archiver(older, s3)
  stopped.on('error', () => {})
  expect(await codeOf(stopped.idle())).toBe('ERR_DURLOG_DESTINATION_AHEAD')
})

test('records that were trimmed before they were archived are a gap', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  await append(log, 10)
  await archiveAll(log, s3)
  await append(log, 600)
  await log.sync()
  await log.trimBefore(500)
  const stopped = archiver(log, s3)
  stopped.on('error', () => {})
  expect(await codeOf(stopped.idle())).toBe('ERR_DURLOG_DESTINATION_GAP')
})

test('an archive that has disappeared is reported, with the cursor to remove', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  await append(log, 10)
  await archiveAll(log, s3, { cursor: 'copy' })
  s3.objects.clear()
  await expect(archiveAll(log, s3, { cursor: 'copy' })).rejects.toMatchObject({
    code: 'ERR_DURLOG_DESTINATION_MISSING',
    message: expect.stringContaining('durlog cursors DIR --remove copy'),
  })
})

test('keepAfterAck trims archived segments only', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  const made = archiver(log, s3, { keepAfterAck: { maxBytes: '128k' } })
  await append(log, 1000)
  const all = await plainRecords(log)
  expect(log.firstSeq).toBe(0)
  await made.idle()
  const trimmed = async (): Promise<number> => {
    await append(log, 1)
    await made.idle()
    return log.firstSeq
  }
  await expect.poll(trimmed).toBeGreaterThan(0)
  expect((await plainRecordsIn(await restored(s3))).slice(0, 1000)).toEqual(all)
})

test('cursors are restored with their positions', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  await append(log, 20)
  // A system that does not report its boot (Windows) reads the position only up to the last synced record.
  await log.sync()
  const cursor = await log.cursor('mailer')
  await cursor.commit(11)
  await archiveAll(log, s3)
  await cursor.close()
  const copy = await openUntilDone(await restored(s3))
  expect(await copy.cursors()).toMatchObject([{ name: 'mailer', position: 12 }])
})

test('a folder that is not empty is not restored into', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  await append(log, 20)
  await archiveAll(log, s3)
  const dir = await restored(s3)
  const { restoreArchive } = await import('../../src/archive/index.js')
  expect(await codeOf(restoreArchive(dir, s3.access))).toBe('ERR_DURLOG_NOT_EMPTY')
  expect(await codeOf(open(dir).then((found) => found.close()))).toBe('none')
})

test('archive refuses the name of a cursor at once', async () => {
  const s3 = await store()
  const log = await scratchLog()
  for (const cursor of ['', '../x', 'a b']) expect(() => archiver(log, s3, { cursor })).toThrow('1 to 64 letters')
})

test('an error of a listener is an uncaught exception, and no failure of the store', () => {
  const child = fileURLToPath(new URL('throwing-listener-child.mjs', import.meta.url))
  const output = execFileSync(process.execPath, [child, scratchDir()], { timeout: 60_000 }).toString()
  expect(JSON.parse(output)).toEqual({ uncaught: ['from a listener'], retries: 0 })
})

test('the parts of a segment that is archived whole are deleted several at a time', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  for (let part = 0; part < 5; part++) {
    await log.append(`part ${part}`)
    await archiveAll(log, s3)
  }
  await log.rotate()
  await log.append('in the next segment')
  let deletes = 0
  let release: () => void = () => {}
  const all = new Promise<void>((resolve) => {
    release = resolve
  })
  s3.fault = async ({ method, key }) => {
    if (method !== 'DELETE' || !key.includes('/tail/')) return undefined
    if (++deletes === 5) release()
    await all
    return undefined
  }
  await archiveAll(log, s3)
  expect(s3.keys('/tail/')).toHaveLength(1)
})

test('the archiver of a replaced machine acknowledges nothing after its copy has begun a new history', async () => {
  const s3 = await store()
  const old = await scratchLog(SMALL)
  await append(old, 10)
  const former = archiver(old, s3, { keepAfterAck: { maxBytes: 0 } })
  await former.idle()
  const archived: number[] = []
  former.on('archived', (seq) => archived.push(seq))
  const log = await openUntilDone(await restored(s3), SMALL)
  await append(log, 1)
  await archiveAll(log, s3)
  const stopped = stopCode(former)
  await append(old, 5)
  expect(await codeOf(former.idle())).toBe('ERR_DURLOG_DESTINATION_OTHER')
  expect(await stopped).toBe('ERR_DURLOG_DESTINATION_OTHER')
  expect(archived).toEqual([])
  expect(old.firstSeq).toBe(0)
  expect(await plainRecordsIn(await restored(s3))).toEqual(await plainRecords(log))
})

test('idle rejects if the history is no longer the newest one, although every record was archived before', async () => {
  const s3 = await store()
  const old = await scratchLog(SMALL)
  await append(old, 10)
  const former = archiver(old, s3)
  await former.idle()
  const log = await openUntilDone(await restored(s3), SMALL)
  await append(log, 1)
  await archiveAll(log, s3)
  const stopped = stopCode(former)
  expect(await codeOf(former.idle())).toBe('ERR_DURLOG_DESTINATION_OTHER')
  expect(await stopped).toBe('ERR_DURLOG_DESTINATION_OTHER')
})
