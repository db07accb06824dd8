import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { inspect } from '../src/index.js'
import { openUntilDone, scratchDir, scratchLog, texts } from './fixtures/scratch.js'

/** The disk space of the files of the log in `dir`. */
function taken(dir: string): number {
  return readdirSync(dir)
    .filter((name) => name.endsWith('.seg') || name.startsWith('spare-'))
    .reduce((sum, name) => sum + statSync(join(dir, name)).size, 0)
}

test('stats count appended, read and trimmed records', async () => {
  const log = await scratchLog({ segmentBytes: 65536 })
  expect(log.stats()).toMatchObject({
    appendedRecords: 0,
    readRecords: 0,
    trimmedRecords: 0,
    lastCommitMs: 0,
    cursors: [],
  })
  for (let i = 0; i < 20; i++) await log.append(Buffer.alloc(15_000, i))
  await texts(log.read())
  await log.get(3)
  log.getSync(4)
  const first = await log.trimBefore(9)
  const stats = log.stats()
  expect(stats).toMatchObject({
    appendedRecords: 20,
    appendedBytes: 20 * (15_000 + 24),
    readRecords: 22,
    trimmedRecords: first,
    trimmedBytes: 2 * 65536,
  })
  expect(stats.readBytes).toBeGreaterThanOrEqual(22 * 15_000)
})

test('stats report the disk space of the files while segments are added and removed', async () => {
  const dir = join(scratchDir(), 'log')
  const log = await openUntilDone(dir, { segmentBytes: 65536 })
  expect(log.stats().diskBytes).toBe(65536)
  for (let i = 0; i < 20; i++) await log.append(Buffer.alloc(15_000, i))
  // The next segment's spare may be in preparation.
  await expect.poll(() => log.stats().diskBytes - taken(dir)).toBe(0)
  expect(log.stats().diskBytes).toBeGreaterThanOrEqual(5 * 65536)
  await log.trimBefore(9)
  await log.truncateAfter(14)
  await expect.poll(() => log.stats().diskBytes - taken(dir)).toBe(0)
})

test('stats report the durations of commits and their numbers of records', async () => {
  const log = await scratchLog()
  const before = Date.now()
  for (let i = 0; i < 10; i++) await log.append('one')
  await log.appendBatch(Array.from({ length: 500 }, () => 'many'))
  const { commitMicros, commitRecords, lastCommitMs } = log.stats()
  expect(commitRecords.all).toMatchObject({ count: 11, p50: 1, p90: 1, max: 500 })
  expect(commitRecords.lastMinute).toEqual(commitRecords.all)
  expect(commitMicros.all.count).toBe(11)
  expect(commitMicros.all.p50).toBeGreaterThan(0)
  expect(commitMicros.all.p50).toBeLessThanOrEqual(commitMicros.all.p99)
  expect(commitMicros.all.p99).toBeLessThanOrEqual(commitMicros.all.max)
  // The clock of records advances in steps of up to 10 ms.
  expect(lastCommitMs).toBeGreaterThanOrEqual(before - 10)
  expect(lastCommitMs).toBeLessThanOrEqual(Date.now() + 1)
})

test('commits into only the page cache are not timed', async () => {
  const log = await scratchLog({ strategy: 'pwrite' })
  for (let i = 0; i < 10; i++) log.write('in memory')
  expect(log.stats().commits).toBeGreaterThan(0)
  expect(log.stats().commitMicros.all.count).toBe(0)
  await log.sync()
  await log.append('synced')
  expect(log.stats().commitMicros.all.count).toBe(1)
})

test('stats list the cursors that are open in the log, with their lag', async () => {
  const log = await scratchLog()
  await log.appendBatch(['a', 'b', 'c'])
  const late = await log.cursor('late')
  const early = await log.cursor('early')
  await early.commit(1)
  expect(log.stats().cursors).toEqual([
    { name: 'early', position: 2, lagRecords: 1 },
    { name: 'late', position: 0, lagRecords: 3 },
  ])
  await late.close()
  expect(log.stats().cursors).toHaveLength(1)
})

test('stats of a read-only log follow its writer, and report the disk space of the files', async () => {
  const dir = join(scratchDir(), 'log')
  const log = await openUntilDone(dir, { segmentBytes: 65536 })
  const reader = await openUntilDone(dir, { readOnly: true })
  const cursor = await reader.cursor('mailer')
  for (let i = 0; i < 20; i++) await log.append(Buffer.alloc(15_000, i))
  log.write('in memory alone')
  await texts(reader.read({ to: 10 }))
  await cursor.commit(5)
  await log.trimBefore(5)
  const { segments, diskBytes, ...stats } = reader.stats()
  expect(stats).toMatchObject({
    current: true,
    firstSeq: 4,
    nextSeq: 21,
    syncedSeq: log.syncedSeq,
    cursors: [{ name: 'mailer', position: 6, lagRecords: 15 }],
  })
  expect(reader.nextSeq).toBe(21)
  expect(stats.commits).toBeGreaterThanOrEqual(20)
  expect(stats.commitTotalMicros).toBeGreaterThan(0)
  // A batch is decoded at a time.
  expect(stats.readRecords).toBeGreaterThanOrEqual(10)
  expect(stats.readBytes).toBeGreaterThanOrEqual(150_000)
  expect(segments).toBe(log.stats().segments)
  await expect.poll(() => reader.stats().diskBytes - log.stats().diskBytes).toBe(0)
  expect(diskBytes).toBeGreaterThanOrEqual(segments * 65536)
  await log.truncateAfter(12)
  expect(reader.stats()).toMatchObject({ nextSeq: 13, syncedSeq: 12 })
  await expect.poll(() => reader.stats().diskBytes - log.stats().diskBytes).toBe(0)
})

