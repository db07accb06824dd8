import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { exitCodeOf } from '../../src/cli/commands/doctor.js'
import { judgeClock } from '../../src/cli/doctor/clock.js'
import { judgeFileSystem, judgeMount } from '../../src/cli/doctor/file-system.js'
import { type Finding, fail, guarded, notChecked, ok, warn } from '../../src/cli/doctor/finding.js'
import { judgeFlush } from '../../src/cli/doctor/flush.js'
import {
  judgeDescriptors,
  judgeFileSize,
  judgeInodes,
  judgeSpace,
  judgeThreads,
  softLimit,
} from '../../src/cli/doctor/limits.js'
import { tryCase, tryRename, trySocket } from '../../src/cli/doctor/operations.js'
import { judgeAllocation, judgeDirect, judgeLock, judgeMap } from '../../src/cli/doctor/trial-log.js'
import { judgeWriteCache } from '../../src/cli/doctor/write-cache.js'
import { type LogStats, open } from '../../src/index.js'
import type { Disk } from '../../src/terminal/storage.js'
import { durlog, durlogProcess, startDurlog } from '../fixtures/command.js'
import { openUntilDone, scratchDir } from '../fixtures/scratch.js'
import { scratchStreams } from '../fixtures/streams.js'

const MIB = 2 ** 20

const mount = (fileSystem: string, options: string) =>
  judgeMount({ fileSystem, options, point: '/data', device: '/dev/sda1', deviceNumber: '8:1' })

describe('the file system', () => {
  test.each([
    ['ext4', 'rw,relatime', 'OK', /every level holds/],
    ['xfs', 'rw,noatime,attr2', 'OK', /every level holds/],
    ['tmpfs', 'rw', 'FAIL', /no level is safer than the level memory/],
    ['btrfs', 'rw,ssd', 'WARN', /copy-on-write/],
    ['zfs', 'rw,xattr', 'WARN', /copy-on-write/],
    ['overlay', 'rw,lowerdir=/a', 'WARN', /container/],
    ['nfs4', 'rw,vers=4.2,local_lock=none', 'WARN', /network/],
    ['fuse.sshfs', 'rw', 'WARN', /network/],
    ['vfat', 'rw', 'WARN', /no journal/],
    ['newfs', 'rw', 'WARN', /does not know newfs/],
    ['ext4', 'ro,relatime', 'FAIL', /read-only/],
    ['ext4', 'rw,relatime,nobarrier', 'FAIL', /no flush/],
    ['ext4', 'rw,barrier=0', 'FAIL', /no flush/],
    ['f2fs', 'rw,fsync_mode=nobarrier', 'FAIL', /no flush/],
    ['overlay', 'rw,volatile', 'FAIL', /a sync does nothing/],
    ['nfs', 'rw,nolock,vers=3', 'FAIL', /two writers/],
  ])('%s mounted with %s is %s', (fileSystem, options, verdict, found) => {
    expect(mount(fileSystem, options)).toMatchObject({ verdict, found: expect.stringMatching(found) })
  })

  test('is judged by its name if there is no mountinfo', () => {
    expect([judgeFileSystem('apfs').verdict, judgeFileSystem('unknown').verdict]).toEqual(['OK', 'WARN'])
  })
})

describe('the write cache', () => {
  const disk = (of: Partial<Disk>): Disk => ({
    name: 'sda',
    model: '',
    rotational: false,
    cache: 'write back',
    driveCache: '',
    scheduler: '',
    backingFile: '',
    logicalBlockBytes: 512,
    ...of,
  })

  test.each([
    ['write back', [disk({})], 'OK'],
    ['write through', [disk({ cache: 'write through' })], 'OK'],
    [
      'a cache that the kernel was configured to ignore',
      [disk({ cache: 'write through', driveCache: 'write back' })],
      'FAIL',
    ],
    ['memory', [disk({ name: 'zram0', cache: 'write through' })], 'FAIL'],
    ['a loop device', [disk({ name: 'loop0', backingFile: '/a.img' })], 'WARN'],
    ['a mapper over a disk', [disk({ name: 'dm-0' }), disk({})], 'OK'],
    ['a mapper over memory', [disk({ name: 'dm-0' }), disk({ name: 'zram0' })], 'FAIL'],
    ['no device', [], 'not checked here'],
  ])('of %s is judged', (_what, disks, verdict) => {
    expect(judgeWriteCache(disks).verdict).toBe(verdict)
  })
})

