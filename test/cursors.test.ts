import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, cpSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { expect, onTestFinished, test } from 'vitest'
import type { DurableCursor, DurlogError, Log, LogRecord, ReadableLog } from '../src/index.js'
import { native } from '../src/native/native.js'
import { codeOf, openUntilDone, records, scratchLog, texts } from './fixtures/scratch.js'
import { scratchStreams } from './fixtures/streams.js'

const OWNER = fileURLToPath(new URL('fixtures/cursor-owner.mjs', import.meta.url))

async function errorOf(action: Promise<unknown>): Promise<DurlogError> {
  return action.then(
    () => expect.fail('nothing failed'),
    (error: unknown) => error as DurlogError,
  )
}

async function seqs(cursor: DurableCursor, max?: number): Promise<number[]> {
  return (await records(cursor.read(), max)).map(({ seq }) => seq)
}

/** Appends each record separately, so that a truncation may cut between them. */
async function appendEach(log: Log, list: string[]): Promise<void> {
  await Promise.all(list.map((data) => log.append(data)))
}

/** Opens a cursor again, as the next process would. */
async function again(log: ReadableLog, cursor: DurableCursor): Promise<DurableCursor> {
  await cursor.close()
  return log.cursor(cursor.name, { from: 'next' })
}

/** Runs the owner of cursor `c` in another process; `line` resolves to its next line of output. */
function ownerProcess(dir: string): { say(command: string): Promise<string>; kill(): Promise<void> } {
  const child = spawn(process.execPath, [OWNER, dir], { stdio: ['pipe', 'pipe', 'inherit'] })
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    async say(command) {
      child.stdin.write(`${command}\n`)
      return (await lines.next()).value as string
    },
    async kill() {
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
  }
}

test.each([false, true])('a cursor continues after its last commit (on a read-only log: %s)', async (readOnly) => {
  const writer = await scratchLog()
  await writer.appendBatch(['a', 'b', 'c', 'd', 'e'])
  const log = readOnly ? await openUntilDone(writer.dir, { readOnly }) : writer
  const cursor = await log.cursor('mailer-1')
  expect([cursor.name, cursor.position]).toEqual(['mailer-1', 0])
  for await (const { seq, data } of cursor.read()) {
    expect(data.toString()).toBe('abcde'[seq])
    await cursor.commit(seq)
    if (seq === 2) break
  }
  expect(cursor.position).toBe(3)
  expect(await seqs(await again(log, cursor))).toEqual([3, 4])
})

test('records that were delivered and not committed are delivered again', async () => {
  const log = await scratchLog()
  await log.appendBatch(['a', 'b', 'c'])
  const cursor = await log.cursor('c')
  expect(await seqs(cursor)).toEqual([0, 1, 2])
  expect(await seqs(cursor)).toEqual([0, 1, 2])
  await cursor.commit(1)
  expect(await seqs(cursor)).toEqual([2])
})

test('a new cursor begins at the oldest record, after the newest or at a seq, and an old one at its position', async () => {
  const log = await scratchLog()
  await log.appendBatch(['a', 'b', 'c', 'd'])
  expect((await log.cursor('first', { from: 'first' })).position).toBe(0)
  expect((await log.cursor('next', { from: 'next' })).position).toBe(4)
  const cursor = await log.cursor('seq', { from: 2 })
  expect(cursor.position).toBe(2)
  await cursor.close()
  expect((await log.cursor('seq', { from: 'first' })).position).toBe(2)
  expect(await codeOf(log.cursor('ahead', { from: 5 }))).toBe('ERR_DURLOG_OUT_OF_RANGE')
  expect(readdirSync(log.dir).filter((name) => name.startsWith('ahead'))).toEqual([])
})

