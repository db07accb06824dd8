import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { restoreArchive } from '../../src/archive/index.js'
import { resolveRestore } from '../../src/archive/restore-options.js'
import { type Log, verify } from '../../src/index.js'
import { native } from '../../src/native/native.js'
import { archiveAll, archiver, plainRecords, plainRecordsIn, restored, store } from '../fixtures/archive.js'
import { codeOf, openUntilDone, scratchDir, scratchLog } from '../fixtures/scratch.js'

const CHILD = fileURLToPath(new URL('../fixtures/archive-restore-child.mjs', import.meta.url))
const SMALL = { segmentBytes: 65_536 } as const

async function append(log: Log, count: number): Promise<void> {
  for (let at = 0; at < count; at++)
    await log.append(`record ${log.nextSeq} ${'x'.repeat(300)}`, { durability: 'memory' })
}

test('a restore that was killed at any moment continues where it ended', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  await append(log, 1500)
  await archiveAll(log, s3)
  const dir = join(scratchDir(), 'restored')
  let kills = 0
  for (let limit = 3; ; limit += 2) {
    let requests = 0
    let killed = false
    const child = spawn(process.execPath, [CHILD, dir, JSON.stringify(s3.access)], {
      stdio: ['ignore', 'inherit', 'inherit'],
    })
    s3.fault = () => {
      if (++requests < limit || killed) return killed ? { drop: true } : undefined
      killed = true
      child.kill('SIGKILL')
      return { drop: true }
    }
    const [code] = await once(child, 'exit')
    if (code === 0) break
    kills++
  }
  s3.fault = () => undefined
  expect(kills).toBeGreaterThan(3)
  expect(await plainRecordsIn(dir)).toEqual(await plainRecords(log))
  expect(await verify(dir)).toMatchObject({ state: 'clean', uuid: log.uuid })
})

test('a restore that continues keeps the restored records if its first requests fail', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  await append(log, 500)
  await archiveAll(log, s3)
  const dir = join(scratchDir(), 'restored')
  const tail = ({ method, key }: { method: string; key: string }) => method === 'GET' && /\/tail\/\d/.test(key)
  s3.fault = (request) => (tail(request) ? { status: 403, code: 'AccessDenied' } : undefined)
  expect(await codeOf(restoreArchive(dir, s3.access))).toBe('ERR_DURLOG_DESTINATION_REFUSED')
  let failures = 0
  s3.fault = (request) => (tail(request) && failures++ < 10 ? { status: 500 } : undefined)
  expect(await restoreArchive(dir, s3.access)).toMatchObject({ resumed: true, firstSeq: 0, nextSeq: 500 })
  expect(failures).toBeGreaterThan(10)
  expect(await plainRecordsIn(dir)).toEqual(await plainRecords(log))
  expect(await verify(dir)).toMatchObject({ state: 'clean' })
})

test('a restore whose files lose records before its end reports that, and no success', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  await append(log, 100)
  await archiveAll(log, s3)
  const dir = join(scratchDir(), 'restored')
  // The positions of cursors are read before the first record, and again after the last one.
  let reads = 0
  s3.fault = ({ key }) => {
    if (key.endsWith('/cursors') && ++reads === 2) truncateSync(join(dir, '00000000000000000000.seg'), 20_000)
    return undefined
  }
  expect(await codeOf(restoreArchive(dir, s3.access))).toBe('ERR_DURLOG_CORRUPT')
})

test('a restore that was killed while it wrote the generation of the log writes it again', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  await append(log, 300)
  await log.truncateAfter(290)
  await archiveAll(log, s3)
  const dir = join(scratchDir(), 'restored')
  s3.fault = ({ method, key }) =>
    method === 'GET' && /\/(log|tail)[^/]*\/\d/.test(key) ? { status: 403, code: 'AccessDenied' } : undefined
  expect(await codeOf(restoreArchive(dir, s3.access))).toBe('ERR_DURLOG_DESTINATION_REFUSED')
  s3.fault = () => undefined
  writeFileSync(join(dir, 'cuts'), '')
  await restoreArchive(dir, s3.access)
  expect((await openUntilDone(dir)).generation).toBeGreaterThan(log.generation)
})

