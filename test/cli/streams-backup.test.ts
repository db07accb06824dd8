/** `durlog backup` and `durlog restore` of a folder of streams. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { backupStreams, restoreStreams } from '../../src/cli/streams/backup.js'
import { openStreams, type Streams } from '../../src/streams/index.js'
import { DURLOG, durlog } from '../fixtures/command.js'
import { openUntilDone, scratchDir } from '../fixtures/scratch.js'
import { all, localPort, scratchStreams } from '../fixtures/streams.js'

const QUIET = (): void => {}

/** Every stream with its options and its records. */
async function contents(streams: Streams<unknown>): Promise<unknown> {
  const found: Record<string, unknown> = {}
  for await (const { path, fileBytes, ...info } of streams.list())
    found[info.name] = { info, records: await all(streams.stream(info.name).read()) }
  return found
}

async function openAt(dir: string): Promise<Streams<unknown>> {
  const streams = (await openStreams(dir, { exclusive: true, create: false })) as Streams<unknown>
  onTestFinished(() => streams.close())
  return streams
}

test('a backup of streams in use, and its restore, have every stream with its options, records and cursors', async () => {
  const { dir, streams } = await scratchStreams()
  const chat = streams.stream('chat/1')
  for (let i = 0; i < 40; i++)
    await chat.append({ i }, { timestamp: 1000 + i, producer: { id: 'p', epoch: 1, seq: i } })
  await streams.stream('raw').create({ encoding: 'buffer', contentType: 'image/png', values: [Buffer.from([0, 255])] })
  await streams.stream('limited').create({ retention: { maxRecords: 16 } })
  await streams.stream('limited').appendAll(Array.from({ length: 100 }, (_, i) => i))
  await streams.checkpoint()
  await streams.stream('fork').create({ fork: { stream: 'chat/1', seq: 5 }, values: ['other'] })
  await streams.stream('gone').append('x')
  await (await streams.cursor('indexer')).commit(3)
  await streams.stream('done').append('last', { end: true })
  await streams.checkpoint()
  await streams.stream('gone').delete()
  await chat.append('after the checkpoint')
  const before = await contents(streams)

  const folder = scratchDir()
  const [copy, restored] = [join(folder, 'copy'), join(folder, 'restored')]
  const { code, stdout, stderr } = await durlog(['backup', dir, copy])
  expect([code, stderr]).toEqual([0, ''])
  expect(stdout.toString()).toMatch(/copy holds 6 streams: \d+ files with .*, verified/)
  expect((await durlog(['cursors', join(dir, 'log'), '--json'])).stdout.toString()).not.toContain('durlog-backup')
  await durlog(['restore', restored, copy])
  const again = await openAt(restored)
  expect(await contents(again)).toEqual(before)
  expect(again.changes).toEqual([])
  const repeated = await again.stream('chat/1').append({ i: 39 }, { producer: { id: 'p', epoch: 1, seq: 39 } })
  expect(repeated).toEqual({ seq: 39, duplicate: true })
  expect((await again.cursor('indexer')).position).toBe(4)
})

test('a backup that is taken while streams are appended to, deleted, created again and checkpointed is complete', async () => {
  const { dir, streams } = await scratchStreams()
  const names = Array.from({ length: 4 }, (_, i) => `stream ${i}`)
  let isStopped = false
  let rounds = 0
  const working = (async () => {
    for (; !isStopped; rounds++) {
      for (const name of names) await streams.stream(name).appendAll([name, rounds])
      await streams.stream(names[rounds % names.length] as string).delete()
      await streams.checkpoint()
    }
  })()
  const folder = scratchDir()
  const copy = join(folder, 'copy')
  for (let backup = 0; backup < 2; backup++) {
    const { changed, nextSeq } = await backupStreams(dir, copy, QUIET)
    expect(changed).toEqual([])
    const restored = join(folder, `restored ${backup}`)
    await restoreStreams(copy, restored, QUIET)
    const again = await openAt(restored)
    expect(again.changes).toEqual([])
    expect(localPort(again).sequencer.position).toBe(nextSeq)
    for (const name of names) {
      const records = (await again.stream(name).info()) === undefined ? [] : await all(again.stream(name).read())
      expect(records.every(({ value }, at) => at % 2 === 1 || value === name)).toBe(true)
    }
  }
  isStopped = true
  await working
  expect(rounds).toBeGreaterThan(1)
})

