import { describe, expect, test } from 'vitest'
import type { DurlogError, Strategy } from '../src/index.js'
import { codeOf, scratchLog, texts } from './fixtures/scratch.js'

const STRATEGIES: readonly Strategy[] = ['auto', 'mmap', 'pwrite', 'direct']

describe('expectedSeq', () => {
  test('a record is appended only if it gets that seq', async () => {
    const log = await scratchLog()
    expect(await log.append('a', { expectedSeq: 0 })).toBe(0)
    const refused = log.append('b', { expectedSeq: 0 })
    await expect(refused).rejects.toMatchObject({ code: 'ERR_DURLOG_SEQ_CONFLICT', nextSeq: 1 })
    await expect(log.append('b', { expectedSeq: 7 })).rejects.toMatchObject({ nextSeq: 1 })
    expect(await log.append('b', { expectedSeq: 1 })).toBe(1)
    expect(await texts(log.read())).toEqual(['a', 'b'])
  })

  test('a batch is appended only if its first record gets that seq', async () => {
    const log = await scratchLog()
    expect(await log.appendBatch(['a', 'b'], { expectedSeq: 0 })).toEqual({ first: 0, last: 1 })
    expect(await codeOf(log.appendBatch(['c', 'd'], { expectedSeq: 1 }))).toBe('ERR_DURLOG_SEQ_CONFLICT')
    expect(await log.appendBatch(['c', 'd'], { expectedSeq: 2 })).toEqual({ first: 2, last: 3 })
    expect(await texts(log.read())).toEqual(['a', 'b', 'c', 'd'])
  })

  test.each(STRATEGIES)('exactly one of the appends that race for a seq gets it (%s)', async (strategy) => {
    const log = await scratchLog({ strategy })
    const wins: string[] = []
    const contender = async (name: string): Promise<void> => {
      for (let won = 0; won < 50; ) {
        const expectedSeq = log.nextSeq
        await null
        const { status } = (await Promise.allSettled([log.append(`${name}${won}`, { expectedSeq })]))[0]
        if (status === 'rejected') continue
        wins[expectedSeq] = `${name}${won}`
        won++
      }
    }
    await Promise.all(['a', 'b', 'c', 'd'].map(contender))
    expect(wins).toHaveLength(200)
    expect(await texts(log.read())).toEqual(wins)
  })

  test('is checked when an append that waits for room gets its turn', async () => {
    const small = { maxPendingBytes: 65536, maxRecordBytes: 40_000, strategy: 'direct' } as const
    const log = await scratchLog(small)
    const before = Array.from({ length: 50 }, () => log.append(Buffer.alloc(4000, 1)))
    expect(log.stats().waitingForRoom).toBeGreaterThan(0)
    const fits = log.append('fits', { expectedSeq: 50 })
    const late = log.append('late', { expectedSeq: 50 })
    const outcomes = await Promise.allSettled([fits, late, ...before])
    expect(outcomes[0]).toEqual({ status: 'fulfilled', value: 50 })
    const reason = expect.objectContaining({ code: 'ERR_DURLOG_SEQ_CONFLICT', nextSeq: 51 })
    expect(outcomes[1]).toEqual({ status: 'rejected', reason })
  })

  test.each(STRATEGIES)('after a refusal the records before its nextSeq can be read (%s)', async (strategy) => {
    const log = await scratchLog({ strategy })
    const won = [log.append('won', { expectedSeq: 0 }), log.appendBatch(['also', 'won'], { expectedSeq: 1 })]
    const decideAgain = async (refused: Promise<unknown>): Promise<void> => {
      const { nextSeq } = await refused.then(
        () => Promise.reject(new Error('appended')),
        (error: DurlogError) => error,
      )
      expect(nextSeq).toBe(3)
      expect(await texts(log.read({ from: 0, to: 3 }))).toEqual(['won', 'also', 'won'])
    }
    const lost = [log.append('lost', { expectedSeq: 0 }), log.appendBatch(['also', 'lost'], { expectedSeq: 0 })]
    await Promise.all(lost.map(decideAgain))
    await Promise.all(won)
  })

  test('a refusal is reported although the log is being closed', async () => {
    const log = await scratchLog()
    await log.append('a')
    const refused = log.append('b', { expectedSeq: 0 })
    const closed = log.close()
    expect(await codeOf(refused)).toBe('ERR_DURLOG_SEQ_CONFLICT')
    await closed
  })

  test('must be a seq', async () => {
    const log = await scratchLog()
    for (const expectedSeq of [-1, 1.5, '0', null, Number.NaN])
      expect(await codeOf(log.append('a', { expectedSeq: expectedSeq as number }))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
    expect(log.nextSeq).toBe(0)
  })
})
