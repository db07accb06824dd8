/** Single system calls that fail under an open log: the outcome of each append, and the records in the log. */
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type Durability, type OpenOptions, open, type Strategy } from '../../src/index.js'
import { runUnderShim, shimProblem } from '../fixtures/fault-shim.js'
import { isScratchOn, overwritesInPlace } from '../fixtures/file-system.js'
import { scratchDir, texts } from '../fixtures/scratch.js'

const { EIO, EMFILE, ENOSPC, EDQUOT, EFBIG, EROFS } = constants.errno
const SCENARIO = new URL('scenario.mjs', import.meta.url)

interface Fault {
  call: string
  errno: number
  nth?: number
  times?: number
  partial?: boolean
}

interface Fate {
  text: string
  seq?: number
  code?: string
  outcome?: string
  syscall?: string
  path?: string
}

interface Told {
  early: Fate[]
  fates: Fate[]
  fired: number
  later: string
  laterWrite: string
  laterSync: string
  sync: string
  read: string[]
  nextSeq: number
  latched: string[]
  close: string
}

interface Request {
  options: OpenOptions
  fault: Fault
  payloadBytes?: number
  batches?: boolean
  groups?: number
  /** Appends until an append is refused, not only until the fault has struck. */
  untilRefused?: boolean
  closeFault?: Fault
}

const SEGMENT_BYTES = 262_144

/** Runs the scenario in a child that must run to its end, and inspects the log that it leaves. */
async function meet(request: Request): Promise<{ told: Told; left: string[] }> {
  const folder = scratchDir()
  const dir = join(folder, 'log')
  const options = { segmentBytes: SEGMENT_BYTES, maxRecordBytes: 131_072, ...request.options }
  const { code, stdout, stderr } = await runUnderShim(SCENARIO, folder, {
    payloadBytes: 2000,
    ...request,
    dir,
    options,
  })
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const told = JSON.parse(stdout) as Told
  const log = await open(dir, options)
  try {
    const left = (await texts(log.read())).map((text) => text.split(' ')[0] as string)
    expect(await log.append('goes on')).toBe(left.length)
    return { told, left }
  } finally {
    await log.close()
  }
}

/** Checks that acknowledged records are in the log, in order, and records reported as not written are not. */
function expectKept({ told, left }: { told: Told; left: string[] }): void {
  const acked = [...told.early, ...told.fates].filter(({ seq }) => seq !== undefined)
  for (const { text, seq } of acked) expect({ text: left[seq as number], seq }).toEqual({ text, seq })
  const absent = told.fates.filter(({ code, outcome }) => outcome === 'not-written' || code === 'ERR_DURLOG_LATCHED')
  for (const { text } of absent) expect(left).not.toContain(text)
  expect(new Set(left).size).toBe(left.length)
  // A spare has become a segment or was removed: no error names it.
  for (const { path } of told.fates) expect(path ?? '').not.toContain('spare-')
}

type Writer = Strategy | 'shared'
type Case = [writer: Writer, durability: Durability, call: string]

function optionsOf(writer: Writer): OpenOptions {
  return writer === 'shared' ? { shared: true } : { strategy: writer }
}

/** Whether the writer makes the call here. Without overwriting in place, `auto` writes through the cache. */
function occurs(writer: Writer, call: string): boolean {
  if (overwritesInPlace) return true
  return writer !== 'shared' && !/msync|fallocate/.test(call) && !(writer === 'auto' && call === 'direct write')
}

/** The calls that bring a record to the device under each strategy, and its file's name. */
const LATCHING: Case[] = [
  ['mmap', 'sync', 'msync'],
  ['mmap', 'sync', 'fsync'], // of a sealed segment
  ['mmap', 'full', 'fsync'],
  ['mmap', 'sync', 'folder sync'],
  ['mmap', 'sync', 'rename'],
  ['pwrite', 'sync', 'fdatasync'],
  ['pwrite', 'sync', 'pwrite'],
  ['pwrite', 'memory', 'pwrite'],
  ['pwrite', 'full', 'fsync'],
  ['pwrite', 'sync', 'folder sync'],
  ['pwrite', 'sync', 'rename'],
  ['direct', 'sync', 'direct write'],
  ['direct', 'full', 'fsync'],
  ['direct', 'sync', 'folder sync'],
  ['direct', 'sync', 'rename'],
  ['auto', 'sync', 'direct write'],
  ['auto', 'sync', 'folder sync'],
  ['shared', 'sync', 'msync'],
  ['shared', 'sync', 'fsync'], // of a sealed segment
  ['shared', 'full', 'fsync'],
  ['shared', 'sync', 'folder sync'],
]

