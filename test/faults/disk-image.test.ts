/** The disks that the other tests here break. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { diskProblem, makeDisk, runTool } from '../fixtures/disk-image.js'

test.for(['ext4', 'xfs'] as const)(
  'a copy of %s is mounted while the namespace of another process holds the original',
  async (type, { skip }) => {
    skip(diskProblem(type) !== '', diskProblem(type))
    const { disk, remove } = makeDisk(type)
    onTestFinished(remove)
    writeFileSync(join(disk.dir, 'file'), 'kept')
    runTool('sync', '-f', disk.dir)
    // `unshare` copies all mounts; a file system that is unmounted here stays mounted there.
    const holder = spawn('unshare', ['--mount', 'sh', '-c', 'echo ready; read line'], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    onTestFinished(() => void holder.kill('SIGKILL'))
    await once(holder.stdout, 'data')
    disk.unmount()
    disk.mountCopy()
    expect(readFileSync(join(disk.dir, 'file'), 'utf8')).toBe('kept')
    writeFileSync(join(disk.dir, 'file'), 'written')
  },
)
