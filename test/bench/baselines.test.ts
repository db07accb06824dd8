import { existsSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  Baseline,
  type BaselineFile,
  type BaselineMethod,
  baselinesSupported,
  isUnsupported,
  randomWrite,
  verifyRecords,
} from '../../bench/harness/baselines.js'
import { requireWhole } from '../../bench/harness/read-back.js'
import { makeScratch, removeScratch, withScratch } from '../../bench/harness/scratch.js'

const BLOCK_BYTES = 4096
const METHODS: [BaselineMethod, BaselineFile][] = [
  ['direct-dsync', 'zero'],
  ['direct-dsync-handed', 'zero'],
  ['direct', 'fallocate'],
  ['pwrite', 'none'],
  ['pwrite-range', 'none'],
  ['pwrite-fdatasync', 'sparse'],
  ['pwrite-fsync', 'keep-size'],
  ['mmap', 'fallocate'],
  ['mmap-populated', 'fallocate'],
  ['mmap-msync', 'zero'],
  ['mmap-msync-async', 'zero-range'],
  ['write-append', 'none'],
  ['writev-append', 'none'],
  ['stdio-flush', 'none'],
  ['stdio', 'none'],
  ['aio-append', 'none'],
  ['direct-append', 'none'],
]
/** Where the tests run: the repo's own disk, as a folder for what is temporary may be memory. */
const PLACE = join(import.meta.dirname, '../../build')

/** Skips if this file system does not support the method. */
async function unlessRefused(body: () => Promise<void>, skip: (note: string) => void): Promise<void> {
  try {
    await body()
  } catch (error) {
    if (!isUnsupported(error)) throw error
    skip((error as Error).message)
  }
}

describe.skipIf(!baselinesSupported())('each raw method', () => {
  describe.each(METHODS)('%s on %s', (method, preallocate) => {
    test.each([1, 128, 4095, 10_000])('keeps every record of %i bytes', async (recordBytes) => {
      const body = (): Promise<void> =>
        withScratch(PLACE, async (folder) => {
          const path = join(folder, 'file')
          const baseline = await Baseline.open({ path, method, preallocate, recordBytes, fileBytes: 2 ** 20 })
          const latencies = await baseline.run(70)
          await baseline.close()
          const padded = Math.ceil(recordBytes / BLOCK_BYTES) * BLOCK_BYTES
          const stride = method === 'direct-append' ? padded : recordBytes
          expect(await verifyRecords({ path, start: 0, stride, recordBytes })).toMatchObject({
            records: 70,
            damaged: 0,
          })
          expect(latencies).toHaveLength(70)
          expect(latencies.every((us) => us > 0)).toBe(true)
        })
      await unlessRefused(body, (note) => expect(note).not.toBe(''))
    })
  })

  test('starts again at the beginning, untimed, when its file is full', async () => {
    await withScratch(PLACE, async (folder) => {
      const path = join(folder, 'file')
      const spec = { path, method: 'pwrite', preallocate: 'none', recordBytes: 4096, fileBytes: 65_536 } as const
      const baseline = await Baseline.open(spec)
      expect(await baseline.run(40)).toHaveLength(40)
      await baseline.close()
      const { records } = await verifyRecords({ path, start: 0, stride: 4096, recordBytes: 4096 })
      expect(records).toBe(40 % 16)
    })
  })

  test('a damaged record is distinguished from a missing one', async () => {
    await withScratch(PLACE, async (folder) => {
      const path = join(folder, 'file')
      const baseline = await Baseline.open({
        path,
        method: 'pwrite',
        preallocate: 'none',
        recordBytes: 128,
        fileBytes: 2 ** 20,
      })
      await baseline.run(10)
      await baseline.close()
      const { open } = await import('node:fs/promises')
      const file = await open(path, 'r+')
      await file.write(Buffer.alloc(1, 0xff), 0, 1, 128 * 3 + 60)
      await file.write(Buffer.alloc(128), 0, 128, 128 * 5)
      await file.close()
      const found = await verifyRecords({ path, start: 0, stride: 128, recordBytes: 128 })
      expect(found).toEqual({ records: 8, damaged: 1, duplicates: 0 })
    })
  })

  test.each(['io_uring', 'threads'] as const)('random writes by %s are counted', async (engine) => {
    const body = (): Promise<void> =>
      withScratch(PLACE, async (folder) => {
        const { writes, latencies } = await randomWrite({
          path: join(folder, 'file'),
          preallocate: 'sparse',
          cluster: 'zero',
          engine,
          fileBytes: 4 * 2 ** 20,
          depth: 8,
          extentHintBytes: 0,
          millis: 60,
          intervalMillis: 20,
          seed: 1,
        })
        expect(writes).toHaveLength(3)
        expect(latencies.length).toBeGreaterThan(0)
      })
    await unlessRefused(body, (note) => expect(note).not.toBe(''))
  })
})

const whole = { planned: 10, acknowledged: 10, records: 10, damaged: 0 }

test('a failed read-back names the party at fault', () => {
  expect(() => requireWhole('m', whole)).not.toThrow()
  expect(() => requireWhole('m', { ...whole, acknowledged: 9, records: 9 })).toThrow('m: the bench is at fault')
  expect(() => requireWhole('m', { ...whole, records: 8, damaged: 1 })).toThrow(
    'm: the raw method is at fault: 8 whole records and 1 damaged one were read back of 10 acknowledged appends',
  )
  expect(() => requireWhole('m', { ...whole, records: 11 })).toThrow('the raw method is at fault')
})

test('the files of a log that lost a record are kept', async () => {
  const folder = await makeScratch(tmpdir())
  expect(() => requireWhole('m', { ...whole, records: 9 }, folder)).toThrow(
    `the log is at fault: 9 whole records and 0 damaged ones were read back of 10 acknowledged appends`,
  )
  await removeScratch(folder)
  expect(existsSync(folder)).toBe(true)
  rmSync(folder, { recursive: true })
})