/** A call that follows a successful sync on ext4 and XFS: see platform/sync_linux.cc. */
const CONFIRMED: Case[] = [
  ['mmap', 'sync', 'confirmation'],
  ['pwrite', 'sync', 'confirmation'],
  ['pwrite', 'full', 'confirmation'],
  ['pwrite', 'sync', 'folder confirmation'],
  ['direct', 'sync', 'confirmation'],
  ['direct', 'sync', 'folder confirmation'],
  ['auto', 'sync', 'confirmation'],
]
const confirms = isScratchOn('ext4', 'xfs', 'overlay')
if (!confirms) console.log(`skipped: no sync is confirmed on the file system of ${tmpdir()}, which is not ext4 or XFS`)

/** A segment that can't be prepared in the background holds no record yet: another one is prepared. */
const UNHARMED: [strategy: Strategy, call: string][] = [
  ['mmap', 'fallocate'],
  ['mmap', 'spare fsync'],
  ['pwrite', 'fallocate'],
  ['pwrite', 'spare fsync'],
  ['direct', 'fallocate'],
  ['direct', 'spare fsync'],
  ['direct', 'pwrite'],
]

const ROOMLESS: [strategy: Strategy, durability: Durability, fault: Fault][] = [
  ['pwrite', 'sync', { call: 'pwrite', errno: ENOSPC }],
  ['pwrite', 'sync', { call: 'pwrite', errno: EDQUOT }],
  ['pwrite', 'sync', { call: 'pwrite', errno: EFBIG }],
  ['pwrite', 'memory', { call: 'pwrite', errno: ENOSPC }],
  ['pwrite', 'sync', { call: 'pwrite', errno: ENOSPC, times: 2, partial: true }],
  ['pwrite', 'full', { call: 'pwrite', errno: ENOSPC, nth: 2 }],
  ['direct', 'sync', { call: 'direct write', errno: ENOSPC }],
  ['direct', 'sync', { call: 'direct write', errno: EDQUOT }],
  ['direct', 'sync', { call: 'direct write', errno: EFBIG }],
  ['direct', 'sync', { call: 'direct write', errno: ENOSPC, times: 2, partial: true }],
  ['auto', 'sync', { call: 'direct write', errno: ENOSPC, nth: 4 }],
]

/** Faults that last until an append needs the next segment. */
const SPARELESS: readonly [call: string, errno: number, code: string][] = [
  ['spare fallocate', ENOSPC, 'ERR_DURLOG_NO_SPACE'],
  ['spare fallocate', EDQUOT, 'ERR_DURLOG_NO_SPACE'],
  ['spare fallocate', EFBIG, 'ERR_DURLOG_NO_SPACE'],
  ['spare fallocate', EROFS, 'ERR_DURLOG_IO'],
  ['spare fallocate', EIO, 'ERR_DURLOG_IO'],
  ['spare fsync', EIO, 'ERR_DURLOG_IO'],
  ['spare fsync', ENOSPC, 'ERR_DURLOG_NO_SPACE'],
  ['open', EMFILE, 'ERR_DURLOG_TOO_MANY_FILES'],
]
const REFUSING: [writer: Writer, call: string, errno: number, code: string][] = [
  ...(['mmap', 'pwrite', 'direct', 'shared'] as const).flatMap((writer) =>
    SPARELESS.map((row): [Writer, ...(typeof SPARELESS)[number]] => [writer, ...row]),
  ),
  ['shared', 'rename', EIO, 'ERR_DURLOG_IO'],
]

const problem = shimProblem()

