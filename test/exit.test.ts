/** The table "At exit" in docs/DURABILITY.md. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { describe, expect, test } from 'vitest'
import { codeOf, openUntilDone, scratchDir, scratchLog, texts } from './fixtures/scratch.js'

const FIXTURE = new URL('./fixtures/exiting.mjs', import.meta.url)
const APPENDED = 500
// On Windows, SIGTERM ends a process without running a handler.
const ENDS_WITH_HANDLER = ['process.exit', 'uncaught', ...(process.platform === 'win32' ? [] : ['SIGTERM'])]

/** The records of a process that ended in this way, in order. */
async function recordsAfter(...args: string[]): Promise<string[]> {
  const dir = join(scratchDir(), 'log')
  const child = spawnSync(process.execPath, [fileURLToPath(FIXTURE), dir, ...args], { encoding: 'utf8' })
  expect(child.stdout, child.stderr).toBe('0\n')
  const log = await openUntilDone(dir)
  return texts(log.read())
}

const expected = Array.from({ length: APPENDED }, (_, i) => (i === 0 ? 'written' : `${i} ${'x'.repeat(1000)}`))

describe('at exit', () => {
  test('a natural exit waits for every append', async () => {
    expect(await recordsAfter('natural')).toEqual(expected)
  })

  test.each(ENDS_WITH_HANDLER)('%s with flushSync in the exit handler keeps every append', async (end) => {
    expect(await recordsAfter(end, 'flushes')).toEqual(expected)
  })

  test.each(['process.exit', 'uncaught', 'SIGTERM', 'SIGKILL'])(
    '%s keeps what is at memory, and of the rest a beginning',
    async (end) => {
      const records = await recordsAfter(end)
      expect(records.length).toBeGreaterThan(0)
      expect(records).toEqual(expected.slice(0, records.length))
    },
  )

  test('a terminated worker keeps the records that are at memory, and a prefix of the others', async () => {
    const dir = join(scratchDir(), 'log')
    const worker = new Worker(FIXTURE, { workerData: [dir, 'stays'] })
    await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject))
    await worker.terminate()
    const log = await openUntilDone(dir, { waitMs: 10_000 })
    const records = await texts(log.read())
    expect(records.length).toBeGreaterThan(0)
    expect(records).toEqual(expected.slice(0, records.length))
  })
})

describe('flushSync', () => {
  test('brings every record to the level during the call, including those that wait for room', async () => {
    const log = await scratchLog({ maxPendingBytes: 65_536, maxRecordBytes: 40_000, strategy: 'direct' })
    expect(log.flushSync()).toBe(-1)
    const appends = Array.from({ length: 100 }, (_, i) => log.append(`${i} ${'x'.repeat(4000)}`))
    expect(log.stats().waitingForRoom).toBeGreaterThan(0)
    expect(log.flushSync()).toBe(99)
    expect([log.syncedSeq, log.stats().waitingForRoom]).toEqual([99, 0])
    expect(await Promise.all(appends)).toEqual(appends.map((_, i) => i))
    log.write('later')
    expect(log.flushSync('full')).toBe(100)
    expect(log.flushSync('memory')).toBe(100)
  })

  test.each(['truncateAfter', 'trimBefore', 'rotate'] as const)(
    'is refused while an append waits for %s',
    async (method) => {
      const log = await scratchLog()
      const appends = [log.append('a')]
      const change = method === 'rotate' ? log.rotate() : log[method](0)
      appends.push(log.append('b'))
      expect(await codeOf(() => log.flushSync())).toBe('ERR_DURLOG_BACKPRESSURE')
      expect(log.syncedSeq).toBe(0)
      await change
      expect(await Promise.all(appends)).toEqual([0, 1])
      expect(log.flushSync()).toBe(1)
    },
  )

  test('is refused while a truncation runs, and after close', async () => {
    const log = await scratchLog()
    await log.append('a')
    const cut = log.truncateAfter(-1)
    expect(await codeOf(() => log.flushSync())).toBe('ERR_DURLOG_BACKPRESSURE')
    await cut
    expect(await codeOf(() => log.flushSync('never' as 'sync'))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
    await log.close()
    expect(await codeOf(() => log.flushSync())).toBe('ERR_DURLOG_CLOSED')
  })
})