test.each([
  [{ writeUs: 2, syncUs: 0.6, quickSyncUs: 0.5 }, 'FAIL'],
  [{ writeUs: 2, syncUs: 30, quickSyncUs: 3 }, 'FAIL'],
  [{ writeUs: 2, syncUs: 40, quickSyncUs: 35 }, 'OK'],
  [{ writeUs: 2, syncUs: 25_000, quickSyncUs: 9000 }, 'WARN'],
])('a flush that takes %j is %s', (times, verdict) => {
  expect(judgeFlush(times).verdict).toBe(verdict)
})

describe('the limits', () => {
  const statFs = (of: object) => ({ type: 0, bsize: 4096, blocks: 0, bfree: 0, bavail: 0, files: 0, ffree: 0, ...of })
  const blocks = (mib: number): number => (mib * MIB) / 4096

  test.each([
    [100, 'FAIL'],
    [500, 'WARN'],
    [5000, 'OK'],
  ])('%d MiB of free space are %s', (mib, verdict) => {
    expect(judgeSpace(statFs({ bavail: blocks(mib), blocks: blocks(9000) })).verdict).toBe(verdict)
  })

  test.each([
    [0, 0, 'OK'],
    [100, 3, 'FAIL'],
    [5000, 100, 'WARN'],
    [50_000, 40_000, 'OK'],
  ])('of %d inodes, %d free ones are %s', (files, ffree, verdict) => {
    expect(judgeInodes(statFs({ files, ffree })).verdict).toBe(verdict)
  })

  test('are read from /proc/self/limits', () => {
    const limits = (files: string, bytes: string): string =>
      `Limit                     Soft Limit           Hard Limit           Units
Max file size             ${bytes}              unlimited            bytes
Max open files            ${files}                524288               files`
    expect(softLimit(limits('256', '1'), 'Max open files')).toBe(256)
    const verdicts = ['32', '256', '65536', 'unlimited'].map((files) => judgeDescriptors(limits(files, '1')).verdict)
    expect(verdicts).toEqual(['FAIL', 'WARN', 'OK', 'OK'])
    expect(['1048576', 'unlimited'].map((bytes) => judgeFileSize(limits('1', bytes)).verdict)).toEqual(['FAIL', 'OK'])
    expect([judgeDescriptors('').verdict, judgeFileSize('').verdict]).toEqual(['not checked here', 'not checked here'])
  })

  test.each([
    [undefined, 'OK'],
    ['8', 'OK'],
    ['1', 'WARN'],
    ['many', 'WARN'],
  ])('UV_THREADPOOL_SIZE %s is %s', (setting, verdict) => {
    expect(judgeThreads(setting).verdict).toBe(verdict)
  })
})

const NOW = Date.UTC(2027, 5, 1)

test.each([
  ['right', { beforeMs: NOW, nowMs: NOW, fileMs: NOW, newestMs: NOW - 1000 }, 'OK'],
  ['read late', { beforeMs: NOW - 6000, nowMs: NOW, fileMs: NOW - 5500, newestMs: undefined }, 'OK'],
  ['never set', { beforeMs: 0, nowMs: 0, fileMs: 0, newestMs: undefined }, 'WARN'],
  ['behind the newest record', { beforeMs: NOW, nowMs: NOW, fileMs: NOW, newestMs: NOW + 60_000 }, 'WARN'],
  ['behind a record of the largest time', { beforeMs: NOW, nowMs: NOW, fileMs: NOW, newestMs: 8.64e15 }, 'WARN'],
  ["not the file server's", { beforeMs: NOW, nowMs: NOW, fileMs: NOW + 60_000, newestMs: undefined }, 'WARN'],
])('a clock that is %s is judged', (_what, times, verdict) => {
  expect(judgeClock(times).verdict).toBe(verdict)
})

