import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type CursorOverrun, type DurlogError, type Log, type OpenOptions, open } from '../src/index.js'
import { native } from '../src/native/native.js'
import { codeOf, openUntilDone, scratchDir, texts } from './fixtures/scratch.js'

const SEGMENT_BYTES = 65536
const BOUND = 8 * SEGMENT_BYTES
const HOUR_MS = 3_600_000

const bytesIn = (dir: string): number =>
  readdirSync(dir)
    .filter((name) => name.endsWith('.seg') || name.startsWith('spare-'))
    .reduce((sum, name) => sum + (statSync(join(dir, name), { throwIfNoEntry: false })?.size ?? 0), 0)

/** A log whose first pass, which opening begins, has ended. */
async function openRetaining(dir: string, retention: OpenOptions['retention']): Promise<Log> {
  const log = await openUntilDone(dir, { segmentBytes: SEGMENT_BYTES, retention })
  await log.applyRetention()
  return log
}

/** Four records fill a segment. */
async function fill(log: Log, segments: number, timestamp?: number): Promise<void> {
  for (let i = 0; i < segments * 4; i++) await log.append(Buffer.alloc(15_000, i), { timestamp })
}

test('maxBytes limits the disk space of the log while records are appended', async () => {
  const dir = join(scratchDir(), 'log')
  const log = await openRetaining(dir, { maxBytes: BOUND })
  let most = 0
  for (let i = 0; i < 100; i++) {
    await fill(log, 1)
    most = Math.max(most, bytesIn(dir))
  }
  expect(most).toBeLessThanOrEqual(BOUND)
  expect(most).toBeGreaterThanOrEqual(BOUND / 2)
  expect(await log.applyRetention()).toBe(log.firstSeq)
  expect(log.firstSeq).toBeGreaterThan(360)
  const kept = log.nextSeq - log.firstSeq
  expect((await texts(log.read())).length).toBe(kept)
})

test.each(['memory', 'sync'] as const)('appends wait only for a late removal (%s)', async (durability) => {
  const log = await openRetaining(join(scratchDir(), 'log'), { maxBytes: BOUND })
  let refused = 0
  for (let i = 0; i < 400; i++) {
    await log.append(Buffer.alloc(15_000), { durability })
    try {
      log.write('short')
    } catch (error) {
      expect((error as DurlogError).code).toBe('ERR_DURLOG_BACKPRESSURE')
      refused++
      await log.drain()
    }
  }
  // At most once for each of the 100 segments.
  expect(refused).toBeLessThanOrEqual(100)
  // Records that are not synced yet are kept.
  await log.sync()
  await log.applyRetention()
  expect(log.firstSeq).toBeGreaterThan(600)
})

test('records that are too old are removed, but not before every cursor has read them', async () => {
  const log = await openRetaining(join(scratchDir(), 'log'), { maxAgeMs: HOUR_MS })
  await fill(log, 3, Date.now() - 2 * HOUR_MS)
  await fill(log, 2)
  const cursor = await log.cursor('slow')
  await cursor.commit(4)
  expect(await log.applyRetention()).toBe(4)
  await cursor.commit(11)
  expect(await log.applyRetention()).toBe(12)
  await cursor.commit(19)
  expect(await log.applyRetention()).toBe(12)
})

test('with keepFor "nothing" old records are removed even if a cursor has not read them, and the cursor reports it', async () => {
  const log = await openRetaining(join(scratchDir(), 'log'), { maxAgeMs: HOUR_MS, keepFor: 'nothing' })
  await fill(log, 3, Date.now() - 2 * HOUR_MS)
  await fill(log, 1)
  const cursor = await log.cursor('slow')
  expect(await log.applyRetention()).toBe(12)
  expect(await codeOf(cursor.read().next())).toBe('ERR_DURLOG_CURSOR_OVERRUN')
})

test('the last segment of a quiet log is sealed, so that its old records are removed too', async () => {
  const dir = join(scratchDir(), 'log')
  const log = await openRetaining(dir, { maxAgeMs: HOUR_MS })
  await log.append('old', { timestamp: Date.now() - 2 * HOUR_MS })
  expect(await log.applyRetention()).toBe(1)
  expect([log.firstSeq, log.nextSeq]).toEqual([1, 1])
  expect(await log.append('new')).toBe(1)
  expect(await log.applyRetention()).toBe(1)
  expect(await texts(log.read())).toEqual(['new'])
})

test('a timer removes old records of an idle log, and does not keep the process alive', async () => {
  const dir = join(scratchDir(), 'log')
  const program = `
    import { open } from ${JSON.stringify(new URL('../dist/index.js', import.meta.url).href)}
    const log = await open(${JSON.stringify(dir)}, { segmentBytes: 65536, retention: { maxAgeMs: 1000 } })
    await log.append('a')
    const [first] = process.argv[1] === 'wait' ? await new Promise((done) => {
      const keep = setInterval(() => { if (log.firstSeq > 0) { clearInterval(keep); done([log.firstSeq]) } }, 10)
    }) : [0]
    console.log(first)`
  const run = async (how: string): Promise<[string, number | null]> => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', program, how], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let out = ''
    child.stdout.on('data', (data: Buffer) => {
      out += data.toString()
    })
    const [code] = (await once(child, 'close')) as [number | null]
    return [out.trim(), code]
  }
  expect(await run('wait')).toEqual(['1', 0])
  rmSync(dir, { recursive: true })
  expect(await run('leave')).toEqual(['0', 0])
})

