/** Commits that fail while calls wait for room: each call settles once, with the outcome of its record. */
import { constants } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type OpenOptions, open } from '../../src/index.js'
import { runUnderShim, shimProblem } from '../fixtures/fault-shim.js'
import { scratchDir, texts } from '../fixtures/scratch.js'

const { EFBIG, EIO, ENOSPC } = constants.errno
const CHILD = new URL('held-child.mjs', import.meta.url)
const STREAM_CHILD = new URL('stream-child.mjs', import.meta.url)
const ROUNDS = 20

interface Told {
  fates: { name: string; seq?: number; code?: string; outcome?: string }[]
  told: string[]
  fired: number
  orphans: string[]
}

async function meet(options: OpenOptions, fault: object): Promise<{ told: Told; left: string[] }> {
  const folder = scratchDir()
  const dir = join(folder, 'log')
  const request = { dir, options, fault, rounds: ROUNDS, appends: 400, payloadBytes: 9000 }
  const { code, stdout, stderr } = await runUnderShim(CHILD, folder, request)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const told = JSON.parse(stdout) as Told
  const log = await open(dir)
  const left = (await texts(log.read())).map((text) => text.split(' ')[0] as string)
  await log.close()
  return { told, left }
}

/** Checks that every call has settled, each acknowledged record is at its seq, and no unwritten one is in the log. */
function expectTrue({ told, left }: { told: Told; left: string[] }): void {
  expect(told.orphans).toEqual([])
  expect(told.fired).toBeGreaterThan(0)
  const acked = told.fates.filter(({ seq }) => seq !== undefined)
  expect(acked.map(({ seq }) => left[seq as number])).toEqual(acked.map(({ name }) => name))
  const kept = new Set(left)
  expect(kept.size).toBe(left.length)
  const absent = told.fates.filter(({ outcome }) => outcome === 'not-written')
  expect(absent.length).toBeGreaterThan(0)
  expect(absent.filter(({ name }) => kept.has(name))).toEqual([])
}

const problem = shimProblem()
if (problem !== '') process.stdout.write(`skipped: ${problem}\n`)

describe.skipIf(problem !== '')('calls that wait for room while a commit fails', () => {
  test.each([
    ['pwrite', 'pwrite', ENOSPC],
    ['pwrite', 'pwrite', EFBIG],
    ['direct', 'direct write', ENOSPC],
  ] as const)(
    '%s, %s, errno %i: each settles once, no refused record is stored, drain, trimBefore and close settle',
    async (strategy, call, errno) => {
      const met = await meet(
        { strategy, preallocate: 'none', maxPendingBytes: 2 ** 20 },
        { call, errno, nth: 2, times: 3 },
      )
      expectTrue(met)
      const codes = new Set(met.told.fates.flatMap(({ code }) => code ?? []))
      expect([...codes]).toEqual(['ERR_DURLOG_NO_SPACE'])
      expect(met.told.told).toEqual([
        ...Array.from({ length: ROUNDS }, () => ['drain done', 'trimBefore done']).flat(),
        'close done',
      ])
    },
  )

  test.each([
    ['pwrite', 'fdatasync'],
    ['direct', 'direct write'],
  ] as const)('%s, %s, EIO: the log latches, and every call that waits settles', async (strategy, call) => {
    const met = await meet({ strategy, preallocate: 'none', maxPendingBytes: 2 ** 20 }, { call, errno: EIO, nth: 2 })
    expectTrue(met)
    const codes = new Set(met.told.fates.flatMap(({ code }) => code ?? []))
    expect([...codes].sort()).toEqual(['ERR_DURLOG_LATCHED', 'ERR_DURLOG_SYNC_FAILED'])
    expect(met.told.told.slice(0, 2)).toEqual(['drain done', 'trimBefore done'])
    expect(met.told.told.at(-1)).toBe('close done')
  })
})

describe.skipIf(problem !== '')('a writable whose commits fail', () => {
  test.each([
    ['pwrite', 'pwrite', 2 ** 20],
    ['direct', 'direct write', 2 ** 20],
    ['direct', 'direct write', 32 * 2 ** 20],
  ] as const)(
    '%s, %s, %i bytes may wait: exactly the acknowledged records are stored',
    async (strategy, call, maxPendingBytes) => {
      const folder = scratchDir()
      const dir = join(folder, 'log')
      const { code, stdout, stderr } = await runUnderShim(STREAM_CHILD, folder, {
        dir,
        options: { strategy, preallocate: 'none', maxPendingBytes },
        fault: { call, errno: ENOSPC },
        rounds: 20,
        chunks: 400,
        payloadBytes: 5000,
      })
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      const { told, fired } = JSON.parse(stdout) as { told: { name: string; failed: boolean }[][]; fired: number }
      expect(fired).toBeGreaterThan(0)
      const log = await open(dir)
      const left = (await texts(log.read())).map((text) => text.split(' ')[0] as string)
      await log.close()
      expect(left).toEqual(told.flatMap((round) => round.filter(({ failed }) => !failed).map(({ name }) => name)))
      const failing = told.filter((round) => round.some(({ failed }) => failed))
      expect(failing.length).toBeGreaterThan(0)
      for (const round of failing)
        expect(round.slice(round.findIndex(({ failed }) => failed)).every(({ failed }) => failed)).toBe(true)
    },
  )
})