test('stats of a read-only log report whether their seqs are current, and never go back', async () => {
  const dir = join(scratchDir(), 'log')
  const make = async (text: string): Promise<void> => {
    const log = await openUntilDone(dir)
    await log.append(text)
    await log.close()
  }
  await make('a')
  const reader = await openUntilDone(dir, { readOnly: true })
  await make('b')
  expect(reader.stats()).toMatchObject({ current: false, nextSeq: 1, syncedSeq: 0 })
  await reader.refresh()
  expect(reader.stats()).toMatchObject({ current: false, nextSeq: 2, syncedSeq: 1, segments: 1 })
  const log = await openUntilDone(dir)
  await log.append('c')
  expect(reader.stats()).toMatchObject({ current: true, nextSeq: 3, syncedSeq: 2 })
  await log.close()
  expect(reader.stats()).toMatchObject({ current: true, nextSeq: 3, syncedSeq: 2 })
  await make('d')
  expect(reader.stats()).toMatchObject({ current: true, nextSeq: 4, syncedSeq: 3 })
  await reader.close()
  expect(reader.stats()).toMatchObject({ current: false, nextSeq: 4, syncedSeq: 3 })
})

test('diskBytes includes the new length of a segment that was full, cut, and filled again', async () => {
  const dir = join(scratchDir(), 'log')
  const log = await openUntilDone(dir, { segmentBytes: 65536, preallocate: 'none', strategy: 'pwrite' })
  const fill = async (bytes: number): Promise<void> => {
    while (log.stats().rotations === rotations) await log.append(Buffer.alloc(bytes))
  }
  let rotations = log.stats().rotations
  await fill(20_000)
  expect(log.stats().diskBytes).toBe(taken(dir))
  await log.truncateAfter(0)
  rotations = log.stats().rotations
  await fill(14_000)
  expect(log.stats().diskBytes).toBe(taken(dir))
})

test('inspect of a log that is trimmed meanwhile reports the remaining files', async () => {
  const log = await scratchLog({ segmentBytes: 65536, preallocate: 'none', strategy: 'pwrite' })
  for (let round = 0; round < 20; round++) {
    for (let i = 0; i < 10; i++) {
      log.write('a')
      await log.rotate()
    }
    const [{ segments, nextSeq }] = await Promise.all([inspect(log.dir), log.trimBefore(log.nextSeq)])
    expect(segments.at(-1)?.firstSeq).toBe(nextSeq)
  }
})

test('inspect does not count a cursor as a segment', async () => {
  const log = await scratchLog()
  await log.cursor('00000000000000000007')
  expect((await inspect(log.dir)).segments.map(({ name }) => name)).toEqual(['00000000000000000000.seg'])
})

test('the channels of node:diagnostics_channel report commits, rotations, trims and openings', async () => {
  const dir = join(scratchDir(), 'log')
  const told: [string, Record<string, unknown>][] = []
  for (const name of ['commit', 'rotate', 'trim', 'recovered', 'latched']) {
    const listener = (message: unknown): void => {
      told.push([name, message as Record<string, unknown>])
    }
    subscribe(`durlog:${name}`, listener)
    onTestFinished(() => void unsubscribe(`durlog:${name}`, listener))
  }
  const log = await openUntilDone(dir, { segmentBytes: 65536 })
  for (let i = 0; i < 10; i++) await log.append(Buffer.alloc(15_000, i))
  await log.rotate()
  await log.trimBefore(10)
  await log.append('last')
  const of = (wanted: string): Record<string, unknown>[] =>
    told.filter(([name, message]) => name === wanted && message['dir'] === dir).map(([, message]) => message)
  expect(of('recovered')).toMatchObject([{ uuid: log.uuid, recovery: { state: 'clean' } }])
  expect(of('rotate').map(({ firstSeq }) => firstSeq)).toEqual([4, 8, 10])
  expect(of('trim')).toMatchObject([{ from: 0, firstSeq: 10 }])
  const records = of('commit').reduce((sum, { records }) => sum + (records as number), 0)
  expect(records).toBeGreaterThanOrEqual(10)
  expect(of('commit').at(-1)).toMatchObject({ uuid: log.uuid })
  expect(of('latched')).toEqual([])
})
