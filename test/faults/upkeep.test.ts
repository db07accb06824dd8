/**
 * Trims and cursors whose system calls fail: the failure table of docs/DURABILITY.md, without appends and rotations.
 */
import { constants } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type OpenOptions, verify } from '../../src/index.js'
import { runUnderShim, shimProblem } from '../fixtures/fault-shim.js'
import { overwritesInPlace } from '../fixtures/file-system.js'
import { scratchDir } from '../fixtures/scratch.js'

const { EIO, EROFS, EMFILE, ENOSPC, EDQUOT } = constants.errno
const CHILD = new URL('upkeep-child.mjs', import.meta.url)
const WRITERS: [name: string, options: OpenOptions][] = [
  ['mapped', { strategy: 'mmap' }],
  ['staged', { strategy: 'pwrite' }],
  ['direct', { strategy: 'direct' }],
  ...(overwritesInPlace ? [['shared', { shared: true }] as [string, OpenOptions]] : []),
]
const problem = shimProblem()

const combine = <T>(rows: readonly T[]): (readonly [string, OpenOptions, T])[] =>
  WRITERS.flatMap(([name, options]) => rows.map((row) => [name, options, row] as const))

interface Fault {
  call: string
  errno: number
  times?: number
}

interface Told {
  outcome: string
  fired: number
  again: string
  append: string
  close: string
  left?: number[]
  first?: number
  position?: number
  afterwards?: string
}

/** Runs one step in a child that must end by itself and leave a clean log. `append`: the outcome of a later append. */
async function meet(step: string, options: OpenOptions, fault: Fault, append = 'done'): Promise<Told> {
  const folder = scratchDir()
  const dir = join(folder, 'log')
  const request = { dir, step, fault, options: { segmentBytes: 65_536, ...options } }
  const { code, stdout, stderr } = await runUnderShim(CHILD, folder, request)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect((await verify(dir)).state).toBe('clean')
  const told = JSON.parse(stdout) as Told
  expect(told).toMatchObject({ append, close: 'done' })
  if (told.outcome !== 'done') expect(told.fired).toBeGreaterThan(0)
  return told
}

// A segment that is being prepared meets the faults of writes too, which is why there are several.
describe.skipIf(problem !== '')(`a system call of upkeep that fails${problem && ` (skipped: ${problem})`}`, () => {
  test.each(
    combine([
      [{ call: 'unlink', errno: EIO }, 'ERR_DURLOG_IO EIO'],
      [{ call: 'unlink', errno: EROFS }, 'ERR_DURLOG_IO EROFS'],
    ] as const),
  )(
    '%s %j: a trim that meets %j rejects, keeps every record from its seq on, and works the next time',
    async (...row) => {
      const [, options, [fault, outcome]] = row
      const told = await meet('trim', options, fault)
      expect(told).toMatchObject({ outcome, again: 'done' })
      const left = told.left as number[]
      expect(left).toEqual(Array.from({ length: left.length }, (_, i) => 40 - left.length + i))
      expect(left[0]).toBeLessThanOrEqual(30)
      expect(told.first).toBeGreaterThan(0)
    },
  )

  // A commit that begins a segment syncs the folder too, and the system reports a failure only once.
  test.each(WRITERS)('%s %j: a trim whose sync of the folder fails latches the log', async (_name, options) => {
    const told = await meet('trim', options, { call: 'folder sync', errno: EIO }, 'ERR_DURLOG_LATCHED')
    expect(told).toMatchObject({ outcome: 'ERR_DURLOG_SYNC_FAILED EIO', fired: 1 })
    expect(told.left?.at(-1)).toBe(39)
  })

  test.each(
    combine([
      [{ call: 'pwrite', errno: ENOSPC, times: 100 }, 'ERR_DURLOG_NO_SPACE ENOSPC'],
      [{ call: 'pwrite', errno: EDQUOT, times: 100 }, 'ERR_DURLOG_NO_SPACE EDQUOT'],
      [{ call: 'pwrite', errno: EIO, times: 100 }, 'ERR_DURLOG_IO EIO'],
      [{ call: 'pwrite', errno: EROFS, times: 100 }, 'ERR_DURLOG_IO EROFS'],
      [{ call: 'fsync', errno: EIO }, 'ERR_DURLOG_IO EIO'],
      [{ call: 'open', errno: EMFILE }, 'ERR_DURLOG_TOO_MANY_FILES EMFILE'],
    ] as const),
  )('%s %j: a cursor whose creation meets %j is refused, and is created the next time', async (...row) => {
    const [, options, [fault, outcome]] = row
    expect(await meet('createCursor', options, fault)).toMatchObject({ outcome, again: 'done' })
  })

  test.each(WRITERS)('%s %j: a trim without a descriptor succeeds, except in a shared log', async (name, options) => {
    const told = await meet('trim', options, { call: 'open', errno: EMFILE, times: 100 })
    const outcome = name === 'shared' ? 'ERR_DURLOG_TOO_MANY_FILES EMFILE' : 'done'
    expect(told).toMatchObject({ outcome, again: 'done' })
  })

  test.each(WRITERS)('%s %j: a commit without a descriptor succeeds', async (_name, options) => {
    const told = await meet('commit', options, { call: 'open', errno: EMFILE, times: 100 })
    expect(told).toMatchObject({ outcome: 'done', again: 'done', position: 12, afterwards: 'done' })
  })

  test.each(WRITERS)(
    '%s %j: a commit whose sync fails latches the cursor at its position, not the log',
    async (...row) => {
      const told = await meet('commit', row[1], { call: overwritesInPlace ? 'msync' : 'fdatasync', errno: EIO })
      expect(told).toMatchObject({
        outcome: 'ERR_DURLOG_SYNC_FAILED EIO',
        again: 'ERR_DURLOG_LATCHED',
        afterwards: 'done',
      })
      // The position after record 5, which was synced, or after record 10, which is in the page cache.
      expect([6, 11]).toContain(told.position)
    },
  )
})
