import { statfsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type WatchedCursor, warningsOf } from '../../src/cli/top-warnings.js'
import { open } from '../../src/index.js'
import { durlog } from '../fixtures/command.js'
import { scratchDir } from '../fixtures/scratch.js'

const ROOMY = { ...statfsSync('.'), bsize: 4096, blocks: 2 ** 30, bavail: 2 ** 29 }
const MIB = 2 ** 20
const cursor: WatchedCursor = {
  name: 'mailer',
  position: 5,
  lagRecords: 0,
  lagMs: 0,
  state: 'ready',
  owned: true,
  passedPerSecond: 0,
  growingSamples: 0,
}

test('top warns of a cursor that no process reads, that falls behind or cannot read', () => {
  expect(warningsOf([cursor], ROOMY, MIB)).toEqual([])
  const behind = { ...cursor, lagRecords: 1200, lagMs: 300_000 }
  expect(warningsOf([behind], ROOMY, MIB)).toEqual([])
  expect(warningsOf([{ ...behind, growingSamples: 3 }], ROOMY, MIB)).toEqual([
    { severity: 'warning', text: 'the cursor "mailer" falls behind: 1,200 records wait, the oldest for 5 min' },
  ])
  expect(warningsOf([{ ...behind, owned: false }], ROOMY, MIB)).toEqual([
    { severity: 'warning', text: 'no process reads the cursor "mailer": 1,200 records wait, the oldest for 5 min' },
  ])
  expect(warningsOf([{ ...cursor, state: 'cut' }], ROOMY, MIB)).toMatchObject([{ severity: 'failure' }])
})

test('top reports that a copy of the log fails or has stopped, and what waits', () => {
  const failure = { message: 'another copy has taken over.', sinceMs: 1, lastMs: 2, attempts: 3, stopped: true }
  const behind = { ...cursor, name: 'ship', owned: false, lagRecords: 2, lagMs: 1000 }
  expect(warningsOf([{ ...behind, failure }], ROOMY, MIB)).toEqual([
    {
      severity: 'failure',
      text: '"ship" has stopped copying the log (2 records wait, the oldest for 1.0 s): another copy has taken over.',
    },
  ])
  expect(warningsOf([{ ...behind, failure: { ...failure, stopped: false } }], ROOMY, MIB)).toMatchObject([
    { severity: 'warning', text: expect.stringContaining('has failed to copy the log 3 times') },
  ])
})

test('top warns of a disk that is nearly full', () => {
  const space = { ...ROOMY, bavail: 1000 }
  expect(warningsOf([], space, 64 * MIB)).toMatchObject([
    { severity: 'failure', text: expect.stringContaining('the disk is nearly full: 3.9 MiB') },
  ])
  expect(warningsOf([], space, MIB)).toMatchObject([
    { severity: 'warning', text: expect.stringContaining(': 3 segments of 1.0 MiB: make room') },
  ])
  expect(warningsOf([], space, MIB / 16)).toEqual([])
})

test('top shows the age of the oldest record that waits for a cursor', async () => {
  const dir = join(scratchDir(), 'log')
  const log = await open(dir)
  await log.ensureCursor('mailer')
  await log.append('x')
  await log.close()
  const { stdout } = await durlog(['top', dir, '-n', '1', '--json'])
  const sample = JSON.parse(stdout.toString())
  expect(sample.cursors[0].lagMs).toBeGreaterThanOrEqual(0)
  expect(sample.freeBytes).toBeGreaterThan(0)
  const text = (await durlog(['top', dir, '-n', '1'])).stdout.toString()
  expect(text).toContain('WARN  no process reads the cursor "mailer": 1 record waits, the oldest for ')
  expect(
    Math.max(
      ...text
        .split('\n')
        .filter((line) => line.startsWith('│'))
        .map((line) => line.length),
    ),
  ).toBeLessThanOrEqual(80)
})
