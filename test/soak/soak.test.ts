/** The soak trial in short, without its times: `npm run trial -- soak` for as long as asked for. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { verify } from '../../src/inspect.js'
import { scratchDir } from '../fixtures/scratch.js'
import { runTrial } from './trial.mjs'

test('followers elsewhere get every record of each generation once and in order, or a reason why not, while the writer is killed', async () => {
  const dir = join(scratchDir(), 'log')
  const { writer, followers, problems } = await runTrial({
    dir,
    seconds: 4,
    kills: 3,
    seed: 1,
    followers: [
      { name: 'memory', durableOnly: false },
      { name: 'durable', durableOnly: true },
    ],
    lastRecordsMs: Number.POSITIVE_INFINITY,
  })
  expect(problems).toEqual([])
  for (const follower of followers) {
    expect(follower.bursts.length).toBeGreaterThan(0)
    expect(follower.violations(writer)).toEqual([])
  }
  expect((await verify(dir)).state).toBe('clean')
})
