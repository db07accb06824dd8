import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, renameSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { type DurlogError, type Log, open, trim } from '../src/index.js'
import {
  readTrimRequest,
  removeTrimRequest,
  trimRequests,
  writeTrimRequest,
} from '../src/log/maintenance/trim-request.js'
import { codeOf, openUntilDone, scratchDir, texts } from './fixtures/scratch.js'

const HOUR_MS = 3_600_000

/** A log of 20 records, of which four fill a segment; the first twelve are two hours old. */
async function makeLog(dir: string): Promise<Log> {
  const log = await open(dir, { segmentBytes: 65536 })
  for (let i = 0; i < 20; i++)
    await log.append(Buffer.alloc(15_000, i), { timestamp: Date.now() - (i < 12 ? 2 * HOUR_MS : 0) })
  return log
}

/** Another process that has the log in `dir` open, but serves no requests. */
async function startIdleOwner(dir: string): Promise<ChildProcess> {
  const program = `
    import { open } from ${JSON.stringify(new URL('../dist/index.js', import.meta.url).href)}
    import { say } from ${JSON.stringify(new URL('fixtures/say.mjs', import.meta.url).href)}
    await open(${JSON.stringify(dir)}, { segmentBytes: 65536 })
    say('open')
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)`
  const owner = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void owner.kill('SIGKILL'))
  await once(owner.stdout, 'data')
  return owner
}

/** The path of a request that a test makes. */
const requestOf = (dir: string): string => join(dir, 'trim-request-0123456789abcdef')

test('a log that no process has open is trimmed by the caller', async () => {
  const dir = join(scratchDir(), 'log')
  await (await makeLog(dir)).close()
  expect(await trim(dir, { before: 11 })).toEqual({
    by: 'caller',
    firstSeq: 8,
    before: 8,
    segments: 2,
    bytes: 131072,
    overruns: [],
  })
  expect(await trim(dir, { before: new Date(Date.now() - HOUR_MS) })).toMatchObject({ by: 'caller', firstSeq: 12 })
  expect(await trim(dir, { before: 15 })).toMatchObject({ by: 'none', firstSeq: 12, segments: 0 })
  const log = await openUntilDone(dir)
  expect([log.firstSeq, log.nextSeq]).toEqual([12, 20])
})

test('a log that another process has open is trimmed by that process, while it appends', async () => {
  const dir = join(scratchDir(), 'log')
  await (await makeLog(dir)).close()
  const program = `
    import { open } from ${JSON.stringify(new URL('../dist/index.js', import.meta.url).href)}
    const log = await open(${JSON.stringify(dir)}, { segmentBytes: 65536 })
    console.log('open')
    for (;;) {
      await log.append('x')
      await new Promise((resolve) => setTimeout(resolve, 1))
    }`
  const writer = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void writer.kill('SIGKILL'))
  await once(writer.stdout, 'data')
  const reader = await openUntilDone(dir, { readOnly: true })
  const cursor = await reader.cursor('slow', { from: 5 })
  const report = await trim(dir, { before: 11, waitMs: 60_000 })
  expect(report).toMatchObject({ by: 'writer', firstSeq: 8, segments: 2 })
  expect(report.overruns).toEqual([{ cursor: 'slow', lostFirst: 5, lostLast: 7 }])
  expect(await codeOf(cursor.read().next())).toBe('ERR_DURLOG_CURSOR_OVERRUN')
  expect(await trimRequests(dir)).toEqual([])
  await reader.refresh()
  expect(reader.firstSeq).toBe(8)
  expect((await texts(reader.read({ to: 20 }))).length).toBe(12)
})

test('a request that the writer has not seen is executed by the next writer; a request for another log is removed', async () => {
  const dir = join(scratchDir(), 'log')
  const log = await makeLog(dir)
  expect(await trim(dir, { before: 8, waitMs: 0 })).toMatchObject({ by: 'requested', firstSeq: 0, before: 8 })
  const [name] = await trimRequests(dir)
  const request = readFileSync(join(dir, name as string))
  expect(request.toString()).toBe(`${log.uuid} 8\n`)
  await log.close()
  writeFileSync(requestOf(dir), request)
  const next = await openUntilDone(dir)
  await expect.poll(() => next.firstSeq).toBe(8)
  await expect.poll(() => trimRequests(dir)).toEqual([])
  writeFileSync(
    requestOf(dir),
    request.toString().replace(/^./, (digit) => (digit === '0' ? '1' : '0')),
  )
  await expect.poll(() => existsSync(requestOf(dir))).toBe(false)
  expect(next.firstSeq).toBe(8)
})

