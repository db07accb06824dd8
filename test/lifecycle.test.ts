import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { type Durability, open, type Strategy } from '../src/index.js'
import { openUntilDone, scratchDir, texts } from './fixtures/scratch.js'

const linuxOnly = test.skipIf(!existsSync('/proc/self/fd'))

linuxOnly('a hundred opens and closes leave nothing open, except for readers that were abandoned', async () => {
  let abandoned = 0
  const dir = join(scratchDir(), 'log')
  const held = (): { descriptors: number; mappings: number } => ({
    descriptors: readdirSync('/proc/self/fd').length,
    mappings: readFileSync('/proc/self/maps', 'utf8').split(dir).length - 1,
  })
  const cycle = async (i: number): Promise<void> => {
    const log = await open(dir, { segmentBytes: 256 * 1024 })
    if (i % 2 === 0) log.write('mapped')
    await log.append('synced')
    if (i % 10 === 0) {
      abandoned++
      expect((await log.read({ from: log.firstSeq }).next()).value?.seq).toBe(log.firstSeq)
    }
    if (i % 10 === 1) expect((await log.get(log.nextSeq - 1)).data.toString()).toBe('synced')
    await log.close()
  }
  for (let i = 0; i < 20; i++) await cycle(i)
  const before = held()
  for (let i = 0; i < 100; i++) await cycle(i)
  // An abandoned reader holds its segment, its folder and the live page, at the latest until it is collected.
  expect(held().descriptors).toBeLessThanOrEqual(before.descriptors + 4 * abandoned)
  expect(held().mappings).toBeLessThanOrEqual(abandoned)
})

const strategies: readonly Strategy[] = ['mmap', 'auto']
linuxOnly.each(strategies)(
  'synced segments keep neither a descriptor nor a mapping (%s at memory)',
  async (strategy) => {
    const dir = join(scratchDir(), 'log')
    const log = await openUntilDone(dir, { strategy, durability: 'memory', segmentBytes: 64 * 1024 })
    for (let i = 0; i < 600; i++) await log.append(Buffer.alloc(4096, 1))
    await log.sync()
    const linked = (fd: string): string => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`)
      } catch {
        return ''
      }
    }
    const held = readdirSync('/proc/self/fd').filter((fd) => linked(fd).startsWith(dir)).length
    const mapped = readFileSync('/proc/self/maps', 'utf8').split(dir).length - 1
    expect(log.stats().segments).toBeGreaterThan(40)
    // The descriptors of the folder, its lock and its page, of the newest segments and of the next one.
    expect(held).toBeLessThan(20)
    expect(mapped).toBeLessThan(20)
  },
)

test.each<[Strategy, Durability]>([
  ['auto', 'sync'],
  ['auto', 'memory'],
  ['mmap', 'sync'],
  ['pwrite', 'full'],
  ['direct', 'sync'],
])(
  'a worker that is terminated while it appends releases the log, and loses no acknowledged record (%s, %s)',
  async (strategy, durability) => {
    const dir = join(scratchDir(), 'log')
    for (let round = 0; round < 5; round++) {
      const worker = new Worker(new URL('./fixtures/append-worker.mjs', import.meta.url), {
        workerData: { dir, strategy, durability, segmentBytes: 256 * 1024 },
      })
      let last = -1
      await new Promise<void>((resolve, reject) => {
        worker.on('error', reject)
        worker.on('message', (seq: number) => {
          last = Math.max(last, seq)
          if (last > (round + 1) * 200) resolve()
        })
      })
      await worker.terminate()
      const log = await openUntilDone(dir, { waitMs: 10_000 })
      expect(log.nextSeq).toBeGreaterThan(last)
      expect(await texts(log.read())).toHaveLength(log.nextSeq)
      await log.close()
    }
  },
)

test('a process may end with a log open and appends pending', () => {
  const script = `
    import { open } from ${JSON.stringify(new URL('../dist/index.js', import.meta.url).href)}
    const log = await open(${JSON.stringify(join(scratchDir(), 'log'))})
    void log.read({ follow: true }).next()
    await log.append('first')
    for (let i = 0; i < 1000; i++) void log.append('x')
    process.nextTick(() => process.exit(7))
  `
  const ended = spawnSync(process.execPath, ['--input-type=module', '-e', script])
  expect([ended.status, ended.signal, ended.stderr.toString()]).toEqual([7, null, ''])
})
