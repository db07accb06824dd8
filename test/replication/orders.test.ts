/** `node test/replication/orders.mjs COUNT` runs more orders, and checks that three broken variants are found. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { scratchDir } from '../fixtures/scratch.js'
import { makeBase, runOrder } from './orders.mjs'

test('in an order of the requests of a writer and two standbys, no acknowledged record is lost or acknowledged twice', async () => {
  const dir = scratchDir()
  const { takeovers } = await runOrder(await makeBase(dir), join(dir, 'round'), 1)
  expect(takeovers).toBeGreaterThan(0)
})
