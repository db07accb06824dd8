import { expect, test } from 'vitest'
import type { Log, Payload, Strategy } from '../src/index.js'
import { codeOf, scratchLog, texts } from './fixtures/scratch.js'

const STRATEGIES: readonly Strategy[] = ['auto', 'mmap', 'pwrite', 'direct']

test.each(STRATEGIES)('a batch gets consecutive seqs while other appends run (%s)', async (strategy) => {
  const log = await scratchLog({ strategy })
  const [first, batch, second] = await Promise.all([
    log.append('before'),
    log.appendBatch(['a', Buffer.from('b'), 'c']),
    log.append('after'),
  ])
  expect([first, batch, second]).toEqual([0, { first: 1, last: 3 }, 4])
  expect(await texts(log.read())).toEqual(['before', 'a', 'b', 'c', 'after'])
})

test.each(STRATEGIES)('writeBatch returns the range of records that can be read at once (%s)', async (strategy) => {
  const log = await scratchLog({ strategy })
  const before = log.append('before')
  expect(log.writeBatch(['a', Buffer.from('b'), 'c'])).toEqual({ first: 1, last: 3 })
  expect(log.getSync(3).data.toString()).toBe('c')
  expect(log.write('after')).toBe(4)
  await before
  expect(await texts(log.read())).toEqual(['before', 'a', 'b', 'c', 'after'])
})

test.each(STRATEGIES)(
  'writeBatch fills several segments and never splits a batch between two (%s)',
  async (strategy) => {
    const log = await scratchLog({ strategy, segmentBytes: 65536 })
    const list = Array.from({ length: 30 }, (_, i) => `${i} ${'x'.repeat(500)}`)
    const firsts: number[] = []
    while (firsts.length < 40) {
      try {
        firsts.push(log.writeBatch(list).first)
      } catch (error) {
        expect(error).toMatchObject({ code: 'ERR_DURLOG_BACKPRESSURE' })
        await log.drain()
      }
    }
    expect(firsts).toEqual(firsts.map((_, i) => i * 30))
    await log.sync()
    expect(log.stats().rotations).toBeGreaterThan(5)
    expect(await texts(log.read())).toEqual(firsts.flatMap(() => list))
  },
)