test('a finding gives the reason why a log could not use a feature', () => {
  const stats = (of: Partial<LogStats>): LogStats => ({ reason: 'a reason', ...of }) as LogStats
  expect([judgeDirect(stats({ mode: 'direct' }), 512).verdict, judgeDirect(stats({ mode: 'pwrite' }), 0)]).toEqual([
    'OK',
    expect.objectContaining({ verdict: 'WARN', found: 'a reason' }),
  ])
  expect([judgeLock('ERR_DURLOG_LOCKED').verdict, judgeLock('').verdict]).toEqual(['OK', 'FAIL'])
  expect(['fallocate', 'none'].map((preallocate) => judgeAllocation(stats({ preallocate })).verdict)).toEqual([
    'OK',
    'WARN',
  ])
  expect(judgeMap(stats({ mode: 'mmap' }), true).verdict).toBe('OK')
  expect(judgeMap(stats({ mode: 'mmap' }), false).verdict).toBe('FAIL')
  expect(judgeMap(stats({ mode: 'pwrite' }), false).verdict).toBe('not checked here')
})

test('a check that fails because the disk is full advises to make room', async () => {
  for (const [code, advice] of [
    ['ENOSPC', 'make room'],
    ['EIO', 'look'],
  ] as const) {
    const failing = () => Promise.reject(Object.assign(new Error('failed'), { code, errno: -constants.errno[code] }))
    expect(await guarded('flush', 'look', failing)).toEqual(fail('flush', `${code}: failed`, advice))
  }
})

test('the exit status corresponds to the worst line', () => {
  const [good, doubtful, bad, none] = [ok('a', ''), warn('b', '', ''), fail('c', '', ''), notChecked('d', '')]
  expect(
    [
      [good, none],
      [good, doubtful],
      [bad, doubtful],
    ].map((findings) => exitCodeOf(findings)),
  ).toEqual([0, 1, 2])
})