test('an unfinished restore is not continued with another archive', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  await append(log, 300)
  await archiveAll(log, s3)
  const dir = join(scratchDir(), 'restored')
  const { bucket } = s3.access
  s3.fault = ({ method, key }) =>
    method === 'GET' && /\/tail\/\d/.test(key) ? { status: 403, code: 'AccessDenied' } : undefined
  expect(await codeOf(restoreArchive(dir, s3.access))).toBe('ERR_DURLOG_DESTINATION_REFUSED')
  s3.fault = () => undefined
  await archiveAll(log, s3, { bucket: `${bucket}/other`, cursor: 'other' })
  expect(await codeOf(restoreArchive(dir, { ...s3.access, bucket: `${bucket}/other` }))).toBe('ERR_DURLOG_NOT_EMPTY')
  expect(await restoreArchive(dir, s3.access)).toMatchObject({ resumed: true, nextSeq: 300 })
})

test.each([
  ['ends with zeros', (path: string) => truncateSync(path, 20_000)],
  ['holds only zeros', (path: string) => truncateSync(path, 0)],
])('a restore continues if a power cut left a file before the last one that %s', async (_what, cut) => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  await append(log, 1500)
  await archiveAll(log, s3)
  const dir = join(scratchDir(), 'restored')
  // The requests are in flight together and may arrive in any order.
  const refused = s3
    .keys('/log/')
    .filter((key) => /\/log\/\d/.test(key))
    .slice(4)
  s3.fault = ({ method, key }) =>
    method === 'GET' && refused.includes(key) ? { status: 403, code: 'AccessDenied' } : undefined
  expect(await codeOf(restoreArchive(dir, s3.access))).toBe('ERR_DURLOG_DESTINATION_REFUSED')
  s3.fault = () => undefined
  const files = readdirSync(dir).filter((name) => name.endsWith('.seg'))
  expect(files.length).toBeGreaterThan(2)
  const path = join(dir, files.sort().at(-2) as string)
  const { size } = statSync(path)
  cut(path)
  truncateSync(path, size)
  expect(await restoreArchive(dir, s3.access)).toMatchObject({ resumed: true, nextSeq: 1500 })
  expect(await plainRecordsIn(dir)).toEqual(await plainRecords(log))
  expect(await verify(dir)).toMatchObject({ state: 'clean' })
})

test('a replica follows the archive, and is continued and read', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  await append(log, 20)
  await archiveAll(log, s3)
  const dir = join(scratchDir(), 'replica')
  for (let round = 0; round < 3; round++) {
    const ending = new AbortController()
    const following = restoreArchive(dir, { ...s3.access, follow: true, pollMs: 5, signal: ending.signal })
    for (let part = 0; part < 3; part++) {
      await append(log, 70)
      await archiveAll(log, s3)
      await expect
        .poll(async () => {
          const replica = await openUntilDone(dir, { readOnly: true }).catch(() => undefined)
          return replica?.nextSeq
        })
        .toBe(log.nextSeq)
    }
    ending.abort()
    expect(await following).toMatchObject({ nextSeq: log.nextSeq, resumed: round > 0 })
    expect(await plainRecordsIn(dir)).toEqual(await plainRecords(log))
  }
  expect(await restoreArchive(dir, s3.access)).toMatchObject({ nextSeq: log.nextSeq, resumed: true })
  expect(await verify(dir)).toMatchObject({ state: 'clean' })
})

test('a replica that is ended before its first record is restored rejects with the reason of its signal', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  await append(log, 20)
  await archiveAll(log, s3)
  const dir = join(scratchDir(), 'replica')
  const ending = new AbortController()
  s3.fault = ({ method, key }) => {
    if (method === 'GET' && /\/tail\/\d/.test(key)) ending.abort(new Error('ended'))
    return undefined
  }
  await expect(restoreArchive(dir, { ...s3.access, follow: true, signal: ending.signal })).rejects.toThrow('ended')
  expect(await restoreArchive(dir, s3.access)).toMatchObject({ nextSeq: 20 })
})