test('writeBatch with one invalid record is refused before anything is written', async () => {
  const log = await scratchLog({ maxRecordBytes: 1000, segmentBytes: 65536 })
  expect(await codeOf(() => log.writeBatch(['a', '', 'c']))).toBe('ERR_DURLOG_RECORD_EMPTY')
  expect(await codeOf(() => log.writeBatch(['a', Buffer.alloc(1001)]))).toBe('ERR_DURLOG_RECORD_TOO_LARGE')
  expect(await codeOf(() => log.writeBatch(['a', 5 as unknown as Payload]))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
  const large = Array.from({ length: 100 }, () => 'x'.repeat(1000))
  expect(await codeOf(() => log.writeBatch(large))).toBe('ERR_DURLOG_BATCH_TOO_LARGE')
  expect(log.write('still first')).toBe(0)
})

test('a batch of one is a record', async () => {
  const log = await scratchLog()
  expect(await log.appendBatch(['only'])).toEqual({ first: 0, last: 0 })
})

test('a batch with one invalid record is refused before anything is written', async () => {
  const log = await scratchLog({ maxRecordBytes: 1000 })
  expect(await codeOf(log.appendBatch(['a', '', 'c']))).toBe('ERR_DURLOG_RECORD_EMPTY')
  expect(await codeOf(log.appendBatch(['a', Buffer.alloc(1001)]))).toBe('ERR_DURLOG_RECORD_TOO_LARGE')
  expect(await codeOf(log.appendBatch(['a', 5 as unknown as Payload]))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
  expect(await codeOf(log.appendBatch([]))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
  expect(await codeOf(log.appendBatch('abc' as unknown as string[]))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
  expect(await log.append('still first')).toBe(0)
})

test('a batch that can never fit is refused, and the log stays usable', async () => {
  const log = await scratchLog({ segmentBytes: 65536 })
  const list = Array.from({ length: 10 }, () => Buffer.alloc(20_000))
  expect(await codeOf(log.appendBatch(list))).toBe('ERR_DURLOG_BATCH_TOO_LARGE')
  expect(await log.append('x')).toBe(0)
})

test('batches keep their order if they wait for room, and the caller may change the list meanwhile', async () => {
  const log = await scratchLog({ maxPendingBytes: 65536, strategy: 'direct' })
  const list = ['a'.repeat(10_000), 'b'.repeat(10_000)]
  const batches = Array.from({ length: 20 }, () => log.appendBatch(list))
  list.length = 0
  const ranges = await Promise.all(batches)
  expect(ranges).toEqual(ranges.map((_, i) => ({ first: i * 2, last: i * 2 + 1 })))
  expect(log.nextSeq).toBe(40)
})

test('a batch of a hundred thousand records is read back in order', async () => {
  const log = await scratchLog()
  const list = Array.from({ length: 100_000 }, (_, i) => `r${i}`)
  expect(await log.appendBatch(list)).toEqual({ first: 0, last: 99_999 })
  expect(await texts(log.read())).toEqual(list)
})

test('a list of more records than can ever fit is refused before it is copied', async () => {
  const log = await scratchLog()
  expect(await codeOf(log.appendBatch(new Array(2 ** 32 - 1)))).toBe('ERR_DURLOG_BATCH_TOO_LARGE')
  expect(await codeOf(log.appendBatch(new Array(2 ** 20)))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
  expect(await log.append('still first')).toBe(0)
})

/** A list whose third element calls `harm` when it is read. */
function harmfulList(payloads: Payload[], harm: () => Payload): Payload[][] {
  const withGetter = payloads.slice()
  Object.defineProperty(withGetter, 2, { get: harm, enumerable: true })
  const proxy = new Proxy(payloads.slice(), {
    get: (target, key) => (key === '2' ? harm() : Reflect.get(target, key)),
  })
  return [withGetter, proxy]
}

test('a getter in the list that closes the log refuses the batch', async () => {
  for (const index of [0, 1]) {
    const log = await scratchLog()
    const harm = (): Payload => {
      void log.close()
      return 'c'
    }
    const list = harmfulList(['a', Buffer.from('b'), 'c'], harm)[index] as Payload[]
    expect(await codeOf(log.appendBatch(list))).toBe('ERR_DURLOG_CLOSED')
  }
})

test('a getter in the list that detaches an earlier record refuses the batch, and no record of it is stored', async () => {
  const log = await scratchLog()
  for (const index of [0, 1]) {
    const early = new Uint8Array(100_000).fill(1)
    const harm = (): Payload => {
      structuredClone(early, { transfer: [early.buffer] })
      return 'c'
    }
    const list = harmfulList([early, 'b', 'c'], harm)[index] as Payload[]
    expect(await codeOf(log.appendBatch(list))).toBe('ERR_DURLOG_RECORD_EMPTY')
  }
  expect(await log.append('first')).toBe(0)
})

test('a record that a getter in the list appends comes before the batch', async () => {
  const log = await scratchLog()
  const harm = (): Payload => {
    void log.append('from the getter')
    return 'c'
  }
  for (const list of harmfulList(['a', 'b', 'c'], harm)) await log.appendBatch(list)
  expect(await texts(log.read())).toEqual(['from the getter', 'a', 'b', 'c', 'from the getter', 'a', 'b', 'c'])
})

test('a list whose length changes, or that subclasses Array, is read once', async () => {
  const log = await scratchLog()
  class Odd extends Array<Payload> {
    static override get [Symbol.species](): ArrayConstructor {
      throw new Error('not for a batch')
    }
  }
  const list = Odd.from(['a', 'b']) as Payload[]
  expect(await log.appendBatch(list)).toEqual({ first: 0, last: 1 })
})

const residentBytes = (): number => process.memoryUsage.rss()

/** The bytes that refused calls leave in memory. */
async function keptBy(log: Log, call: (text: string) => Promise<unknown>): Promise<number> {
  const text = 'x'.repeat(300 * 2 ** 20)
  await codeOf(log.append(text)) // V8 flattens the string once
  const before = residentBytes()
  expect(await codeOf(call(text))).toMatch(/^ERR_DURLOG_(RECORD|BATCH)_TOO_LARGE$/)
  return residentBytes() - before
}

test('a string that is refused for its length leaves no copy in memory', async () => {
  const log = await scratchLog()
  expect(await keptBy(log, (text) => log.append(text))).toBeLessThan(100 * 2 ** 20)
  expect(await keptBy(log, (text) => log.appendBatch(['a', text]))).toBeLessThan(100 * 2 ** 20)
  expect(await keptBy(log, async (text) => log.write(text))).toBeLessThan(100 * 2 ** 20)
  expect(await log.append('still first')).toBe(0)
})

test('text of every length and character width is read back unchanged, from a batch and from a single append', async () => {
  const log = await scratchLog()
  const list = [1, 100, 21_844, 21_845, 21_846, 65_536, 200_000].flatMap((units) =>
    ['a', '\u00e9', '\u20ac', '\u{1f600}'].map((character) => character.repeat(units)),
  )
  await log.appendBatch(list)
  for (const text of list) await log.append(text)
  expect(await texts(log.read())).toEqual([...list, ...list])
})
