/** Single failing system calls and missing resources under a folder of streams. */
import { mkdtempSync, rmSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type Disk, diskProblem, makeDisk } from '../fixtures/disk-image.js'
import { runUnderShim, shimProblem } from '../fixtures/fault-shim.js'

const CHILD = new URL('streams-child.mjs', import.meta.url)
const { EFBIG, EIO, EMFILE, ENOSPC } = constants.errno
const CODES: Record<number, string[]> = {
  [EIO]: ['ERR_DURLOG_IO', 'ERR_DURLOG_LATCHED', 'ERR_DURLOG_SYNC_FAILED'],
  [EMFILE]: ['ERR_DURLOG_TOO_MANY_FILES'],
  [ENOSPC]: ['ERR_DURLOG_NO_SPACE'],
  [EFBIG]: ['ERR_DURLOG_NO_SPACE'],
}

interface Fault {
  phase: 'use' | 'close' | 'open'
  call: string
  errno: number
  /** With more than 32 streams, a checkpoint syncs the file system. */
  streams?: number
  /** The calls 1, 1 + step, 1 + 2 * step, … fail, one in each scenario. */
  step?: number
  most?: number
  /** How many calls fail. */
  times?: number
}

const LASTING = 1_000_000
const FAULTS: Fault[] = [
  { phase: 'use', call: 'syncfs', errno: EIO, streams: 40 },
  { phase: 'use', call: 'fdatasync', errno: EIO, step: 19 },
  { phase: 'use', call: 'fsync', errno: EIO },
  { phase: 'use', call: 'msync', errno: EIO },
  { phase: 'use', call: 'folder sync', errno: EIO, step: 4 },
  { phase: 'use', call: 'pwrite', errno: EIO, step: 13 },
  { phase: 'use', call: 'direct write', errno: EIO, step: 11 },
  { phase: 'use', call: 'rename', errno: EIO },
  { phase: 'use', call: 'unlink', errno: EIO, step: 4 },
  { phase: 'use', call: 'confirmation', errno: EIO, step: 27 },
  { phase: 'use', call: 'folder confirmation', errno: EIO },
  { phase: 'use', call: 'open', errno: EIO, step: 37 },
  { phase: 'use', call: 'read', errno: EIO, step: 6 },
  { phase: 'use', call: 'open', errno: EMFILE, step: 41 },
  { phase: 'use', call: 'open', errno: EMFILE, step: 38, times: LASTING },
  { phase: 'use', call: 'fallocate', errno: ENOSPC },
  { phase: 'use', call: 'pwrite', errno: ENOSPC, step: 14 },
  { phase: 'use', call: 'direct write', errno: ENOSPC, step: 10 },
  { phase: 'use', call: 'direct write', errno: ENOSPC, step: 13, times: LASTING },
  { phase: 'use', call: 'disk space', errno: ENOSPC },
  { phase: 'use', call: 'disk space', errno: ENOSPC, streams: 40 },
  { phase: 'use', call: 'file size', errno: EFBIG },
  { phase: 'close', call: 'fdatasync', errno: EIO, step: 2 },
  { phase: 'close', call: 'msync', errno: EIO },
  { phase: 'close', call: 'direct write', errno: EIO },
  { phase: 'close', call: 'confirmation', errno: EIO, step: 3 },
  { phase: 'close', call: 'open', errno: EMFILE, step: 3 },
  { phase: 'close', call: 'disk space', errno: ENOSPC },
  { phase: 'open', call: 'open', errno: EMFILE, step: 31 },
  { phase: 'open', call: 'read', errno: EIO, step: 13 },
  { phase: 'open', call: 'fdatasync', errno: EIO, step: 3 },
  { phase: 'open', call: 'folder sync', errno: EIO },
  { phase: 'open', call: 'confirmation', errno: EIO, step: 4 },
  { phase: 'open', call: 'disk space', errno: ENOSPC },
]

const problem = shimProblem() || diskProblem('ext4')

describe.skipIf(problem !== '')(`a folder of streams${problem && ` (skipped: ${problem})`}`, () => {
  let made: { disk: Disk; remove: () => void } | undefined
  beforeAll(() => {
    made = makeDisk('ext4', { imageInMemory: true })
  })
  afterAll(() => made?.remove())

  test.each(FAULTS)('%j: no acknowledged record is lost, and the folder works again', async (fault) => {
    const folder = mkdtempSync(join((made as { disk: Disk }).disk.dir, 'fault-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const request = { folder, streams: 8, step: 1, most: 3, times: 1, ...fault }
    const { code, stdout, stderr } = await runUnderShim(CHILD, folder, request)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const { scenarios, codes, violations } = JSON.parse(stdout) as {
      scenarios: number
      codes: string[]
      violations: string[]
    }
    expect(violations).toEqual([])
    expect(scenarios).toBeGreaterThan(0)
    expect(CODES[fault.errno]).toEqual(expect.arrayContaining(codes))
  })
})
