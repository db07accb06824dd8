import { readdirSync } from 'node:fs'
import { expect, test } from 'vitest'
import { readArchive } from '../../src/archive/index.js'
import type { Log, LogRecord } from '../../src/index.js'
import { archiveAll, archiver, type Plain, plainRecords, store } from '../fixtures/archive.js'
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
  const followed = plain(readArchive({ ...access, from: 995, follow: true }), 20)
  await append(log, 5)
  expect((await followed).map(([seq]) => seq)).toEqual(Array.from({ length: 20 }, (_, at) => 995 + at))
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
  expect(await codeOf(plain(readArchive({ ...access, uuid: 'none' })))).toBe('ERR_DURLOG_NOT_FOUND')
})
