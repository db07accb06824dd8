import { expect, test } from 'vitest'
import { scratchDir } from '../fixtures/scratch.js'
import { runTrial } from './trial.mjs'

test('kills of writer, archivers and store lose no record, store none twice and replace no object', async () => {
  let state = 20_261_122
  const random = (): number => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
  const result = await runTrial(scratchDir(), { records: 20_000, kills: 6, store: 'fake', random })
  expect(result.found).toEqual(result.expected)
  expect(result.expected.records).toBeGreaterThanOrEqual(20_000)
  expect(result.overwritten).toEqual([])
})
