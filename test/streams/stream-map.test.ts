/** The names of a folder's streams, of which some are objects and some are JSON from the catalog. */
import { expect, test } from 'vitest'
import type { Streams } from '../../src/streams/index.js'
import { all, scratchStreams } from '../fixtures/streams.js'

const MANY = 100

const names = async (streams: Streams<unknown>): Promise<string[]> =>
  (await all(streams.list())).map(({ name }) => name)

test('streams are listed in the order of their creation, before and after a restart', async () => {
  const { streams, reopen } = await scratchStreams({ durability: 'memory' })
  // Neither the order of the names nor that of their lengths.
  const created = Array.from({ length: MANY }, (_, at) => `s/${(at * 7919) % MANY}`)
  for (const name of created) await streams.stream(name).append(0)
  expect(await names(streams)).toEqual(created)
  const reopened = await reopen()
  const [again, changed, ...others] = created as [string, string, ...string[]]
  await reopened.stream(again).delete()
  await reopened.stream(again).append(1)
  await reopened.stream(changed).append(1)
  await reopened.stream('a').append(1)
  expect(await names(reopened)).toEqual([changed, ...others, again, 'a'])
  const last = await reopen()
  expect(await names(last)).toEqual([changed, ...others, again, 'a'])
})