test('a second backup replaces the first; anything else in the place of the copy stays, and is refused', async () => {
  const { dir, streams } = await scratchStreams()
  await streams.stream('a').append(1)
  const folder = scratchDir()
  const copy = join(folder, 'copy')
  await durlog(['backup', dir, copy])
  await streams.stream('a').append(2)
  await streams.checkpoint()
  expect((await durlog(['backup', dir, `${copy}/`])).code).toBe(0)
  expect(readdirSync(folder)).toEqual(['copy'])
  expect(readFileSync(join(copy, 'streams', 'a.jsonl'), 'utf8')).toMatch(/1\s+2\s/)

  const other = join(folder, 'other')
  await durlog(['streams', other, 'append', 'b'], '1\n')
  for (const [from, to, message] of [
    [other, copy, /is a backup of other streams/],
    [dir, other, /holds no backup of streams/],
    [dir, dir, /is the folder itself/],
  ] as const) {
    const { code, stderr } = await durlog(['backup', from, to])
    expect([code, stderr]).toEqual([65, expect.stringMatching(message)])
  }
})

test('a backup that fails leaves nothing behind but an earlier one', async () => {
  const { dir, streams } = await scratchStreams()
  await streams.stream('a').append(1)
  await streams.checkpoint()
  const folder = scratchDir()
  const copy = join(folder, 'copy')
  await durlog(['backup', dir, copy])
  const log = await openUntilDone(join(dir, 'log'), { readOnly: true })
  const other = await log.cursor('durlog-backup')
  // The copy that the other backup is making.
  mkdirSync(join(folder, 'new.durlog-new'))
  for (const to of [copy, join(folder, 'new')]) {
    const { code, stderr } = await durlog(['backup', dir, to])
    expect([code, stderr]).toEqual([65, expect.stringContaining(`another backup of ${dir} is running`)])
  }
  expect(readdirSync(folder)).toEqual(['copy', 'new.durlog-new'])
  await other.close()
  await log.close()
  expect((await durlog(['backup', dir, copy])).code).toBe(0)
})

const ifMounting = process.platform === 'linux' && process.getuid?.() === 0 ? test : test.skip

/** Runs a command of durlog while the folder `dir` is mounted read-only, which only the command sees. */
function readOnly(dir: string, ...args: string[]): { stdout: string; stderr: string } {
  const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))
  const script = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && shift && exec "$0" "$@"'
  // The mount ends with the process, because no other one is in its namespace.
  const command = ['-m', 'bash', '-c', script, process.execPath, dir, main, ...args]
  return spawnSync('unshare', command, { encoding: 'utf8' })
}

ifMounting('streams on a file system that is mounted read-only can be backed up', async () => {
  const { dir, streams } = await scratchStreams()
  await streams.stream('a').append(1)
  await streams.close()
  const copy = join(scratchDir(), 'copy')
  expect(readOnly(dir, 'backup', dir, copy).stdout).toContain('holds 1 stream')
  expect(readFileSync(join(copy, 'streams', 'a.jsonl'), 'utf8')).toBe('1\n')
})

ifMounting('a restore to a file system that is mounted read-only reports that, and not a missing folder', async () => {
  const folder = scratchDir()
  const [log, copy] = [join(scratchDir(), 'log'), join(scratchDir(), 'copy')]
  await durlog(['append', log], 'x\n')
  await durlog(['backup', log, copy])
  for (const target of [join(folder, 'new'), join(folder, 'a', 'b')])
    expect(readOnly(folder, 'restore', target, copy).stderr).toContain('Read-only file system: mount')
})

