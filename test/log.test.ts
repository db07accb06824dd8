import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import { type Durability, DurlogError, type Log, open, type Strategy } from '../src/index.js'
import { codeOf, openUntilDone, scratchDir, scratchLog, texts, writeAll } from './fixtures/scratch.js'

const LEVELS: readonly Durability[] = ['memory', 'async', 'sync', 'full']
const STRATEGIES: readonly Strategy[] = ['auto', 'mmap', 'pwrite', 'direct']

/** The core reads the kernel's coarse clock. */
const CLOCK_STEP_MS = 20

describe('append', () => {
  test.each(STRATEGIES)(
    'gives consecutive seqs at every level, mixed at will, and the bytes come back (%s)',
    async (strategy) => {
      const log = await scratchLog({ strategy })
      const payloads = Array.from({ length: 40 }, (_, i) => `record ${i}`)
      const seqs = await Promise.all(
        payloads.map((payload, i) => log.append(payload, { durability: LEVELS[i % 4] as Durability })),
      )
      expect(seqs).toEqual(payloads.map((_, i) => i))
      expect(log.nextSeq).toBe(40)
      expect(await texts(log.read())).toEqual(payloads)
    },
  )

  test('syncedSeq includes a record acknowledged at sync, and every earlier record', async () => {
    const log = await scratchLog()
    expect(log.syncedSeq).toBe(-1)
    const earlier = log.append('a', { durability: 'memory' })
    expect(await log.append('b', { durability: 'sync' })).toBe(1)
    expect(log.syncedSeq).toBeGreaterThanOrEqual(1)
    expect(await earlier).toBe(0)
  })

  test('promises of one level settle in the order of their appends', async () => {
    const log = await scratchLog()
    const settled: number[] = []
    await Promise.all(Array.from({ length: 500 }, () => log.append('x').then((seq) => settled.push(seq))))
    expect(settled).toEqual(Array.from({ length: 500 }, (_, i) => i))
  })

  test('the bytes are copied in the call: later changes by the caller have no effect', async () => {
    const log = await scratchLog()
    const data = Buffer.from('before')
    const appended = log.append(data)
    data.fill('x')
    await appended
    expect(await texts(log.read())).toEqual(['before'])
  })

  test('a string is stored as UTF-8, a view only with its own range', async () => {
    const log = await scratchLog()
    await log.append('grüße 🙂')
    const bytes = Uint8Array.from([0, 1, 2, 3, 4])
    await log.append(bytes.subarray(1, 4))
    expect((await log.get(0)).data.toString()).toBe('grüße 🙂')
    expect([...(await log.get(1)).data]).toEqual([1, 2, 3])
  })

  test('a record has between one byte and maxRecordBytes', async () => {
    const log = await scratchLog({ maxRecordBytes: 1000 })
    expect(await codeOf(log.append(''))).toBe('ERR_DURLOG_RECORD_EMPTY')
    expect(await codeOf(log.append(Buffer.alloc(1001)))).toBe('ERR_DURLOG_RECORD_TOO_LARGE')
    expect(await codeOf(log.append('ü'.repeat(501)))).toBe('ERR_DURLOG_RECORD_TOO_LARGE')
    expect(await log.append(Buffer.alloc(1000, 1))).toBe(0)
    expect(await log.append('ü'.repeat(500))).toBe(1)
    expect((await log.get(0)).data).toEqual(Buffer.alloc(1000, 1))
  })

  test('a wrong payload or level is refused before anything is written', async () => {
    const log = await scratchLog()
    for (const data of [undefined, null, 5, {}, new ArrayBuffer(4), ['a']])
      expect(await codeOf(log.append(data as unknown as string))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
    expect(await codeOf(log.append('a', { durability: 'fsync' as Durability }))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
    expect(log.nextSeq).toBe(0)
  })

  test('a loop of appends that are acknowledged at once lets the event loop turn', async () => {
    const log = await scratchLog({ durability: 'memory' })
    let turned = false
    setImmediate(() => {
      turned = true
    })
    let appends = 0
    for (; !turned && appends < 1_000_000; appends++) await log.append('x')
    expect(turned).toBe(true)
  })
})

describe('when there is no room', () => {
  const small = { maxPendingBytes: 65536, maxRecordBytes: 40_000, segmentBytes: 1024 * 1024 }

  test.each(STRATEGIES)('appends wait, keep their order and are all stored (%s)', async (strategy) => {
    const log = await scratchLog({ ...small, strategy })
    const payloads = Array.from({ length: 200 }, (_, i) => `${i} ${'x'.repeat(3000)}`)
    const seqs = await Promise.all(payloads.map((payload) => log.append(payload)))
    expect(seqs).toEqual(payloads.map((_, i) => i))
    expect(await texts(log.read())).toEqual(payloads)
  })

  test('write refuses while appends wait, and works after drain', async () => {
    const log = await scratchLog({ ...small, strategy: 'direct' })
    const appends = Array.from({ length: 100 }, () => log.append(Buffer.alloc(4000, 1)))
    expect(log.stats().waitingForRoom).toBeGreaterThan(0)
    expect(() => log.write('x')).toThrow(/no room for now: calls waiting for room: \d+;/)
    expect(await codeOf(() => log.write('x'))).toBe('ERR_DURLOG_BACKPRESSURE')
    expect(await codeOf(() => log.writeBatch(['x', 'y']))).toBe('ERR_DURLOG_BACKPRESSURE')
    expect(await codeOf(() => log.appendSync('x'))).toBe('ERR_DURLOG_BACKPRESSURE')
    await log.drain()
    const seq = log.write('behind them')
    expect(seq).toBe(100)
    await Promise.all(appends)
    expect((await log.get(100)).data.toString()).toBe('behind them')
  })

  test('a signal cancels only the waiting append that has it', async () => {
    const log = await scratchLog(small)
    const controller = new AbortController()
    const before = Array.from({ length: 50 }, () => log.append(Buffer.alloc(4000, 1)))
    const given = log.append('given up', { signal: controller.signal })
    const after = log.append('after')
    controller.abort(new Error('enough'))
    await expect(given).rejects.toThrow('enough')
    await Promise.all(before)
    expect(await after).toBe(50)
  })

  test('a signal that fires after the record is framed is ignored', async () => {
    const log = await scratchLog()
    const controller = new AbortController()
    const append = log.append('stays', { signal: controller.signal })
    controller.abort()
    expect(await append).toBe(0)
  })

  test('a signal that has already fired refuses the append', async () => {
    const log = await scratchLog()
    await expect(log.append('x', { signal: AbortSignal.abort() })).rejects.toMatchObject({ name: 'AbortError' })
    expect(log.nextSeq).toBe(0)
  })

  test('a record that has to wait is checked in the call', async () => {
    const log = await scratchLog(small)
    const before = Array.from({ length: 50 }, () => log.append(Buffer.alloc(4000, 1)))
    expect(await codeOf(log.append(''))).toBe('ERR_DURLOG_RECORD_EMPTY')
    expect(await codeOf(log.append(Buffer.alloc(40_001)))).toBe('ERR_DURLOG_RECORD_TOO_LARGE')
    await Promise.all(before)
    expect(log.nextSeq).toBe(50)
  })

  test('sync waits for the appends that wait for room', async () => {
    const log = await scratchLog({ ...small, durability: 'memory', strategy: 'direct' })
    const appends = Array.from({ length: 100 }, () => log.append(Buffer.alloc(4000, 1)))
    expect(await log.sync()).toBeGreaterThanOrEqual(99)
    await Promise.all(appends)
  })
})

describe('write', () => {
  test.each(STRATEGIES)('gives the seq at once and the record can be read at once (%s)', async (strategy) => {
    const log = await scratchLog({ strategy })
    expect([log.write('a'), log.write('b'), log.write(Buffer.from('c'))]).toEqual([0, 1, 2])
    expect(await texts(log.read())).toEqual(['a', 'b', 'c'])
  })

  test('throws the same errors that append rejects with', async () => {
    const log = await scratchLog({ maxRecordBytes: 10 })
    expect(await codeOf(() => log.write(''))).toBe('ERR_DURLOG_RECORD_EMPTY')
    expect(await codeOf(() => log.write('12345678901'))).toBe('ERR_DURLOG_RECORD_TOO_LARGE')
    expect(await codeOf(() => log.write(5 as unknown as string))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
  })

  test.each(STRATEGIES)('has room for a refused record after drain (%s)', async (strategy) => {
    const log = await scratchLog({ strategy, segmentBytes: 65536, maxPendingBytes: 65536 })
    const data = Buffer.alloc(4000, 1)
    for (let i = 0; i < 4000; i++) {
      try {
        log.write(data)
      } catch {
        await log.drain()
        log.write(data)
      }
    }
    expect(log.nextSeq).toBe(4000)
  })

  test.each(STRATEGIES)('loses no record in a tight loop with drain after each refusal (%s)', async (strategy) => {
    const log = await scratchLog({ strategy, maxPendingBytes: 65536, segmentBytes: 4 * 2 ** 20 })
    const payloads = Array.from({ length: 5000 }, (_, i) => `${i} ${'y'.repeat(1000)}`)
    await writeAll(log, payloads)
    expect(await log.sync()).toBe(4999)
    let next = 0
    for await (const { seq, data } of log.read()) {
      expect(seq).toBe(next)
      if (!data.toString().startsWith(`${next} `)) throw new Error(`record ${next} has the bytes of another one`)
      next++
    }
    expect(next).toBe(5000)
  })
})

test.each(STRATEGIES)('appendSync has reached its level when it returns (%s)', async (strategy) => {
  const log = await scratchLog({ strategy })
  for (const durability of LEVELS) {
    const seq = log.appendSync(durability, { durability })
    if (durability === 'sync' || durability === 'full') expect(log.syncedSeq).toBeGreaterThanOrEqual(seq)
  }
  expect(await texts(log.read())).toEqual([...LEVELS])
})

test.each(STRATEGIES)('write settles earlier appends at any level (%s)', async (strategy) => {
  const log = await scratchLog({ strategy })
  // The commit that write waits for also brings the earlier appends to their level, without a separate event.
  const before = (['async', 'sync', 'full'] as const).map((durability) => log.append(durability, { durability }))
  expect(log.write('behind them')).toBe(3)
  expect(await Promise.all(before)).toEqual([0, 1, 2])
})

test.each(STRATEGIES)('appendSync stores a record or throws while other calls are pending (%s)', async (strategy) => {
  const log = await scratchLog({ strategy, segmentBytes: 65536, maxPendingBytes: 65536, maxRecordBytes: 50_000 })
  const data = Buffer.alloc(20_000, 1)
  const stored: number[] = []
  for (let i = 0; i < 200; i++) {
    try {
      stored.push(log.appendSync(data, { durability: i % 2 ? 'memory' : 'sync' }))
    } catch (error) {
      expect(error).toMatchObject({ code: 'ERR_DURLOG_BACKPRESSURE' })
      await log.drain()
    }
    if (i % 3 === 0) void log.append(data, { durability: 'memory' })
  }
  await log.sync()
  expect(stored.length).toBeGreaterThan(50)
  expect(stored.filter((seq) => seq < 0)).toEqual([])
  expect(new Set(stored).size).toBe(stored.length)
})

test('appendSync settles earlier appends', async () => {
  const log = await scratchLog()
  const before = log.append('first')
  expect(log.appendSync('second')).toBe(1)
  expect(await before).toBe(0)
})

describe('sync', () => {
  test('of an empty log resolves to -1', async () => {
    const log = await scratchLog()
    for (const level of LEVELS) expect(await log.sync(level)).toBe(-1)
  })

  test.each(STRATEGIES)('brings every record to each level and resolves to the last seq (%s)', async (strategy) => {
    const log = await scratchLog({ strategy })
    for (const level of LEVELS) {
      const seq = log.write(level)
      expect(await log.sync(level)).toBe(seq)
    }
    expect(log.syncedSeq).toBe(3)
  })

  test('may be called many times concurrently', async () => {
    const log = await scratchLog()
    log.write('a')
    expect(await Promise.all(Array.from({ length: 20 }, () => log.sync()))).toEqual(new Array(20).fill(0))
  })
})

describe('events', () => {
  test('synced reports the last synced seq, and never decreases', async () => {
    const log = await scratchLog()
    const seen: number[] = []
    log.on('synced', (seq) => seen.push(seq))
    for (let i = 0; i < 10; i++) await log.append('x')
    await turn()
    expect(seen.at(-1)).toBe(9)
    expect(seen).toEqual([...seen].sort((a, b) => a - b))
  })

  test('rotated reports the first seq of each new segment', async () => {
    const log = await scratchLog({ segmentBytes: 65536 })
    const firsts: number[] = []
    log.on('rotated', (seq) => firsts.push(seq))
    for (let i = 0; i < 20; i++) await log.append(Buffer.alloc(20_000, i))
    await turn()
    expect(firsts.length).toBeGreaterThanOrEqual(4)
    expect(firsts).toEqual([...new Set(firsts)].sort((a, b) => a - b))
    expect(await texts(log.read({ from: firsts[1] as number }), 1)).toHaveLength(1)
  })

  test('a listener that throws is an uncaught exception, and promises still settle', () => {
    const fixture = fileURLToPath(new URL('fixtures/throwing-listener.mjs', import.meta.url))
    const lines = execFileSync(process.execPath, [fixture, scratchDir()]).toString().trim().split('\n')
    // Either order is possible: if a commit ends while the next one starts, its event precedes its promises.
    expect(lines.filter((line) => line.startsWith('appended'))).toEqual(['appended 0', 'appended 1'])
    expect(lines.filter((line) => line.startsWith('uncaught'))).toEqual(['uncaught: from a listener'])
    expect(lines).toHaveLength(3)
  })
})

describe('get', () => {
  test('gives one record with its seq and a timestamp of the time it was appended', async () => {
    const log = await scratchLog()
    const before = Date.now()
    await log.append('a')
    await log.append('b')
    const { seq, data, timestamp } = await log.get(1)
    expect([seq, data.toString()]).toEqual([1, 'b'])
    expect(timestamp).toBeGreaterThanOrEqual(before - CLOCK_STEP_MS)
    expect(timestamp).toBeLessThanOrEqual(Date.now() + CLOCK_STEP_MS)
  })

  test('refuses a missing seq as out of range, and a value that is not a seq as an invalid argument', async () => {
    const log = await scratchLog()
    expect(await codeOf(log.get(0))).toBe('ERR_DURLOG_OUT_OF_RANGE')
    await log.append('a')
    expect(await codeOf(log.get(1))).toBe('ERR_DURLOG_OUT_OF_RANGE')
    for (const seq of [-1, 0.5, Number.NaN, '0', undefined])
      expect(await codeOf(log.get(seq as number))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
  })

  test('gives a record of any size', async () => {
    const log = await scratchLog()
    const large = Buffer.alloc(3_000_000, 'large')
    await log.append(large)
    await log.append('small')
    expect((await log.get(0)).data.equals(large)).toBe(true)
    expect((await log.get(1)).data.toString()).toBe('small')
  })
})

describe('truncateAfter', () => {
  test('cuts every later record permanently, and their seqs are assigned again', async () => {
    const dir = scratchDir()
    const log = await openUntilDone(dir)
    for (const text of ['a', 'b', 'c', 'd']) await log.append(text)
    expect(await log.truncateAfter(1)).toBe(2)
    expect([log.nextSeq, log.syncedSeq]).toEqual([2, 1])
    expect(await codeOf(log.get(2))).toBe('ERR_DURLOG_OUT_OF_RANGE')
    expect(await log.append('new')).toBe(2)
    expect(await texts(log.read())).toEqual(['a', 'b', 'new'])
    await log.close()
    const again = await openUntilDone(dir)
    expect(await texts(again.read())).toEqual(['a', 'b', 'new'])
  })

  test('-1 cuts everything', async () => {
    const log = await scratchLog()
    await log.append('a')
    expect(await log.truncateAfter(-1)).toBe(0)
    expect([log.firstSeq, log.nextSeq, log.syncedSeq]).toEqual([0, 0, -1])
    expect(await log.append('b')).toBe(0)
  })

  test('across segments, a sealed segment takes records again', async () => {
    const log = await scratchLog({ segmentBytes: 65536 })
    for (let i = 0; i < 20; i++) await log.append(Buffer.alloc(20_000, i))
    expect(await log.truncateAfter(4)).toBe(5)
    for (let i = 5; i < 20; i++) expect(await log.append(`again ${i}`)).toBe(i)
    const found = await texts(log.read({ from: 4 }))
    expect(found.slice(1)).toEqual(Array.from({ length: 15 }, (_, i) => `again ${i + 5}`))
  })

  test('waits for earlier appends; later appends wait for it', async () => {
    const log = await scratchLog()
    const before = [log.append('a'), log.append('b'), log.append('c')]
    const cut = log.truncateAfter(0)
    const after = log.append('after')
    expect(await codeOf(() => log.write('x'))).toBe('ERR_DURLOG_BACKPRESSURE')
    expect(await Promise.all(before)).toEqual([0, 1, 2])
    expect(await cut).toBe(1)
    expect(await after).toBe(1)
    expect(await texts(log.read())).toEqual(['a', 'after'])
  })

  test('at the end of the log changes nothing', async () => {
    const log = await scratchLog()
    await log.append('a')
    expect(await log.truncateAfter(0)).toBe(1)
    expect(await texts(log.read())).toEqual(['a'])
  })
})

describe('trimBefore', () => {
  test('removes only whole segments before the seq, and the remaining records keep theirs', async () => {
    const dir = scratchDir()
    const log = await openUntilDone(dir, { segmentBytes: 65536 })
    for (let i = 0; i < 20; i++) await log.append(Buffer.alloc(20_000, i))
    const firstSeq = await log.trimBefore(10)
    expect(firstSeq).toBeGreaterThan(0)
    expect(firstSeq).toBeLessThanOrEqual(10)
    expect(log.firstSeq).toBe(firstSeq)
    expect(await codeOf(log.get(firstSeq - 1))).toBe('ERR_DURLOG_OUT_OF_RANGE')
    expect((await log.get(10)).data[0]).toBe(10)
    await log.close()
    const again = await openUntilDone(dir)
    expect([again.firstSeq, again.nextSeq]).toEqual([firstSeq, 20])
  })

  test('of a log in one segment removes nothing', async () => {
    const log = await scratchLog()
    await log.append('a')
    await log.append('b')
    expect(await log.trimBefore(1)).toBe(0)
    expect(await texts(log.read())).toEqual(['a', 'b'])
  })

  test('many concurrent calls, mixed with cuts and appends, run one after another', async () => {
    const log = await scratchLog({ segmentBytes: 65536 })
    for (let i = 0; i < 20; i++) await log.append(Buffer.alloc(20_000, i))
    const [, first, next, seq] = await Promise.all([
      log.trimBefore(3),
      log.trimBefore(6),
      log.truncateAfter(15),
      log.append('end'),
    ])
    expect(first).toBeLessThanOrEqual(6)
    expect([next, seq]).toEqual([16, 16])
    expect(await texts(log.read({ from: 16 }))).toEqual(['end'])
  })
})

describe('close', () => {
  test('waits for every append, and every record is stored afterwards', async () => {
    const dir = scratchDir()
    const log = await openUntilDone(dir)
    const appends = Array.from({ length: 100 }, (_, i) => log.append(`a${i}`))
    log.write('w')
    await log.close()
    expect(await Promise.all(appends)).toEqual(Array.from({ length: 100 }, (_, i) => i))
    const again = await openUntilDone(dir)
    expect(again.recovery.state).toBe('clean')
    expect(again.nextSeq).toBe(101)
    expect(again.syncedSeq).toBe(100)
  })

  test('may be called repeatedly', async () => {
    const log = await scratchLog()
    expect(log.close()).toBe(log.close())
    await log.close()
    await log[Symbol.asyncDispose]()
  })

  test('refuses every later call', async () => {
    const log = await scratchLog()
    await log.append('a')
    await log.close()
    const calls: (() => unknown)[] = [
      () => log.append('x'),
      () => log.appendBatch(['x']),
      () => log.write('x'),
      () => log.appendSync('x'),
      () => log.sync(),
      () => log.drain(),
      () => log.get(0),
      () => log.read(),
      () => log.readable(),
      () => log.writable(),
      () => log.trimBefore(0),
      () => log.truncateAfter(0),
    ]
    for (const call of calls) expect(await codeOf(async () => call())).toBe('ERR_DURLOG_CLOSED')
  })

  test('lets the next writer open the log', async () => {
    const dir = scratchDir()
    for (let i = 0; i < 20; i++) {
      const log = await open(dir)
      expect(await log.append('x')).toBe(i)
      // `await using` calls this; not every Node version that runs the tests supports that syntax.
      await log[Symbol.asyncDispose]()
    }
  })
})

describe('a second writer', () => {
  test('is refused with the pid of the owner', async () => {
    const dir = scratchDir()
    await openUntilDone(dir)
    const error: unknown = await open(dir).catch((error: unknown) => error)
    expect(error).toBeInstanceOf(DurlogError)
    expect(error).toMatchObject({ code: 'ERR_DURLOG_LOCKED', ownerPid: process.pid })
  })

  test('waits for its turn as long as waitMs', async () => {
    const dir = scratchDir()
    const first = await openUntilDone(dir)
    const second = open(dir, { waitMs: 60_000 })
    await first.append('a')
    await first.close()
    const log: Log = await second
    expect(await log.append('b')).toBe(1)
    await log.close()
  })
})

const WRITING = [
  'append',
  'appendBatch',
  'write',
  'writeBatch',
  'appendSync',
  'drain',
  'sync',
  'flushSync',
  'writable',
  'trimBefore',
  'truncateAfter',
  'rotate',
  'on',
] as const satisfies (keyof Log)[]

describe('a log that is opened for reading', () => {
  test('reads while the writer appends, and has no method that writes', async () => {
    const dir = scratchDir()
    const writer = await openUntilDone(dir)
    await writer.append('a')
    const log = await openUntilDone(dir, { readOnly: true })
    expect([log.readOnly, log.firstSeq, log.nextSeq]).toEqual([true, 0, 1])
    expect(log.uuid).toBe(writer.uuid)
    for (const method of WRITING) {
      expect(writer[method]).toBeTypeOf('function')
      expect(() => (log as unknown as Record<keyof Log, () => unknown>)[method]()).toThrow(TypeError)
    }
    await writer.append('b')
    expect(log.nextSeq).toBe(1)
    await log.refresh()
    expect(log.nextSeq).toBe(2)
    expect(await texts(log.read())).toEqual(['a', 'b'])
    expect((await log.get(1)).data.toString()).toBe('b')
    expect(await codeOf(log.get(2))).toBe('ERR_DURLOG_OUT_OF_RANGE')
  })

  test('is not created if it does not exist', async () => {
    const dir = scratchDir()
    expect(await codeOf(open(`${dir}/none`, { readOnly: true }))).toBe('ERR_DURLOG_NOT_FOUND')
    expect(await codeOf(open(`${dir}/none`, { create: false }))).toBe('ERR_DURLOG_NOT_FOUND')
  })
})

test('pendingAppends counts each append whose promise has not settled, and no other call', async () => {
  const log = await scratchLog()
  const pending = (): number[] => [log.stats().pendingAppends, log.stats().waitingForRoom]
  const calls: Promise<unknown>[] = [log.append('a'), log.appendBatch(['b', 'c'])]
  expect(pending()).toEqual([2, 0])
  calls.push(log.sync(), log.rotate(), log.sync(), log.drain())
  expect(pending()).toEqual([2, 0])
  calls.push(log.append('d'))
  expect(pending()).toEqual([3, 1])
  await Promise.all(calls)
  expect(pending()).toEqual([0, 0])
})

test('stats report the chosen options and the completed operations', async () => {
  const log = await scratchLog()
  await log.append('a')
  const stats = log.stats()
  expect(stats).toMatchObject({
    segments: 1,
    segmentBytes: 64 * 2 ** 20,
    rotations: 0,
    pendingAppends: 0,
    waitingForRoom: 0,
  })
  expect(stats.commits).toBeGreaterThan(0)
  expect(stats.committedRecords).toBe(1)
  expect(stats.strategy).not.toBe('')
  expect(stats.reason).not.toBe('')
})

test.each([300, 2500])('a commit delay of %i microseconds delays, and loses no record', async (commitDelayMicros) => {
  const log = await scratchLog({ commitDelayMicros })
  expect(await Promise.all([log.append('a'), log.append('b')])).toEqual([0, 1])
  expect(await log.append('c')).toBe(2)
  const last = log.append('d')
  await log.close()
  expect(await last).toBe(3)
})

test('a folder name that is not a path is refused', async () => {
  for (const dir of ['', undefined, 5, 'a\0b', new URL('http://x/y')])
    expect(await codeOf(open(dir as string))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
})

test('a folder may be named by a file: URL', async () => {
  const dir = join(scratchDir(), 'log')
  const log = await open(pathToFileURL(dir))
  expect(log.dir).toBe(dir)
  await log.close()
})

test.each(['memory', 'sync'] as const)(
  'however many loops append at %s, the event loop turns before 10,000 are acknowledged',
  async (durability) => {
    const log = await open(scratchDir())
    let acknowledged = 0
    let going = true
    const loops = Array.from({ length: 1024 }, async () => {
      while (going) {
        await log.append('x', { durability })
        acknowledged += 1
        // Only a loop that starves the timer that ends it gets here.
        if (acknowledged > 100_000) going = false
      }
    })
    const inTurns: number[] = []
    for (let turn = 0; turn < 20; turn += 1) {
      const before = acknowledged
      await new Promise((resolve) => setImmediate(resolve))
      inTurns.push(acknowledged - before)
    }
    going = false
    await Promise.all(loops)
    await log.close()
    expect(Math.max(...inTurns)).toBeLessThan(10_000)
  },
)

test('the uuid is of version 4, as RFC 9562 defines it', async () => {
  for (let i = 0; i < 20; i++) {
    const log = await scratchLog()
    expect(log.uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    await log.close()
  }
})

test('a second open in one process reports that the process has the log open already', async () => {
  const log = await scratchLog()
  await expect(open(log.dir)).rejects.toMatchObject({
    code: 'ERR_DURLOG_LOCKED',
    ownerPid: process.pid,
    message: expect.stringContaining('this process has the log open already'),
  })
})

// A child process can give up its rights permanently.
const AS_NOBODY = `
const { open } = await import(process.argv[1])
process.setgid(65534)
process.setuid(65534)
const { code, errnoName, syscall, message } = await open(process.argv[2]).catch((error) => error)
console.log(JSON.stringify({ code, errnoName, syscall, message }))`

test('a folder without permission is refused with EACCES', ({ skip }) => {
  skip(process.getuid?.() !== 0, 'only root can become another user')
  const dir = join(scratchDir(), 'log')
  mkdirSync(dir)
  chmodSync(dirname(dir), 0o755)
  chmodSync(dir, 0)
  const index = new URL('../dist/index.js', import.meta.url).href
  const told = execFileSync(process.execPath, ['--input-type=module', '-e', AS_NOBODY, index, dir])
  expect(JSON.parse(told.toString())).toMatchObject({
    code: 'ERR_DURLOG_IO',
    errnoName: 'EACCES',
    syscall: expect.stringMatching(/^open/),
    message: expect.stringContaining('permission denied'),
  })
})
