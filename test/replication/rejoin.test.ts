import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { archiveTo, rejoin, restoreArchive, takeOver } from '../../src/archive/index.js'
import { type Log, open } from '../../src/index.js'
import { RestoringLog } from '../../src/log/ordered-log.js'
import { WriterLog } from '../../src/log/writer-log.js'
import { openStreams } from '../../src/streams/index.js'
import { archiver, plainRecordsIn, stopCode, store } from '../fixtures/archive.js'
import { FakeS3 } from '../fixtures/fake-s3.mjs'
import { openUntilDone, scratchDir } from '../fixtures/scratch.js'

const REPLICATED = { durability: 'replicated' } as const
/** The tests copy the folders. */
const SEGMENT_BYTES = 2 ** 16

/** A log with two replicated records, and a copy of it that has taken over and replicated a third. */
let base: { dir: string; objects: FakeS3['objects'] }

beforeAll(async () => {
  const dir = mkdtempSync(join(tmpdir(), 'durlog-test-'))
  const s3 = await new FakeS3().start()
  const to = { replicate: archiveTo({ ...s3.access, flushMs: 60_000 }), segmentBytes: SEGMENT_BYTES }
  const former = await open(join(dir, 'a'), to)
  for (const text of ['0', '1']) await former.append(text, REPLICATED)
  await former.close()
  await takeOver(join(dir, 'b'), s3.access)
  const writer = await open(join(dir, 'b'), to)
  await writer.append('2 of b', REPLICATED)
  await writer.close()
  await s3.stop()
  base = { dir, objects: new Map(s3.objects) }
})

afterAll(() => rmSync(base.dir, { recursive: true, force: true }))

interface Pair {
  s3: FakeS3
  a: string
  b: string
  into: string
}

/** The two copies and their archive, after `a` has appended `texts` that were not replicated. */
async function pair(texts: readonly string[] = []): Promise<Pair> {
  const s3 = await store(base.objects)
  const dir = join(scratchDir(), 'pair')
  cpSync(base.dir, dir, { recursive: true })
  const a = join(dir, 'a')
  const log = await open(a, { segmentBytes: SEGMENT_BYTES })
  for (const text of texts) await log.append(text, { durability: 'sync' })
  await log.close()
  return { s3, a, b: join(dir, 'b'), into: join(dir, 'kept') }
}

function openAt(dir: string, s3: FakeS3): Promise<Log> {
  return openUntilDone(dir, { replicate: archiveTo({ ...s3.access, flushMs: 60_000 }) })
}

async function textsIn(dir: string): Promise<[number, string][]> {
  return (await plainRecordsIn(dir)).map(([seq, , text]) => [seq, text])
}

/** Continues the replica in `dir` until it holds `end` records, which another process would read meanwhile. */
async function follow(dir: string, s3: FakeS3, end: number): Promise<void> {
  const ending = new AbortController()
  const following = restoreArchive(dir, { ...s3.access, follow: true, pollMs: 1, signal: ending.signal })
  const reader = await openUntilDone(dir, { readOnly: true })
  const nextSeq = async (): Promise<number> => {
    await reader.refresh()
    return reader.nextSeq
  }
  await expect.poll(nextSeq).toBeGreaterThanOrEqual(end)
  ending.abort()
  await following
}

test('the records of a former writer that were never replicated are kept, and its log follows the new writer', async () => {
  const { s3, a, into } = await pair(['2 of a', '3 of a'])
  const before = (await plainRecordsIn(a)).slice(2)
  expect(await rejoin(a, { ...s3.access, into })).toMatchObject({ nextSeq: 2, first: 2, last: 3, records: 2 })
  expect(await plainRecordsIn(into)).toEqual(before)
  expect(await textsIn(a)).toEqual([
    [0, '0'],
    [1, '1'],
  ])
  await follow(a, s3, 3)
  expect((await textsIn(a)).at(-1)).toEqual([2, '2 of b'])
  // Again, it changes nothing.
  expect(await rejoin(a, { ...s3.access, into })).toMatchObject({ nextSeq: 3, first: 2, last: 3, records: 2 })
})

test('a former writer whose records are all replicated rejoins without a second log', async () => {
  const { s3, a, into } = await pair()
  expect(await rejoin(a, { ...s3.access, into })).toMatchObject({ nextSeq: 2, first: -1, last: -1, records: 0 })
  await expect(open(into, { readOnly: true })).rejects.toMatchObject({ code: 'ERR_DURLOG_NOT_FOUND' })
  await follow(a, s3, 3)
})

