/**
 * `node test/replication/orders.mjs COUNT` runs more orders of the real code, and `node test/replication/model.mjs`
 * explores more states of the model. Both check that broken variants are found.
 */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { scratchDir } from '../fixtures/scratch.js'
import { BROKEN_FORCE, BROKEN_WHOLE, DEAD, explore, GATES, STARVING } from './model.mjs'
import { makeBase, runOrder } from './orders.mjs'

test('in an order of the requests of a writer and two standbys, no acknowledged record is lost or acknowledged twice', async () => {
  const dir = scratchDir()
  const { takeovers } = await runOrder(await makeBase(dir), join(dir, 'round'), 1)
  expect(takeovers).toBeGreaterThan(0)
})

test.each([{ faults: 0 }, { records: [1, 1] as [number, number] }])(
  'in no state of a writer and a standby with %j does a restore lack an acknowledged record',
  (limits) => {
    const { failure, takeovers } = explore(limits)
    expect(failure).toBeUndefined()
    expect(takeovers).toBeGreaterThan(0)
  },
)

test.each([
  'no claim',
  'claim after the first append',
  'a late upload wins',
  'a fence is looked for only at the next seq',
])('the model loses an acknowledged record with: %s', (broken) => {
  expect(explore({ faults: 2 }, broken).failure).toMatch(/acknowledged as/)
})

test('the model loses an acknowledged record if parts are deleted before their whole segment is stored', () => {
  expect(explore({}, BROKEN_WHOLE).failure).toMatch(/acknowledged as/)
})

test('the model loses an acknowledged record if the claim of a dead standby is completed at the end that was listed', () => {
  expect(explore(DEAD, BROKEN_FORCE).failure).toMatch(/acknowledged as/)
})

test('the model starves a claim if a writer passes gates that another copy has closed', () => {
  expect(explore(GATES, STARVING).failure).toMatch(/after a gate was closed/)
})
