// npm run trial -- outbox [--kills 200] [--seed 1] [--dir PATH]: docs/TESTING.md says what it shows.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { runOutbox } from './trial.mjs'

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '200' },
    seed: { type: 'string', default: '1' },
    dir: { type: 'string' },
  },
})
const scratch = mkdtempSync(join(values.dir ?? tmpdir(), 'durlog-outbox-'))
const dir = join(scratch, 'log')
const [kills, seed] = [values.kills, values.seed].map(Number)
const { problems, acknowledged, seen, again, firstSeq, mostBytes, maxBytes } = await runOutbox({ dir, kills, seed })
process.stdout.write(
  `seed ${seed}: ${kills} kills, ${acknowledged + 1} records acknowledged, ${seen + 1} seen, ${again} of them again, ` +
    `${firstSeq} removed; at most ${mostBytes} bytes of ${maxBytes}\n`,
)
if (problems.length === 0) rmSync(scratch, { recursive: true, force: true })
else process.stdout.write(`${problems.map((problem) => `VIOLATION ${problem}\n`).join('')}the log is left in ${dir}\n`)
process.exitCode = problems.length === 0 ? 0 : 1
