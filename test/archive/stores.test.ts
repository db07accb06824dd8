import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { archive, probeBucket, restoreArchive } from '../../src/archive/index.js'
import { plainRecords, plainRecordsIn } from '../fixtures/archive.js'
import { missingStore, RealStore, type StoreName } from '../fixtures/s3-stores.mjs'
import { scratchDir, scratchLog } from '../fixtures/scratch.js'

/** moto checks a condition and writes in two steps, so that its probe fails from time to time. */
const SAFE: readonly StoreName[] = ['versitygw', 'seaweedfs']

async function start(name: StoreName): Promise<RealStore> {
  const store = await RealStore.start(name, scratchDir())
  onTestFinished(() => store.kill())
  return store
}

describe.each(['versitygw', 'seaweedfs', 'moto'] as const)('%s', (name) => {
  const missing = missingStore(name)
  if (missing !== '') process.stdout.write(`skipped: ${missing}\n`)

  test.skipIf(missing !== '')('is judged by the probe, and serves an archive and its restores', async () => {
    const store = await start(name)
    const failed = (await probeBucket(store.access)).filter(({ ok }) => !ok)
    if (SAFE.includes(name)) expect(failed).toEqual([])
    if (failed.length > 0) return
    const log = await scratchLog({ segmentBytes: 65_536 })
    const archiver = archive(log, { ...store.access, flushMs: 60_000, compress: 'zstd' })
    onTestFinished(() => archiver.close())
    const refused = new Promise<string>((resolve) => archiver.once('error', ({ code }) => resolve(code)))
    for (let part = 0; part < 5; part++) {
      for (let at = 0; at < 100; at++)
        await log.append(`record ${log.nextSeq} ${'x'.repeat(300)}`, { durability: 'memory' })
      const outcome = await Promise.race([archiver.idle().then(() => 'archived', String), refused])
      // The second probe may find what the first one did not.
      if (outcome !== 'archived' && !SAFE.includes(name)) return
      expect(outcome).toBe('archived')
    }
    const dir = join(scratchDir(), 'restored')
    await restoreArchive(dir, store.access)
    expect(await plainRecordsIn(dir)).toEqual(await plainRecords(log))
    if (name === 'moto') return
    await store.kill()
    await log.append('while the store is down')
    await store.start()
    await archiver.idle()
    const again = join(scratchDir(), 'restored')
    await restoreArchive(again, store.access)
    expect(await plainRecordsIn(again)).toEqual(await plainRecords(log))
  })
})
