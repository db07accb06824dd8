/** Operations on a log while several writers have it open: trims, requests to trim, cursors. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { platform } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Log, type OpenOptions, trim, verify } from '../src/index.js'
import { trimRequests } from '../src/log/maintenance/trim-request.js'
import { durlogProcess } from './fixtures/command.js'
import { codeOf, openUntilDone, records, scratchDir } from './fixtures/scratch.js'

const WRITER = fileURLToPath(new URL('fixtures/shared-writer.mjs', import.meta.url))
const SHARED: OpenOptions = { shared: true, segmentBytes: 65_536 }
const FOREVER = '1000000'

/** Two members in this process; four records fill a segment. */
async function twoMembers(count: number): Promise<[Log, Log]> {
  const dir = join(scratchDir(), 'log')
  const members: [Log, Log] = [await openUntilDone(dir, SHARED), await openUntilDone(dir, SHARED)]
  for (let i = 0; i < count; i++) await (members[i % 2] as Log).append(Buffer.alloc(15_000, i))
  return members
}

/** Another process that appends until the test is done. */
async function startWriter(dir: string): Promise<{ kill(): Promise<void> }> {
  const child = spawn(process.execPath, [WRITER, dir, 'other', FOREVER, 'sync'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  child.stdout.resume()
  return {
    async kill() {
      child.kill('SIGKILL')
      await once(child, 'close')
    },
  }
}

/** The longest time in ms between two ticks of the clock that a log reads. */
const TICK = 10

/** Waits until every earlier record is older than a millisecond by the log's clock. */
async function untilOlder(): Promise<void> {
  const now = Date.now()
  while (Date.now() <= now + 1 + TICK) await new Promise((resolve) => setImmediate(resolve))
}

const segmentsOf = (dir: string): number => readdirSync(dir).filter((name) => name.endsWith('.seg')).length

describe.skipIf(platform() !== 'linux')('while several writers have the log open', () => {
  test('durlog trim removes segments while two members and another process append', async () => {
    const [first, second] = await twoMembers(20)
    const writer = await startWriter(first.dir)
    let done = false
    const appending = (async () => {
      while (!done) await Promise.all([first.append('a'), second.append('b', { durability: 'memory' })])
    })()
    const { code, stdout, stderr } = await durlogProcess([
      'trim',
      first.dir,
      '--before',
      '11',
      '--wait',
      '60000',
      '--json',
    ])
    done = true
    await appending
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(JSON.parse(stdout.toString())).toMatchObject({ by: 'writer', firstSeq: 8, segments: 2 })
    expect([first.firstSeq, second.firstSeq]).toEqual([8, 8])
    expect(await trimRequests(first.dir)).toEqual([])
    await writer.kill()
    const last = await first.append('after the writer was killed')
    expect((await records(second.read({ from: last })))[0]?.data.toString()).toBe('after the writer was killed')
    expect((await verify(first.dir)).state).toBe('clean')
  })

  test('a request to remove everything removes the sealed segments, and is executed only once', async () => {
    const [first, second] = await twoMembers(10)
    const failures: unknown[] = []
    for (const log of [first, second]) log.on('retentionFailed', (error) => failures.push(error))
    await untilOlder()
    const report = await trim(first.dir, { maxAgeMs: 1, waitMs: 10_000 })
    expect(report).toMatchObject({ by: 'writer', firstSeq: 8 })
    expect(await trimRequests(first.dir)).toEqual([])
    expect(failures).toEqual([])
    expect(await second.append('goes on')).toBe(10)
    expect((await records(first.read())).map(({ seq }) => seq)).toEqual([8, 9, 10])
  })

  test('a request to trim also removes unsynced records, once they are synced', async () => {
    const log = await openUntilDone(join(scratchDir(), 'log'), { ...SHARED, durability: 'memory' })
    for (let i = 0; i < 20; i++) await log.append(Buffer.alloc(15_000, i))
    expect(await trim(log.dir, { before: 17, waitMs: 60_000 })).toMatchObject({
      by: 'writer',
      before: 16,
      firstSeq: 16,
    })
  })

  test('a byte limit set by another process is enforced while members append', async () => {
    const [first, second] = await twoMembers(40)
    expect(segmentsOf(first.dir)).toBe(10)
    const report = await trim(first.dir, { maxBytes: 4 * 65_536, waitMs: 60_000 })
    expect(report.by).toBe('writer')
    expect(segmentsOf(first.dir)).toBeLessThanOrEqual(4)
    expect(first.firstSeq).toBe(report.firstSeq)
    expect(await first.append('one')).toBe(40)
    expect(await second.append('two')).toBe(41)
  })

  test('two members that trim at the same time both finish, and the kept records are intact', async () => {
    const [first, second] = await twoMembers(40)
    const trims = [first.trimBefore(21), second.trimBefore(30), first.trimBefore(9), second.trimBefore(25)]
    const appended = await first.append('meanwhile')
    await Promise.all(trims)
    expect([first.firstSeq, second.firstSeq]).toEqual([28, 28])
    expect((await records(second.read())).map(({ seq }) => seq)).toEqual(
      Array.from({ length: appended + 1 - 28 }, (_, i) => 28 + i),
    )
    expect((await verify(first.dir)).state).toBe('clean')
  })

  test('calls that need an exclusive writer are refused with a code and the remedy', async () => {
    const [first] = await twoMembers(1)
    expect(await codeOf(first.rotate())).toBe('ERR_DURLOG_UNSUPPORTED')
    expect(await codeOf(first.applyRetention())).toBe('ERR_DURLOG_INVALID_ARGUMENT')
    const retention = { maxBytes: 1_000_000 }
    const dir = join(scratchDir(), 'other')
    expect(await codeOf(openUntilDone(dir, { ...SHARED, retention } as object))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
  })

  test('a cursor delivers every writer’s records, and continues after its last commit', async () => {
    const [first, second] = await twoMembers(0)
    const writer = await startWriter(first.dir)
    const cursor = await first.cursor('reader')
    const seen: number[] = []
    for await (const { seq } of cursor.read({ follow: true })) {
      seen.push(seq)
      if (seq % 7 === 0) await cursor.commit(seq, { durability: seq % 2 === 0 ? 'sync' : 'memory' })
      if (seen.length === 200) break
      if (seq % 5 === 0) await second.append('between')
    }
    expect(seen).toEqual(seen.map((_, at) => at))
    const committed = seen.filter((seq) => seq % 7 === 0).at(-1) as number
    expect(cursor.position).toBe(committed + 1)
    expect(await codeOf(second.cursor('reader'))).toBe('ERR_DURLOG_LOCKED')
    await cursor.close()
    await writer.kill()
    const again = await second.cursor('reader')
    expect(again.position).toBe(committed + 1)
    const [next] = await records(again.read(), 1)
    expect(next?.seq).toBe(committed + 1)
    expect(first.syncedSeq).toBeGreaterThanOrEqual(seen.filter((seq) => seq % 14 === 0).at(-1) as number)
  })

  test('a cursor notices a trim by another member, and an age limit keeps its records', async () => {
    const [first, second] = await twoMembers(20)
    const cursor = await first.cursor('slow', { from: 5 })
    await untilOlder()
    const kept = await trim(first.dir, { maxAgeMs: 1, waitMs: 60_000 })
    expect([kept.firstSeq, second.firstSeq]).toEqual([4, 4])
    expect(await second.trimBefore(11)).toBe(8)
    expect(await codeOf(cursor.read().next())).toBe('ERR_DURLOG_CURSOR_OVERRUN')
    expect(await codeOf(second.cursor('ahead', { from: 1000 }))).not.toBe('none')
  })

  test('a cursor’s commit at sync waits for a record of another process to be synced', async () => {
    const [first, second] = await twoMembers(0)
    const seq = await second.append('in memory', { durability: 'memory' })
    const cursor = await first.cursor('reader')
    await cursor.commit(seq, { durability: 'sync' })
    expect(first.syncedSeq).toBe(seq)
    expect(second.syncedSeq).toBe(seq)
  })

  test('a log without records takes a record that is longer than the segment of an earlier segmentBytes', async () => {
    const dir = join(scratchDir(), 'log')
    await (await openUntilDone(dir, SHARED)).close()
    const log = await openUntilDone(dir, { shared: true, segmentBytes: 2 ** 21 })
    expect(await log.append(Buffer.alloc(2 ** 20, 7))).toBe(0)
    expect((await records(log.read())).map(({ seq, data }) => [seq, data.length])).toEqual([[0, 2 ** 20]])
  })

  test('stats counts the segments of a shared log when the count is read', async () => {
    const [log, other] = await twoMembers(2)
    const stats = log.stats()
    for (let i = 0; i < 8; i++) await other.append(Buffer.alloc(15_000, i))
    expect([stats.segments, log.stats().segments]).toEqual([segmentsOf(log.dir), segmentsOf(log.dir)])
    expect({ ...stats }.segments).toBe(segmentsOf(log.dir))
  })
})
