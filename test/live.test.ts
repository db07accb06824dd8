/** Readers that learn of the writer only from its page: another opening of the log, as in another process. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readdirSync, rmSync, statSync, truncateSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { expect, onTestFinished, test, vi } from 'vitest'
import { DurlogError, type Log, type ReadOnlyLog, type Strategy } from '../src/index.js'
import { type Frame, frames, inspect, verify } from '../src/inspect.js'
import { native } from '../src/native/native.js'
import { codeOf, openUntilDone, records, scratchDir, scratchLog, texts } from './fixtures/scratch.js'

const numbered = (first: number, count: number): string[] => Array.from({ length: count }, (_, i) => `r${first + i}`)
const STRATEGIES: Strategy[] = ['auto', 'mmap', 'pwrite', 'direct']

async function writerAndReader(
  strategy: Strategy = 'auto',
): Promise<{ dir: string; writer: Log; reader: ReadOnlyLog }> {
  const dir = scratchDir()
  const writer = await openUntilDone(dir, { strategy, segmentBytes: 65536 })
  return { dir, writer, reader: await openUntilDone(dir, { readOnly: true }) }
}

test.each(STRATEGIES)(
  'the newest acknowledged record is delivered with durableOnly, with no further append (%s)',
  async (strategy) => {
    const { writer, reader } = await writerAndReader(strategy)
    const follower = reader.read({ follow: true, durableOnly: true })
    for (let i = 0; i < 20; i++) {
      const next = follower.next()
      await writer.append(`r${i}`)
      expect((await next).value).toMatchObject({ seq: i, data: Buffer.from(`r${i}`) })
    }
    await follower.return()
  },
)

test('after a truncation a durableOnly reader gets nothing that is not synced', async () => {
  const { writer, reader } = await writerAndReader('mmap')
  await Promise.all(numbered(0, 100).map((text) => writer.append(text)))
  const follower = reader.read({ from: 50, follow: true, durableOnly: true })
  const waiting = follower.next()
  expect((await waiting).value?.seq).toBe(50)
  await writer.truncateAfter(50)
  for (const text of numbered(51, 200)) writer.write(text)
  expect(await records(reader.read({ durableOnly: true }))).toHaveLength(51)
  let arrived = false
  const next = follower.next().then(({ value }) => {
    arrived = true
    return value
  })
  expect(await texts(reader.read({ from: 51, follow: true }), 10)).toEqual(numbered(51, 10))
  expect(arrived).toBe(false)
  await writer.sync()
  expect(await next).toMatchObject({ seq: 51, data: Buffer.from('r51') })
  await follower.return()
})

test.each(STRATEGIES)(
  'after a cut a reader of another opening gets ERR_DURLOG_OUT_OF_RANGE if it is past the cut, else the new records (%s)',
  async (strategy) => {
    const { writer, reader } = await writerAndReader(strategy)
    await Promise.all(numbered(0, 100).map((text) => writer.append(text)))
    const past = reader.read({ follow: true })
    for (let i = 0; i < 100; i++) await past.next()
    const before = reader.read({ follow: true })
    for (let i = 0; i < 50; i++) await before.next()
    const waits = codeOf(past.next())
    await writer.truncateAfter(49)
    await Promise.all(numbered(1000, 100).map((text) => writer.append(text)))
    expect(await waits).toBe('ERR_DURLOG_OUT_OF_RANGE')
    const found = await records(before, 100)
    expect(found.map(({ seq }) => seq)).toEqual(Array.from({ length: 100 }, (_, i) => 50 + i))
    expect(found.map(({ data }) => data.toString())).toEqual(numbered(1000, 100))
  },
)

test('get finds no cut record, and finds the one in its place', async () => {
  const { writer, reader } = await writerAndReader()
  await Promise.all(numbered(0, 10).map((text) => writer.append(text)))
  expect((await reader.get(9)).data.toString()).toBe('r9')
  await writer.truncateAfter(4)
  expect(await codeOf(reader.get(9))).toBe('ERR_DURLOG_OUT_OF_RANGE')
  expect(await codeOf(() => reader.getSync(9))).toBe('ERR_DURLOG_OUT_OF_RANGE')
  await Promise.all(numbered(20, 5).map((text) => writer.append(text)))
  expect((await reader.get(9)).data.toString()).toBe('r24')
})

test('inspect, stat and an opening for reading report the synced end while the log is open', async () => {
  const { dir, writer, reader } = await writerAndReader('mmap')
  for (const text of numbered(0, 10)) writer.write(text)
  await writer.sync()
  writer.write('not synced')
  expect(await inspect(dir)).toMatchObject({ firstSeq: 0, nextSeq: 11, syncedSeq: 9 })
  await reader.refresh()
  expect([reader.nextSeq, reader.syncedSeq]).toEqual([11, 9])
})

test('syncedSeq is the same for the writer, a reader, inspect and verify', async () => {
  const { dir, writer, reader } = await writerAndReader()
  expect([writer.syncedSeq, reader.syncedSeq, (await inspect(dir)).syncedSeq, (await verify(dir)).syncedSeq]).toEqual([
    -1, -1, -1, -1,
  ])
  await writer.appendBatch(['a', 'b'])
  await reader.refresh()
  expect([writer.syncedSeq, reader.syncedSeq, (await inspect(dir)).syncedSeq, (await verify(dir)).syncedSeq]).toEqual([
    1, 1, 1, 1,
  ])
  await writer.close()
  expect([(await inspect(dir)).syncedSeq, (await verify(dir)).syncedSeq]).toEqual([1, 1])
})

test('a reader continues when another writer opens the log', async () => {
  const { dir, writer, reader } = await writerAndReader()
  const found = texts(reader.read({ follow: true, durableOnly: true }), 6)
  await writer.appendBatch(['a', 'b'])
  await writer.close()
  const second = await openUntilDone(dir)
  await second.appendBatch(['c', 'd'])
  await second.close()
  rmSync(join(dir, 'live'))
  const third = await openUntilDone(dir)
  await third.appendBatch(['e', 'f'])
  expect(await found).toEqual(['a', 'b', 'c', 'd', 'e', 'f'])
})

test('without a page readers read the files', async () => {
  const { dir, writer } = await writerAndReader()
  await writer.append('a')
  rmSync(join(dir, 'live'))
  const reader = await openUntilDone(dir, { readOnly: true })
  const found = texts(reader.read({ follow: true }), 3)
  await writer.append('b')
  await writer.append('c')
  expect(await found).toEqual(['a', 'b', 'c'])
})

test('readers of a log whose page is cut read the files', async () => {
  const { dir, writer, reader } = await writerAndReader()
  await writer.append('a')
  const found = texts(reader.read({ follow: true }), 3)
  expect(statSync(join(dir, 'live')).size).toBe(4096)
  truncateSync(join(dir, 'live'), 0)
  await writer.append('b')
  await writer.append('c')
  expect(await found).toEqual(['a', 'b', 'c'])
  // The writer has removed the page, so that no reader uses it.
  expect(readdirSync(dir)).not.toContain('live')
})

test('a follower that loses the page after a truncation does not use the old synced end', async () => {
  const { dir, writer, reader } = await writerAndReader('mmap')
  await Promise.all(numbered(0, 100).map((text) => writer.append(text)))
  await reader.refresh()
  const other = await openUntilDone(dir, { readOnly: true })
  const follower = reader.read({ from: 50, follow: true, durableOnly: true })
  expect((await follower.next()).value?.seq).toBe(50)
  await writer.truncateAfter(50)
  for (const text of numbered(51, 200)) writer.write(text)
  reader.getSync(50) // the reader notices the cut before the page is removed
  let synced = false
  const next = follower.next().then(({ value }) => ({ value, synced }))
  truncateSync(join(dir, 'live'), 0)
  // Each of these calls reads the files, as the follower does meanwhile.
  const others = other.read({ from: 251, follow: true })
  for (let i = 0; i < 20; i++) {
    const arrived = others.next()
    writer.write(`r${251 + i}`)
    await arrived
  }
  synced = true
  await writer.sync()
  await writer.append('the marker of the one before')
  expect(await next).toMatchObject({ synced: true, value: { seq: 51, data: Buffer.from('r51') } })
  await follower.return()
})

test('readers of the same process never report a truncation as damage', async () => {
  const dir = scratchDir()
  const writer = await openUntilDone(dir, { segmentBytes: 65536 })
  for (let round = 0; round < 5; round++) {
    const payloads = Array.from({ length: 400 }, (_, i) => `${round} ${i} ${'x'.repeat(1000)}`)
    await Promise.all(payloads.map((payload) => writer.append(payload)))
    const reading = codeOf(texts(writer.read({ follow: true }), 500))
    await writer.truncateAfter(writer.nextSeq - 300)
    const appended = Array.from({ length: 500 }, (_, i) => writer.append(`${round} new ${i}`))
    await Promise.all(appended)
    expect(['none', 'ERR_DURLOG_OUT_OF_RANGE']).toContain(await reading)
  }
})

test('followers of one reader each wait for their own level, and end when it is closed', async () => {
  const { writer, reader } = await writerAndReader()
  const plain = reader.read({ follow: true })
  const durable = reader.read({ follow: true, durableOnly: true })
  const nextDurable = durable.next()
  const nextPlain = plain.next()
  writer.write('in memory')
  expect((await nextPlain).value).toMatchObject({ seq: 0, data: Buffer.from('in memory') })
  await writer.sync()
  expect((await nextDurable).value).toMatchObject({ seq: 0 })
  const waiting = [plain.next(), durable.next()]
  await reader.close()
  expect(await Promise.all(waiting)).toEqual([
    { done: true, value: undefined },
    { done: true, value: undefined },
  ])
})

test('a follower keeps its process alive while it waits, and no longer', async () => {
  const { dir, writer } = await writerAndReader()
  const child = fork(new URL('./fixtures/follow-two.mjs', import.meta.url), [dir])
  const exited = once(child, 'exit')
  expect(await once(child, 'message')).toContain('following')
  await writer.append('first')
  expect(await once(child, 'message')).toContain('first')
  await writer.append('second')
  expect(await once(child, 'message')).toContain('second')
  expect(await exited).toEqual([0, null])
})

test('a follower that cannot start a thread to watch the log still gets its records', async () => {
  const { openLivePage } = native
  let refused = 0
  const opening = vi.spyOn(native, 'openLivePage').mockImplementation((dir, onChange) => {
    const page = openLivePage(dir, onChange)
    const watch = (): void => {
      refused++
      throw new DurlogError('ERR_DURLOG_TOO_MANY_FILES', 'no descriptor')
    }
    return Object.defineProperty(page, 'watch', { value: watch })
  })
  onTestFinished(() => opening.mockRestore())
  const { writer, reader } = await writerAndReader()
  const followers = [reader.read({ follow: true }), reader.read({ follow: true, durableOnly: true })]
  for (let i = 0; i < 3; i++) {
    const next = followers.map((follower) => follower.next())
    await writer.append(`r${i}`)
    for (const found of next) expect((await found).value?.seq).toBe(i)
  }
  expect(refused).toBeGreaterThan(0)
  for (const follower of followers) await follower.return()
})

test('many followers of one reader watch the log together', async () => {
  const { openLivePage } = native
  let watches = 0
  const opening = vi.spyOn(native, 'openLivePage').mockImplementation((dir, onChange) => {
    const page = openLivePage(dir, onChange)
    const { watch } = page
    const counted = (...ends: Parameters<typeof watch>): void => {
      watches++
      watch.apply(page, ends)
    }
    return Object.defineProperty(page, 'watch', { value: counted })
  })
  onTestFinished(() => opening.mockRestore())
  const { writer, reader } = await writerAndReader()
  const followers = Array.from({ length: 100 }, () => reader.read({ follow: true }))
  for (let i = 0; i < 5; i++) {
    const next = followers.map((follower) => follower.next())
    await writer.append(`r${i}`)
    for (const found of next) expect((await found).value?.seq).toBe(i)
  }
  expect(watches).toBeGreaterThan(0)
  expect(watches).toBeLessThan(100)
  for (const follower of followers) await follower.return()
})

test('a worker may be terminated while it follows', async () => {
  const { dir, writer } = await writerAndReader()
  await writer.append('r0')
  for (let round = 1; round <= 10; round++) {
    const worker = new Worker(new URL('./fixtures/follow-worker.mjs', import.meta.url), { workerData: { dir } })
    await once(worker, 'message')
    await Promise.all([writer.append(`r${round}`), worker.terminate()])
  }
  expect(await texts(writer.read())).toEqual(numbered(0, 11))
})

test.each(['memory', 'sync'] as const)(
  'damage to the newest record, acknowledged at %s, is corrupt for verify and for readers while the log is open',
  async (durability) => {
    const log = await scratchLog({ strategy: 'mmap' })
    for (const text of ['first', 'second', 'newest']) await log.append(text, { durability })
    const [segment] = (await inspect(log.dir)).segments
    const name = segment?.name as string
    const found: Frame[] = []
    for await (const frame of frames(log.dir, name)) found.push(frame)
    const file = openSync(join(log.dir, name), 'r+')
    writeSync(file, 'X', (found[2]?.offset as number) + 24)
    closeSync(file)
    const report = await verify(log.dir)
    expect([report.state, report.problems.map(({ lostFirst }) => lostFirst)]).toEqual(['corrupt', [2]])
    const reader = await openUntilDone(log.dir, { readOnly: true })
    expect(await codeOf(texts(reader.read()))).toBe('ERR_DURLOG_CORRUPT')
    expect(await codeOf(reader.get(2))).toBe('ERR_DURLOG_CORRUPT')
  },
)
