/** Payloads in memory that another thread writes to while they are appended. */
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { expect, onTestFinished, test } from 'vitest'
import { type Strategy, verify } from '../src/index.js'
import { scratchLog, writeAll } from './fixtures/scratch.js'

const STRATEGIES: readonly Strategy[] = ['auto', 'mmap', 'pwrite', 'direct']
const FLIPPER = fileURLToPath(new URL('./fixtures/flipping-worker.mjs', import.meta.url))
const KIB = 1024

/** A payload that changes constantly; `flips` counts the changes. */
async function restlessPayload(size: number): Promise<{ payload: Uint8Array; flips: () => number }> {
  const bytes = new SharedArrayBuffer(size)
  const control = new Int32Array(new SharedArrayBuffer(8))
  const worker = new Worker(FLIPPER, { workerData: { bytes, control: control.buffer } })
  const ended = once(worker, 'exit')
  onTestFinished(async () => {
    Atomics.store(control, 0, 1)
    await ended
  })
  await once(worker, 'message')
  return { payload: new Uint8Array(bytes), flips: () => Atomics.load(control, 1) }
}

// Longer than a chunk: a mapped log writes such a record to the file itself.
test.each(STRATEGIES.flatMap((strategy) => [20 * KIB, 100 * KIB].map((size) => [strategy, size] as const)))(
  'a payload that another thread changes while it is appended is stored as a valid record (%s, %d bytes)',
  async (strategy, size) => {
    const { payload, flips } = await restlessPayload(size)
    const log = await scratchLog({ strategy, segmentBytes: 4096 * KIB })
    let appended = 0
    // The other thread must have run during the appends.
    for (const end = flips() + 20; flips() < end || appended < 200; appended += 4) {
      await log.append(payload, { durability: 'sync' })
      await log.appendBatch([payload.subarray(1), payload])
      await writeAll(log, [payload])
    }
    await log.close()
    const report = await verify(log.dir)
    expect(report.problems).toEqual([])
    expect(report).toMatchObject({ state: 'clean', records: appended })
  },
)
