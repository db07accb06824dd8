/** The writeback of a stream's file fails once, on each file system, and the user follows the error's advice. */
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openStreams } from '../../src/streams/index.js'
import { type DiskType, diskProblem, runTool } from '../fixtures/disk-image.js'
import { makeFailingDisk } from '../fixtures/failing-disk.js'
import { scratchDir } from '../fixtures/scratch.js'
import { values } from '../fixtures/streams.js'

const TYPES: Exclude<DiskType, 'tmpfs'>[] = ['ext4', 'xfs', 'btrfs']
const ALL = process.env['DURLOG_WRITEBACKS'] === 'all'

describe.each(TYPES)('%s', (type) => {
  const problem = diskProblem(type)
  // The second line begins with a new block, because a loop device reports a write that fails in its middle as done. On
  // Btrfs every line gets a new block, unless the file remains below 2 KiB and thus within its inode.
  const fullPages = 8 * 4096 - '""\n'.length
  const bases = type === 'btrfs' ? [20, 900, fullPages] : [fullPages]
  const every = bases.flatMap((base) => [400, 2500, 20_000].map((line) => [base, line] as const))
  const cases = ALL ? every.filter(([base, line]) => base + line > 2048) : every.slice(2, 3)

  test.skipIf(problem !== '').each(cases)(
    `after a line of %s bytes, a line of %s bytes whose write failed is on the device after close, open and checkpoint${problem && ` (skipped: ${problem})`}`,
    async (base, line) => {
      const disk = makeFailingDisk(type)
      onTestFinished(disk.remove)
      const dir = join(scratchDir(), 'streams')
      const open = () => openStreams<string>(dir, { exclusive: true, checkpointMs: 3_600_000 })
      await (await open()).close()
      // The log is on another disk, so that only the files of streams fail.
      const files = join(dir, 'streams')
      const unmounted = (change: () => void): void => {
        runTool('umount', files)
        change()
        runTool('mount', '--bind', disk.dir, files)
      }
      runTool('mount', '--bind', disk.dir, files)
      onTestFinished(() => void runTool('umount', '--lazy', files))

      let streams = await open()
      await streams.stream('s').append('b'.repeat(base))
      await streams.checkpoint()
      await streams.close()
      unmounted(disk.failWritesOfFreeBlocks)
      streams = await open()
      await streams.stream('s').append('l'.repeat(line))
      await expect(streams.checkpoint()).rejects.toMatchObject({ name: 'DurlogError' })
      await streams.close().catch(() => {})
      disk.heal()

      streams = await open()
      await streams.stream('s').append('after')
      await streams.checkpoint()
      await streams.close()
      unmounted(disk.remount)
      streams = await open()
      expect(await values(streams.stream('s').read())).toEqual(['b'.repeat(base), 'l'.repeat(line), 'after'])
      expect(streams.changes).toEqual([])
      await streams.close()
    },
  )
})
