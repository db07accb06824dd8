/** Sizes at boundaries, and logs that several processes use. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { expect, onTestFinished, test } from 'vitest'
import { type Durability, open, type Strategy } from '../src/index.js'
import { randomFrom } from './crash/payload.mjs'
import { codeOf, openUntilDone, records, scratchDir, scratchLog } from './fixtures/scratch.js'

const STRATEGIES: readonly Strategy[] = ['auto', 'mmap', 'pwrite', 'direct']
const FOLLOWER = fileURLToPath(new URL('./fixtures/follow-process.mjs', import.meta.url))
const KIB = 1024
/** The bytes of a frame's header, and of a segment before its first frame. */
const FRAME_HEADER_BYTES = 24
const SEGMENT_HEADER_BYTES = 4096

/** The same bytes for the same seq and size, and different bytes for all others. */
function bytesFor(seq: number, size: number): Buffer {
  const data = Buffer.allocUnsafe(size)
  for (let i = 0; i < size; i++) data[i] = (seq * 131 + (i >> 2)) % 251
  return data
}

test.each(
  STRATEGIES.flatMap((strategy) => (['memory', 'sync'] as const).map((durability) => [strategy, durability] as const)),
)(
  'records of 1 byte to 300 KiB come back across the borders of chunks and segments (%s, %s)',
  async (strategy, durability) => {
    const dir = scratchDir()
    const options = { strategy, durability, segmentBytes: 1024 * KIB, maxRecordBytes: 300 * KIB }
    const log = await open(dir, options)
    const random = randomFrom(17)
    const sizes = Array.from({ length: 120 }, (_, i) =>
      // Close to a chunk, close to a page, and arbitrary.
      i % 3 === 0
        ? 64 * KIB - FRAME_HEADER_BYTES - 4 + (i % 9)
        : i % 3 === 1
          ? 1 + (i % 64)
          : 1 + Math.floor(random() * 300 * KIB),
    )
    for (let i = 0; i < sizes.length; i += 4)
      await Promise.all(sizes.slice(i, i + 4).map((size, j) => log.append(bytesFor(i + j, size))))
    expect(log.stats().segments).toBeGreaterThan(4)
    const expectAll = async (reader: ReturnType<typeof log.read>): Promise<void> => {
      const found = await records(reader)
      expect(found).toHaveLength(sizes.length)
      for (const { seq, data } of found) {
        if (!data.equals(bytesFor(seq, sizes[seq] as number))) throw new Error(`record ${seq} has other bytes`)
      }
    }
    await expectAll(log.read())
    await log.close()
    const again = await openUntilDone(dir, options)
    await expectAll(again.read())
  },
)

test.each(STRATEGIES)(
  'records that fill a segment to its last byte, and one byte less, are followed by others (%s)',
  async (strategy) => {
    const segmentBytes = 64 * KIB
    const room = segmentBytes - SEGMENT_HEADER_BYTES - FRAME_HEADER_BYTES
    const dir = scratchDir()
    const options = { strategy, segmentBytes, maxPendingBytes: 256 * KIB, maxRecordBytes: segmentBytes - 8192 }
    const log = await open(dir, options)
    const halves = [room - 40_000 - FRAME_HEADER_BYTES, room - 40_000 - FRAME_HEADER_BYTES - 1]
    const sizes = [
      40_000,
      halves[0],
      40_000,
      halves[1],
      1,
      segmentBytes - 8192,
      1,
      40_000,
      (halves[0] as number) + 1,
      3,
    ] as number[]
    for (const [seq, size] of sizes.entries()) expect(await log.append(bytesFor(seq, size))).toBe(seq)
    expect(await codeOf(log.append(Buffer.alloc(segmentBytes - 8191)))).toBe('ERR_DURLOG_RECORD_TOO_LARGE')
    const batch = [10_000, room - 10_000 - FRAME_HEADER_BYTES].map((size, i) => bytesFor(sizes.length + i, size))
    expect(await log.appendBatch(batch)).toEqual({ first: sizes.length, last: sizes.length + 1 })
    await log.close()
    const again = await openUntilDone(dir, options)
    expect(again.recovery.state).toBe('clean')
    const found = await records(again.read())
    expect(found.map(({ data }) => data.length)).toEqual([...sizes, ...batch.map(({ length }) => length)])
    for (const { seq, data } of found) expect(data.equals(bytesFor(seq, data.length))).toBe(true)
  },
)

