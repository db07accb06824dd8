import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Strategy } from '../src/index.js'
import { codeOf, openUntilDone, scratchDir, texts } from './fixtures/scratch.js'

const segmentsOf = (dir: string): string[] =>
  readdirSync(dir)
    .filter((name) => name.endsWith('.seg'))
    .sort()

const STRATEGIES: readonly Strategy[] = ['auto', 'mmap', 'pwrite', 'direct']

test.each(STRATEGIES)(
  'rotate seals a segment that holds records, and it may be trimmed at once (%s)',
  async (strategy) => {
    const dir = join(scratchDir(), 'log')
    const log = await openUntilDone(dir, { strategy, segmentBytes: 65536 })
    const rotated: number[] = []
    log.on('rotated', (seq) => rotated.push(seq))
    log.write('a')
    const appended = log.append('b')
    const rotation = log.rotate()
    const after = log.append('c')
    expect(await Promise.all([appended, rotation, after])).toEqual([1, 2, 2])
    expect(rotated).toEqual([2])
    expect(segmentsOf(dir)).toEqual(['00000000000000000000.seg', '00000000000000000002.seg'])
    expect(await log.trimBefore(2)).toBe(2)
    expect(segmentsOf(dir)).toEqual(['00000000000000000002.seg'])
    expect(await texts(log.read())).toEqual(['c'])
    await log.close()
    const again = await openUntilDone(dir)
    expect([again.recovery.state, again.firstSeq, again.nextSeq]).toEqual(['clean', 2, 3])
  },
)

test('rotate of a segment without records changes nothing', async () => {
  const dir = join(scratchDir(), 'log')
  const log = await openUntilDone(dir, { segmentBytes: 65536 })
  expect(await Promise.all([log.rotate(), log.rotate()])).toEqual([0, 0])
  await log.append('a')
  expect(await Promise.all([log.rotate(), log.rotate()])).toEqual([1, 1])
  expect(segmentsOf(dir)).toHaveLength(2)
  expect(await log.trimBefore(1)).toBe(1)
  expect([log.firstSeq, log.nextSeq]).toEqual([1, 1])
  await log.close()
  expect(await codeOf(log.rotate())).toBe('ERR_DURLOG_CLOSED')
  const again = await openUntilDone(dir)
  expect(await again.append('b')).toBe(1)
})

test('cuts and trims before and after a rotation leave all other records', async () => {
  const log = await openUntilDone(join(scratchDir(), 'log'), { segmentBytes: 65536 })
  for (const text of ['a', 'b', 'c']) await log.append(text)
  const [first, next, , seq, trimmed] = await Promise.all([
    log.rotate(),
    log.truncateAfter(1),
    log.rotate(),
    log.append('d'),
    log.trimBefore(2),
  ])
  expect([first, next, seq, trimmed]).toEqual([3, 2, 2, 2])
  expect(await texts(log.read())).toEqual(['d'])
})

test('reached rejects if the record is cut before it reaches the level', async () => {
  const log = await openUntilDone(join(scratchDir(), 'log'), { durability: 'memory' })
  for (let i = 0; i < 10; i++) await log.append(`r${i}`)
  const cut = log.truncateAfter(4)
  const [kept, removed] = [log.reached(4, 'full'), codeOf(log.reached(9, 'full'))]
  const later = log.appendBatch(['s5', 's6', 's7', 's8', 's9'])
  expect(await cut).toBe(5)
  expect(await removed).toBe('ERR_DURLOG_OUT_OF_RANGE')
  await kept
  expect(await later).toEqual({ first: 5, last: 9 })
  await log.reached(9, 'full')
})