test('appends to a backup of streams or of a log are refused, with the command that makes a log of it', async () => {
  const folder = scratchDir()
  const [dir, log] = [join(folder, 'streams'), join(folder, 'log')]
  await durlog(['streams', dir, 'append', 'a'], '1\n')
  await durlog(['append', log], 'x\n')
  for (const [from, append] of [
    [dir, ['append', 'a']],
    [log, undefined],
  ] as const) {
    const copy = `${from} copy`
    await durlog(['backup', from, copy])
    const { code, stderr } = await durlog(append === undefined ? ['append', copy] : ['streams', copy, ...append], '2\n')
    expect([code, stderr]).toEqual([66, expect.stringContaining(`"durlog restore NEW ${copy}"`)])
    expect(stderr).not.toContain('name a new or empty folder')
    expect((await durlog(['backup', from, copy])).code).toBe(0)
  }
})

test('of two restores of streams into one folder, the second is refused, and the first is complete', async () => {
  const { dir, streams } = await scratchStreams()
  for (const name of ['a', 'b', 'c']) await streams.stream(name).append(name)
  await streams.checkpoint()
  const before = await contents(streams)
  const folder = scratchDir()
  const [copy, restored] = [join(folder, 'copy'), join(folder, 'restored')]
  await backupStreams(dir, copy, QUIET)
  let second: Promise<unknown> | undefined
  await restoreStreams(copy, restored, () => {
    second ??= restoreStreams(copy, restored, QUIET).catch((error) => error)
  })
  expect(await second).toMatchObject({ code: expect.stringMatching(/^ERR_DURLOG_(LOCKED|NOT_EMPTY)$/) })
  expect(await contents(await openAt(restored))).toEqual(before)
  expect(readdirSync(folder).sort()).toEqual(['copy', 'restored'])
})

test('no process can append to a restore of streams that was interrupted, and the next call completes it', async () => {
  const { dir, streams } = await scratchStreams()
  for (const name of ['a', 'b', 'c']) await streams.stream(name).append(name)
  await streams.checkpoint()
  const folder = scratchDir()
  const [copy, restored] = [join(folder, 'copy'), join(folder, 'restored')]
  await backupStreams(dir, copy, QUIET)
  const interrupted = (done: number): void => {
    if (done === 2) throw new Error('interrupted')
  }
  await expect(restoreStreams(copy, restored, interrupted)).rejects.toThrow('interrupted')
  for (const create of [true, false])
    await expect(openStreams(restored, { create })).rejects.toMatchObject({ code: 'ERR_DURLOG_REPLICA' })
  await restoreStreams(copy, restored, QUIET)
  expect(await contents(await openAt(restored))).toEqual(await contents(streams))
  await expect(restoreStreams(copy, restored, QUIET)).rejects.toMatchObject({ code: 'ERR_DURLOG_NOT_EMPTY' })
})

test('a backup names the streams whose files another program has changed, and exits with 2', async () => {
  const { dir, streams } = await scratchStreams()
  await streams.stream('a').appendAll([1, 2, 3])
  await streams.stream('b').appendAll([4])
  await streams.checkpoint()
  truncateSync(join(dir, 'streams', 'a.jsonl'), 2)
  writeFileSync(join(dir, 'streams', 'b.jsonl'), '5\n')
  const copy = join(scratchDir(), 'copy')
  const { code, stdout } = await durlog(['backup', dir, copy, '--json'])
  expect([code, JSON.parse(stdout.toString()).changed.sort()]).toEqual([2, ['a', 'b']])
})

