/** Checkpoints that fail. */
import { join } from 'node:path'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { DurlogError } from '../../src/errors.js'
import { Catalog } from '../../src/streams/catalog.js'
import { openStore } from '../../src/streams/open-store.js'
import { codeOf, scratchDir } from '../fixtures/scratch.js'
import { values } from '../fixtures/streams.js'

afterEach(() => {
  vi.restoreAllMocks()
})

test.each(['ERR_DURLOG_SYNC_FAILED', 'ERR_DURLOG_LATCHED'] as const)(
  'after %s of the catalog, no checkpoint writes the files again until the folder is opened again',
  async (code) => {
    const dir = join(scratchDir(), 'streams')
    const steps: string[] = []
    const streams = await openStore(dir, { checkpointMs: 3_600_000 }, { onStep: (step) => steps.push(step) })
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
    const again = await openStore(dir, {}, {})
    onTestFinished(() => again.close())
    expect(await values(again.stream('s').read())).toEqual([1, 2])
    expect(again.changes).toEqual([])
  },
)