const FOLLOWED: [Strategy, Durability][] = [
  ['auto', 'memory'],
  ['mmap', 'memory'],
  ['pwrite', 'memory'],
  ['direct', 'sync'],
]

test.each(FOLLOWED)(
  'a follower in another process gets each record without a further write (%s, %s)',
  async (strategy, durability) => {
    const dir = scratchDir()
    const log = await openUntilDone(dir, { strategy, durability, segmentBytes: 64 * KIB })
    const child = spawn(process.execPath, [FOLLOWER, dir], { stdio: ['ignore', 'pipe', 'inherit'] })
    onTestFinished(() => void child.kill('SIGKILL'))
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    for (let seq = 0; seq < 20; seq++) {
      const data = `${seq} ${'f'.repeat(5000)}`
      expect(await log.append(data)).toBe(seq)
      expect((await lines.next()).value).toBe(`${seq} ${data}`)
    }
  },
)

test('a follower in a worker gets each record without a further write', async () => {
  const dir = scratchDir()
  const log = await openUntilDone(dir, { durability: 'memory' })
  const worker = new Worker(new URL('./fixtures/follow-worker.mjs', import.meta.url), { workerData: { dir } })
  onTestFinished(async () => void (await worker.terminate()))
  for (let seq = 0; seq < 20; seq++) {
    const seen = once(worker, 'message')
    expect(log.write('x')).toBe(seq)
    expect(await seen).toEqual([seq])
  }
})

test('a second writer is refused with the pid of the owner, in this process and in another; a dead owner does not block', async () => {
  const dir = scratchDir()
  const script = `
    const { open } = await import(${JSON.stringify(new URL('../dist/index.js', import.meta.url).href)})
    try { await open(process.argv[1]); console.log('opened') } catch (error) { console.log(error.code, error.ownerPid) }
    setInterval(() => {}, 1e6)`
  const start = async (): Promise<{ told: string; pid: number; kill: () => Promise<unknown> }> => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', script, dir], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    const closed = once(child, 'close')
    const [line] = await once(createInterface({ input: child.stdout }), 'line')
    const kill = (): Promise<unknown> => {
      child.kill('SIGKILL')
      return closed
    }
    return { told: line as string, pid: child.pid as number, kill }
  }
  const owner = await start()
  expect(owner.told).toBe('opened')
  await expect(open(dir)).rejects.toMatchObject({ code: 'ERR_DURLOG_LOCKED', ownerPid: owner.pid })
  const second = await start()
  expect(second.told).toBe(`ERR_DURLOG_LOCKED ${owner.pid}`)
  await owner.kill()
  const log = await openUntilDone(dir)
  await expect(open(dir)).rejects.toMatchObject({ code: 'ERR_DURLOG_LOCKED', ownerPid: process.pid })
  expect(await log.append('mine')).toBe(0)
  await second.kill()
})

test('a reader gets all records of a batch or none', async () => {
  const log = await scratchLog({ durability: 'memory', strategy: 'mmap' })
  const reader = await openUntilDone(log.dir, { readOnly: true })
  for (let round = 0; round < 12; round++) {
    const appended = log.appendBatch(Array.from({ length: 40 }, (_, i) => `${round} ${i} ${'b'.repeat(2000)}`))
    expect((await records(reader.read())).length % 40).toBe(0)
    await appended
  }
  expect((await records(reader.read())).length).toBe(12 * 40)
})