describe.skipIf(problem !== '')(`a system call that fails${problem && ` (skipped: ${problem})`}`, () => {
  const latching = confirms ? [...LATCHING, ...CONFIRMED] : LATCHING
  test.each(latching.filter(([writer, , call]) => occurs(writer, call)))(
    '%s at %s: after EIO on %s the log is latched, every append settles, and reading works',
    async (writer, durability, call) => {
      const met = await meet({ options: { ...optionsOf(writer), durability }, fault: { call, errno: EIO } })
      const { told } = met
      expect(told.fired).toBe(1)
      const failed = told.fates.filter(({ code }) => code !== undefined)
      expect(failed.length).toBeGreaterThan(0)
      expect(failed[0]).toMatchObject({ code: 'ERR_DURLOG_SYNC_FAILED' })
      for (const fate of failed) {
        if (fate.code === 'ERR_DURLOG_LATCHED') continue
        expect(fate).toMatchObject({
          code: 'ERR_DURLOG_SYNC_FAILED',
          outcome: expect.stringMatching(/^(unknown|not-written)$/),
        })
      }
      expect([told.later, told.laterWrite, told.laterSync, told.sync]).toEqual(Array(4).fill('ERR_DURLOG_LATCHED'))
      expect(told.latched).toEqual(['ERR_DURLOG_SYNC_FAILED'])
      expect(told.close).toBe('none')
      for (const { text } of told.early) expect(told.read).toContain(text)
      expectKept(met)
    },
  )

  test.each(UNHARMED.filter(([strategy, call]) => occurs(strategy, call)))(
    '%s: EIO on the %s of a segment that is being prepared fails no append',
    async (strategy, call) => {
      const met = await meet({ options: { strategy }, fault: { call, errno: EIO } })
      expect(met.told).toMatchObject({ fired: 1, latched: [], later: 'none', close: 'none' })
      expect(met.told.fates.filter(({ seq }) => seq === undefined)).toEqual([])
      expectKept(met)
    },
  )

  test.each(ROOMLESS.filter(([strategy, , { call }]) => occurs(strategy, call)))(
    '%s at %s: %j rejects with ERR_DURLOG_NO_SPACE and leaves nothing behind',
    async (strategy, durability, fault) => {
      const met = await meet({ options: { strategy, durability }, fault })
      const { told } = met
      expect(told.fired).toBe(fault.times ?? 1)
      const failed = told.fates.filter(({ seq }) => seq === undefined)
      expect(failed.length).toBeGreaterThan(0)
      for (const fate of failed) expect(fate).toMatchObject({ code: 'ERR_DURLOG_NO_SPACE', outcome: 'not-written' })
      expect([told.later, told.laterWrite, told.laterSync, told.sync]).toEqual(Array(4).fill('none'))
      expect(told.latched).toEqual([])
      expectKept(met)
      expect(met.left).toEqual(told.read)
    },
  )

  test.each(REFUSING.filter(([writer, call]) => occurs(writer, call)))(
    '%s: if %s fails with errno %i in a rotation, the append is refused with %s and a later one works',
    async (writer, call, errno, code) => {
      const fault = { call, errno, times: 1_000_000 }
      const met = await meet({ options: optionsOf(writer), fault, untilRefused: true })
      const { told } = met
      const failed = told.fates.filter(({ seq }) => seq === undefined)
      expect(failed.length).toBeGreaterThan(0)
      for (const fate of failed) expect(fate).toMatchObject({ code, outcome: 'not-written' })
      expect([told.later, told.laterWrite, told.laterSync, told.sync]).toEqual(Array(4).fill('none'))
      expect(told.latched).toEqual([])
      expectKept(met)
      expect(met.left).toEqual(told.read)
    },
  )

  test.each([
    ['mmap', 'fdatasync'],
    ['pwrite', 'fdatasync'],
  ] as const)('%s: close rejects where its own %s fails, and lets go of the log', async (strategy, call) => {
    const met = await meet({
      options: { strategy, durability: 'memory' },
      fault: { call: 'none', errno: 0 },
      groups: 0,
      closeFault: { call, errno: EIO },
    })
    expect(met.told).toMatchObject({ later: 'none', close: 'ERR_DURLOG_SYNC_FAILED' })
  })

  test('a full disk that only the sync reports latches the log, as any failed sync does', async () => {
    const met = await meet({ options: { strategy: 'pwrite' }, fault: { call: 'fdatasync', errno: ENOSPC } })
    expect(met.told).toMatchObject({ fired: 1, later: 'ERR_DURLOG_LATCHED', latched: ['ERR_DURLOG_SYNC_FAILED'] })
    expectKept(met)
  })

  test('a failed write of a record longer than a mapped chunk latches the log', async () => {
    const met = await meet({
      options: { strategy: 'mmap', durability: 'memory', segmentBytes: 2 ** 29, maxRecordBytes: 2 ** 23 },
      fault: { call: 'pwrite', errno: EIO },
      payloadBytes: 4_500_000,
    })
    expect(met.told).toMatchObject({ fired: 1, later: 'ERR_DURLOG_LATCHED', latched: ['ERR_DURLOG_SYNC_FAILED'] })
    expectKept(met)
  })

  test('a record longer than a mapped chunk is refused if there is no room, and the log stays usable', async () => {
    const met = await meet({
      options: { strategy: 'mmap', durability: 'memory', segmentBytes: 2 ** 29, maxRecordBytes: 2 ** 23 },
      fault: { call: 'pwrite', errno: ENOSPC },
      payloadBytes: 4_500_000,
    })
    expect(met.told).toMatchObject({ fired: 1, later: 'none', latched: [] })
    const failed = met.told.fates.filter(({ seq }) => seq === undefined)
    expect(failed.length).toBeGreaterThan(0)
    for (const fate of failed) expect(fate).toMatchObject({ code: 'ERR_DURLOG_NO_SPACE', outcome: 'not-written' })
    expectKept(met)
  })
})
