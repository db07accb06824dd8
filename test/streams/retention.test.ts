/** Streams with retention: limits, reading, forks, restarts, and files. */
import { existsSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Folder } from '../../src/streams/api/folder.js'
import { openExclusive } from '../../src/streams/api/open-streams.js'
import { openStreams, type Stream, type Streams } from '../../src/streams/index.js'
import { defaultMeta } from '../../src/streams/port/meta.js'
import { MemTable } from '../../src/streams/state/mem-table.js'
import { planFiles } from '../../src/streams/state/retention.js'
import { NO_DISK, StreamState } from '../../src/streams/state/state.js'
import { adjustableClock } from '../fixtures/fake-clock.js'
import { codeOf, scratchDir } from '../fixtures/scratch.js'
import { all, leave, linesOf, localPort, scratchStreams, values } from '../fixtures/streams.js'

/** Appends the numbers from `from` to `to` - 1 in one step. */
async function append(stream: Stream<unknown>, from: number, to: number, timestamp?: number): Promise<void> {
  await stream.appendAll(
    Array.from({ length: to - from }, (_, at) => from + at),
    { timestamp },
  )
}

function numbers(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, at) => from + at)
}

async function firstOf(stream: Stream<unknown>): Promise<number> {
  return (await stream.info())?.firstSeq as number
}

/** The names of the files of the folder `streams/`. */
function filesIn(dir: string): string[] {
  return readdirSync(join(dir, 'streams')).sort()
}

/** Makes two checkpoints: the second one removes the files that the first one has dropped. */
async function settle(streams: Streams<unknown>): Promise<void> {
  await streams.checkpoint()
  await streams.checkpoint()
}

test('with maxRecords, each checkpoint keeps the newest records, and at most an eighth of the limit more', async () => {
  const { streams, dir } = await scratchStreams()
  const stream = streams.stream('s')
  await stream.create({ retention: { maxRecords: 200 } })
  let next = 0
  for (const count of [1, 30, 7, 150, 25, 25, 25, 400, 1, 24, 26, 3000, 10, 200, 0, 90]) {
    if (count > 0) await append(stream, next, next + count)
    next += count
    await streams.checkpoint()
    const first = await firstOf(stream)
    expect(next - first).toBeGreaterThanOrEqual(Math.min(next, 200))
    expect(next - first).toBeLessThanOrEqual(225)
    expect(await values(stream.read())).toEqual(numbers(first, next))
  }
  await streams.checkpoint()
  const lines = filesIn(dir).flatMap((name) => linesOf(join(dir, 'streams', name)))
  expect(lines).toEqual(numbers(await firstOf(stream), next))
  expect(readdirSync(join(dir, 'index')).length).toBeLessThanOrEqual(filesIn(dir).length)
})

test('with maxBytes, the files of a stream take the limit and at most an eighth of it and a record more', async () => {
  const { streams, dir } = await scratchStreams()
  const stream = streams.stream('b')
  await stream.create({ encoding: 'buffer', retention: { maxBytes: '64k' } })
  for (let round = 0; round < 30; round++) {
    for (let i = 0; i < 12; i++) void stream.append(Buffer.alloc(1000, round * 12 + i))
    await settle(streams)
    const { fileBytes = 0, firstSeq = 0, nextSeq = 0 } = (await stream.info()) ?? {}
    expect(fileBytes).toBeLessThanOrEqual(65_536 * 1.125 + 1008)
    if (firstSeq > 0) expect(fileBytes).toBeGreaterThanOrEqual(65_536)
    expect((nextSeq - firstSeq) * 1008).toBe(fileBytes)
    const onDisk = filesIn(dir).reduce((sum, name) => sum + statSync(join(dir, 'streams', name)).size, 0)
    expect(onDisk).toBe(fileBytes)
  }
  const read = (await values(stream.read())) as Buffer[]
  expect(read.at(-1)?.[0]).toBe((30 * 12 - 1) % 256)
})