test('a commit may skip records, ignores an older seq and refuses a seq without a record', async () => {
  const log = await scratchLog()
  await log.appendBatch(['a', 'b', 'c', 'd'])
  const cursor = await log.cursor('c')
  await cursor.commit(2)
  await cursor.commit(0)
  await cursor.commit(1, { durability: 'sync' })
  expect(cursor.position).toBe(3)
  expect(await codeOf(cursor.commit(4))).toBe('ERR_DURLOG_OUT_OF_RANGE')
  expect(await codeOf(cursor.commit(-1))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
  expect(await codeOf(cursor.commit(3, { durability: 'async' as 'sync' }))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
  expect((await again(log, cursor)).position).toBe(3)
})

test.each([false, true])(
  "a commit at sync brings the writer's record to the device first (shared: %s)",
  async (shared) => {
    const log = await scratchLog({ durability: 'memory', shared })
    const seq = await log.append('a')
    const cursor = await log.cursor('c')
    await cursor.commit(seq, { durability: 'sync' })
    expect(log.syncedSeq).toBe(seq)
    expect(positionAfterReboot(log.dir, 'c')).toBe(seq + 1)
    await cursor.commit(seq, { durability: 'full' })
  },
)

/** The seq at which the cursor is after another boot: *durable* of the newest slot, see docs/FORMAT.md. */
function positionAfterReboot(dir: string, name: string): number {
  const file = readFileSync(join(dir, `${name}.cursor`))
  const slots = [1024, 2048, 4096, 8192].map((at) => file.subarray(at, at + 88))
  const [newest] = slots.sort((a, b) => Number(b.readBigUInt64LE(48) - a.readBigUInt64LE(48)))
  return Number((newest as Buffer).readBigUInt64LE(72))
}

test.each([false, true])(
  'a place of a cursor is on the device: the records before it too (shared: %s)',
  async (shared) => {
    const log = await scratchLog({ durability: 'memory', shared })
    for (let i = 0; i < 10; i++) await log.append(`${i}`)
    await log.cursor('next', { from: 'next' })
    await log.ensureCursor('ensured', { from: 'next' })
    for (let i = 0; i < 10; i++) await log.append(`${i}`)
    await log.cursor('at', { from: 15 })
    for (let i = 0; i < 10; i++) await log.append(`${i}`)
    const sought = await log.cursor('sought')
    await sought.seek(25)
    const places = ['next', 'ensured', 'at', 'sought'].map((name) => positionAfterReboot(log.dir, name))
    expect(places).toEqual([10, 10, 15, 25])
  },
)

test('a cursor of all streams that begins after the newest record is on the device', async () => {
  const { dir, streams } = await scratchStreams({ durability: 'memory' })
  for (let i = 0; i < 10; i++) await streams.stream('s').append(i)
  const cursor = await streams.cursor('all', { from: 'next' })
  expect(positionAfterReboot(join(dir, 'log'), 'all')).toBe(cursor.position)
})

test('on a read-only log a place waits until the writer has synced the records before it', async () => {
  const writer = await scratchLog({ durability: 'memory' })
  const log = await openUntilDone(writer.dir, { readOnly: true })
  const cursor = await log.cursor('c')
  await writer.append('a')
  let placed = false
  const seek = cursor.seek(1).then(() => {
    placed = true
  })
  await writer.append('b')
  expect(placed).toBe(false)
  await writer.sync()
  await seek
  expect(positionAfterReboot(writer.dir, 'c')).toBe(1)
  const waiting = codeOf(cursor.seek(await writer.append('c').then((seq) => seq + 1)))
  await cursor.close()
  expect(await waiting).toBe('ERR_DURLOG_CLOSED')
})

test('on a read-only log a commit at sync waits for the writer, or for the end of the cursor', async () => {
  const writer = await scratchLog({ durability: 'memory' })
  const log = await openUntilDone(writer.dir, { readOnly: true })
  const cursor = await log.cursor('c')
  const seq = await writer.append('a')
  let committed = false
  const commit = cursor.commit(seq, { durability: 'sync' }).then(() => {
    committed = true
  })
  await cursor.commit(seq)
  expect(committed).toBe(false)
  await writer.sync()
  await commit
  const waiting = cursor.commit(await writer.append('b'), { durability: 'sync' })
  const code = codeOf(waiting)
  await cursor.close()
  expect(await code).toBe('ERR_DURLOG_CLOSED')
})

test('a follower sees new records and commits them', async () => {
  const log = await scratchLog()
  const cursor = await log.cursor('c', { from: 'next' })
  const signal = new AbortController()
  const seen: string[] = []
  const following = (async () => {
    for await (const { seq, data } of cursor.read({ follow: true, signal: signal.signal })) {
      seen.push(data.toString())
      await cursor.commit(seq)
      if (seq === 9) signal.abort(new Error('enough'))
    }
  })()
  for (let i = 0; i < 10; i++) await log.append(`record ${i}`)
  await expect(following).rejects.toThrow('enough')
  expect(seen).toEqual(Array.from({ length: 10 }, (_, i) => `record ${i}`))
  expect(cursor.position).toBe(10)
})

test.each([false, true])(
  'closing a cursor ends its followers, also one that waits for a record (on a read-only log: %s)',
  async (readOnly) => {
    const writer = await scratchLog()
    await writer.append('a')
    const log = readOnly ? await openUntilDone(writer.dir, { readOnly }) : writer
    const cursor = await log.cursor('c')
    const followers = [cursor.read({ follow: true }), cursor.read({ follow: true })]
    for (const follower of followers) expect((await follower.next()).value?.seq).toBe(0)
    const waiting = followers[0]?.next()
    const batch = cursor.read({ follow: true }).batches()
    expect((await batch.next()).value?.length).toBe(1)
    const waitingBatch = batch.next()
    const unfinished = cursor.read()
    await new Promise(setImmediate)
    await cursor.close()
    const done = { done: true, value: undefined }
    expect(await waiting).toEqual(done)
    expect(await waitingBatch).toEqual(done)
    expect(await followers[1]?.next()).toEqual(done)
    expect(await codeOf(unfinished.next())).toBe('ERR_DURLOG_CLOSED')
  },
)

test('a cursor delivers batches, and one record at a time without a promise', async () => {
  const log = await scratchLog()
  await log.appendBatch(['a', 'b', 'c', 'd', 'e'])
  const cursor = await log.cursor('c')
  const found: number[] = []
  for await (const batch of cursor.read().batches(2)) {
    for (const { seq } of batch) found.push(seq)
    await cursor.commit((batch.at(-1) as LogRecord).seq)
  }
  expect(found).toEqual([0, 1, 2, 3, 4])
  await cursor.seek(1)
  const reader = cursor.read()
  expect(reader.nextBuffered()).toBeUndefined()
  expect((await reader.next()).value?.seq).toBe(1)
  expect(reader.nextBuffered()?.seq).toBe(2)
  await reader.return()
})

test('seek sets the position both ways', async () => {
  const log = await scratchLog()
  await log.appendBatch(['a', 'b', 'c', 'd'])
  const cursor = await log.cursor('c')
  await cursor.seek(3)
  expect(await seqs(cursor)).toEqual([3])
  await cursor.seek(1)
  expect((await again(log, cursor)).position).toBe(1)
  expect(await codeOf(cursor.seek(2))).toBe('ERR_DURLOG_CLOSED')
  const next = await log.cursor('d')
  expect(await codeOf(next.seek(5))).toBe('ERR_DURLOG_OUT_OF_RANGE')
  await next.seek(4)
  expect(next.lag).toEqual({ records: 0, bytes: 0, ms: 0 })
})

test('a commit while seek syncs the position moves it forward, now and after the next open', async () => {
  const log = await scratchLog()
  await log.appendBatch(['a', 'b', 'c', 'd'])
  const { openDurableCursor } = native
  onTestFinished(() => void Object.assign(native, { openDurableCursor }))
  let afterPlace = (): void => {}
  native.openDurableCursor = async (...of) => {
    const opened = await openDurableCursor(...of)
    const place = opened.place.bind(opened)
    const value = (...to: Parameters<typeof place>): Promise<void> => place(...to).then(() => afterPlace())
    return Object.defineProperty(opened, 'place', { value })
  }
  const cursor = await log.cursor('c', { from: 2 })
  afterPlace = () => void cursor.commit(3)
  await cursor.seek(1)
  expect(cursor.position).toBe(4)
  expect((await again(log, cursor)).position).toBe(4)
})

test('a cursor can be placed at nextSeq while appends are pending', async () => {
  const log = await scratchLog({ strategy: 'direct' })
  await log.append('a')
  const cursor = await log.cursor('c')
  const b = log.append('b')
  await cursor.seek(log.nextSeq)
  expect(cursor.position).toBe(2)
  const c = log.append('c')
  expect((await log.cursor('d', { from: log.nextSeq })).position).toBe(3)
  await Promise.all([b, c])
})

test('lag reports how many records, bytes and milliseconds a cursor is behind', async () => {
  const log = await scratchLog({ segmentBytes: 65_536 })
  for (let i = 0; i < 500; i++) await log.append('x'.repeat(1000), { durability: 'memory', timestamp: 1_000_000 + i })
  const cursor = await log.cursor('c')
  const all = cursor.lag
  expect([all.records, all.ms]).toEqual([500, 499])
  // Frames of 1024 bytes; the free space at the end of each segment counts too.
  expect(all.bytes).toBeGreaterThanOrEqual(500 * 1024)
  expect(all.bytes).toBeLessThan(510 * 1024)
  await cursor.commit(497)
  expect(cursor.lag).toEqual({ records: 2, bytes: 2048, ms: 1 })
  await cursor.commit(499)
  expect(cursor.lag).toEqual({ records: 0, bytes: 0, ms: 0 })
})

test('only one open of a cursor owns it at any time, in this process and in a worker thread', async () => {
  const log = await scratchLog()
  const reader = await openUntilDone(log.dir, { readOnly: true })
  const cursor = await log.cursor('c')
  const refused = await errorOf(reader.cursor('c'))
  expect([refused.code, refused.ownerPid]).toEqual(['ERR_DURLOG_LOCKED', process.pid])
  expect(await codeOf(log.removeCursor('c'))).toBe('ERR_DURLOG_LOCKED')
  const worker = new Worker(new URL('fixtures/cursor-worker.mjs', import.meta.url), { workerData: log.dir })
  expect((await once(worker, 'message'))[0]).toBe('ERR_DURLOG_LOCKED')
  const waiting = reader.cursor('c', { waitMs: 60_000 })
  await cursor.close()
  expect((await waiting).position).toBe(0)
})

test('the lock of a killed owner is free, and its commit is kept; while it lives, the error names its process', async () => {
  const log = await scratchLog()
  await log.appendBatch(['a', 'b', 'c'])
  const owner = ownerProcess(log.dir)
  expect(await owner.say('commit 1')).toBe('ok')
  const { ownerPid = 0 } = await errorOf(log.cursor('c'))
  expect(ownerPid).toBeGreaterThan(0)
  expect(await log.cursors()).toEqual([
    { name: 'c', position: 2, lagRecords: 1, state: 'ready', owned: true, ownerPid },
  ])
  await owner.kill()
  expect(await seqs(await log.cursor('c'))).toEqual([2])
})

test('cursors are listed by name, and a removed one begins anew', async () => {
  const log = await scratchLog()
  await log.appendBatch(['a', 'b', 'c'])
  await (await log.cursor('b', { from: 2 })).close()
  const a = await log.cursor('a')
  const ownerPid = process.pid
  expect(await log.cursors()).toEqual([
    { name: 'a', position: 0, lagRecords: 3, state: 'ready', owned: true, ownerPid },
    { name: 'b', position: 2, lagRecords: 1, state: 'ready', owned: false },
  ])
  writeFileSync(join(log.dir, 'b.status'), '{}')
  await log.removeCursor('b')
  expect(readdirSync(log.dir)).not.toContain('b.status')
  expect(await codeOf(log.removeCursor('b'))).toBe('ERR_DURLOG_NOT_FOUND')
  expect((await log.cursors()).map(({ name }) => name)).toEqual(['a'])
  expect((await log.cursor('b')).position).toBe(0)
  await a.close()
})

test('a log closes its cursors, and recovery ignores their records', async () => {
  const log = await scratchLog()
  await log.append('a')
  const cursor = await log.cursor('c')
  await cursor.commit(0)
  await log.close()
  expect(await codeOf(cursor.commit(0))).toBe('ERR_DURLOG_CLOSED')
  expect(await codeOf(log.cursor('c'))).toBe('ERR_DURLOG_CLOSED')
  expect(await codeOf(log.cursors())).toBe('ERR_DURLOG_CLOSED')
  const next = await openUntilDone(log.dir)
  expect(next.recovery.state).toBe('clean')
  expect((await next.cursor('c')).position).toBe(1)
})

test.each([false, true])(
  'a truncation of records that a cursor has passed ends its reader (on a read-only log: %s)',
  async (readOnly) => {
    const writer = await scratchLog()
    await appendEach(writer, ['a', 'b', 'c', 'd', 'e', 'f'])
    const log = readOnly ? await openUntilDone(writer.dir, { readOnly }) : writer
    const cursor = await log.cursor('c')
    const reader = cursor.read({ follow: true })
    for (let seq = 0; seq < 6; seq++) await reader.next()
    await cursor.commit(4)
    const next = errorOf(reader.next())
    await writer.truncateAfter(1)
    await appendEach(writer, ['C', 'D', 'E', 'F', 'G'])
    const { code, lostFirst, lostLast } = await next
    // Record 5 was delivered but not committed.
    expect([code, lostFirst, lostLast]).toEqual(['ERR_DURLOG_CURSOR_CUT', 2, 5])
    expect(await codeOf(cursor.commit(5))).toBe('ERR_DURLOG_CURSOR_CUT')
    expect(await codeOf(records(cursor.read()))).toBe('ERR_DURLOG_CURSOR_CUT')
    const later = await again(log, cursor)
    const found = await errorOf(records(later.read()))
    expect([found.code, found.lostFirst, found.lostLast]).toEqual(['ERR_DURLOG_CURSOR_CUT', 2, 4])
    expect((await log.cursors()).map(({ state }) => state)).toEqual(['cut'])
    await later.seek(2)
    expect(await texts(later.read())).toEqual(['C', 'D', 'E', 'F', 'G'])
    expect(await seqs(await again(log, later))).toEqual([2, 3, 4, 5, 6])
  },
)

test('a cursor in another process finds a truncation that was made while it was closed, and one while it was open', async () => {
  const log = await scratchLog()
  await appendEach(log, ['a', 'b', 'c', 'd'])
  const first = ownerProcess(log.dir)
  expect(await first.say('commit 3')).toBe('ok')
  await first.kill()
  await log.truncateAfter(0)
  await appendEach(log, ['B', 'C', 'D', 'E', 'F'])
  const second = ownerProcess(log.dir)
  expect(await second.say('read')).toBe('ERR_DURLOG_CURSOR_CUT 1 3')
  expect(await second.say('seek 1')).toBe('ok')
  expect(await second.say('read')).toBe('B C D E F')
  expect(await second.say('commit 5')).toBe('ok')
  await log.truncateAfter(3)
  await appendEach(log, ['e', 'f', 'g'])
  expect(await second.say('read')).toBe('ERR_DURLOG_CURSOR_CUT 4 5')
})

test('a cursor does not report a truncation after its position', async () => {
  const log = await scratchLog()
  await appendEach(log, ['a', 'b', 'c', 'd'])
  const cursor = await log.cursor('c')
  const reader = cursor.read({ follow: true })
  await reader.next()
  await cursor.commit(0)
  await log.truncateAfter(1)
  await log.append('C')
  expect((await reader.next()).value?.data.toString()).toBe('b')
  expect((await reader.next()).value?.data.toString()).toBe('C')
  await cursor.commit(2)
  await reader.return()
  expect((await again(log, cursor)).position).toBe(3)
})

test('a cursor whose next records were trimmed names them, and a seek continues after them', async () => {
  const log = await scratchLog({ segmentBytes: 65_536 })
  const cursor = await log.cursor('c')
  for (let i = 0; i < 200; i++) await log.append('x'.repeat(1000), { durability: 'memory' })
  await log.sync()
  const first = await log.trimBefore(150)
  expect(first).toBeGreaterThan(0)
  const { code, lostFirst, lostLast } = await errorOf(records(cursor.read()))
  expect([code, lostFirst, lostLast]).toEqual(['ERR_DURLOG_CURSOR_OVERRUN', 0, first - 1])
  expect(cursor.lag.records).toBe(200 - first)
  const overrun = { name: 'c', position: 0, lagRecords: 200 - first }
  expect(await log.cursors()).toMatchObject([{ ...overrun, state: 'overrun' }])
  expect(log.stats().cursors).toEqual([overrun])
  await cursor.seek(first)
  expect(await log.cursors()).toMatchObject([{ position: first, lagRecords: 200 - first, state: 'ready' }])
  expect((await seqs(cursor)).length).toBe(200 - first)
})

test('a damaged cursor file fails with a code until a seek', async () => {
  const log = await scratchLog()
  await log.appendBatch(['a', 'b'])
  const cursor = await log.cursor('c')
  await cursor.commit(0)
  await cursor.close()
  writeFileSync(join(log.dir, 'c.cursor'), Buffer.alloc(12_288, 7))
  const damaged = await log.cursor('c', { from: 'next' })
  expect(await codeOf(records(damaged.read()))).toBe('ERR_DURLOG_CORRUPT')
  expect(await codeOf(damaged.commit(1))).toBe('ERR_DURLOG_CORRUPT')
  expect((await log.cursors()).map(({ state, position }) => [state, position])).toEqual([['damaged', -1]])
  await damaged.seek(1)
  expect(await seqs(damaged)).toEqual([1])
})

test('a cursor of another log is refused', async () => {
  const [log, other] = [await scratchLog(), await scratchLog()]
  await (await log.cursor('c')).close()
  writeFileSync(join(other.dir, 'c.cursor'), readFileSync(join(log.dir, 'c.cursor')))
  expect(await codeOf(other.cursor('c'))).toBe('ERR_DURLOG_NOT_A_LOG')
  await other.removeCursor('c')
  expect((await other.cursor('c')).position).toBe(0)
})

test('a file whose owner died before it had a position is a new cursor', async () => {
  const log = await scratchLog()
  await log.append('a')
  await (await log.cursor('c', { from: 'next' })).close()
  truncateSync(join(log.dir, 'c.cursor'), 8192)
  expect(await log.cursors()).toEqual([])
  expect((await log.cursor('c')).position).toBe(0)
})

test.each([
  ['', undefined],
  ['a.b', undefined],
  ['../x', undefined],
  ['x'.repeat(65), undefined],
  ['c', { from: 'last' }],
  ['c', { from: 1.5 }],
  ['c', { form: 'next' }],
  ['c', { waitMs: -1 }],
])('the cursor name %j with options %j is refused', async (name, options) => {
  const log = await scratchLog()
  expect(await codeOf(log.cursor(name, options as object))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
  const cursor = await log.cursor('fine')
  expect(await codeOf(() => cursor.read({ from: 1 } as object))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
})

test('ensureCursor creates a cursor once, and works while its owner holds the lock', async () => {
  const log = await scratchLog()
  await log.appendBatch(['a', 'b', 'c'])
  await log.ensureCursor('mailer', { from: 1 })
  expect((await log.cursors()).map(({ name, position, owned }) => [name, position, owned])).toEqual([
    ['mailer', 1, false],
  ])
  const owner = await log.cursor('mailer')
  await owner.commit(1)
  await log.ensureCursor('mailer', { from: 'first' })
  expect(owner.position).toBe(2)
})

test('ensureCursor called at the same time by several logs creates one cursor', async () => {
  const log = await scratchLog()
  await log.append('a')
  const readers = await Promise.all([1, 2, 3].map(() => openUntilDone(log.dir, { readOnly: true })))
  await Promise.all([log, ...readers].map((each) => each.ensureCursor('mailer')))
  expect((await log.cursors()).map(({ name, state }) => [name, state])).toEqual([['mailer', 'ready']])
})

test.each(['sync', 'full'] as const)(
  'a commit at %s writes a slot after one at memory has moved the position',
  async (durability) => {
    const log = await scratchLog()
    await log.appendBatch(['a', 'b', 'c'])
    const cursor = await log.cursor('mailer')
    await seqs(cursor)
    const bytes = (): Buffer => readFileSync(join(log.dir, 'mailer.cursor'))
    await cursor.commit(1)
    const inMemory = bytes()
    await cursor.commit(1, { durability })
    const synced = bytes()
    expect(synced.equals(inMemory)).toBe(false)
    // A second call changes nothing.
    await cursor.commit(1, { durability })
    expect(bytes().equals(synced)).toBe(true)
  },
)

test.each([
  ['memory', 'before its close'],
  ['memory', 'after its close'],
  ['sync', 'after its close'],
] as const)(
  'a cursor notices that an older copy of the log was put back (commit at %s, its file as it was %s)',
  async (durability, when) => {
    const log = await scratchLog()
    const { dir } = log
    await log.appendBatch(Array.from({ length: 10 }, (_, i) => `old ${i}`))
    const early = await log.cursor('early')
    await early.seek(10)
    await log.close()
    cpSync(dir, `${dir}-copy`, { recursive: true })
    onTestFinished(() => rmSync(`${dir}-copy`, { recursive: true }))
    const lost = await openUntilDone(dir)
    await lost.appendBatch(Array.from({ length: 10 }, (_, i) => `lost ${i}`))
    const late = await lost.cursor('late')
    await late.seek(13)
    await late.commit(15, { durability })
    const killed = when === 'before its close'
    if (killed) copyFileSync(join(dir, 'late.cursor'), `${dir}-late`)
    await lost.close()
    if (!killed) copyFileSync(join(dir, 'late.cursor'), `${dir}-late`)
    rmSync(dir, { recursive: true })
    cpSync(`${dir}-copy`, dir, { recursive: true })
    const restored = await openUntilDone(dir)
    await restored.appendBatch(Array.from({ length: 15 }, (_, i) => `new ${i}`))
    copyFileSync(`${dir}-late`, join(dir, 'late.cursor'))
    rmSync(`${dir}-late`)
    expect(await restored.cursors()).toMatchObject([
      { name: 'early', state: 'ready' },
      { name: 'late', state: 'replaced' },
    ])
    const again = await restored.cursor('late')
    expect(await errorOf(again.read().next())).toMatchObject({ code: 'ERR_DURLOG_CURSOR_CUT' })
    expect(await codeOf(again.commit(16))).toBe('ERR_DURLOG_CURSOR_CUT')
    await again.seek(10)
    expect((await again.read().next()).value?.data.toString()).toBe('new 0')
    const valid = await restored.cursor('early')
    expect((await valid.read().next()).value?.data.toString()).toBe('new 0')
  },
)

test('without a writer, no call of a cursor waits for a sync that nothing makes', async () => {
  const writer = await scratchLog({ durability: 'memory' })
  await writer.append('synced', { durability: 'sync' })
  await appendEach(writer, ['a', 'b', 'c'])
  // As a process leaves the folder that is killed while it writes.
  const dir = join(writer.dir, '..', 'left')
  cpSync(writer.dir, dir, { recursive: true })
  const log = await openUntilDone(dir, { readOnly: true })
  const [cursor, other] = await Promise.all([log.cursor('c'), log.cursor('d')])
  const calls = [
    cursor.seek(4),
    other.commit(3, { durability: 'sync' }),
    log.cursor('e', { from: 'next' }),
    log.ensureCursor('f', { from: 4 }),
  ]
  expect(await Promise.all(calls.map((call) => codeOf(call)))).toEqual(Array(4).fill('ERR_DURLOG_OUT_OF_RANGE'))
  expect([cursor.position, other.position, (await log.cursors()).length]).toEqual([0, 4, 2])
  const waiting = cursor.seek(4)
  const next = await openUntilDone(dir)
  await waiting
  expect([cursor.position, next.nextSeq]).toEqual([4, 4])
})

test('a cursor in memory soon has the checksum of a record that it has committed', async () => {
  const log = await scratchLog()
  await log.appendBatch(['a', 'b', 'c'])
  const cursor = await log.cursor('c')
  const proven = () => {
    const file = readFileSync(join(log.dir, 'c.cursor'))
    return Math.max(...[1024, 2048, 4096, 8192].map((slot) => Number(file.readBigUInt64LE(slot + 88))))
  }
  await cursor.commit(0)
  await expect.poll(proven).toBe(1)
  await cursor.commit(1)
  await cursor.commit(2)
  await expect.poll(proven).toBe(3)
})

test('each call that the state of a cursor rejects has a separate error', async () => {
  const log = await scratchLog()
  await appendEach(log, ['a', 'b', 'c'])
  const cursor = await log.cursor('c')
  expect(await seqs(cursor)).toEqual([0, 1, 2])
  await log.truncateAfter(0)
  const calls = [cursor.commit(2), cursor.commit(2), cursor.read().next(), cursor.read().next()]
  const errors = await Promise.all(calls.map(errorOf))
  expect(errors.map(({ code }) => code)).toEqual(errors.map(() => 'ERR_DURLOG_CURSOR_CUT'))
  expect(new Set(errors).size).toBe(errors.length)
})
