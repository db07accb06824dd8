import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type Log, open, type ReadableLog, type Strategy } from '../src/index.js'
import { durlog } from './fixtures/command.js'
import { codeOf, openUntilDone, scratchDir, scratchLog, texts } from './fixtures/scratch.js'

const STRATEGIES: readonly Strategy[] = ['auto', 'mmap', 'pwrite', 'direct']
const SMALL = { segmentBytes: 65_536 } as const
const BEGIN = Date.UTC(2026, 0, 31, 12)
/** Records at one time, and how far apart the times are. */
const PER_TIME = 3
const STEP_MS = 10

const timeOf = (seq: number): number => BEGIN + Math.floor(seq / PER_TIME) * STEP_MS

/** Records of every length, in many segments. */
async function fill(log: Log, count: number): Promise<void> {
  const end = log.nextSeq + count
  const appends: Promise<number>[] = []
  for (let seq = log.nextSeq; seq < end; seq++)
    appends.push(
      log.append(`${seq} ${'x'.repeat((seq * 37) % 3000)}`, { timestamp: timeOf(seq), durability: 'memory' }),
    )
  await Promise.all(appends)
}

/** The expected results of `seqAt` for a log that `fill` has filled. */
const seqAtOf = (log: ReadableLog, time: number): number => {
  const seq = Math.max(0, Math.ceil((time - BEGIN) / STEP_MS)) * PER_TIME
  return Math.min(Math.max(seq, log.firstSeq), log.nextSeq)
}

async function expectRight(log: ReadableLog): Promise<void> {
  const last = timeOf(log.nextSeq)
  for (let time = BEGIN - STEP_MS; time <= last + STEP_MS; time += 7)
    expect(await log.seqAt(time), String(time - BEGIN)).toBe(seqAtOf(log, time))
}

describe('seqAt', () => {
  test.each(STRATEGIES)(
    'is the first record at or after the time, in the writer and in a reader (%s)',
    async (strategy) => {
      const dir = join(scratchDir(), 'log')
      const log = await openUntilDone(dir, { strategy, ...SMALL })
      await fill(log, 400)
      expect(log.stats().segments).toBeGreaterThan(5)
      await expectRight(log)
      await expectRight(await openUntilDone(dir, { readOnly: true }))
    },
  )

  test('includes the changes of segments that were added, trimmed and cut since the last call', async () => {
    const dir = join(scratchDir(), 'log')
    const log = await openUntilDone(dir, SMALL)
    const reader = await openUntilDone(dir, { readOnly: true })
    const expectBoth = async (): Promise<void> => {
      await expectRight(log)
      await reader.refresh()
      await expectRight(reader)
    }
    await fill(log, 100)
    await expectBoth()
    await fill(log, 300)
    await expectBoth()
    // A trim keeps segments that are not synced.
    await log.sync()
    await log.trimBefore(200)
    expect(log.firstSeq).toBeGreaterThan(100)
    await expectBoth()
    await log.truncateAfter(299)
    await fill(log, 50)
    await expectBoth()
  })

  test('is nextSeq of an empty log and after the last record, and takes a Date', async () => {
    const log = await scratchLog()
    expect(await log.seqAt(0)).toBe(0)
    await log.append('a', { timestamp: BEGIN })
    expect(await log.seqAt(new Date(BEGIN))).toBe(0)
    expect(await log.seqAt(BEGIN - 0.5)).toBe(0)
    expect(await log.seqAt(BEGIN + 0.5)).toBe(1)
  })

  test('refuses a value that is not a time', async () => {
    const log = await scratchLog()
    for (const time of ['2026', Number.NaN, -1, new Date('never'), undefined])
      expect(await codeOf(log.seqAt(time as number))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
    await log.close()
    expect(await codeOf(log.seqAt(0))).toBe('ERR_DURLOG_CLOSED')
  })
})

describe('since and until', () => {
  test('limit the records that are read, together with from and to', async () => {
    const log = await scratchLog(SMALL)
    await fill(log, 100)
    const seqs = async (options: Parameters<Log['read']>[0]): Promise<number[]> =>
      (await texts(log.read(options))).map((text) => Number.parseInt(text, 10))
    const range = (first: number, end: number): number[] => Array.from({ length: end - first }, (_, i) => first + i)
    expect(await seqs({ since: timeOf(30), until: timeOf(60) })).toEqual(range(30, 60))
    expect(await seqs({ since: new Date(timeOf(30)), to: 40 })).toEqual(range(30, 40))
    expect(await seqs({ since: timeOf(30), from: 50, until: timeOf(60) })).toEqual(range(50, 60))
    expect(await seqs({ since: timeOf(60), until: timeOf(30) })).toEqual([])
    expect(await seqs({ since: timeOf(3000) })).toEqual([])
    expect(await seqs({ until: BEGIN })).toEqual([])
    expect(() => log.read({ until: BEGIN, follow: true })).toThrow(/until cannot be combined with follow/)
    expect(() => log.read({ since: 'yesterday' as unknown as number })).toThrow(/since must be a Date/)
  })

  test('a follower begins at the time and continues', async () => {
    const dir = join(scratchDir(), 'log')
    const log = await openUntilDone(dir)
    await fill(log, 10)
    const reader = (await openUntilDone(dir, { readOnly: true })).read({ since: timeOf(9), follow: true })
    expect((await reader.next()).value?.seq).toBe(9)
    const next = reader.next()
    await log.append('later', { timestamp: timeOf(10) })
    expect((await next).value?.data.toString()).toBe('later')
    await reader.return()
  })

  test('durlog cat, tail and export accept them', async () => {
    const dir = join(scratchDir(), 'log')
    const log = await open(dir)
    for (let i = 0; i < 20; i++) await log.append(`r${i}`, { timestamp: BEGIN + i * 60_000 })
    await log.append('now')
    await log.close()
    const out = async (...args: string[]): Promise<string> => (await durlog(args)).stdout.toString()
    const [from, until] = ['2026-01-31T12:05:00Z', String(BEGIN + 7 * 60_000)]
    expect(await out('cat', dir, '--since', from, '--until', until)).toBe('r5\nr6\n')
    expect(await out('tail', dir, '--since', '1h')).toBe('now\n')
    expect(await out('tail', dir, '-n', '1', '--until', until)).toBe('r6\n')
    const lines = (await out('export', dir, '--since', from, '--until', until)).trimEnd().split('\n')
    expect(lines.map((line) => JSON.parse(line).seq)).toEqual([5, 6])
    const refused = await durlog(['cat', dir, '--since', 'soon'])
    expect([refused.code, refused.stderr]).toEqual([expect.any(Number), expect.stringContaining('how long ago')])
    expect(refused.code).not.toBe(0)
  })
})

test('a reader uses the times that its dates had during the call', async () => {
  const log = await scratchLog()
  for (let seq = 0; seq < 10; seq++) await log.append(`r${seq}`, { timestamp: BEGIN + seq })
  const [since, until] = [new Date(BEGIN + 4), new Date(BEGIN + 6)]
  const reader = log.read({ since, until })
  since.setTime(BEGIN)
  until.setTime(Number.NaN)
  expect(await texts(reader)).toEqual(['r4', 'r5'])
})
