/** Requests of other processes that are repeated: docs/STREAMS.md, "Several processes". */
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { EntryKind } from '../../src/streams/entry.js'
import { bareItem } from '../../src/streams/items.js'
import { openWithInternals } from '../../src/streams/open.js'
import type { Item } from '../../src/streams/sequencer.js'
import type { StreamStore } from '../../src/streams/store.js'
import { scratchDir } from '../fixtures/scratch.js'
import { values } from '../fixtures/streams.js'

const CLIENT = '0123456789abcdef'
const item = (stream: string, value: unknown): Item => ({
  ...bareItem(EntryKind.append, stream),
  value: JSON.stringify(value),
})

async function openStore(dir: string, onStep: (step: string) => void = () => {}): Promise<StreamStore<unknown>> {
  const store = await openWithInternals(dir, { checkpointMs: 3_600_000 }, { onStep })
  onTestFinished(() => store.close().catch(() => {}))
  return store
}

/** As a kill would leave it: without the catalog's group of the last checkpoint. */
async function openUnfinished(dir: string): Promise<{ store: StreamStore<unknown>; end(): Promise<void> }> {
  const store = await openStore(dir, (step) => {
    if (step === 'catalog') throw new Error('the end of this process')
  })
  return { store, end: () => store.close().catch(() => {}) }
}

test('a repeated request gets the seqs of the original and is stored once, before and after a checkpoint', async () => {
  const dir = join(scratchDir(), 'streams')
  const request = (number: number) => ({ client: CLIENT, number })
  const append = (store: StreamStore<unknown>) => store.submit([item('a', 1)], request(0))
  const batch = (store: StreamStore<unknown>) => store.submit([item('a', 2), item('b', 3), item('a', 4)], request(1))
  const expected = [[0], [1, 0, 2]].map((seqs) => seqs.map((seq) => ({ seq, duplicate: false })))
  const { store, end } = await openUnfinished(dir)
  for (let time = 0; time < 2; time++) expect([await append(store), await batch(store)]).toEqual(expected)
  await end()
  // From the log, then from the catalog.
  for (let time = 0; time < 3; time++) {
    const again = await openStore(dir)
    expect([await append(again), await batch(again)]).toEqual(expected)
    expect([await values(again.stream('a').read()), await values(again.stream('b').read())]).toEqual([[1, 2, 4], [3]])
    await again.close()
  }
})

test('a repeated end or deletion is not refused', async () => {
  const dir = join(scratchDir(), 'streams')
  const store = await openStore(dir)
  await store.stream('a').append(1)
  const done = [{ seq: -1, duplicate: false }]
  const remove = (of: StreamStore<unknown>) =>
    of.submit([bareItem(EntryKind.delete, 'a')], { client: CLIENT, number: 7 })
  expect(await remove(store)).toEqual(done)
  await store.stream('a').append(2)
  expect(await remove(store)).toEqual(done)
  await store.close()
  const again = await openStore(dir)
  expect(await remove(again)).toEqual(done)
  expect(await values(again.stream('a').read())).toEqual([2])
})

test('a refused request is decided again', async () => {
  const store = await openStore(join(scratchDir(), 'streams'))
  const append = () => store.submit([{ ...item('a', 'second'), expectedSeq: 1 }], { client: CLIENT, number: 0 })
  await expect(append()).rejects.toMatchObject({ code: 'ERR_DURLOG_SEQ_CONFLICT', nextSeq: 0 })
  await store.stream('a').append('first')
  expect(await append()).toEqual([{ seq: 1, duplicate: false }])
})

test('confirmed requests and those of a client that is gone are forgotten', async () => {
  const dir = join(scratchDir(), 'streams')
  const store = await openStore(dir)
  for (let number = 0; number < 100; number++) await store.submit([item('a', number)], { client: CLIENT, number })
  await store.submit([item('b', 1)], { client: 'f'.repeat(16), number: 0 })
  store.requests.confirm(CLIENT, 98)
  store.requests.forget('f'.repeat(16))
  expect(store.requests.stored()).toEqual([
    [
      CLIENT,
      [
        [98, [98]],
        [99, [99]],
      ],
    ],
  ])
  await store.close()
  const again = await openStore(dir)
  expect([...again.requests.clients]).toEqual([CLIENT])
  expect(again.requests.find({ client: CLIENT, number: 99 })).toEqual([99])
})
