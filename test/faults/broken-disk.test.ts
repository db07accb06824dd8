/** Disks that break under an open log: truncated, read-only, shut down, failing to read and write. */
import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type OpenOptions, open, type Strategy } from '../../src/index.js'
import { type Disk, type DiskType, diskProblem, makeDisk, runTool } from '../fixtures/disk-image.js'
import { runChild } from '../fixtures/fault-shim.js'
import { codeOf, openUntilDone, scratchDir, texts } from '../fixtures/scratch.js'
import { stopProcess } from '../fixtures/stop-process.mjs'

const CHILD = fileURLToPath(new URL('broken-disk-child.mjs', import.meta.url))
const STRATEGIES: readonly Strategy[] = ['auto', 'mmap', 'pwrite', 'direct']
const SEGMENT_BYTES = 64 * 2 ** 20

interface Told {
  acked: string[]
  failures: { code: string; outcome?: string; errno?: number }[]
  latched: string[]
  later: string
  readable: string
  close: string
  /** How many of `acked` were reported before the fault. */
  ackedBefore: number
}

/**
 * A child appends until `fault` is injected, and reports the result. It must end by itself. If `pauses` is true, it
 * appends nothing during `fault`.
 */
async function breakUnder(
  dir: string,
  options: OpenOptions,
  fault: (child: ChildProcess) => void,
  pauses = false,
): Promise<Told> {
  const request = JSON.stringify({ dir, options: { segmentBytes: SEGMENT_BYTES, ...options }, pauses })
  const child = spawn(process.execPath, [CHILD, request], { stdio: ['pipe', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const ended = new Promise<unknown>((resolve) => child.on('close', (code, signal) => resolve(signal ?? code)))
  let told: Omit<Told, 'ackedBefore'> | undefined
  let ackedBefore = 0
  for await (const line of createInterface({ input: child.stdout })) {
    if (!line.startsWith('acked ')) told = JSON.parse(line)
    else if (ackedBefore === 0) {
      ackedBefore = Number(line.slice(6))
      fault(child)
      if (pauses) child.stdin.end('go on')
    }
  }
  expect(await ended).toBe(0)
  return { ...(told as Told), ackedBefore }
}

function expectLatched(told: Told): void {
  expect(told.failures.length).toBeGreaterThan(0)
  for (const failure of told.failures) expect(failure.code).toMatch(/^ERR_DURLOG_(SYNC_FAILED|LATCHED)$/)
  expect(told.failures[0]?.code).toBe('ERR_DURLOG_SYNC_FAILED')
  expect(told.later).toBe('ERR_DURLOG_LATCHED')
  expect(told.latched).toEqual(['ERR_DURLOG_SYNC_FAILED'])
}

/** The log holds every acknowledged record, and takes more. */
async function expectKept(dir: string, acked: readonly string[]): Promise<void> {
  const log = await openUntilDone(dir)
  const left = (await texts(log.read())).map((text) => text.split(' ')[0])
  expect(left.slice(0, acked.length)).toEqual(acked)
  expect(await log.append('goes on')).toBe(left.length)
  await log.close()
}

function mountedDisk(type: DiskType): Disk {
  const { disk, remove } = makeDisk(type)
  onTestFinished(remove)
  return disk
}

function newestSegmentOf(dir: string): string {
  const segments = readdirSync(dir).filter((name) => /^\d{20}\.seg$/.test(name))
  return join(dir, segments.sort().at(-1) as string)
}

describe('a segment that another process truncates under the map', () => {
  test.skipIf(process.platform !== 'linux').each(['memory', 'sync'] as const)(
    'ends in an error and a latched log, never in SIGBUS (%s)',
    async (durability) => {
      const dir = join(scratchDir(), 'log')
      // During an append, the newest segment could be full, or named and not yet in use.
      const truncate = () => truncateSync(newestSegmentOf(dir), 65_536)
      const told = await breakUnder(dir, { strategy: 'mmap', durability }, truncate, true)
      expectLatched(told)
      expect(told.readable).toBe('none')
      expect(told.close).toBe('none')
      // The bytes cut by the other process are gone; the bytes before them are still a valid log.
      expect(statSync(newestSegmentOf(dir)).size).toBeGreaterThanOrEqual(65_536)
      const log = await openUntilDone(dir, { recovery: 'salvage' })
      const left = (await texts(log.read({ salvage: true }))).map((text) => text.split(' ')[0])
      expect(left.length).toBeGreaterThan(5)
      expect(left.slice(0, 5)).toEqual(told.acked.slice(0, 5))
    },
  )
})

const IMAGES: readonly DiskType[] = ['ext4', 'xfs']
const ON_IMAGES = IMAGES.flatMap((type) => STRATEGIES.map((strategy) => [type, strategy] as const))

describe('a disk remounted read-only', () => {
  test('appends are refused with a code, reading works, and appends work when the disk is writable again', async ({
    skip,
  }) => {
    skip(diskProblem('ext4') !== '', diskProblem('ext4'))
    const disk = mountedDisk('ext4')
    const dir = join(disk.dir, 'log')
    const log = await open(dir, { segmentBytes: 2 ** 20 })
    for (let i = 0; i < 20; i++) await log.append(`${i}`)
    await log.close()
    runTool('mount', '-o', 'remount,ro', disk.dir)
    const refused = await open(dir).catch((error: unknown) => error)
    expect(refused).toMatchObject({ code: 'ERR_DURLOG_IO', errno: 30 })
    expect(await codeOf(open(join(disk.dir, 'another')))).toBe('ERR_DURLOG_IO')
    const reader = await openUntilDone(dir, { readOnly: true })
    expect(await texts(reader.read())).toHaveLength(20)
    runTool('mount', '-o', 'remount,rw', disk.dir)
    await expectKept(
      dir,
      Array.from({ length: 20 }, (_, i) => `${i}`),
    )
  })
})

// FS_IOC_SHUTDOWN with FSOP_GOING_FLAGS_NOLOGFLUSH: the nearest to a power cut that a file system offers.
const SHUT_DOWN = `
import fcntl, os, struct, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
fcntl.ioctl(fd, 0x8004587d, struct.pack("I", 2))`

describe('a file system that shuts down in the middle of appending', () => {
  test.for(ON_IMAGES)(
    '%s, %s: the log is latched, and synced records are there after mounting again',
    async ([type, strategy], { skip }) => {
      skip(diskProblem(type) !== '', diskProblem(type))
      const disk = mountedDisk(type)
      const dir = join(disk.dir, 'log')
      const told = await breakUnder(dir, { strategy, segmentBytes: 2 ** 20 }, () => {
        runTool('python3', '-c', SHUT_DOWN, disk.dir)
      })
      expectLatched(told)
      disk.unmount()
      disk.mountCopy()
      // A sync that is in flight when ext4 or XFS is shut down can return 0 although its extents stay unwritten. Its
      // records must not be acknowledged.
      expect(told.ackedBefore).toBeGreaterThanOrEqual(40)
      await expectKept(dir, told.acked)
    },
  )
})

describe('a device that fails', () => {
  test.for(ON_IMAGES)(
    '%s, %s: EIO latches the log, and acknowledged records are there once the device works again',
    async ([type, strategy], { skip }) => {
      skip(diskProblem(type) !== '', diskProblem(type))
      const disk = mountedDisk(type)
      const dir = join(disk.dir, 'log')
      const kept = `${disk.image}-kept`
      const told = await breakUnder(dir, { strategy, segmentBytes: 2 ** 20 }, (child) => {
        // No append is acknowledged while the image is replaced; after that the whole device is beyond its end.
        stopProcess(child)
        runTool('sync', '-f', disk.dir)
        runTool('cp', '--sparse=always', disk.image, kept)
        truncateSync(disk.image, 0)
        runTool('losetup', '--set-capacity', runTool('findmnt', '-no', 'SOURCE', disk.dir).trim())
        child.kill('SIGCONT')
      })
      expectLatched(told)
      disk.unmount()
      disk.mountCopy(kept)
      await expectKept(dir, told.acked)
    },
  )
})

describe('a folder that may not be written', () => {
  const NOBODY = 65_534
  const root = process.getuid?.() === 0
  test.skipIf(process.platform === 'win32')(
    "open is refused with the system's error, and creates no files",
    async () => {
      const folder = scratchDir()
      runTool('chmod', '555', folder)
      const script = `
      import { open } from ${JSON.stringify(new URL('../../dist/index.js', import.meta.url).href)}
      try { await open(process.argv[1]); console.log('opened') } catch (error) { console.log(error.code, error.errno) }`
      const command = [process.execPath, '--input-type=module', '-e', script]
      const identity = root ? { uid: NOBODY, gid: NOBODY } : {}
      const made = await runChild([...command, join(folder, 'log')], {}, identity)
      expect(made).toMatchObject({ stdout: 'ERR_DURLOG_IO 13\n', code: 0 })
      expect((await runChild([...command, folder], {}, identity)).stdout).toBe('ERR_DURLOG_IO 13\n')
      runTool('chmod', '755', folder)
      expect(readdirSync(folder)).toEqual([])
    },
  )
})