test('export and import --keep make the same streams, with options, seqs, times, forks and numbers of any length', async () => {
  const folder = scratchDir()
  const { dir, streams } = await scratchStreams()
  await streams.stream('chat').create({ ttlMs: 3_600_000, contentType: 'application/x-chat+json' })
  for (let i = 0; i < 300; i++) await streams.stream('chat').append({ i, text: '\u2028 ü' }, { timestamp: 1000 + i })
  await streams.stream('chat').appendJson('12345678901234567890.10', { timestamp: 5000 })
  await streams.stream('text').create({ encoding: 'utf8' })
  await streams.stream('text').append('a "line"\nand another', { timestamp: 6000, end: true })
  await streams.stream('bytes').create({ encoding: 'buffer', retention: { maxRecords: 100 } })
  await streams.stream('bytes').append(Buffer.from([0, 255, 10]), { timestamp: 7000 })
  await streams.stream('fork').create({ fork: { stream: 'chat', seq: 12 } })
  await streams.stream('fork').append('own', { timestamp: 8000 })
  await streams.stream('source').append('shared', { timestamp: 9000 })
  await streams.stream('orphan').create({ fork: { stream: 'source', seq: 1 } })
  await streams.stream('source').delete()
  await streams.stream('empty').create()
  const file = join(folder, 'export.jsonl')
  await streams.close()
  const exported = (await durlog(['streams', dir, 'export'])).stdout
  writeFileSync(file, exported)

  const copy = join(folder, 'copy')
  for (const stored of [305, 0]) {
    const { code, stdout, stderr } = await durlog(['streams', copy, 'import', '--keep', file, '--json'])
    expect([code, stderr]).toEqual([0, ''])
    expect(JSON.parse(stdout.toString())).toEqual({ streams: 6, records: stored, refused: [] })
    expect((await durlog(['streams', copy, 'export'])).stdout.toString()).toBe(exported.toString())
  }
  await durlog(['streams', copy, 'append', 'empty'], '1\n')
  writeFileSync(file, exported.toString().replace('"value":"own"', '"value":"other"'))
  const other = await durlog(['streams', copy, 'import', '--keep', file])
  expect([other.code, other.stderr]).toEqual([
    65,
    'durlog: fork: record 12 differs from the one that the stream has: import into an empty folder\n',
  ])
})

test.skipIf(process.platform !== 'linux')(
  'a backup of streams without room names the folder and leaves nothing',
  async () => {
    const { dir, streams } = await scratchStreams()
    await streams.stream('long').append('x'.repeat(2 << 20))
    await streams.checkpoint()
    const copy = join(scratchDir(), 'copy')
    const program = `ulimit -f 1024; exec '${process.execPath}' '${DURLOG}' backup '${dir}' '${copy}' --json`
    const { status, stderr } = spawnSync('bash', ['-c', program], { encoding: 'utf8' })
    const { error } = JSON.parse(stderr)
    expect([status, error]).toEqual([
      73,
      expect.objectContaining({ code: 'ERR_DURLOG_NO_SPACE', path: `${copy}.durlog-new`, errnoName: 'EFBIG' }),
    ])
    expect(readdirSync(join(copy, '..'))).toEqual([])
  },
)

test('verify of a backup of streams compares its files with its catalog, reads its logs, and changes nothing', async () => {
  const { dir, streams } = await scratchStreams()
  await streams.stream('a').appendAll([1, 2])
  await streams.stream('b').append(3)
  await streams.checkpoint()
  await streams.stream('b').append(4)
  const copy = join(scratchDir(), 'copy')
  await durlog(['backup', dir, copy])
  const verify = async (...flags: string[]): Promise<unknown> => {
    const { code, stdout, stderr } = await durlog(['streams', copy, 'verify', ...flags])
    return [code, stdout.toString() + stderr]
  }
  const names = (): string[] => (readdirSync(copy, { recursive: true }) as string[]).sort()
  const before = names()
  expect(await verify()).toEqual([
    0,
    'read 3 records of 2 streams as of the last checkpoint, and 1 later record of the log; none is damaged\n',
  ])
  expect(names()).toEqual(before)
  writeFileSync(join(copy, 'streams', 'a.jsonl'), '1\n3\n')
  expect(await verify()).toEqual([
    2,
    expect.stringMatching(/^a: .*a\.jsonl is not the file that the catalog describes/),
  ])
  expect(await verify('--prefix', 'b', '--json')).toEqual([0, '{"streams":1,"records":1,"damaged":0}\n'])
  const [segment] = readdirSync(join(copy, 'log')).filter((name) => name.endsWith('.seg'))
  const bytes = readFileSync(join(copy, 'log', segment as string))
  bytes.fill(0xff, 4096, 4112)
  writeFileSync(join(copy, 'log', segment as string), bytes)
  expect(await verify('--prefix', 'b')).toEqual([2, expect.stringMatching(/log: corrupt: "durlog verify/)])
})
