/** `durlog backup`, and `durlog restore` of a backup. */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { copyLog, restoreLog } from '../../src/cli/backup.js'
import { inspect, open, verify } from '../../src/index.js'
import { native } from '../../src/native/native.js'
import { openRestored } from '../../src/open.js'
import { copySegmentBytes } from '../../src/support/segment-name.js'
import { durlog } from '../fixtures/command.js'
import { openUntilDone, records, scratchDir } from '../fixtures/scratch.js'

const OPTIONS = { segmentBytes: 65536 }

/** The records of the log in `dir`, its UUID, and its cursors. */
async function contents(dir: string): Promise<unknown> {
  const log = await openUntilDone(dir, { readOnly: true })
  const cursors = (await log.cursors()).map(({ name, position }) => ({ name, position }))
  return { uuid: log.uuid, firstSeq: log.firstSeq, records: await records(log.read()), cursors }
}

test('a backup of a log in use, and its restore, have the same records, times, UUID and cursors', async () => {
  const folder = scratchDir()
  const dir = join(folder, 'log')
  const log = await openUntilDone(dir, OPTIONS)
  for (let i = 0; i < 3000; i++)
    await log.append(Buffer.from([i & 255, i >> 8, 0]), { timestamp: 1000 + i, durability: 'memory' })
  await log.sync()
  await log.trimBefore(2000)
  await (await log.cursor('mailer')).commit(2500)
  const copy = join(folder, 'copy')
  const { code, stdout, stderr } = await durlog(['backup', dir, copy])
  expect([code, stderr]).toEqual([0, ''])
  expect(stdout.toString()).toMatch(/copy holds seq \d+ to 2999 and 1 cursor, verified; /)
  expect(await contents(copy)).toEqual(await contents(dir))
  const restored = join(folder, 'restored')
  expect((await durlog(['restore', restored, copy])).stderr).toBe('')
  expect(await contents(restored)).toEqual(await contents(dir))
  const writer = await openUntilDone(restored)
  expect(await writer.append('next')).toBe(3000)
})

test('a second backup copies only new data, and updates cursors that moved or were removed', async () => {
  const folder = scratchDir()
  const dir = join(folder, 'log')
  const log = await openUntilDone(dir, OPTIONS)
  await log.appendBatch(['a', 'b', 'c'])
  await (await log.cursor('gone')).close()
  const cursor = await log.cursor('kept')
  onTestFinished(() => cursor.close())
  const copy = join(folder, 'copy')
  expect(await copyLog(dir, copy, () => {})).toMatchObject({ copied: 3, cursors: ['gone', 'kept'] })
  await log.append('d')
  await cursor.commit(2)
  await log.removeCursor('gone')
  expect(await copyLog(dir, copy, () => {})).toMatchObject({ copied: 1, nextSeq: 4, cursors: ['kept'] })
  expect(await contents(copy)).toEqual(await contents(dir))
})

test('a copy has about 128 segments at most, and the sizes of its source if that has fewer', () => {
  const of = (count: number, bytes: number): number =>
    copySegmentBytes(Array.from({ length: count }, () => ({ bytes })))
  expect([of(0, 0), of(100, 65536), of(128, 2 ** 20)]).toEqual([65536, 65536, 2 ** 20])
  expect([of(8000, 65536), of(200_000, 65536), of(1000, 2 ** 30)]).toEqual([63 * 65536, 2 ** 26, 2 ** 30])
})

test('a backup that is taken during a truncation takes no new record for a void', async () => {
  const folder = scratchDir()
  const dir = join(folder, 'log')
  const log = await open(dir)
  for (let i = 0; i < 1500; i++) log.write(`old ${i} ${'x'.repeat(1000)}`)
  await log.close()
  const truncate = `
    const log = await (await import('durlog')).open(${JSON.stringify(dir)})
    await log.truncateAfter(1399)
    for (let i = 1400; i < 2000; i++) log.write('new ' + i)
    await log.close()`
  let calls = 0
  const onProgress = (): void => {
    if (calls++ === 0) execFileSync(process.execPath, ['--input-type=module', '-e', truncate], { stdio: 'inherit' })
  }
  const copy = join(folder, 'copy')
  await expect(copyLog(dir, copy, onProgress)).rejects.toThrow('truncated while it was copied')
  expect(calls).toBeGreaterThan(1)
  expect(await copyLog(dir, copy, onProgress)).toMatchObject({ nextSeq: 2000 })
  expect(await contents(copy)).toEqual(await contents(dir))
})