describe('durlog doctor', () => {
  const told = (stdout: Buffer): { tried: string; findings: Finding[] } => JSON.parse(stdout.toString())
  const EVERYWHERE = [
    'folder',
    'file system',
    'write cache',
    'flush',
    'direct I/O',
    'lock',
    'allocation',
    'map',
    'clock',
    'rename',
    'socket',
    'case',
  ]
  const LIMITS = ['free space', 'inodes', 'descriptors', 'file size', 'threads']

  test('leaves the folder unchanged, and exits with the status of its lines', async () => {
    const dir = scratchDir()
    const { code, stdout, stderr } = await durlogProcess(['doctor', dir, '--json'])
    const { findings } = told(stdout)
    expect(stderr).toBe('')
    expect(readdirSync(dir)).toEqual([])
    expect(findings.map(({ check }) => check).sort()).toEqual([...EVERYWHERE, ...LIMITS].sort())
    expect(code).toBe(exitCodeOf(findings))
    expect(findings.find(({ check }) => check === 'lock')).toMatchObject({ verdict: 'OK' })
  })

  test('prints one line for each check with its remedy if stdout is not a terminal', async () => {
    const { stdout } = await durlogProcess(['doctor', scratchDir()])
    const lines = stdout.toString().trimEnd().split('\n')
    expect(lines).toHaveLength(EVERYWHERE.length + LIMITS.length + 1)
    for (const line of lines.slice(0, -1)) expect(line).toMatch(/^(OK|WARN|FAIL|-) +[a-z]/)
    for (const line of lines.filter((line) => /^(WARN|FAIL)/.test(line))) expect(line).toContain('To do: ')
    expect(lines.at(-1)).toMatch(/^\d+ (OK|WARN|FAIL)/)
  })

  test('does not disturb a log that is open there, nor its followers', async () => {
    const log = await openUntilDone(join(scratchDir(), 'log'))
    await log.append('before')
    const follower = (await openUntilDone(log.dir, { readOnly: true })).read({ follow: true })
    expect((await follower.next()).value?.data.toString()).toBe('before')
    const files = readdirSync(log.dir)
    const { stdout } = await durlogProcess(['doctor', log.dir, '--json'])
    expect(told(stdout).findings).toContainEqual(
      ok('log', 'seq 0, of which only the last was read: "durlog verify DIR" reads every record'),
    )
    expect(readdirSync(log.dir)).toEqual(files)
    await log.append('after')
    expect((await follower.next()).value?.data.toString()).toBe('after')
    await follower.return()
    expect((await durlog(['verify', log.dir])).code).toBe(0)
  })

  test('a folder that does not exist is not created: the nearest existing parent is checked', async () => {
    const dir = scratchDir()
    const { stdout } = await durlogProcess(['doctor', join(dir, 'not/yet'), '--json'])
    expect(told(stdout)).toMatchObject({ dir: join(dir, 'not/yet'), tried: dir })
    expect(readdirSync(dir)).toEqual([])
  })

  test('a file in place of the folder is a FAIL', async () => {
    const file = join(scratchDir(), 'file')
    writeFileSync(file, 'x')
    const { code, stdout } = await durlogProcess(['doctor', file, '--json'])
    expect(code).toBe(2)
    expect(told(stdout).findings[0]).toMatchObject({ check: 'folder', verdict: 'FAIL' })
  })

  test('names the streams of a folder and of a backup', async () => {
    const { dir, streams } = await scratchStreams()
    for (const name of ['a', 'b']) await streams.stream(name).append(1)
    await streams.close()
    const copy = join(scratchDir(), 'copy')
    await durlog(['backup', dir, copy])
    for (const [folder, text] of [
      [dir, '2 streams at the last checkpoint'],
      [copy, 'a backup: 2 streams at the last checkpoint'],
    ] as const) {
      const { stdout } = await durlogProcess(['doctor', folder, '--json'])
      expect(told(stdout).findings).toContainEqual(ok('streams', text))
      expect(told(stdout).findings).toContainEqual(
        ok(
          'log',
          'that of the streams: seq 0 to 1, of which only the last was read: "durlog streams DIR verify" reads every record',
        ),
      )
    }
  })

  test('a log that is damaged is a FAIL', async () => {
    const log = await open(join(scratchDir(), 'log'))
    await log.append('a record')
    await log.append('another one')
    await log.close()
    const segment = join(log.dir, readdirSync(log.dir).find((name) => /^\d{20}/.test(name)) as string)
    const bytes = readFileSync(segment)
    bytes.writeUInt8(255, bytes.indexOf('another one'))
    writeFileSync(segment, bytes)
    const { code, stdout } = await durlogProcess(['doctor', log.dir, '--json'])
    expect([code, told(stdout).findings[1]]).toMatchObject([2, { check: 'log', verdict: 'FAIL' }])
  })

  test.each(['SIGINT', 'SIGKILL'] as const)('leaves no files if it is ended by %s during a check', async (signal) => {
    const dir = scratchDir()
    const child = startDurlog(['doctor', dir])
    // The helper process that removes the folder holds stderr open until it is done.
    const closed = new Promise((resolve) => child.on('close', resolve))
    while (readdirSync(dir).length === 0) await new Promise(setImmediate)
    child.kill(signal)
    await closed
    expect(child.signalCode).toBe(signal)
    expect(readdirSync(dir)).toEqual([])
  })

  const memory = '/dev/shm'
  const lacksMemory = process.platform !== 'linux' || !existsSync(memory)
  if (lacksMemory) process.stdout.write(`skipped: there is no tmpfs at ${memory}\n`)
  test.skipIf(lacksMemory)('memory in place of a disk is a FAIL, by its name and by its flush', async () => {
    const { code, stdout } = await durlogProcess(['doctor', memory, '--json'])
    expect(code).toBe(2)
    const failed = told(stdout).findings.filter(({ verdict }) => verdict === 'FAIL')
    expect(failed.map(({ check }) => check)).toEqual(['file system', 'flush'])
  })
})

test('a rename, a socket and the case of names are tried', async () => {
  const folder = scratchDir()
  expect(await tryRename(folder)).toMatchObject({ verdict: 'OK' })
  expect((await trySocket(folder)).verdict).not.toBe('FAIL')
  // The path of a socket is limited to about 100 bytes.
  const long = join(folder, 'x'.repeat(120))
  mkdirSync(long)
  if (process.platform === 'linux') expect(await trySocket(long)).toMatchObject({ verdict: 'OK' })
  expect(tryCase(folder)).toMatchObject({ verdict: 'OK' })
})