test('with maxAgeMs, older records are removed, also if all records are older', async () => {
  const { streams, dir } = await scratchStreams()
  const stream = streams.stream('s')
  await stream.create({ retention: { maxAgeMs: '1h' } })
  const minutesAgo = (minutes: number): number => Date.now() - minutes * 60_000
  let next = 0
  for (let minutes = 180; minutes > 0; minutes -= 3) {
    await append(stream, next, next + 2, minutesAgo(minutes))
    next += 2
    if (minutes % 9 === 0) await streams.checkpoint()
  }
  await settle(streams)
  const [oldest] = await all(stream.read(), 1)
  expect(oldest?.timestamp).toBeLessThanOrEqual(minutesAgo(60))
  expect(oldest?.timestamp).toBeGreaterThan(minutesAgo(60 * 1.125 + 3.1))
  expect(await values(stream.read())).toEqual(numbers(oldest?.seq as number, next))
  const old = streams.stream('old')
  await old.create({ retention: { maxAgeMs: '1h' } })
  await append(old, 0, 100, minutesAgo(61))
  await settle(streams)
  expect(await old.info()).toMatchObject({ firstSeq: 100, nextSeq: 100, fileBytes: 0 })
  expect(await values(old.read())).toEqual([])
  expect(filesIn(dir).filter((name) => name.startsWith('old'))).toEqual([])
  expect(await old.append(100)).toMatchObject({ seq: 100 })
  await streams.checkpoint()
  expect(await values(old.read())).toEqual([100])
})

test('if the clock is set back or forward and back, timestamps do not decrease, and no record is removed too early', async () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  onTestFinished(() => void vi.useRealTimers())
  const { streams, reopen } = await scratchStreams()
  await streams.stream('s').create({ retention: { maxAgeMs: '7d' } })
  const nowMs = Date.now()
  const yearMs = 365 * 86_400_000
  let again = streams
  for (const [round, clockMs] of [nowMs, nowMs - yearMs, nowMs, nowMs + yearMs, nowMs, nowMs + 86_400_000].entries()) {
    vi.setSystemTime(clockMs)
    again = await reopen()
    await append(again.stream('s'), round * 20, round * 20 + 20)
    await settle(again)
    const records = await all(again.stream('s').read())
    // The clock is a year later in round 3, so the earlier records are too old from then on.
    expect(records.map(({ value }) => value)).toEqual(numbers(round < 3 ? 0 : 60, round * 20 + 20))
    expect(records.map(({ timestamp }) => timestamp)).toEqual(records.map(() => (round < 3 ? nowMs : nowMs + yearMs)))
  }
})

test('with maxAgeMs, records of a stream without appends are removed', async () => {
  const dir = join(scratchDir(), 'streams')
  const streams = await openExclusive(dir, { checkpointMs: 10 }, {})
  onTestFinished(() => streams.close())
  const stream = streams.stream('s')
  await stream.create({ retention: { maxAgeMs: 1000 } })
  await append(stream, 0, 50)
  while ((await firstOf(stream)) < 50) await new Promise((resolve) => streams.once('checkpoint', resolve))
  expect(await values(stream.read())).toEqual([])
})

test('a read from before the first seq fails with ERR_DURLOG_OUT_OF_RANGE, and a read from the first seq delivers all records', async () => {
  const { streams } = await scratchStreams()
  const stream = streams.stream('s')
  await stream.create({ retention: { maxRecords: 16 } })
  await append(stream, 0, 100)
  await streams.checkpoint()
  const first = await firstOf(stream)
  expect(first).toBeGreaterThan(50)
  expect(await codeOf(values(stream.read({ from: first - 1 })))).toBe('ERR_DURLOG_OUT_OF_RANGE')
  expect(await codeOf(values(stream.read({ from: 0, follow: true })))).toBe('ERR_DURLOG_OUT_OF_RANGE')
  expect(await values(stream.read({ from: first }))).toEqual(numbers(first, 100))
})

test('a follower fails with ERR_DURLOG_OUT_OF_RANGE if its next record was removed, and a faster one continues', async () => {
  const { streams } = await scratchStreams()
  const stream = streams.stream('s')
  await stream.create({ retention: { maxRecords: 64 } })
  await append(stream, 0, 3)
  const [slow, fast] = [stream.read({ follow: true }), stream.read({ follow: true })]
  for (const reader of [slow, fast]) expect((await reader.next()).value).toMatchObject({ seq: 0 })
  for (let next = 3; next < 600; next += 30) {
    await append(stream, next, next + 30)
    for (let seq = Math.max(1, next - 29); seq <= next; seq++)
      expect((await fast.next()).value).toMatchObject({ seq, value: seq })
    await settle(streams)
  }
  await fast.return()
  // More records than an owner reads ahead for a client.
  for (let next = 603; next < 6603; next += 2000) {
    await append(stream, next, next + 2000)
    await settle(streams)
  }
  const overtaken = async (): Promise<void> => {
    for await (const record of slow) expect(record.seq).toBeLessThan(4603)
  }
  expect(await codeOf(overtaken())).toBe('ERR_DURLOG_OUT_OF_RANGE')
})

