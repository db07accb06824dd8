// npm run trial -- archive-histories [--rounds 200] [--seed 1]: round n has the seed + n. To repeat a round: --rounds 1
// --seed N.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { runRound } from './histories.mjs'

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '200' }, seed: { type: 'string', default: '1' } },
})
const first = Number(values.seed)
const totals = { rounds: 0, truncations: 0, histories: 0, retries: 0, gaps: 0 }
for (let seed = first; seed < first + Number(values.rounds); seed++) {
  const dir = mkdtempSync(join(tmpdir(), 'durlog-histories-'))
  try {
    const { truncations, histories, retries, hasGap } = await runRound(dir, seed)
    totals.rounds++
    totals.truncations += truncations
    totals.histories += histories
    totals.retries += retries
    if (hasGap) totals.gaps++
    rmSync(dir, { recursive: true })
  } catch (error) {
    console.error(`${error.message}; kept: ${dir}`)
    process.exitCode = 1
  }
}
console.log(JSON.stringify({ seed: first, ...totals }))