test('a request keeps the records that replaced truncated records after it was made', async () => {
  const dir = join(scratchDir(), 'log')
  await (await makeLog(dir)).close()
  const owner = await startIdleOwner(dir)
  expect(await trim(dir, { before: 16, waitMs: 0 })).toMatchObject({ by: 'requested', before: 16 })
  const name = (await trimRequests(dir))[0] as string
  renameSync(join(dir, name), join(dir, '..', name))
  owner.kill('SIGKILL')
  await once(owner, 'exit')
  const log = await openUntilDone(dir, { segmentBytes: 65536 })
  await log.truncateAfter(5)
  for (let i = 0; i < 20; i++) await log.append(Buffer.alloc(15_000, i))
  renameSync(join(dir, '..', name), join(dir, name))
  await expect.poll(() => trimRequests(dir)).toEqual([])
  expect([log.firstSeq, log.nextSeq]).toEqual([4, 26])
  // A request that was made after the truncation removes these records.
  expect(await trim(dir, { before: 16, waitMs: 60_000 })).toMatchObject({ by: 'writer', before: log.firstSeq })
  expect(log.firstSeq).toBeGreaterThan(6)
})

test('the report has the segments that were removed, not those that a cursor created meanwhile has kept', async () => {
  const dir = join(scratchDir(), 'log')
  await (await makeLog(dir)).close()
  const owner = await startIdleOwner(dir)
  const trimming = trim(dir, { maxAgeMs: HOUR_MS, waitMs: 60_000 })
  await expect.poll(() => trimRequests(dir)).toHaveLength(1)
  const reader = await openUntilDone(dir, { readOnly: true })
  await reader.cursor('slow', { from: 5 })
  owner.kill('SIGKILL')
  expect(await trimming).toMatchObject({ by: 'caller', firstSeq: 4, before: 12, segments: 1, bytes: 65536 })
})

test('an incomplete request is ignored until it is complete', async () => {
  const dir = join(scratchDir(), 'log')
  const log = await makeLog(dir)
  writeFileSync(requestOf(dir), `${log.uuid} 1`)
  await log.close()
  const next = await openUntilDone(dir)
  writeFileSync(requestOf(dir), `${log.uuid} 12\n`)
  await expect.poll(() => next.firstSeq).toBe(12)
})

test('an incomplete request that no process will finish is removed', async () => {
  const dir = join(scratchDir(), 'log')
  const log = await makeLog(dir)
  await log.close()
  writeFileSync(requestOf(dir), `${log.uuid} 1`)
  utimesSync(requestOf(dir), new Date(), new Date(Date.now() - HOUR_MS))
  const next = await openUntilDone(dir)
  await expect.poll(() => existsSync(requestOf(dir))).toBe(false)
  expect(next.firstSeq).toBe(0)
})

test('two concurrent requests are both executed', async () => {
  const dir = join(scratchDir(), 'log')
  const log = await makeLog(dir)
  onTestFinished(() => log.close())
  const reports = await Promise.all([
    trim(dir, { before: 17, waitMs: 60_000 }),
    trim(dir, { before: 9, waitMs: 60_000 }),
  ])
  expect(reports.map(({ by }) => by)).toEqual(['writer', 'writer'])
  expect(log.firstSeq).toBe(16)
  expect(await trimRequests(dir)).toEqual([])
})

test('concurrent calls on a log that no process has open are all executed', async () => {
  const dir = join(scratchDir(), 'log')
  await (await makeLog(dir)).close()
  const calls = [9, 17, 5, 13].map((before) => trim(dir, { before, waitMs: 60_000 }))
  for (const { by } of await Promise.all(calls)) expect(by).not.toBe('requested')
  expect(await trimRequests(dir)).toEqual([])
  const log = await openUntilDone(dir)
  expect(log.firstSeq).toBe(16)
})

test('a trim seals and removes the last segment of a rarely used log if its records are old', async () => {
  for (const held of [false, true]) {
    const dir = join(scratchDir(), 'log')
    const log = await open(dir, { segmentBytes: 65536 })
    await log.append('old', { timestamp: Date.now() - 2 * HOUR_MS })
    if (!held) await log.close()
    expect(await trim(dir, { maxAgeMs: HOUR_MS, waitMs: 60_000 })).toMatchObject({
      by: held ? 'writer' : 'caller',
      firstSeq: 1,
      before: 1,
      segments: 1,
    })
    await log.close()
    const next = await openUntilDone(dir)
    expect([next.firstSeq, next.nextSeq]).toEqual([1, 1])
  }
})

