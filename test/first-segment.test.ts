/** The first segments of a log are short, so that an empty log takes little room. */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { OpenOptions, Strategy } from '../src/index.js'
import { openUntilDone, records, scratchDir } from './fixtures/scratch.js'

const STRATEGIES: readonly Strategy[] = ['auto', 'mmap', 'pwrite', 'direct']
const MIB = 2 ** 20

const diskBytes = (dir: string): number =>
  readdirSync(dir).reduce((sum, name) => sum + statSync(join(dir, name)).blocks * 512, 0)

/** The lengths of the segments, in MiB. */
const segmentMibs = (dir: string): number[] =>
  readdirSync(dir)
    .filter((name) => name.endsWith('.seg'))
    .sort()
    .map((name) => statSync(join(dir, name)).size / MIB)

test.each(STRATEGIES)('an empty log takes about 1 MiB of the disk (%s)', async (strategy) => {
  const dir = scratchDir()
  await openUntilDone(dir, { strategy })
  expect(segmentMibs(dir)).toEqual([1])
  expect(diskBytes(dir)).toBeLessThan(1.1 * MIB)
})

test.each<[OpenOptions, number[]]>([
  [{}, [1, 2, 4, 8]],
  [{ segmentBytes: 4 * MIB }, [1, 2, 4, 4]],
  [{ segmentBytes: MIB / 2 }, Array(22).fill(0.5)],
])('each segment is twice as long as the previous one, up to segmentBytes (%j)', async (options, mibs) => {
  const dir = scratchDir()
  const log = await openUntilDone(dir, { ...options, durability: 'memory' })
  for (let i = 0; i < 110; i++) await log.append(Buffer.alloc(100_000, i))
  expect(segmentMibs(dir)).toEqual(mibs)
  expect((await records(log.read())).map(({ data }) => data[99_999])).toEqual(Array.from({ length: 110 }, (_, i) => i))
})

test.each(STRATEGIES)('the first segment is long enough for the first record (%s)', async (strategy) => {
  const dir = scratchDir()
  const log = await openUntilDone(dir, { strategy })
  await log.append(Buffer.alloc(5 * MIB, 7))
  expect(segmentMibs(dir)).toEqual([8])
  expect((await log.get(0)).data).toHaveLength(5 * MIB)
})

test('writes of 100 MiB in one turn have room in segments that no sync has covered', async () => {
  const log = await openUntilDone(scratchDir())
  const record = Buffer.alloc(MIB - 64)
  for (let i = 0; i < 100; i++) expect(log.write(record)).toBe(i)
})
