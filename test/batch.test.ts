import { expect, test } from 'vitest'
import type { Payload, Strategy } from '../src/index.js'
import { codeOf, scratchLog, texts } from './fixtures/scratch.js'

const STRATEGIES: readonly Strategy[] = ['auto', 'mmap', 'pwrite', 'direct']

test.each(STRATEGIES)('a batch takes consecutive seqs among other appends (%s)', async (strategy) => {
  const log = await scratchLog({ strategy })
  const [first, batch, second] = await Promise.all([
    log.append('before'),
    log.appendBatch(['a', Buffer.from('b'), 'c']),
    log.append('after'),
  ])
  expect([first, batch, second]).toEqual([0, { first: 1, last: 3 }, 4])
  expect(await texts(log.read())).toEqual(['before', 'a', 'b', 'c', 'after'])
})

test('a batch of one is a record', async () => {
  const log = await scratchLog()
  expect(await log.appendBatch(['only'])).toEqual({ first: 0, last: 0 })
})

test('one bad record refuses the whole batch before anything is written', async () => {
  const log = await scratchLog({ maxRecordBytes: 1000 })
  expect(await codeOf(log.appendBatch(['a', '', 'c']))).toBe('ERR_DURLOG_RECORD_EMPTY')
  expect(await codeOf(log.appendBatch(['a', Buffer.alloc(1001)]))).toBe('ERR_DURLOG_RECORD_TOO_LARGE')
  expect(await codeOf(log.appendBatch(['a', 5 as unknown as Payload]))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
  expect(await codeOf(log.appendBatch([]))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
  expect(await codeOf(log.appendBatch('abc' as unknown as string[]))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
  expect(await log.append('still first')).toBe(0)
})

test('a batch that can never fit is refused, and the log goes on', async () => {
  const log = await scratchLog({ segmentBytes: 65536 })
  const list = Array.from({ length: 10 }, () => Buffer.alloc(20_000))
  expect(await codeOf(log.appendBatch(list))).toBe('ERR_DURLOG_BATCH_TOO_LARGE')
  expect(await log.append('x')).toBe(0)
})

test('batches keep their order where they wait for room, and the list may change meanwhile', async () => {
  const log = await scratchLog({ maxPendingBytes: 65536, strategy: 'direct' })
  const list = ['a'.repeat(10_000), 'b'.repeat(10_000)]
  const batches = Array.from({ length: 20 }, () => log.appendBatch(list))
  list.length = 0
  const ranges = await Promise.all(batches)
  expect(ranges).toEqual(ranges.map((_, i) => ({ first: i * 2, last: i * 2 + 1 })))
  expect(log.nextSeq).toBe(40)
})

test('a batch of a hundred thousand records comes back in order', async () => {
  const log = await scratchLog()
  const list = Array.from({ length: 100_000 }, (_, i) => `r${i}`)
  expect(await log.appendBatch(list)).toEqual({ first: 0, last: 99_999 })
  expect(await texts(log.read())).toEqual(list)
})
