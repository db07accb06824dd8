import { randomUUID } from 'node:crypto'
import { readdirSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Bucket } from '../../src/archive/bucket.js'
import { resolveBucket } from '../../src/archive/bucket-options.js'
import { listArchive, probeBucket, readArchive } from '../../src/archive/index.js'
import { archiveRoot } from '../../src/archive/layout.js'
import { addHistory } from '../../src/archive/manifest.js'
import type { Log, LogRecord } from '../../src/index.js'
import { archiveAll, archiver, type Plain, plainRecords, plainRecordsIn, restored, store } from '../fixtures/archive.js'
import { codeOf, scratchDir, scratchLog } from '../fixtures/scratch.js'

async function append(log: Log, count: number): Promise<void> {
  for (let at = 0; at < count; at++)
    await log.append(`record ${log.nextSeq} ${'x'.repeat(300)}`, { durability: 'memory' })
}

async function plain(records: AsyncIterable<LogRecord>, max = Number.POSITIVE_INFINITY): Promise<Plain[]> {
  const found: Plain[] = []
  for await (const { seq, timestamp, data } of records) {
    found.push([seq, timestamp, data.toString()])
    if (found.length === max) break
  }
  return found
}

test('a reader continues into the archive for records that the log has trimmed', async () => {
  const s3 = await store()
  const log = await scratchLog({ segmentBytes: 65_536 })
  await append(log, 1000)
  const made = archiver(log, s3)
  await made.idle()
  const all = await plainRecords(log)
  await log.trimBefore(600)
  expect(log.firstSeq).toBeGreaterThan(0)
  const access = { ...s3.access, log }
  expect(await plain(readArchive(access))).toEqual(all)
  expect(await plain(readArchive({ ...access, from: 123, to: 130 }))).toEqual(all.slice(123, 130))
  expect(await plain(readArchive({ ...access, from: log.firstSeq - 1, to: log.firstSeq + 1 }))).toHaveLength(2)
  await append(log, 10)
  expect(await plain(readArchive({ ...access, from: 995 }))).toHaveLength(15)
  expect(await plain(readArchive({ ...access, from: -15 }))).toHaveLength(15)
  expect(await plain(readArchive({ ...access, from: -900, durableOnly: true }))).toHaveLength(900)
  expect((await plain(readArchive({ ...access, from: -2000, to: 5 }))).map(([seq]) => seq)).toEqual([0, 1, 2, 3, 4])
  const followed = plain(readArchive({ ...access, from: 995, follow: true }), 20)
  await append(log, 5)
  expect((await followed).map(([seq]) => seq)).toEqual(Array.from({ length: 20 }, (_, at) => 995 + at))
})

test('a reader of a log and its archive delivers no record that was cut from the log', async () => {
  const log = await scratchLog()
  await append(log, 3)
  const credentials = { accessKeyId: 'id', secretAccessKey: 'secret' }
  const reader = readArchive({ bucket: 's3://bucket', endpoint: 'http://127.0.0.1:1', credentials, log, from: 0 })
  expect((await reader.next()).value?.seq).toBe(0)
  await log.truncateAfter(0)
  expect((await reader.next()).done).toBe(true)
})

test('a reader delivers every record before a damaged piece, and its error names the records of the piece', async () => {
  const s3 = await store()
  const log = await scratchLog({ segmentBytes: 65_536 })
  await append(log, 400)
  await archiveAll(log, s3)
  const keys = [...s3.objects.keys()].filter((key) => /\/(log|tail)[^/]*\/\d{20}$/.test(key)).sort()
  const [firstSeq, nextSeq] = keys.slice(1, 3).map((key) => Number(key.slice(-20))) as [number, number]
  const { body } = s3.objects.get(keys[1] as string) as { body: Buffer }
  body[body.length - 1] = (body.at(-1) as number) ^ 1
  const found: number[] = []
  const read = async (): Promise<void> => {
    for await (const { seq } of readArchive(s3.access)) found.push(seq)
  }
  await expect(read()).rejects.toMatchObject({
    code: 'ERR_DURLOG_CORRUPT',
    lostFirst: firstSeq,
    lostLast: nextSeq - 1,
  })
  expect(found).toEqual(Array.from({ length: firstSeq }, (_, at) => at))
})