test('a dry run reports what would be removed and changes nothing, with a writer and without', async () => {
  const dir = join(scratchDir(), 'log')
  const log = await makeLog(dir)
  const cursor = await log.cursor('slow')
  await cursor.commit(4)
  for (const held of [true, false]) {
    if (!held) await log.close()
    const tell = async (options: Parameters<typeof trim>[1]) => {
      const { by, before, segments, overruns } = await trim(dir, { ...options, dryRun: true })
      return [by, before, segments, overruns.length]
    }
    expect(await tell({ maxAgeMs: HOUR_MS })).toEqual(['none', 4, 1, 0])
    expect(await tell({ maxAgeMs: HOUR_MS, keepFor: 'nothing' })).toEqual(['none', 12, 3, 0])
    expect(await tell({ maxBytes: 5 * 65536 })).toEqual(['none', 8, 2, 1])
    expect(await tell({ before: 19 })).toEqual(['none', 16, 4, 1])
    expect(await trimRequests(dir)).toEqual([])
  }
  const again = await openUntilDone(dir)
  expect(again.firstSeq).toBe(0)
})

test.skipIf(process.platform === 'win32')(
  'a link, a folder or a FIFO in place of a request is neither followed, waited for nor removed, and in no other one’s way',
  async () => {
    const outside = join(scratchDir(), 'outside')
    const placings: ((path: string) => void)[] = [
      (path) => symlinkSync(outside, path),
      (path) => mkdirSync(path),
      (path) => void spawnSync('mkfifo', [path]),
    ]
    for (const place of placings) {
      const dir = join(scratchDir(), 'log')
      const log = await makeLog(dir)
      writeFileSync(outside, `${log.uuid} 12\n`)
      await log.close()
      place(requestOf(dir))
      const next = await openUntilDone(dir)
      const [error] = (await once(next, 'retentionFailed')) as [DurlogError]
      expect(error).toMatchObject({ code: 'ERR_DURLOG_NOT_A_LOG', path: requestOf(dir) })
      expect(next.firstSeq).toBe(0)
      expect(await trim(dir, { before: 8, waitMs: 60_000 })).toMatchObject({ by: 'writer', firstSeq: 8 })
      expect(readFileSync(outside, 'latin1')).toBe(`${log.uuid} 12\n`)
      expect(existsSync(requestOf(dir))).toBe(true)
      await next.close()
    }
  },
)

test.each<[string, unknown, RegExp]>([
  ['nothing', {}, /before, maxBytes or maxAgeMs/],
  ['no options', undefined, /before, maxBytes or maxAgeMs/],
  ['a seq below 0', { before: -1 }, /before must be a whole number/],
  ['a text', { before: 'yesterday' }, /before must be a whole number/],
  ['a wrong date', { before: new Date(Number.NaN) }, /before must be a Date/],
  ['an unknown name', { maxAge: 5 }, /there is no "maxAge"/],
])('trim is refused: %s', async (_, options, message) => {
  const refusal = trim(scratchDir(), options as Parameters<typeof trim>[1])
  await expect(refusal).rejects.toThrow(message)
  expect(((await refusal.catch((error: unknown) => error)) as DurlogError).code).toBe('ERR_DURLOG_INVALID_ARGUMENT')
})

test('trim of a folder without a log is refused, and creates nothing in it', async () => {
  const dir = scratchDir()
  expect(await codeOf(trim(dir, { before: 5 }))).toBe('ERR_DURLOG_NOT_FOUND')
  expect(await trimRequests(dir)).toEqual([])
})

test('a request that is made while an earlier one is removed is not lost', async () => {
  const dir = scratchDir()
  const uuid = '00000000-0000-4000-8000-000000000000'
  for (let round = 0; round < 15; round++) {
    const earlier = await writeTrimRequest(dir, uuid, { before: round, regardless: round, seal: false, generation: 0 })
    const later = { before: 100 + round, regardless: round, seal: true, generation: 2 }
    const [name] = await Promise.all([writeTrimRequest(dir, uuid, later), removeTrimRequest(dir, earlier)])
    expect(await trimRequests(dir)).toEqual([name])
    expect(await readTrimRequest(dir, uuid, name)).toEqual(later)
    // Each of several writers that have executed the request removes it.
    await Promise.all([removeTrimRequest(dir, name), removeTrimRequest(dir, name)])
  }
})

test('looking for trim requests does not read the folder on this thread', async () => {
  let found = false
  const looking = trimRequests(scratchDir()).then(() => {
    found = true
  })
  // The answer of a worker arrives only when the event loop turns.
  for (let i = 0; i < 1000; i++) await undefined
  expect(found).toBe(false)
  await looking
})