test('a restore that would end before the first archived record is refused, and leaves the folder empty', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  await append(log, 700)
  // A segment that is not synced is not trimmed.
  await log.sync()
  expect(await log.trimBefore(400)).toBeGreaterThan(100)
  await archiveAll(log, s3)
  const dir = join(scratchDir(), 'restored')
  for (const to of [0, 100, log.firstSeq])
    expect(await codeOf(restoreArchive(dir, { ...s3.access, to }))).toBe('ERR_DURLOG_NOT_FOUND')
  expect(readdirSync(dir)).toEqual([])
  expect(await restoreArchive(dir, { ...s3.access, to: log.firstSeq + 1 })).toMatchObject({
    firstSeq: log.firstSeq,
    nextSeq: log.firstSeq + 1,
  })
})

test('a replica continues with a new history that holds its records, and stops if its records were truncated', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  await append(log, 20)
  await archiveAll(log, s3)
  const dir = join(scratchDir(), 'replica')
  const follow = (signal: AbortSignal) => restoreArchive(dir, { ...s3.access, follow: true, pollMs: 5, signal })
  const ending = new AbortController()
  const following = follow(ending.signal)
  for (let round = 0; round < 2; round++) {
    await append(log, 2)
    await log.truncateAfter(log.nextSeq - 2)
    await append(log, 3)
    await archiveAll(log, s3)
    await expect
      .poll(async () => (await openUntilDone(dir, { readOnly: true }).catch(() => undefined))?.nextSeq)
      .toBe(log.nextSeq)
  }
  ending.abort()
  await following
  expect(await plainRecordsIn(dir)).toEqual(await plainRecords(log))
  await append(log, 1)
  await log.truncateAfter(log.nextSeq - 2)
  await append(log, 1)
  await archiveAll(log, s3)
  const stopped = codeOf(follow(new AbortController().signal))
  await log.truncateAfter(10)
  await append(log, 1)
  await archiveAll(log, s3)
  expect(['ERR_DURLOG_DESTINATION_OTHER', 'ERR_DURLOG_NOT_EMPTY']).toContain(await stopped)
  const { generation } = log
  await restoreArchive(dir, { ...s3.access, generation: generation - 1 })
  // The archive has a log of this generation.
  expect((await openUntilDone(dir)).generation).toBeGreaterThan(generation)
})

test('the log is chosen by its UUID if the prefix holds several', async () => {
  const s3 = await store()
  const logs = [await scratchLog(SMALL), await scratchLog(SMALL)]
  for (const log of logs) {
    await log.append(log.uuid)
    await archiveAll(log, s3)
  }
  const dir = join(scratchDir(), 'restored')
  expect(await codeOf(restoreArchive(dir, s3.access))).toBe('ERR_DURLOG_NOT_FOUND')
  const { uuid } = logs[1] as Log
  await restoreArchive(dir, { ...s3.access, uuid })
  expect((await plainRecordsIn(dir)).map(([, , text]) => text)).toEqual([uuid])
  expect(await codeOf(restoreArchive(`${dir}-2`, { ...s3.access, uuid: 'none' }))).toBe('ERR_DURLOG_NOT_FOUND')
  expect(await codeOf(restoreArchive(`${dir}-3`, { ...s3.access, uuid, generation: 7 }))).toBe('ERR_DURLOG_NOT_FOUND')
})

test('a restore to any of 30 moments is the prefix of the log up to that moment', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  let timestamp = 1_000_000
  let state = 7
  const random = (below: number): number => {
    state = (state * 48_271) % 2_147_483_647
    return (state >> 4) % below
  }
  for (let part = 0; part < 8; part++) {
    for (let at = 0; at < 50; at++) {
      // Several records have the same time.
      timestamp += random(3) * random(20)
      await log.append('x'.repeat(1 + random(600)), { durability: 'memory', timestamp })
    }
    await archiveAll(log, s3)
  }
  const all = await plainRecords(log)
  for (let moment = 0; moment < 30; moment++) {
    const until = 1_000_001 + random(timestamp - 1_000_000)
    const expected = all.filter(([, time]) => time < until)
    const dir = join(scratchDir(), `restored-${moment}`)
    if (expected.length === 0) {
      expect(await codeOf(restoreArchive(dir, { ...s3.access, until }))).toBe('ERR_DURLOG_NOT_FOUND')
    } else {
      await restoreArchive(dir, { ...s3.access, until })
      expect(await plainRecordsIn(dir)).toEqual(expected)
    }
  }
})

