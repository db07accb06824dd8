/** Full disks: at creation, at rotation and in the middle of appending, on each file system. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type DurlogError, type OpenOptions, open } from '../../src/index.js'
import { openStreams } from '../../src/streams/index.js'
import { type Disk, type DiskType, diskProblem, fillDisk, makeDisk } from '../fixtures/disk-image.js'
import { runChild } from '../fixtures/fault-shim.js'
import { codeOf, openUntilDone, scratchDir, texts } from '../fixtures/scratch.js'

const CHILD = fileURLToPath(new URL('full-disk-child.mjs', import.meta.url))
const MIB = 2 ** 20
const CASES: OpenOptions[] = [
  { strategy: 'auto' },
  { strategy: 'auto', durability: 'memory' },
  { strategy: 'mmap' },
  { strategy: 'mmap', durability: 'memory' },
  { strategy: 'pwrite' },
  { strategy: 'pwrite', durability: 'memory', preallocate: 'none' },
  { strategy: 'pwrite', preallocate: 'zero' },
  { strategy: 'direct', preallocate: 'none' },
  { strategy: 'direct', preallocate: 'zero' },
]

interface Told {
  refused: number
  afterwards: number
  failures: { code: string; outcome?: string }[]
  stored: string[]
  read: string[]
}

/** Checks that each refusal was for lack of space, the log holds exactly the acknowledged records, and appends work. */
async function expectRefusedAndKept(
  child: { code: unknown; stdout: string; stderr: string },
  dir: string,
): Promise<void> {
  expect({ code: child.code, stderr: child.stderr }).toEqual({ code: 0, stderr: '' })
  const told = JSON.parse(child.stdout) as Told
  expect(told.refused).toBeGreaterThan(0)
  for (const failure of told.failures) expect(failure).toEqual({ code: 'ERR_DURLOG_NO_SPACE', outcome: 'not-written' })
  expect(told.afterwards).toBe(0)
  expect(told.read).toEqual(told.stored)
  const log = await openUntilDone(dir, { readOnly: true })
  expect((await texts(log.read())).map((text) => text.split(' ')[0])).toEqual(told.stored)
}

const TYPES: readonly DiskType[] = ['tmpfs', 'ext4', 'xfs', 'btrfs']

describe.each(TYPES)('a full %s', (type) => {
  const problem = diskProblem(type)
  let made: { disk: Disk; remove: () => void } | undefined
  beforeAll(() => {
    if (problem === '') made = makeDisk(type)
    else process.stdout.write(`skipped: ${problem}\n`)
  })
  afterAll(() => made?.remove())
  let cases = 0

  test.skipIf(problem !== '').each(CASES)(
    '%j: refused appends leave nothing behind, the process lives, and appends work when there is room',
    async (options) => {
      const { dir: mounted } = (made as { disk: Disk }).disk
      const dir = join(mounted, `log-${cases++}`)
      fillDisk(mounted, 3.5 * MIB)
      const request = { dir, ballast: join(mounted, 'ballast'), options: { segmentBytes: MIB, ...options } }
      await expectRefusedAndKept(await runChild([process.execPath, CHILD, JSON.stringify(request)]), dir)
      const log = await open(dir, request.options)
      expect(log.recovery.state).toBe('clean')
      await log.close()
      rmSync(dir, { recursive: true })
    },
  )

  test.skipIf(problem !== '')(
    'a log is not created while there is no space for it, and is created once there is',
    async () => {
      const { dir: mounted } = (made as { disk: Disk }).disk
      const makeRoom = fillDisk(mounted, 65_536)
      const dir = join(mounted, 'new')
      const code = await codeOf(open(dir, { preallocate: 'zero', segmentBytes: 32 * MIB }))
      makeRoom()
      expect(code).toBe('ERR_DURLOG_NO_SPACE')
      const log = await openUntilDone(dir, { segmentBytes: MIB })
      expect(await log.append('there is room')).toBe(0)
    },
  )

  test.skipIf(problem !== '')('checkpoints of streams fail with ERR_DURLOG_NO_SPACE', async () => {
    const { dir: mounted } = (made as { disk: Disk }).disk
    const makeRoom = fillDisk(mounted, 3 * MIB)
    const streams = await openStreams(join(mounted, 'streams'), { exclusive: true, checkpointMs: 3_600_000 })
    onTestFinished(() => streams.close())
    const failures: DurlogError[] = []
    streams.on('checkpointFailed', (error) => failures.push(error))
    while (failures.length < 20) {
      const appended = streams.stream('s').append('x'.repeat(50_000))
      await Promise.allSettled([appended, streams.checkpoint()])
    }
    expect([...new Set(failures.map(({ code, errnoName }) => `${code} ${errnoName}`))]).toEqual([
      'ERR_DURLOG_NO_SPACE ENOSPC',
    ])
    for (const { message } of failures) expect(message).toMatch(/No space left on device: free some space/)
    makeRoom()
    await streams.stream('s').append('there is room')
    await streams.checkpoint()
  })
})

describe('a limit on the size of files', () => {
  const problem = process.platform === 'linux' ? '' : 'prlimit is for Linux'
  const LIMITED: OpenOptions[] = [
    { strategy: 'pwrite', preallocate: 'none' },
    { strategy: 'pwrite', preallocate: 'none', durability: 'memory' },
    { strategy: 'direct', preallocate: 'none' },
    { strategy: 'auto', preallocate: 'none' },
  ]

  test.skipIf(problem !== '').each(LIMITED)(
    '%j: acts as a full disk, and no signal ends the process',
    async (options) => {
      const dir = join(scratchDir(), 'log')
      const request = { dir, limit: true, options: { segmentBytes: MIB, ...options } }
      const command = ['prlimit', '--fsize=300000:unlimited', process.execPath, CHILD, JSON.stringify(request)]
      await expectRefusedAndKept(await runChild(command), dir)
    },
  )

  test.skipIf(problem !== '').each(['auto', 'mmap', 'pwrite', 'direct'])(
    'a log whose segments would exceed it is not created (%s)',
    async (strategy) => {
      const dir = join(scratchDir(), 'log')
      const request = { dir, limit: true, options: { segmentBytes: MIB, strategy, preallocate: 'zero' } }
      const command = ['prlimit', '--fsize=300000:unlimited', process.execPath, CHILD, JSON.stringify(request)]
      const child = await runChild(command)
      expect(child).toMatchObject({ code: 1, stderr: expect.stringContaining('ERR_DURLOG_NO_SPACE') })
    },
  )
})