test('no process may append to a log whose rejoin was interrupted', async () => {
  const { s3, a, into } = await pair(['2 of a'])
  const dies = vi.spyOn(WriterLog.prototype, 'truncateAfter').mockRejectedValueOnce(new Error('killed'))
  await expect(rejoin(a, { ...s3.access, into })).rejects.toThrow('killed')
  dies.mockRestore()
  // Only another rejoin may continue.
  await expect(restoreArchive(a, s3.access)).rejects.toMatchObject({ code: 'ERR_DURLOG_NOT_EMPTY' })
  await expect(open(a)).rejects.toMatchObject({ code: 'ERR_DURLOG_REPLICA' })
  expect(await rejoin(a, { ...s3.access, into })).toMatchObject({ first: 2, last: 2, records: 1 })
  await follow(a, s3, 3)
})

test('a rejoin that was interrupted after the truncation reports what it has kept', async () => {
  const { s3, a, into } = await pair(['2 of a'])
  const dies = vi.spyOn(WriterLog.prototype, 'cursors').mockRejectedValueOnce(new Error('killed'))
  await expect(rejoin(a, { ...s3.access, into })).rejects.toThrow('killed')
  dies.mockRestore()
  expect(await rejoin(a, { ...s3.access, into })).toMatchObject({ nextSeq: 2, first: 2, last: 2, records: 1 })
  await follow(a, s3, 3)
})

test('a rejoin that was killed while it created the log of the kept records is continued', async () => {
  const { s3, a, into } = await pair(['2 of a'])
  mkdirSync(into)
  for (const name of ['lock', 'live', 'spare-bf3f30b2318e2192']) writeFileSync(join(into, name), '')
  expect(await rejoin(a, { ...s3.access, into })).toMatchObject({ first: 2, last: 2, records: 1 })
  expect(await textsIn(into)).toEqual([[2, '2 of a']])
})

test('a log that no copy has replaced, a log of streams, and a folder with other records are refused and left as they are', async () => {
  const { s3, a, b, into } = await pair(['2 of a'])
  await expect(rejoin(b, { ...s3.access, into })).rejects.toMatchObject({ code: 'ERR_DURLOG_NOT_FOUND' })
  await expect(rejoin(a, { ...s3.access, into: b })).rejects.toMatchObject({ code: 'ERR_DURLOG_NOT_EMPTY' })
  const streams = await openStreams(join(scratchDir(), 'streams'), { exclusive: true })
  await streams.close()
  const mainLog = rejoin(join(streams.dir, 'log'), { ...s3.access, into })
  await expect(mainLog).rejects.toMatchObject({ code: 'ERR_DURLOG_NOT_A_LOG' })
  expect((await textsIn(a)).at(-1)).toEqual([2, '2 of a'])
  expect((await textsIn(b)).at(-1)).toEqual([2, '2 of b'])
  await rejoin(a, { ...s3.access, into })
  expect(await textsIn(into)).toEqual([[2, '2 of a']])
})

test('streams of a former writer are kept elsewhere and reported, also after a kill at any step, and it follows', async () => {
  const s3 = await store()
  const dir = scratchDir()
  const [a, into] = [join(dir, 'a'), join(dir, 'kept')]
  const replicate = archiveTo({ ...s3.access, flushMs: 60_000 })
  const former = await openStreams(a, { exclusive: true, replicate, durability: 'replicated' })
  await former.stream('x').append('0')
  await former.close()
  await takeOver(join(dir, 'b'), s3.access)
  const alone = await openStreams(a, { exclusive: true })
  for (const value of ['1', '2']) await alone.stream('x').append(value)
  await alone.stream('y').append('0')
  await alone.close()
  await expect(rejoin(a, { ...s3.access, into: dir })).rejects.toMatchObject({ code: 'ERR_DURLOG_NOT_EMPTY' })
  // The two states in which a kill can leave the folders before the move.
  const killed = [join(dir, 'with an empty folder'), join(dir, 'without it')]
  mkdirSync(into)
  const { close } = RestoringLog.prototype
  vi.spyOn(RestoringLog.prototype, 'close').mockImplementationOnce(function (this: RestoringLog) {
    for (const state of killed) cpSync(a, join(state, 'a'), { recursive: true })
    cpSync(into, join(killed[0] as string, 'kept'), { recursive: true })
    return close.call(this)
  })
  const report = await rejoin(a, { ...s3.access, into })
  vi.restoreAllMocks()
  for (const state of killed)
    expect(await rejoin(join(state, 'a'), { ...s3.access, into: join(state, 'kept') }), state).toEqual(report)
  expect(report.streams).toEqual([
    { name: 'x', first: 1, last: 2, records: 2 },
    { name: 'y', first: 0, last: 0, records: 1 },
  ])
  expect(report.records).toBe(report.last + 1 - report.first)
  // As if the first call had been killed after its last step.
  expect(await rejoin(a, { ...s3.access, into })).toEqual(report)
  // As if its answer had been lost, and a standby had begun the replica meanwhile.
  const ending = new AbortController()
  const onCaughtUp = (): void => ending.abort()
  await restoreArchive(a, { ...s3.access, follow: true, signal: ending.signal, onCaughtUp })
  expect(await rejoin(a, { ...s3.access, into })).toEqual(report)
  const other = join(dir, 'other')
  expect(await rejoin(a, { ...s3.access, into: other })).toMatchObject({ nextSeq: report.nextSeq, records: 0 })
  expect(existsSync(other)).toBe(false)
  const kept = await openStreams(into, { exclusive: true })
  const values: unknown[] = []
  for await (const { value } of kept.stream('x').read()) values.push(value)
  expect(values).toEqual(['0', '1', '2'])
  await kept.close()
  expect(await takeOver(a, { ...s3.access, force: true })).toMatchObject({ nextSeq: report.nextSeq })
})

