/** The outbox trial in short: `npm run trial -- outbox` for as many kills as asked for. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { scratchDir } from '../fixtures/scratch.js'
import { runOutbox } from './trial.mjs'

test('an outbox loses no record, brings none back and stays under its bound, while its producer and its consumer are killed', async () => {
  const { problems, firstSeq, seen, mostBytes, maxBytes } = await runOutbox({
    dir: join(scratchDir(), 'log'),
    kills: 12,
    seed: 1,
  })
  expect(problems).toEqual([])
  expect(seen).toBeGreaterThan(0)
  expect(firstSeq).toBeGreaterThan(0)
  expect(mostBytes).toBeLessThanOrEqual(maxBytes)
})