test('removed records do not return after opening again, and the stream continues', async () => {
  const { streams, dir, reopen } = await scratchStreams()
  await streams.stream('s').create({ retention: { maxRecords: 40 } })
  await streams.stream('plain').append(1)
  await append(streams.stream('s'), 0, 500)
  await streams.checkpoint()
  await append(streams.stream('s'), 500, 600)
  const again = await reopen()
  const first = await firstOf(again.stream('s'))
  expect(first).toBeGreaterThanOrEqual(600 - 56)
  expect(await values(again.stream('s').read())).toEqual(numbers(first, 600))
  await append(again.stream('s'), 600, 610)
  const third = await reopen()
  expect(await values(third.stream('s').read({ from: 600 }))).toEqual(numbers(600, 610))
  expect(filesIn(dir).filter((name) => name.includes('~')).length).toBeLessThanOrEqual(4)
  expect(filesIn(dir)).toContain('plain.jsonl')
})

test('the next checkpoint removes all files of a stream that was deleted or replaced', async () => {
  const { streams, dir } = await scratchStreams()
  const retained = { retention: { maxRecords: 160 } }
  const [a, b] = [streams.stream('a'), streams.stream('b')]
  for (const stream of [a, b]) {
    await stream.create(retained)
    await append(stream, 0, 150)
    await streams.checkpoint()
    await append(stream, 150, 300)
  }
  expect(filesIn(dir).length).toBeGreaterThan(8)
  await a.delete()
  await b.delete()
  await b.append('plain')
  await streams.checkpoint()
  expect(filesIn(dir)).toEqual(['b.jsonl'])
  expect(readdirSync(join(dir, 'index'))).toEqual([])
  await b.delete()
  await b.create(retained)
  await append(b, 0, 150)
  await b.delete()
  await b.create(retained)
  await append(b, 0, 10)
  await streams.checkpoint()
  expect(filesIn(dir)).toEqual(['b~00000000000000000000.jsonl'])
  expect(await values(b.read())).toEqual(numbers(0, 10))
})

test('while a source has a fork it keeps its records, and the fork has its retention', async () => {
  const { streams, reopen } = await scratchStreams()
  const source = streams.stream('source')
  await source.create({ retention: { maxRecords: 32 } })
  await append(source, 0, 100)
  await streams.checkpoint()
  const first = await firstOf(source)
  expect(first).toBeGreaterThan(32)
  expect(await codeOf(streams.stream('early').create({ fork: { stream: 'source', seq: first - 1 } }))).toBe(
    'ERR_DURLOG_OUT_OF_RANGE',
  )
  const fork = streams.stream('fork')
  expect(await fork.create({ fork: { stream: 'source', seq: first + 20 } })).toBe(true)
  await append(source, 100, 400)
  await streams.checkpoint()
  expect(await values(source.read())).toEqual(numbers(first, 400))
  expect(await values(fork.read())).toEqual(numbers(first, first + 20))
  expect(await fork.info()).toMatchObject({ firstSeq: first, retention: { maxRecords: 32 } })
  await append(fork, 0, 100)
  await streams.checkpoint()
  expect(await firstOf(fork)).toBeGreaterThan(first + 20 + 32)
  expect(await codeOf(values(fork.read({ from: first })))).toBe('ERR_DURLOG_OUT_OF_RANGE')
  const again = await reopen()
  expect(await again.stream('fork').create({ fork: { stream: 'source', seq: first + 20 } })).toBe(false)
  await again.stream('fork').delete()
  await again.checkpoint()
  expect(await firstOf(again.stream('source'))).toBeGreaterThan(400 - 49)
})

test('the files of a deleted source are kept for its forks, and removed after the last one', async () => {
  const { streams, dir, reopen } = await scratchStreams()
  const source = streams.stream('source')
  await source.create({ retention: { maxRecords: 100 } })
  await append(source, 0, 90)
  await streams.checkpoint()
  await streams.stream('fork').create({ fork: { stream: 'source' } })
  await append(streams.stream('fork'), 90, 95)
  await source.delete()
  const again = await reopen()
  expect(filesIn(dir).length).toBeGreaterThan(4)
  expect(await values(again.stream('fork').read())).toEqual(numbers(0, 95))
  await again.stream('fork').delete()
  await again.checkpoint()
  expect(filesIn(dir)).toEqual([])
  expect(readdirSync(join(dir, 'index'))).toEqual([])
})