test('the archive alone can be read, and its objects are kept in a cache of bounded size', async () => {
  const s3 = await store()
  const log = await scratchLog({ segmentBytes: 65_536 })
  await append(log, 1000)
  await archiveAll(log, s3)
  const all = await plainRecords(log)
  const cache = { dir: scratchDir(), maxBytes: 200_000 }
  const access = { ...s3.access, cache }
  expect(await plain(readArchive(access))).toEqual(all)
  expect(readdirSync(cache.dir).length).toBeLessThanOrEqual(3)
  const gets = (): number => s3.requests.filter(({ method, key }) => method === 'GET' && /\/\d{20}$/.test(key)).length
  const before = gets()
  expect(await plain(readArchive({ ...access, from: 990 }))).toEqual(all.slice(990))
  expect(gets()).toBe(before)
  expect(await plain(readArchive({ ...access, from: 1000 }))).toEqual([])
  expect(await plain(readArchive({ ...access, from: -10 }))).toEqual(all.slice(990))
  const untilMs = all[500]?.[1] as number
  const early = all.slice(
    0,
    all.findIndex(([, time]) => time >= untilMs),
  )
  for (const until of [untilMs, new Date(untilMs), new Date(untilMs).toISOString()])
    expect(await plain(readArchive({ ...access, until }))).toEqual(early)
  expect(await codeOf(plain(readArchive({ ...access, uuid: 'none' })))).toBe('ERR_DURLOG_NOT_FOUND')
})

test('a reader of an archive ends with the reason of its signal within an object', async () => {
  const s3 = await store()
  const log = await scratchLog({ segmentBytes: 1 << 20 })
  await append(log, 1000)
  await archiveAll(log, s3)
  const abort = new AbortController()
  const reason = new Error('enough')
  let count = 0
  const read = async () => {
    for await (const _ of readArchive({ ...s3.access, signal: abort.signal })) if (++count === 10) abort.abort(reason)
  }
  await expect(read()).rejects.toBe(reason)
  expect(count).toBe(10)
})

test('a piece in the cache that is not whole is downloaded again, and readers at the same time share it', async () => {
  const s3 = await store()
  const log = await scratchLog({ segmentBytes: 1 << 20 })
  await append(log, 1000)
  await archiveAll(log, s3)
  const all = await plainRecords(log)
  const access = { ...s3.access, cache: { dir: scratchDir() } }
  for (const found of await Promise.all(Array.from({ length: 4 }, () => plain(readArchive(access)))))
    expect(found).toEqual(all)
  const pieces = readdirSync(access.cache.dir)
  expect(pieces).toHaveLength(1)
  const folder = join(access.cache.dir, pieces[0] as string)
  const [file = ''] = readdirSync(folder).filter((name) => name.endsWith('.seg'))
  truncateSync(join(folder, file), 100_000)
  expect(await plain(readArchive(access))).toEqual(all)
})

test('a store that does not answer is reported as unreachable by calls that try once', async () => {
  const { access } = await store()
  const nowhere = { ...access, endpoint: 'http://127.0.0.1:9' }
  const code = 'ERR_DURLOG_DESTINATION_UNREACHABLE'
  expect(await codeOf(plain(readArchive(nowhere)))).toBe(code)
  expect(await codeOf(listArchive(nowhere))).toBe(code)
  expect(await codeOf(probeBucket(nowhere))).toBe(code)
})

test('a reader delivers no record that the former writer stored after another copy had taken over', async () => {
  const s3 = await store()
  const log = await scratchLog()
  await append(log, 3)
  await archiveAll(log, s3)
  // The other copy has archived no record yet. Its history begins within the last object of the former writer.
  const { prefix } = resolveBucket(s3.access)
  const history = { generation: 1, from: 2, parent: 0, owner: randomUUID() }
  await addHistory(new Bucket(resolveBucket(s3.access)), archiveRoot(prefix, log.uuid), history)
  const seqsOf = async (from?: number): Promise<number[]> =>
    (await plain(readArchive({ ...s3.access, ...(from !== undefined && { from }) }))).map(([seq]) => seq)
  expect(await plainRecordsIn(await restored(s3))).toHaveLength(2)
  expect(await seqsOf()).toEqual([0, 1])
  expect(await seqsOf(-1)).toEqual([1])
  expect(await seqsOf(2)).toEqual([])
})