test('a backup that begins during a truncation takes no new record for a void', async () => {
  const folder = scratchDir()
  const dir = join(folder, 'log')
  const log = await openUntilDone(dir, OPTIONS)
  for (const text of ['a', 'b', 'c', 'd']) await log.append(text)
  const { bounds } = native
  onTestFinished(() => void Object.assign(native, { bounds }))
  let reads = 0
  // The truncation changes the files after the third read, and has not ended when the copy has.
  native.bounds = async (path) => {
    const found = await bounds(path)
    return { ...found, ...(++reads <= 3 && { nextSeq: 4, syncedEnd: 4 }), generation: 0 }
  }
  await log.truncateAfter(1)
  const copy = join(folder, 'copy')
  await expect(copyLog(dir, copy, () => {})).rejects.toThrow('truncated while it was copied')
  native.bounds = bounds
  for (const text of ['C', 'D']) await log.append(text)
  expect(await copyLog(dir, copy, () => {})).toMatchObject({ nextSeq: 4 })
  expect(await contents(copy)).toEqual(await contents(dir))
})

test('a backup copies no position of a cursor whose records are truncated when the backup begins', async () => {
  const folder = scratchDir()
  const dir = join(folder, 'log')
  const log = await openUntilDone(dir, OPTIONS)
  for (const text of ['a', 'b', 'c', 'd']) await log.append(text)
  const cursor = await log.cursor('mailer')
  await cursor.commit(3, { durability: 'sync' })
  const { listCursors } = native
  onTestFinished(() => void Object.assign(native, { listCursors }))
  native.listCursors = async (path) => {
    native.listCursors = listCursors
    const list = await listCursors(path)
    await log.truncateAfter(0)
    for (const text of ['B', 'C', 'D', 'E']) await log.append(text)
    return list
  }
  const copy = join(folder, 'copy')
  expect(await copyLog(dir, copy, () => {})).toMatchObject({ nextSeq: 5, cursors: [], skippedCursors: ['mailer'] })
  expect((await inspect(copy)).generation).toBeGreaterThan(log.generation)
})

test('a backup taken while a writer appends is a clean log up to a synced record', async () => {
  const folder = scratchDir()
  const dir = join(folder, 'log')
  const log = await openUntilDone(dir, OPTIONS)
  await log.append('0')
  let stopped = false
  let written = 1
  const writing = (async () => {
    while (!stopped) await log.append(String(written++))
  })()
  const copy = join(folder, 'copy')
  for (let round = 0; round < 5; round++) {
    const before = log.syncedSeq
    const { nextSeq } = await copyLog(dir, copy, () => {})
    expect(nextSeq).toBeGreaterThan(before)
    expect((await verify(copy)).state).toBe('clean')
  }
  stopped = true
  await writing
  const copied = await openUntilDone(copy, { readOnly: true })
  const found = (await records(copied.read())).map(({ seq, data }) => [String(seq), data.toString()])
  expect(found.every(([seq, text]) => seq === text)).toBe(true)
})

test('seqs without a record have no record in the backup', async () => {
  const folder = scratchDir()
  const dir = join(folder, 'log')
  const identity = { uuid: '0b1e7f1c-6a8f-4f0e-9a55-0d8e2f6f3c11', firstSeq: 5, generation: 0 }
  const log = await openRestored(dir, identity, OPTIONS)
  await log.skipTo(8, 1000)
  await log.append('eight')
  await log.skipTo(11, 2000)
  await log.append('eleven')
  await log.close()
  const copy = join(folder, 'copy')
  expect(await copyLog(dir, copy, () => {})).toMatchObject({ firstSeq: 5, nextSeq: 12, copied: 7 })
  expect(await contents(copy)).toEqual(await contents(dir))
})

test('copies more seqs without a record than fit into the segments that may wait for the device', async () => {
  const folder = scratchDir()
  const dir = join(folder, 'log')
  const identity = { uuid: '0b1e7f1c-6a8f-4f0e-9a55-0d8e2f6f3c11', firstSeq: 0, generation: 0 }
  const log = await openRestored(dir, identity, OPTIONS)
  const end = 100 * (OPTIONS.segmentBytes / 32)
  await log.skipTo(end, 1000)
  await log.append('last')
  await log.close()
  expect(await copyLog(dir, join(folder, 'copy'), () => {})).toMatchObject({ nextSeq: end + 1, copied: end + 1 })
})

test('a file in the place of the folder of the copy: the message names the remedy', async () => {
  const dir = join(scratchDir(), 'log')
  await durlog(['append', dir], 'a\n')
  const file = join(dir, '..', 'file')
  writeFileSync(file, '')
  for (const [args, exitCode, message] of [
    [['backup', dir, file], 66, /ERR_DURLOG_NOT_A_LOG: .*name a folder/],
    [['restore', file, dir], 65, /ERR_DURLOG_NOT_EMPTY: .*restore into a new or empty folder/],
  ] as const) {
    const { code, stderr } = await durlog([...args])
    expect([code, stderr]).toEqual([exitCode, expect.stringMatching(message)])
  }
})