test('a fork that was created and deleted before a crash does not change which entries of the log count', async () => {
  const dir = join(scratchDir(), 'streams')
  let onStep = (_: string): void => {}
  const open = async (): Promise<Folder<unknown>> => {
    const streams = await openExclusive(dir, { checkpointMs: 3_600_000 }, { onStep: (step) => onStep(step) })
    onTestFinished(() => streams.close())
    return streams
  }
  const streams = await open()
  const source = streams.stream('source')
  await source.create({ retention: { maxRecords: 16 } })
  await append(source, 0, 100)
  const forked: Promise<unknown>[] = []
  const remove = async (): Promise<boolean> => {
    while (localPort(streams).table.find('fork') === undefined) await Promise.resolve()
    return streams.stream('fork').delete()
  }
  // After the checkpoint has taken its position, and before it decides which records the source keeps.
  onStep = (step) => {
    if (step !== 'sync log' || forked.length > 0) return
    const fork = { stream: 'source', seq: 10 }
    forked.push(streams.stream('fork').create({ fork, values: ['in the fork'] }), remove())
  }
  await streams.checkpoint()
  expect(await Promise.all(forked)).toEqual([true, true])
  expect(await firstOf(source)).toBeGreaterThan(10)
  const committed = await all(streams.readAll())
  expect(committed.at(-1)?.value).toBe('in the fork')
  await leave(streams)
  onStep = () => {}
  expect(await all((await open()).readAll())).toEqual(committed)
})

test('a fork that is created while a checkpoint drops records is refused, or has all of its records', async () => {
  const dir = join(scratchDir(), 'streams')
  let onStep = (_: string): void => {}
  const streams = await openExclusive(dir, { checkpointMs: 3_600_000 }, { onStep: (step) => onStep(step) })
  onTestFinished(() => streams.close())
  for (const at of ['sync log', 'store', 'catalog', 'trim']) {
    const [source, fork] = [streams.stream(`source ${at}`), streams.stream(`fork ${at}`)]
    await source.create({ retention: { maxRecords: 16 } })
    await append(source, 0, 100)
    let created: Promise<unknown> | undefined
    onStep = (step) => {
      if (step === at) created ??= codeOf(fork.create({ fork: { stream: source.name, seq: 50 } }))
    }
    await streams.checkpoint()
    const code = await created
    if (code === 'none') expect(await values(fork.read())).toEqual(numbers(0, 50))
    else expect(code).toBe('ERR_DURLOG_OUT_OF_RANGE')
    expect(code).toBe(at === 'sync log' ? 'none' : 'ERR_DURLOG_OUT_OF_RANGE')
  }
})

test('a fork with the last record that a checkpoint in progress drops is refused, because its creation could not be repeated', async () => {
  const dir = join(scratchDir(), 'streams')
  let onStep = (_: string): void => {}
  const streams = await openExclusive(dir, { checkpointMs: 3_600_000 }, { onStep: (step) => onStep(step) })
  onTestFinished(() => streams.close())
  const [source, fork] = [streams.stream('source'), streams.stream('fork')]
  await source.create({ encoding: 'buffer', retention: { maxRecords: 16 } })
  for (let i = 0; i < 100; i++) void source.append(Buffer.from('hello') as never)
  let created: Promise<unknown> | undefined
  // The checkpoint drops the records before 80. The fork has all 5 bytes of record 79.
  onStep = (step) => {
    if (step === 'catalog') created = codeOf(fork.create({ fork: { stream: 'source', seq: 79, bytes: 5 } }))
  }
  await streams.checkpoint()
  expect(await firstOf(source)).toBe(80)
  expect([await created, await fork.info()]).toEqual(['ERR_DURLOG_OUT_OF_RANGE', undefined])
})

