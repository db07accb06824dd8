import { Worker } from 'node:worker_threads'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Log, type LogRecord, open, type ReadOptions } from '../src/index.js'
import { Reader } from '../src/reader/reader.js'
import { Truncation } from '../src/reader/truncation.js'
import { codeOf, openUntilDone, records, scratchDir, scratchLog, texts, writeAll } from './fixtures/scratch.js'

const numbered = (count: number): string[] => Array.from({ length: count }, (_, i) => `record ${i}`)

describe('read', () => {
  test('from a seq that was trimmed fails instead of skipping records', async () => {
    const log = await scratchLog({ segmentBytes: 65_536, durability: 'memory' })
    for (let i = 0; i < 200; i++) await log.append('x'.repeat(1000))
    await log.sync()
    const first = await log.trimBefore(150)
    expect(first).toBeGreaterThan(0)
    expect(await codeOf(log.read({ from: first - 1 }).next())).toBe('ERR_DURLOG_OUT_OF_RANGE')
    expect(await codeOf(log.read({ from: 0, follow: true }).next())).toBe('ERR_DURLOG_OUT_OF_RANGE')
  })

  test('delivers the records that exist when it begins, and finishes', async () => {
    const log = await scratchLog()
    expect(await texts(log.read())).toEqual([])
    await log.appendBatch(numbered(3))
    const reader = log.read()
    const first = await reader.next()
    await log.append('too late')
    expect(first.value?.data.toString()).toBe('record 0')
    expect(await texts(reader)).toEqual(['record 1', 'record 2'])
    expect(await reader.next()).toEqual({ done: true, value: undefined })
  })

  test('from is the first seq delivered, to the first that is not', async () => {
    const log = await scratchLog()
    await log.appendBatch(numbered(10))
    const seqs = async (from?: number, to?: number) => (await records(log.read({ from, to }))).map(({ seq }) => seq)
    expect(await seqs(3, 5)).toEqual([3, 4])
    expect(await seqs(8)).toEqual([8, 9])
    expect(await seqs(undefined, 1)).toEqual([0])
    expect(await seqs(log.firstSeq, log.nextSeq)).toHaveLength(10)
    expect(await seqs(9, 100)).toEqual([9])
    expect(await seqs(5, 5)).toEqual([])
    expect(await seqs(5, 4)).toEqual([])
    expect(await seqs(undefined, 0)).toEqual([])
    expect(await seqs(10)).toEqual([])
  })

  test('a negative from counts from the end: of the log, or to or until if they are earlier', async () => {
    const log = await scratchLog()
    for (let i = 0; i < 10; i++) await log.append(`${i}`, { timestamp: 1000 + i })
    const seqs = async (options: ReadOptions) => (await records(log.read(options))).map(({ seq }) => seq)
    expect(await seqs({ from: -3 })).toEqual([7, 8, 9])
    expect(await seqs({ from: -1 })).toEqual([9])
    expect(await seqs({ from: -10 })).toHaveLength(10)
    expect(await seqs({ from: -Number.MAX_SAFE_INTEGER + 1 })).toHaveLength(10)
    expect(await seqs({ from: -2, to: 5 })).toEqual([3, 4])
    expect(await seqs({ from: -2, to: 50 })).toEqual([8, 9])
    expect(await seqs({ from: -2, until: 1004 })).toEqual([2, 3])
    expect(await seqs({ from: -4, since: 1008 })).toEqual([8, 9])
    expect(await seqs({ from: -4, since: 1002 })).toEqual([6, 7, 8, 9])
  })

  test('a negative from begins at the oldest record if the log holds fewer', async () => {
    const log = await scratchLog({ segmentBytes: 65536 })
    expect(await texts(log.read({ from: -5 }))).toEqual([])
    for (let i = 0; i < 12; i++) await log.append(Buffer.alloc(20_000, i))
    const first = await log.trimBefore(6)
    const found = await records(log.read({ from: -12 }))
    expect(found.map(({ seq }) => seq)).toEqual(Array.from({ length: 12 - first }, (_, i) => first + i))
  })

  test('with durableOnly a negative from counts from the end of the synced records', async () => {
    const log = await scratchLog({ strategy: 'mmap' })
    await log.appendBatch(numbered(5))
    for (const text of numbered(3)) log.write(text)
    expect(log.syncedSeq).toBe(4)
    expect((await records(log.read({ from: -2, durableOnly: true }))).map(({ seq }) => seq)).toEqual([3, 4])
    expect((await records(log.read({ from: -2 }))).map(({ seq }) => seq)).toEqual([6, 7])
  })

  test('a follower with a negative from continues with the new records', async () => {
    const log = await scratchLog()
    await log.appendBatch(numbered(5))
    const followed = texts(log.read({ from: -2, to: 7, follow: true }))
    await log.appendBatch(['new 5', 'new 6'])
    // `to` is beyond the end when reading begins, so the last records are those of the log.
    expect((await followed).slice(-2)).toEqual(['new 5', 'new 6'])
  })

  test('in a read-only log a negative from counts from the end at the first next, not at open', async () => {
    const log = await scratchLog()
    await log.append('old')
    const readOnly = await openUntilDone(log.dir, { readOnly: true })
    await log.appendBatch(numbered(10))
    expect(await texts(readOnly.read({ from: -1 }))).toEqual(['record 9'])
  })

  test('from a seq that the log does not hold is out of range', async () => {
    const log = await scratchLog({ segmentBytes: 65536 })
    for (let i = 0; i < 12; i++) await log.append(Buffer.alloc(20_000, i))
    const first = await log.trimBefore(6)
    expect(await codeOf(texts(log.read({ from: first - 1 })))).toBe('ERR_DURLOG_OUT_OF_RANGE')
    expect(await codeOf(texts(log.read({ from: 13 })))).toBe('ERR_DURLOG_OUT_OF_RANGE')
    expect((await records(log.read())).map(({ seq }) => seq)[0]).toBe(first)
  })

  test('options of the wrong type are refused in the call', async () => {
    const log = await scratchLog()
    for (const options of [
      { from: 0.5 },
      { to: -1 },
      { to: 'x' },
      { follow: 1 },
      { form: 1 },
      { onGap: 1 },
      { signal: {} },
    ])
      expect(await codeOf(() => log.read(options as object))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
  })

  test('records of every size are read back unchanged, across batches, chunks and segments', async () => {
    const log = await scratchLog({ segmentBytes: 8 * 2 ** 20, maxRecordBytes: 6 * 2 ** 20 })
    const sizes = [
      1, 7, 8, 9, 4071, 4072, 4073, 65_535, 65_536, 65_537, 1_048_575, 1_048_577, 3_000_000, 5_000_000, 2, 3,
    ]
    for (const [i, size] of sizes.entries()) await log.append(Buffer.alloc(size, i + 1))
    const found = await records(log.read())
    expect(found.map(({ data }) => data.length)).toEqual(sizes)
    for (const [i, { seq, data }] of found.entries()) {
      expect(seq).toBe(i)
      expect(data.equals(Buffer.alloc(data.length, i + 1))).toBe(true)
    }
  })

  test('a record stays unchanged while the reader continues', async () => {
    const log = await scratchLog()
    await writeAll(
      log,
      Array.from({ length: 300 }, (_, i) => Buffer.alloc(20_000, i)),
    )
    const found = await records(log.read())
    for (const [i, { data }] of found.entries()) expect(data.equals(Buffer.alloc(20_000, i))).toBe(true)
  })

  test('calls of next that do not wait for each other get consecutive records', async () => {
    const log = await scratchLog()
    await log.appendBatch(numbered(5))
    const reader = log.read()
    const results = await Promise.all(Array.from({ length: 7 }, () => reader.next()))
    expect(results.map(({ value }) => value?.seq)).toEqual([0, 1, 2, 3, 4, undefined, undefined])
    expect(results.map(({ done }) => done)).toEqual([false, false, false, false, false, true, true])
  })

  test('nextBuffered returns only decoded records', async () => {
    const log = await scratchLog()
    await log.appendBatch(numbered(3))
    const reader = log.read()
    expect(reader.nextBuffered()).toBeUndefined()
    await reader.next()
    expect(reader.nextBuffered()?.seq).toBe(1)
    expect((await reader.next()).value?.seq).toBe(2)
    expect(reader.nextBuffered()).toBeUndefined()
    // On Windows an open reader keeps the folder from being removed.
    await reader.return()
  })

  test('batches delivers every record once, in arrays of at most the given length', async () => {
    const log = await scratchLog()
    await log.appendBatch(numbered(5000))
    const sizes: number[] = []
    const seqs: number[] = []
    for await (const batch of log.read({ from: 10 }).batches(300)) {
      sizes.push(batch.length)
      seqs.push(...batch.map(({ seq }) => seq))
    }
    expect(seqs).toEqual(Array.from({ length: 4990 }, (_, i) => i + 10))
    expect(Math.max(...sizes)).toBe(300)
    expect(Math.min(...sizes)).toBeGreaterThan(0)
  })

  test('a follower gets the existing records as a batch, and closes when its loop is left', async () => {
    const log = await scratchLog()
    await log.appendBatch(numbered(3))
    const reader = log.read({ follow: true })
    for await (const batch of reader.batches()) {
      if (batch[0]?.seq === 0) await log.append('more')
      if (batch.at(-1)?.seq === 3) break
    }
    expect(await reader.next()).toEqual({ done: true, value: undefined })
  })

  test.each([0, 65_537, 1.5, '8'])('batches of %s records are refused', async (maxRecords) => {
    const log = await scratchLog()
    const reader = log.read()
    expect(() => reader.batches(maxRecords as number)).toThrow(
      expect.objectContaining({ code: 'ERR_DURLOG_INVALID_ARGUMENT' }),
    )
  })

  test('leaving early ends the iteration', async () => {
    const log = await scratchLog()
    await log.appendBatch(numbered(10))
    const reader = log.read()
    for await (const { seq } of reader) if (seq === 3) break
    expect(await reader.next()).toEqual({ done: true, value: undefined })
    expect(await reader.return()).toEqual({ done: true, value: undefined })
  })

  test('concurrent appends do not disturb it', async () => {
    const log = await scratchLog({ segmentBytes: 2 ** 20, durability: 'memory' })
    await writeAll(
      log,
      Array.from({ length: 5000 }, (_, i) => `${i} ${'x'.repeat(500)}`),
    )
    let appended = 5000
    let next = 0
    for await (const { seq, data } of log.read()) {
      if (seq !== next || Number.parseInt(data.toString(), 10) !== next)
        throw new Error(`got seq ${seq} instead of ${next}`)
      next++
      if (next % 50 === 0) await log.append(`${appended++} ${'x'.repeat(500)}`)
    }
    expect(next).toBe(5000)
  })

  test('a reader that has begun continues after close', async () => {
    const log = await scratchLog()
    await log.appendBatch(numbered(3))
    const reader = log.read()
    await reader.next()
    await log.close()
    expect(await texts(reader)).toEqual(['record 1', 'record 2'])
  })
})

describe('follow', () => {
  test('delivers each record once it is acknowledged at memory', async () => {
    const log = await scratchLog()
    const reader = log.read({ follow: true })
    for (let i = 0; i < 100; i++) {
      const next = reader.next()
      if (i % 3 === 0) log.write(`r${i}`)
      else if (i % 3 === 1) void log.append(`r${i}`)
      else log.appendSync(`r${i}`)
      expect((await next).value).toMatchObject({ seq: i, data: Buffer.from(`r${i}`) })
    }
    await reader.return()
  })

  test.each(['direct', 'pwrite', 'mmap'] as const)(
    'reading can begin at nextSeq while appends are pending (%s)',
    async (strategy) => {
      const log = await scratchLog({ strategy })
      const pending = log.append('pending')
      const next = log.read({ from: log.nextSeq, follow: true }).next()
      const none = texts(log.read({ from: log.nextSeq }))
      const beyond = codeOf(texts(log.read({ from: log.nextSeq + 1 })))
      await pending
      await log.append('next')
      expect((await next).value).toMatchObject({ seq: 1, data: Buffer.from('next') })
      expect(await none).toEqual([])
      expect(await beyond).toBe('ERR_DURLOG_OUT_OF_RANGE')
    },
  )

  test('many followers of one log each get every record', async () => {
    const log = await scratchLog({ segmentBytes: 65536 })
    const followers = Array.from({ length: 8 }, (_, i) =>
      texts(log.read({ follow: true, durableOnly: i % 2 === 0 }), 200),
    )
    const payloads = Array.from({ length: 200 }, (_, i) => `${i} ${'z'.repeat(2000)}`)
    for (const payload of payloads) await log.append(payload)
    for (const found of await Promise.all(followers)) expect(found).toEqual(payloads)
  })

  test('waits at the end of the log, and stops at to', async () => {
    const log = await scratchLog()
    await log.appendBatch(numbered(3))
    const found = texts(log.read({ from: 3, to: 5, follow: true }))
    await log.append('three')
    await log.append('four')
    await log.append('five')
    expect(await found).toEqual(['three', 'four'])
  })

  test('durableOnly holds a record back until it is synced', async () => {
    const log = await scratchLog({ strategy: 'mmap' })
    const reader = log.read({ follow: true, durableOnly: true })
    const next = reader.next()
    log.write('a')
    expect(log.syncedSeq).toBe(-1)
    expect(await texts(log.read({ durableOnly: true }))).toEqual([])
    await log.sync()
    expect((await next).value).toMatchObject({ seq: 0 })
    await reader.return()
  })

  test('ends when the log is closed, with everything that was appended', async () => {
    const log = await scratchLog()
    const found = texts(log.read({ follow: true }))
    void log.append('a')
    void log.append('b')
    await log.close()
    expect(await found).toEqual(['a', 'b'])
  })

  test('a signal ends it with its reason, even while it waits', async () => {
    const log = await scratchLog()
    await log.append('a')
    const controller = new AbortController()
    const reader = log.read({ follow: true, signal: controller.signal })
    await reader.next()
    const waiting = reader.next()
    controller.abort(new Error('stop'))
    await expect(waiting).rejects.toThrow('stop')
    expect(await reader.next()).toEqual({ done: true, value: undefined })
    await expect(log.read({ signal: AbortSignal.abort() }).next()).rejects.toMatchObject({ name: 'AbortError' })
  })

  test('return ends it while it waits', async () => {
    const log = await scratchLog()
    const reader = log.read({ follow: true })
    const waiting = reader.next()
    await reader.return()
    expect(await waiting).toEqual({ done: true, value: undefined })
  })

  test('a follower past a cut is out of range; one before the cut continues with the new records', async () => {
    const log = await scratchLog()
    await Promise.all(numbered(10).map((text) => log.append(text)))
    const past = log.read({ follow: true })
    for (let i = 0; i < 8; i++) await past.next()
    const before = log.read({ follow: true })
    for (let i = 0; i < 3; i++) await before.next()
    const waiting = log.read({ from: 10, follow: true })
    const waits = codeOf(waiting.next())
    await log.truncateAfter(4)
    await log.append('new')
    expect(await codeOf(past.next())).toBe('ERR_DURLOG_OUT_OF_RANGE')
    expect(await waits).toBe('ERR_DURLOG_OUT_OF_RANGE')
    expect(await texts(before, 3)).toEqual(['record 3', 'record 4', 'new'])
  })
})

describe('from another opening of the log', () => {
  test('follow delivers the records that the writer appends, across segments', async () => {
    const dir = scratchDir()
    const writer = await openUntilDone(dir, { segmentBytes: 65536 })
    const log = await openUntilDone(dir, { readOnly: true })
    const found = texts(log.read({ follow: true }), 300)
    const payloads = Array.from({ length: 300 }, (_, i) => `${i} ${'q'.repeat(1000)}`)
    for (const payload of payloads) await writer.append(payload, { durability: 'memory' })
    expect(await found).toEqual(payloads)
  })

  test('durableOnly delivers only synced records', async () => {
    const dir = scratchDir()
    const writer = await openUntilDone(dir)
    const log = await openUntilDone(dir, { readOnly: true })
    const found = texts(log.read({ follow: true, durableOnly: true }), 2)
    for (const text of ['a', 'b', 'c', 'd']) await writer.append(text)
    await writer.close()
    expect(await found).toEqual(['a', 'b'])
  })

  test('a worker thread follows, and may be terminated in the middle of it', async () => {
    const dir = scratchDir()
    const writer = await openUntilDone(dir)
    for (let round = 0; round < 5; round++) {
      const worker = new Worker(new URL('./fixtures/follow-worker.mjs', import.meta.url), { workerData: { dir } })
      onTestFinished(async () => void (await worker.terminate()))
      const want = writer.nextSeq + 10
      const seen = new Promise<void>((resolve, reject) => {
        worker.on('message', (seq: number) => seq >= want && resolve())
        worker.on('error', reject)
      })
      while (writer.nextSeq <= want) await writer.append('x')
      await seen
      await worker.terminate()
    }
  })
})

test('a million small records are read back in order', async () => {
  const log = await scratchLog({ segmentBytes: 16 * 2 ** 20 })
  await writeAll(
    log,
    (function* () {
      for (let i = 0; i < 1_000_000; i++) yield String(i)
    })(),
  )
  const reader = log.read()
  let next = 0
  let most = 0
  for (let result = await reader.next(); !result.done; result = await reader.next()) {
    const first = next
    let record: LogRecord | undefined = result.value
    for (; record !== undefined; record = reader.nextBuffered()) {
      if (record.seq !== next || record.data.toString() !== String(next)) throw new Error(`record ${next} is wrong`)
      next++
    }
    most = Math.max(most, next - first)
  }
  expect(next).toBe(1_000_000)
  // More would keep the event loop from turning.
  expect(most).toBe(8192)
})

test('a follower that always finds its next record in memory lets the event loop turn', async () => {
  const log = await scratchLog({ strategy: 'mmap' })
  let turned = false
  log.write('first')
  for await (const { seq } of log.read({ follow: true })) {
    if (seq === 0) setImmediate(() => (turned = true))
    if (turned || seq === 2000) break
    log.write('next')
  }
  expect(turned).toBe(true)
})

test('the loop over batches of a waiting follower can be left at once', async () => {
  const log = await scratchLog()
  await log.append('first')
  const batches = log.read({ follow: true }).batches()
  expect((await batches.next()).value).toHaveLength(1)
  const waiting = batches.next()
  expect(await batches.return()).toEqual({ done: true, value: undefined })
  expect(await waiting).toEqual({ done: true, value: undefined })
})

/** A source whose log ends at `end`, with the events that the reader waits for. */
function sourceOf(log: Log, end: number) {
  return {
    dir: log.dir,
    end,
    wake: () => {},
    salvage: false,
    counts: { readRecords: 0, readBytes: 0 },
    ended: false,
    lastTruncation: new Truncation(Number.POSITIVE_INFINITY),
    look: () => {},
    settled: async () => {},
    hold: () => () => {},
    uuid: log.uuid,
    limitFor(): number {
      return this.end
    },
    seqs() {
      return { first: 0, next: this.end }
    },
    async range() {
      return { first: 0, limit: this.end, next: this.end }
    },
    followLimit(): number {
      return this.end
    },
    onMore(_cursor: unknown, _limit: number, _durableOnly: boolean, done: () => void) {
      this.wake = done
      return () => {}
    },
    cut(next: number): void {
      this.lastTruncation = this.lastTruncation.followedBy(next)
      this.end = next
    },
  }
}

test('a call of next during an earlier pending call gets the later record', async () => {
  const log = await scratchLog()
  await writeAll(log, numbered(82))
  const source = sourceOf(log, 2)
  const reader = new Reader(source, { follow: true }, async () => source.end)
  const seqs = [(await reader.next()).value?.seq, (await reader.next()).value?.seq]
  for (let turns = 0; turns < 40; turns++) {
    const earlier = reader.next()
    await new Promise(setImmediate)
    source.end += 2
    source.wake()
    // One of these counts of microtasks ends after the records arrive and before the earlier call takes its record.
    for (let i = 0; i < turns; i++) await undefined
    const later = reader.next()
    seqs.push((await earlier).value?.seq, (await later).value?.seq)
  }
  expect(seqs).toEqual(Array.from({ length: 82 }, (_, i) => i))
})

describe.each([false, true])('a reader whose log is cut ahead of it (on a read-only log: %s)', (readOnly) => {
  async function cutAhead(options: ReadOptions): Promise<{ seqs: number[]; gaps: number }> {
    const writer = await scratchLog()
    await writeAll(writer, numbered(100))
    const log = readOnly ? await openUntilDone(writer.dir, { readOnly: true }) : writer
    let gaps = 0
    const reader = log.read({ ...options, onGap: () => gaps++ })
    const seqs: number[] = []
    while (seqs.length < 5) seqs.push((await reader.next()).value?.seq as number)
    await writer.truncateAfter(19)
    await writer.append('another record 20')
    log.stats() // sees the cut, if another process made it
    for await (const { seq } of reader) seqs.push(seq)
    return { seqs, gaps }
  }
  const toTheCut = { seqs: Array.from({ length: 20 }, (_, i) => i), gaps: 0 }

  test('ends at the cut with `to`', async () => {
    expect(await cutAhead({ to: 50 })).toEqual(toTheCut)
    expect(await cutAhead({ to: 50, salvage: true })).toEqual(toTheCut)
  })

  test('ends at the cut with `until`', async () => {
    expect(await cutAhead({ until: Date.now() + 60_000 })).toEqual(toTheCut)
  })

  test('ends at the cut with `since`', async () => {
    expect(await cutAhead({ since: 0 })).toEqual(toTheCut)
  })
})

test('a reader reads the new records after a cut that happens while it searches for a time', async () => {
  const log = await scratchLog()
  await writeAll(log, numbered(100))
  const source = sourceOf(log, 100)
  let cuts = 0
  const reader = new Reader(source, { since: 0 }, async () => {
    if (cuts++ === 0) {
      await log.truncateAfter(19)
      source.cut(20)
    }
    return 0
  })
  expect((await records(reader)).map(({ seq }) => seq)).toEqual(Array.from({ length: 20 }, (_, i) => i))
})

test('a follower that continues after a cut notices another cut that happens meanwhile', async () => {
  const log = await scratchLog()
  await log.appendBatch(numbered(10))
  const source = sourceOf(log, 10)
  const reader = new Reader(source, { follow: true }, async () => source.end)
  for (let seq = 0; seq < 5; seq++) expect((await reader.next()).value?.seq).toBe(seq)
  source.cut(8)
  const next = reader.next()
  source.cut(3) // while the reader opens its cursor again
  expect(await codeOf(next)).toBe('ERR_DURLOG_OUT_OF_RANGE')
})

test('a log that does not exist cannot be read', async () => {
  expect(await codeOf(open(scratchDir(), { readOnly: true }))).toMatch(/ERR_DURLOG_NOT_(FOUND|A_LOG)/)
})

test('transferring the memory of a record affects no other record', async () => {
  const log = await scratchLog()
  const written = numbered(2000).map((text) => text.padEnd(1000, '.'))
  await log.appendBatch(written)
  const read: string[] = []
  for await (const { data } of log.read()) {
    read.push(data.toString())
    try {
      structuredClone(data, { transfer: [data.buffer as ArrayBuffer] })
    } catch (error) {
      expect((error as Error).name).toBe('DataCloneError') // since Node 21; Node 20 clones instead
    }
  }
  expect(read).toEqual(written)
})