test('a copy that has rejoined takes over again, and then the other one rejoins', async () => {
  const { s3, a, b, into } = await pair(['2 of a'])
  await rejoin(a, { ...s3.access, into })
  expect(await takeOver(a, s3.access)).toMatchObject({ nextSeq: 3, generation: 2 })
  const log = await openAt(a, s3)
  expect(await log.append('3 of a', REPLICATED)).toBe(3)
  const fenced = await open(b)
  await fenced.append('3 of b', { durability: 'sync' })
  await fenced.close()
  const other = join(scratchDir(), 'kept')
  expect(await rejoin(b, { ...s3.access, into: other })).toMatchObject({ nextSeq: 3, first: 3, last: 3 })
  expect(await textsIn(other)).toEqual([[3, '3 of b']])
  await follow(b, s3, 4)
  expect(await textsIn(b)).toEqual([
    [0, '0'],
    [1, '1'],
    [2, '2 of b'],
    [3, '3 of a'],
  ])
})

test('a replica is not written, and archiving it does not fence its writer', async () => {
  const { s3, a, b, into } = await pair(['2 of a'])
  await rejoin(a, { ...s3.access, into })
  const replica = join(scratchDir(), 'replica')
  await follow(a, s3, 3)
  cpSync(a, replica, { recursive: true })
  for (const dir of [a, replica]) {
    await expect(open(dir)).rejects.toMatchObject({ code: 'ERR_DURLOG_REPLICA' })
    const log = await openUntilDone(dir, { readOnly: true })
    expect(['ERR_DURLOG_REPLICA', 'ERR_DURLOG_DESTINATION_OTHER']).toContain(await stopCode(archiver(log, s3)))
  }
  const writer = await openAt(b, s3)
  expect(await writer.append('3 of b', REPLICATED)).toBe(3)
})

test('a rejoin that is killed after any of its steps loses no record when it is repeated', async () => {
  const { s3, a, into } = await pair(['2 of a', '3 of a'])
  const root = join(scratchDir(), 'killed')
  let kills = 0
  // A kill leaves the files as they are.
  const kill = (): void => {
    const dir = join(root, `${kills++}`)
    cpSync(a, join(dir, 'a'), { recursive: true })
    if (existsSync(into)) cpSync(into, join(dir, 'kept'), { recursive: true })
  }
  for (const name of ['skipTo', 'appendNext', 'sync', 'truncateAfter', 'removeCursor', 'close'] as const) {
    const step = RestoringLog.prototype[name] as (...args: unknown[]) => Promise<never>
    vi.spyOn(RestoringLog.prototype, name).mockImplementation(function (this: RestoringLog, ...args: unknown[]) {
      kill()
      return step.apply(this, args)
    })
  }
  await rejoin(a, { ...s3.access, into })
  kill()
  vi.restoreAllMocks()
  expect(kills).toBeGreaterThan(10)
  const kept = [2, 3].map((seq) => [seq, `${seq} of a`])
  for (let i = 0; i < kills; i++) {
    const dir = join(root, `${i}`)
    const report = await rejoin(join(dir, 'a'), { ...s3.access, into: join(dir, 'kept') })
    expect(report, `kill ${i}`).toMatchObject({ nextSeq: 2, first: 2, last: 3, records: 2 })
    expect(await textsIn(join(dir, 'kept')), `kill ${i}`).toEqual(kept)
    expect(await textsIn(join(dir, 'a')), `kill ${i}`).toEqual([0, 1].map((seq) => [seq, `${seq}`]))
  }
})