test('a stream with retention whose newest file was removed continues after the lost records', async () => {
  const { streams, dir, reopen } = await scratchStreams()
  const stream = streams.stream('s')
  await stream.create({ retention: { maxRecords: 100 } })
  await append(stream, 0, 40)
  await streams.checkpoint()
  const newest = (await stream.info())?.path as string
  renameSync(newest, join(dir, 'elsewhere'))
  await append(stream, 40, 45)
  await streams.checkpoint()
  expect(streams.changes).toEqual([{ stream: 's', original: '', lostFirst: 32, lostLast: 39 }])
  expect(await firstOf(stream)).toBe(40)
  expect(await codeOf(values(stream.read({ from: 0 })))).toBe('ERR_DURLOG_OUT_OF_RANGE')
  const again = await reopen()
  expect(await values(again.stream('s').read())).toEqual(numbers(40, 45))
})

test('if a checkpoint fails after it has found that a file is missing, the next one stores the records', async () => {
  const dir = join(scratchDir(), 'streams')
  let onStep = (_: string): void => {}
  const streams = await openExclusive(dir, { checkpointMs: 3_600_000 }, { onStep: (step) => onStep(step) })
  onTestFinished(() => streams.close())
  const stream = streams.stream('s')
  await stream.create({ retention: { maxRecords: 100 } })
  await append(stream, 0, 10)
  await streams.checkpoint()
  rmSync((await stream.info())?.path as string)
  await append(stream, 10, 15)
  onStep = (step) => {
    if (step === 'catalog') throw new Error('the checkpoint ends here')
  }
  expect(await codeOf(streams.checkpoint())).toBe('ERR_DURLOG_IO')
  onStep = () => {}
  await streams.checkpoint()
  expect(await values(stream.read())).toEqual(numbers(10, 15))
  expect(linesOf((await stream.info())?.path as string)).toEqual(numbers(10, 15))
})

test.each(['deleted', 'deleted and created again', 'deleted and opened again'])(
  'a stream leaves no file if a failed checkpoint has begun a new file after a lost one and the stream is then %s',
  async (what) => {
    const dir = join(scratchDir(), 'streams')
    let onStep = (_: string): void => {}
    const openIt = async (): Promise<Folder<unknown>> => {
      const streams = await openExclusive(dir, { checkpointMs: 3_600_000 }, { onStep: (step) => onStep(step) })
      onTestFinished(() => streams.close())
      return streams
    }
    const streams = await openIt()
    const stream = streams.stream('s')
    const retention = { maxRecords: 100 }
    await stream.create({ retention })
    await append(stream, 0, 10)
    await streams.checkpoint()
    rmSync((await stream.info())?.path as string)
    await append(stream, 10, 30)
    onStep = (step) => {
      if (step === 'catalog') throw new Error('the checkpoint ends here')
    }
    expect(await codeOf(streams.checkpoint())).toBe('ERR_DURLOG_IO')
    expect(filesIn(dir)).toHaveLength(2)
    await stream.delete()
    if (what === 'deleted and opened again') await leave(streams).catch(() => {})
    onStep = () => {}
    const again = what === 'deleted and opened again' ? await openIt() : streams
    if (what === 'deleted and created again') {
      await again.stream('s').create({ retention })
      await append(again.stream('s'), 0, 30)
    }
    await again.checkpoint()
    const left =
      what === 'deleted and created again' ? ['s~00000000000000000000.jsonl', 's~00000000000000000016.jsonl'] : []
    expect(filesIn(dir)).toEqual(left)
    expect(again.changes).toEqual(again === streams ? [{ stream: 's', original: '', lostFirst: 0, lostLast: 9 }] : [])
  },
)

test('a damaged record in an older file is reported', async () => {
  const { streams, dir } = await scratchStreams()
  const stream = streams.stream('s')
  await stream.create({ retention: { maxRecords: 100 } })
  await append(stream, 0, 40)
  await streams.checkpoint()
  const path = join(dir, 'streams', 's~00000000000000000000.jsonl')
  expect(existsSync(path)).toBe(true)
  writeFileSync(path, 'x'.repeat(statSync(path).size))
  await expect(values(stream.read())).rejects.toMatchObject({ code: 'ERR_DURLOG_STREAM_CHANGED', path })
  expect(await values(stream.read({ from: 16 }))).toEqual(numbers(16, 40))
})

/** Returns a function that returns the largest number of records that a turn of the event loop has planned. */
function plannedAtOnce(): () => number {
  const ahead = adjustableClock('held')
  const { timeAt } = MemTable.prototype
  let [planned, most] = [0, 0]
  const spy = vi.spyOn(MemTable.prototype, 'timeAt').mockImplementation(function (this: MemTable, position) {
    if (++planned % 1000 === 0) ahead(1)
    if (planned === 1)
      setImmediate(() => {
        planned = 0
      })
    most = Math.max(most, planned)
    return timeAt.call(this, position)
  })
  onTestFinished(() => spy.mockRestore())
  return () => most
}

