/** Checkpoints that fail, or whose files other programs remove. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { DurlogError } from '../../src/errors.js'
import { openExclusive } from '../../src/streams/api/open-streams.js'
import { Catalog } from '../../src/streams/state/catalog.js'
import { codeOf, scratchDir } from '../fixtures/scratch.js'
import { leave, values } from '../fixtures/streams.js'

afterEach(() => {
  vi.restoreAllMocks()
})

test.each(['ERR_DURLOG_SYNC_FAILED', 'ERR_DURLOG_LATCHED'] as const)(
  'after %s of the catalog, no checkpoint writes the files again until the folder is opened again',
  async (code) => {
    const dir = join(scratchDir(), 'streams')
    const steps: string[] = []
    const streams = await openExclusive(dir, { checkpointMs: 3_600_000 }, { onStep: (step) => steps.push(step) })
    onTestFinished(() => streams.close())
    await streams.stream('s').append(1)
    const failing = vi.spyOn(Catalog.prototype, 'store').mockRejectedValue(new DurlogError(code, 'of the device'))
    expect(await codeOf(streams.checkpoint())).toBe(code)
    expect(steps).toContain('store')
    steps.length = 0
    await streams.stream('s').append(2)
    expect(await codeOf(streams.checkpoint())).toBe(code)
    await streams.close()
    expect(steps).toEqual([])
    failing.mockRestore()
    const again = await openExclusive(dir, {}, {})
    onTestFinished(() => again.close())
    expect(await values(again.stream('s').read())).toEqual([1, 2])
    expect(again.changes).toEqual([])
  },
)

test('a checkpoint keeps the records after its position if another program removes the cursor of the main log', async () => {
  const dir = join(scratchDir(), 'streams')
  const later: Promise<unknown>[] = []
  const append = (count: number): Promise<unknown>[] =>
    Array.from({ length: count }, () => streams.stream('s').append('x'.repeat(10_000)))
  const onStep = (step: string): void => {
    if (step !== 'catalog' || later.length > 0) return
    rmSync(join(dir, 'log', 'durlog-streams.cursor'))
    later.push(...append(300))
  }
  const options = { checkpointMs: 3_600_000, durability: 'memory' } as const
  const streams = await openExclusive(dir, options, { logSegmentBytes: 1 << 20, onStep })
  onTestFinished(() => leave(streams))
  await Promise.all(append(300))
  // The second code if the cursor was latched before this call.
  expect(await codeOf(streams.checkpoint())).toMatch(/^ERR_DURLOG_(FILE_CHANGED|LATCHED)$/)
  await Promise.all(later)
  await leave(streams)
  const again = await openExclusive(dir, options, {})
  onTestFinished(() => again.close())
  expect(await again.stream('s').info()).toMatchObject({ nextSeq: 600 })
})