test('if maxBytes removes unread records of a cursor, an event names both and the cursor fails to read', async () => {
  const dir = join(scratchDir(), 'log')
  const log = await openRetaining(dir, { maxBytes: BOUND })
  await fill(log, 1)
  const consumer = await openUntilDone(dir, { readOnly: true })
  const slow = await consumer.cursor('slow', { from: 1 })
  const fast = await log.cursor('fast')
  const overruns: CursorOverrun[] = []
  log.on('overrun', (overrun) => overruns.push(overrun))
  for (let i = 0; i < 20; i++) {
    await fill(log, 1)
    await fast.commit(log.nextSeq - 1)
  }
  const first = await log.applyRetention()
  await log.sync()
  expect(new Set(overruns.map(({ cursor }) => cursor))).toEqual(new Set(['slow']))
  // One after another, without a gap.
  let next = 1
  for (const { lostFirst, lostLast } of overruns) {
    expect(lostFirst).toBe(next)
    next = lostLast + 1
  }
  expect(next).toBe(first)
  const error = (await slow
    .read()
    .next()
    .catch((error: unknown) => error)) as DurlogError
  expect(error).toMatchObject({ code: 'ERR_DURLOG_CURSOR_OVERRUN', lostFirst: 1, lostLast: first - 1 })
  expect(error.message).toContain(`seek to ${first}`)
  await slow.seek(first)
  const reader = slow.read()
  expect((await reader.next()).value?.seq).toBe(first)
  // Windows removes no folder while a file in it is open.
  await reader.return()
})

test('a log that was closed above its limit is trimmed below the limit when it is opened', async () => {
  const dir = join(scratchDir(), 'log')
  const before = await open(dir, { segmentBytes: SEGMENT_BYTES })
  await fill(before, 20)
  await before.close()
  const log = await openRetaining(dir, { maxBytes: BOUND })
  await log.applyRetention()
  expect(bytesIn(dir)).toBeLessThanOrEqual(BOUND)
})

test('a segment that cannot be read is reported by an event, and the next pass tries again', async () => {
  const dir = join(scratchDir(), 'log')
  const log = await openRetaining(dir, { maxBytes: BOUND })
  const failed = once(log, 'retentionFailed')
  await fill(log, 1)
  rmSync(join(dir, '00000000000000000000.seg'))
  await fill(log, 2)
  const [error] = (await failed) as [DurlogError]
  expect(error.code).toBe('ERR_DURLOG_NOT_FOUND')
  writeFileSync(join(dir, '00000000000000000000.seg'), Buffer.alloc(SEGMENT_BYTES))
  await fill(log, 20)
  expect(await log.applyRetention()).toBeGreaterThan(40)
})

test('a pass and concurrent changes of the log do not disturb each other', async () => {
  const log = await openRetaining(join(scratchDir(), 'log'), { maxBytes: BOUND })
  for (let round = 0; round < 20; round++) {
    await fill(log, 1)
    const end = log.nextSeq
    const [, , , , next] = await Promise.all([
      log.applyRetention(),
      log.trimBefore(Math.max(0, end - 20)),
      log.rotate(),
      log.applyRetention(),
      log.truncateAfter(end - 3),
      log.get(end - 3),
    ])
    expect(next).toBe(end - 2)
  }
  expect((await texts(log.read())).length).toBe(log.nextSeq - log.firstSeq)
})

test('applyRetention without the option is refused, and after close', async () => {
  const log = await openUntilDone(join(scratchDir(), 'log'))
  expect(await codeOf(log.applyRetention())).toBe('ERR_DURLOG_INVALID_ARGUMENT')
  const retaining = await openRetaining(join(scratchDir(), 'log'), { maxBytes: BOUND })
  const pass = retaining.applyRetention()
  await retaining.close()
  expect(['none', 'ERR_DURLOG_CLOSED']).toContain(await codeOf(pass))
  expect(await codeOf(retaining.applyRetention())).toBe('ERR_DURLOG_CLOSED')
})

test.each<[string, unknown, RegExp]>([
  ['no limit', {}, /maxBytes, maxAgeMs or both/],
  ['too little for four segments', { maxBytes: 4 * SEGMENT_BYTES - 1 }, /retention.maxBytes/],
  ['no whole number', { maxBytes: 1e7 + 0.5 }, /retention.maxBytes/],
  ['less than a second', { maxAgeMs: 999 }, /retention.maxAgeMs/],
  ['another keeper', { maxAgeMs: 5000, keepFor: 'readers' }, /retention.keepFor must be one of cursors, nothing/],
  ['an unknown name', { maxAge: 5000 }, /retention: there is no "maxAge"/],
  ['a number', 5, /retention must be an object/],
])('retention of %s is refused', async (_, retention, message) => {
  const options = { segmentBytes: SEGMENT_BYTES, retention } as OpenOptions
  await expect(open(join(scratchDir(), 'log'), options)).rejects.toThrow(message)
})

test('without segmentBytes a segment is an eighth of maxBytes, and at most 64 MiB', async () => {
  const log = await openUntilDone(join(scratchDir(), 'log'), { retention: { maxBytes: 10_000_000 } })
  expect(log.stats().segmentBytes).toBe(1_249_280)
  const large = await openUntilDone(join(scratchDir(), 'log'), { retention: { maxBytes: 2 ** 40 } })
  expect(large.stats().segmentBytes).toBe(64 * 2 ** 20)
})

test('close does not wait for another process that holds up a pass', async () => {
  const log = await openRetaining(join(scratchDir(), 'log'), { maxBytes: BOUND })
  const trim = await native.lockTrims(log.dir)
  const pass = codeOf(log.applyRetention())
  await new Promise(setImmediate)
  await log.close()
  expect(await pass).toBe('ERR_DURLOG_CLOSED')
  trim.release()
})