/** The paths of a log, of its backup, and of the log that is restored from it, in the new folder `folder`. */
function copyPaths(): { folder: string; dir: string; copy: string; restored: string } {
  const folder = scratchDir()
  return { folder, dir: join(folder, 'log'), copy: join(folder, 'copy'), restored: join(folder, 'restored') }
}

test('a restore that has finished is not repeated, because it would move the cursors back', async () => {
  const { dir, copy, restored } = copyPaths()
  const log = await open(dir, OPTIONS)
  await log.appendBatch(['a', 'b'])
  await log.ensureCursor('mailer')
  await log.close()
  await durlog(['backup', dir, copy])
  await durlog(['restore', restored, copy])
  const writer = await open(restored)
  const cursor = await writer.cursor('mailer')
  await cursor.commit(0, { durability: 'sync' })
  await cursor.close()
  await writer.close()
  const { code, stderr } = await durlog(['restore', restored, copy])
  expect([code, stderr]).toEqual([65, expect.stringContaining('ERR_DURLOG_NOT_EMPTY')])
  await using reader = await open(restored, { readOnly: true })
  expect(await reader.cursors()).toMatchObject([{ name: 'mailer', position: 1 }])
})

test('a log that is no backup is not made one, which would move its cursors back', async () => {
  const { dir, copy, restored } = copyPaths()
  await durlog(['append', dir], 'a\nb\n')
  await durlog(['cursors', dir, '--create', 'mailer'])
  await durlog(['backup', dir, copy])
  await durlog(['restore', restored, copy])
  await durlog(['cursors', restored, '--seek', 'mailer', '--from', '2'])
  const { code, stderr } = await durlog(['backup', copy, restored])
  expect([code, stderr]).toEqual([65, expect.stringContaining('is no backup of it')])
  await using writer = await open(restored)
  expect(await writer.cursors()).toMatchObject([{ name: 'mailer', position: 2 }])
})

test('no process can append to a restore that was interrupted, and the next call completes it', async () => {
  const { folder, dir, copy, restored } = copyPaths()
  await durlog(['append', dir], 'a\nb\n')
  await durlog(['backup', dir, copy])
  const interrupted = (): never => {
    throw new Error('interrupted')
  }
  await expect(restoreLog(copy, restored, interrupted, {})).rejects.toThrow('interrupted')
  await expect(open(restored)).rejects.toMatchObject({ code: 'ERR_DURLOG_REPLICA' })
  const other = join(folder, 'other')
  await durlog(['append', other], 'x\n')
  await expect(restoreLog(other, restored, () => {}, {})).rejects.toMatchObject({ code: 'ERR_DURLOG_NOT_EMPTY' })
  await restoreLog(copy, restored, () => {}, {})
  expect(await contents(restored)).toEqual(await contents(dir))
  await (await open(restored)).close()
})

test('backup and import --keep write to no replica', async () => {
  const folder = scratchDir()
  const [dir, replica] = [join(folder, 'log'), join(folder, 'replica')]
  await durlog(['append', dir], 'a\n')
  await durlog(['restore', replica, dir])
  writeFileSync(join(replica, 'restoring'), '{}')
  await durlog(['append', dir], 'b\n')
  for (const args of [
    ['backup', dir, replica],
    ['import', replica, '--keep'],
  ]) {
    const { code, stderr } = await durlog(args, '{"seq":1,"timestamp":1,"data":"x"}\n')
    expect([code, stderr]).not.toEqual([0, ''])
    expect(stderr).toContain('is a replica')
  }
  expect((await inspect(replica)).nextSeq).toBe(1)
})

test('a folder that holds other files is refused and not changed', async () => {
  const folder = scratchDir()
  const dir = join(folder, 'log')
  await durlog(['append', dir], 'a\nb\n')
  const other = join(folder, 'other')
  await durlog(['append', other], 'x\n')
  const files = join(folder, 'files')
  mkdirSync(files)
  writeFileSync(join(files, 'letter'), 'dear')
  const changed = join(folder, 'changed')
  await durlog(['restore', changed, dir])
  const log = await open(changed)
  await log.truncateAfter(0)
  await log.append('other')
  await log.close()
  const longer = join(folder, 'longer')
  cpSync(dir, longer, { recursive: true })
  await durlog(['append', longer], 'c\n')
  const link = join(folder, 'link')
  symlinkSync(dir, link, 'junction')
  for (const [to, message] of [
    [other, /holds another log/],
    [files, /is not empty and holds no log/],
    [changed, /holds records that the source does not have/],
    [longer, /holds records that the source does not have/],
    [dir, /is the log itself/],
    [link, /is the log itself/],
  ] as const) {
    const { code, stderr } = await durlog(['backup', dir, to])
    expect([code, stderr]).toEqual([65, expect.stringMatching(message)])
  }
})