test('a second restore into a folder is refused while the first one runs, and leaves it alone', async () => {
  const s3 = await store()
  const log = await scratchLog({ segmentBytes: 65_536 })
  for (let at = 0; at < 300; at++) await log.append(`record ${at} ${'x'.repeat(1000)}`, { durability: 'memory' })
  await archiveAll(log, s3)
  const dir = join(scratchDir(), 'restored')
  const restores = Array.from({ length: 4 }, () => codeOf(restoreArchive(dir, s3.access)))
  const refused = (await Promise.all(restores)).filter((code) => code !== 'none')
  expect(refused).toHaveLength(3)
  // The latter if the first one has ended.
  for (const code of refused) expect(['ERR_DURLOG_LOCKED', 'ERR_DURLOG_NOT_EMPTY']).toContain(code)
  expect(await plainRecordsIn(dir)).toEqual(await plainRecords(log))
  expect(readdirSync(dir).filter((name) => name.startsWith('restoring'))).toEqual([])
})

test('the lock of a restore that was killed after it had finished is removed by the next one, which leaves the log alone', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  await append(log, 10)
  await archiveAll(log, s3)
  const dir = join(scratchDir(), 'restored')
  await restoreArchive(dir, s3.access)
  const lock = join(dir, 'restoring.lock')
  mkdirSync(join(lock, 'made'), { recursive: true })
  const held = await native.lockLog(lock)
  expect(await codeOf(restoreArchive(dir, s3.access))).toBe('ERR_DURLOG_NOT_EMPTY')
  expect(existsSync(lock)).toBe(true)
  held.release()
  expect(await codeOf(restoreArchive(dir, s3.access))).toBe('ERR_DURLOG_NOT_EMPTY')
  expect(existsSync(lock)).toBe(false)
  expect(await plainRecordsIn(dir)).toEqual(await plainRecords(log))
})

test('a file in place of the folder is refused', async () => {
  const s3 = await store()
  const path = join(scratchDir(), 'file')
  writeFileSync(path, '')
  for (const dir of [path, join(path, 'below')])
    expect(await codeOf(restoreArchive(dir, s3.access))).toBe('ERR_DURLOG_NOT_EMPTY')
})

test('a restore reports newest records that the archive has held and has lost', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  const cursor = await log.cursor('worker')
  const made = archiver(log, s3)
  for (let part = 1; part <= 3; part++) {
    await append(log, 10)
    await cursor.commit(log.nextSeq - 1)
    await made.idle()
  }
  await made.close()
  const parts = s3.keys('/tail/')
  expect(parts).toHaveLength(3)
  for (const key of parts.slice(1)) s3.objects.delete(key)
  await expect(restored(s3)).rejects.toMatchObject({
    code: 'ERR_DURLOG_DESTINATION_GAP',
    lostFirst: 10,
    lostLast: 29,
    message: expect.stringContaining('--to 10'),
  })
  expect(await plainRecordsIn(await restored(s3, { to: 10 }))).toEqual(await plainRecords(log, 10))
})

test('a restore reports a lost segment whose parts were deleted', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  await append(log, 250)
  await archiveAll(log, s3)
  await append(log, 250)
  await archiveAll(log, s3)
  const whole = s3.keys('/log/')
  for (const key of [...whole.slice(1), ...s3.keys('/tail/')]) s3.objects.delete(key)
  expect(await codeOf(restored(s3))).toBe('ERR_DURLOG_DESTINATION_GAP')
})

test('records that are archived while a restore begins are no gap', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  const cursor = await log.cursor('worker')
  const made = archiver(log, s3)
  await append(log, 10)
  await made.idle()
  s3.fault = async ({ method, key }) => {
    if (method !== 'GET' || !key.endsWith('/cursors')) return undefined
    s3.fault = () => undefined
    await append(log, 10)
    await cursor.commit(log.nextSeq - 1)
    await made.idle()
    return undefined
  }
  expect(await plainRecordsIn(await restored(s3))).toEqual(await plainRecords(log))
})

test('a restore from a store that does not answer ends by default', () => {
  expect(resolveRestore({ bucket: 's3://b', credentials: { accessKeyId: 'a', secretAccessKey: 'b' } })).toMatchObject({
    retryForMs: 300_000,
    replicaRetryForMs: Number.POSITIVE_INFINITY,
  })
})
