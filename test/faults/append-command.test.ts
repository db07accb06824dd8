/** The report of `durlog append` if appends fail while it runs. */
import { writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { runUnderShim, shimProblem } from '../fixtures/fault-shim.js'
import { openUntilDone, scratchDir, texts } from '../fixtures/scratch.js'

const CHILD = new URL('./command-child.mjs', import.meta.url)
const problem = shimProblem()
if (problem !== '') process.stdout.write(`skipped: ${problem}\n`)

/** Records that are too long for the end of a segment, and short ones that fit there. */
const LINES = Array.from({ length: 400 }, (_, i) => `${i} ${'x'.repeat(i % 4 === 0 ? 3000 : 3)}`)
const { ENOSPC, EIO } = constants.errno
const FAULTS = [
  ...[2, 3, 4].map((nth) => ({ call: 'fallocate', errno: ENOSPC, nth })),
  ...[2, 3, 5].map((nth) => ({ call: 'fdatasync', errno: EIO, nth })),
]
const LAYOUT = ['--segment-bytes', '64K', '--strategy', 'pwrite', '--preallocate', 'zero']

describe.skipIf(problem !== '')('append, while one system call fails', () => {
  test.each(FAULTS)(
    '%j: reports exactly the records that are stored, and none after the first that failed',
    async (fault) => {
      const folder = scratchDir()
      const dir = join(folder, 'log')
      const input = join(folder, 'input')
      writeFileSync(input, `${LINES.join('\n')}\n`)
      const { code, stdout, stderr } = await runUnderShim(CHILD, dir, {
        args: ['append', dir, input, '--json', ...LAYOUT],
        fault,
      })
      // A spare whose allocation failed is made again if no append needed it yet.
      const refused = fault.errno === EIO || code !== 0
      if (refused) {
        const { error } = JSON.parse(stderr)
        expect([code, error.code]).toEqual(
          fault.errno === ENOSPC ? [73, 'ERR_DURLOG_NO_SPACE'] : [74, 'ERR_DURLOG_SYNC_FAILED'],
        )
      }
      const { records, uncertain } = JSON.parse(stdout)
      const log = await openUntilDone(dir)
      const stored = await texts(log.read())
      expect(stored).toEqual(refused ? LINES.slice(0, stored.length) : LINES)
      expect(stored.length).toBeGreaterThanOrEqual(records)
      expect(stored.length).toBeLessThanOrEqual(records + uncertain)
      if (fault.errno === ENOSPC) expect(uncertain).toBe(0)
    },
  )
})
