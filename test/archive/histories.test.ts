/** `npm run trial -- archive-histories` runs more rounds, `--seed` others. */
import { expect, test } from 'vitest'
import { scratchDir } from '../fixtures/scratch.js'
import { runRound } from './histories.mjs'

const ROUNDS = 2

test('each history of an archive has the records that the log had before its next truncation', async () => {
  let truncations = 0
  for (let seed = 1; seed <= ROUNDS; seed++) truncations += (await runRound(scratchDir(), seed)).truncations
  expect(truncations).toBeGreaterThan(0)
})