test('the files of a stream that was deleted and created again are planned in several turns', async () => {
  const { streams, dir } = await scratchStreams({ durability: 'memory', checkpointMs: 3_600_000 })
  const most = plannedAtOnce()
  const stream = streams.stream('s')
  const options = { retention: { maxRecords: 1000 } }
  await stream.create(options)
  await stream.appendAll(numbers(0, 20_000))
  await stream.delete()
  await stream.create(options)
  await stream.append(7)
  await streams.checkpoint()
  expect(most()).toBeGreaterThan(900)
  expect(most()).toBeLessThan(1100)
  expect(filesIn(dir)).toEqual(['s~00000000000000000000.jsonl'])
  expect(await values(stream.read())).toEqual([7])
})

test('while a stream has forks, the number of its files grows with the logarithm of its length', async () => {
  const limits = { maxRecords: 100 }
  const meta = { ...defaultMeta('json'), retention: limits }
  const memTable = new MemTable()
  const bytes = Buffer.from('"x"')
  const count = 200_000
  for (let position = 0; position < count; position++) memTable.add(position, { bytes, valueAt: 0, end: 3 }, position)
  const state = new StreamState('s', 0, NO_DISK, meta, undefined)
  const positions = Float64Array.from(numbers(0, count))
  const most = plannedAtOnce()
  const files = await planFiles(state, positions, memTable)
  expect(most()).toBeLessThan(1100)
  expect(files.length).toBeLessThan(5000)
  expect(files.flatMap(({ positions }) => positions)).toEqual(numbers(0, count))
  for (const [at, { disk }] of files.entries()) expect(disk.first).toBe(files[at]?.positions[0])
})

test.each([{}, { maxRecords: 0 }, { maxBytes: 1000 }, { maxAgeMs: 999 }, { maxRecord: 1 }, 7])(
  'the retention %j is refused',
  async (retention) => {
    const { streams } = await scratchStreams()
    expect(await codeOf(streams.stream('s').create({ retention } as object))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
  },
)

test('info returns the retention of a stream, and create with another one is refused', async () => {
  const { streams, reopen } = await scratchStreams()
  const options = { retention: { maxRecords: 10, maxBytes: '1m', maxAgeMs: '7d' } } as const
  expect(await streams.stream('s').create(options)).toBe(true)
  const again = (await reopen()).stream('s')
  expect(await again.info()).toMatchObject({ retention: { maxRecords: 10, maxBytes: 2 ** 20, maxAgeMs: 604_800_000 } })
  expect(await again.create(options)).toBe(false)
  expect(await codeOf(again.create({ retention: { maxRecords: 11 } }))).toBe('ERR_DURLOG_STREAM_EXISTS')
  expect(await codeOf(again.create())).toBe('ERR_DURLOG_STREAM_EXISTS')
})

test('after a clock that was ahead, acceptClock restores the times and the removal by age', async () => {
  const { dir, streams } = await scratchStreams({ exclusive: true })
  const clock = vi.spyOn(Date, 'now')
  onTestFinished(() => clock.mockRestore())
  const [now, later] = [Date.now(), Date.now() + 10 * 365 * 86_400_000]
  clock.mockReturnValue(later)
  const options = { retention: { maxAgeMs: 1000 } }
  await streams.stream('s').create({ ...options, values: [0] })
  clock.mockReturnValue(now)
  await streams.stream('s').append(1)
  await streams.close()
  expect(await codeOf(openStreams(dir, { acceptClock: true }))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
  await (await openStreams(dir, { exclusive: true, acceptClock: true })).close()

  const again = await openStreams(dir, { exclusive: true, checkpointMs: 60_000 })
  onTestFinished(() => again.close())
  await again.stream('s').append(2)
  await again.stream('other').append(0)
  const times = (await all(again.stream('s').read())).map(({ timestamp }) => timestamp)
  expect(times).toEqual([later, later, now])
  expect(await all(again.stream('other').read())).toMatchObject([{ timestamp: now }])
  clock.mockReturnValue(now + 2000)
  await again.stream('s').append(3)
  await settle(again)
  expect(await values(again.stream('s').read())).toEqual([3])
})
