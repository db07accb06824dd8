/** Tests of applications replace Node's timers and clocks by simulated ones that stand still. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { scratchDir } from './fixtures/scratch.js'

const CHILD = fileURLToPath(new URL('fixtures/mocked-timers.mjs', import.meta.url))
const HANGS_MS = 60_000

test.each([
  ['mock.timers of node:test', 'node'],
  ['@sinonjs/fake-timers', 'all'],
])('logs and streams work while %s has replaced the timers', async (_title, kind) => {
  const { stdout } = await promisify(execFile)(process.execPath, [CHILD, scratchDir(), kind], { timeout: HANGS_MS })
  expect(stdout.trim().split('\n')).toEqual([
    'log',
    'commitDelayMicros 200',
    'commitDelayMicros 2000',
    'shared',
    'streams',
    'exclusive streams',
  ])
})
