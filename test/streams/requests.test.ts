/** Repeated requests of clients: docs/STREAMS.md, "Repeated requests". */
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { Folder } from '../../src/streams/api/folder.js'
import { openExclusive } from '../../src/streams/api/open-streams.js'
import type { NamedStream } from '../../src/streams/api/stream.js'
import type { StreamsPort } from '../../src/streams/port/port.js'
import { DedupTable, type RequestSeqs } from '../../src/streams/state/dedup-table.js'
import { scratchDir } from '../fixtures/scratch.js'
import { leave, localPort, values } from '../fixtures/streams.js'

const CLIENT = '0123456789abcdef'
const stored = (seq: number) => ({ seq, duplicate: false })

async function openForTest(dir: string, onStep: (step: string) => void = () => {}): Promise<Folder<unknown>> {
  const store = await openExclusive(dir, { checkpointMs: 3_600_000 }, { onStep })
  onTestFinished(() => store.close().catch(() => {}))
  return store
}

const dedupOf = (store: Folder<unknown>): DedupTable => localPort(store).table.dedup

/** The folder as the client `client` uses it with its request `number`. */
function clientOf(store: Folder<unknown>, client: string, number: number): Folder<unknown> {
  const port = localPort(store)
  const request = { client, number }
  const sent: Partial<StreamsPort> = {
    dir: port.dir,
    encoding: port.encoding,
    append: (group, settle) => port.append(group, settle, request),
    appendBatch: (groups) => port.appendBatch(groups, request),
    create: (name, creation, given) => port.create(name, creation, given, request),
    delete: (name) => port.delete(name, request),
  }
  return new Folder(sent as StreamsPort)
}

/** The stream as the client `client` uses it with its request `number`. */
function streamOf(store: Folder<unknown>, client: string, number: number, name: string): NamedStream<unknown> {
  return clientOf(store, client, number).stream(name)
}

/** Opens a store whose last checkpoint ends before the catalog's group, as after a kill. */
async function openUnfinished(dir: string): Promise<{ store: Folder<unknown>; end(): Promise<void> }> {
  const store = await openForTest(dir, (step) => {
    if (step === 'catalog') throw new Error('the end of this process')
  })
  return { store, end: () => store.close().catch(() => {}) }
}

test('a repeated request gets the seqs of the original and is stored once, before and after a checkpoint', async () => {
  const dir = join(scratchDir(), 'streams')
  const append = (store: Folder<unknown>) => streamOf(store, CLIENT, 0, 'a').append(1, { expectedSeq: 0 })
  const batch = (store: Folder<unknown>) =>
    clientOf(store, CLIENT, 1).appendBatch([
      { stream: 'a', value: 2, expectedSeq: 1 },
      { stream: 'b', value: 3 },
      { stream: 'a', value: 4 },
    ])
  const expected = [stored(0), [stored(1), stored(0), stored(2)]]
  const { store, end } = await openUnfinished(dir)
  for (let time = 0; time < 2; time++) expect([await append(store), await batch(store)]).toEqual(expected)
  await end()
  // First from the log, then from the catalog.
  for (let time = 0; time < 3; time++) {
    const again = await openForTest(dir)
    expect([await append(again), await batch(again)]).toEqual(expected)
    expect([await values(again.stream('a').read()), await values(again.stream('b').read())]).toEqual([[1, 2, 4], [3]])
    await again.close()
  }
})

test('a repeated creation, end or deletion has the result of the original', async () => {
  const dir = join(scratchDir(), 'streams')
  const store = await openForTest(dir)
  await store.stream('a').append(1)
  const remove = (of: Folder<unknown>) => streamOf(of, CLIENT, 7, 'a').delete()
  const end = (of: Folder<unknown>) => streamOf(of, CLIENT, 8, 'b').end()
  const create = (of: Folder<unknown>) => streamOf(of, CLIENT, 9, 'c').create({ values: [1] })
  await store.stream('b').append(1)
  await end(store)
  expect([await remove(store), await create(store)]).toEqual([true, true])
  await store.stream('a').append(2)
  await store.stream('b').delete()
  expect([await remove(store), await create(store)]).toEqual([true, true])
  await end(store)
  await store.close()
  const again = await openForTest(dir)
  expect([await remove(again), await create(again)]).toEqual([true, true])
  await end(again)
  expect(await values(again.stream('a').read())).toEqual([2])
})

test('a repeated append has the result of the original if a stream of another encoding now has the name', async () => {
  const store = await openForTest(join(scratchDir(), 'streams'))
  const append = () => streamOf(store, CLIENT, 0, 'a').append({ key: 1 })
  expect(await append()).toEqual(stored(0))
  await store.stream('a').delete()
  await store.stream('a').create({ encoding: 'utf8' })
  expect(await append()).toEqual(stored(0))
  expect(await values(store.stream('a').read())).toEqual([])
})

test('a repeated request that was refused is decided again', async () => {
  const store = await openForTest(join(scratchDir(), 'streams'))
  const append = () => streamOf(store, CLIENT, 0, 'a').append('second', { expectedSeq: 1 })
  await expect(append()).rejects.toMatchObject({ code: 'ERR_DURLOG_SEQ_CONFLICT', nextSeq: 0 })
  await store.stream('a').append('first')
  expect(await append()).toEqual(stored(1))
})

test('the requests for a catalog are read one by one, without those that are added or confirmed meanwhile', () => {
  const table = new DedupTable()
  for (let number = 0; number < 10; number++) table.add({ client: CLIENT, number }, [number])
  const [, requests] = [...table.stored()][0] as [string, Iterable<RequestSeqs>]
  const found: number[] = []
  for (const [number] of requests) {
    found.push(number)
    table.add({ client: CLIENT, number: number + 10 }, [0])
    table.confirm(CLIENT, 7)
  }
  expect(found).toEqual([0, 7, 8, 9])
})

test('confirmed requests and the requests of a forgotten client are removed', async () => {
  const dir = join(scratchDir(), 'streams')
  const store = await openForTest(dir)
  for (let number = 0; number < 100; number++) await streamOf(store, CLIENT, number, 'a').append(number)
  await streamOf(store, 'f'.repeat(16), 0, 'b').append(1)
  dedupOf(store).confirm(CLIENT, 98)
  dedupOf(store).forget('f'.repeat(16))
  const stored = Array.from(dedupOf(store).stored(), ([client, requests]) => [client, [...requests]])
  const left = [
    [98, [98]],
    [99, [99]],
  ]
  expect(stored).toEqual([[CLIENT, left]])
  await store.close()
  const again = await openForTest(dir)
  expect([...dedupOf(again).clients]).toEqual([CLIENT])
  expect(dedupOf(again).find({ client: CLIENT, number: 99 })).toEqual([99])
})

test.each([true, false])(
  'a repeated request that has changed nothing changes nothing after later requests of its client (checkpoint: %s)',
  async (checkpoint) => {
    const dir = join(scratchDir(), 'streams')
    const retried = { producer: { id: 'p', epoch: 0, seq: 0 } }
    const calls: ((store: Folder<unknown>) => Promise<unknown>)[] = [
      (store) => streamOf(store, CLIENT, 0, 'absent').delete(),
      (store) => streamOf(store, CLIENT, 1, 'absent').append('kept'),
      (store) => streamOf(store, CLIENT, 2, 'a').append('too early', { expectedSeq: 1 }),
      (store) => streamOf(store, CLIENT, 3, 'a').append('first'),
      (store) => streamOf(store, CLIENT, 4, 'deleted').append('again', retried),
      (store) => streamOf(store, CLIENT, 5, 'deleted').delete(),
      (store) => streamOf(store, CLIENT, 6, 'a').create({ encoding: 'utf8' }),
    ]
    const store = await openForTest(dir)
    await store.stream('deleted').append('once', retried)
    const first = await Promise.allSettled(calls.map((call) => call(store)))
    expect(first.map(({ status }) => status === 'fulfilled')).toEqual([true, true, false, true, true, true, false])
    await (checkpoint ? store.close() : leave(store))
    const again = await openForTest(dir)
    const repeated = await Promise.allSettled(calls.map((call) => call(again)))
    const notWritten = { reason: { code: 'ERR_DURLOG_STALLED', outcome: 'not-written' } }
    expect(repeated).toMatchObject([
      { value: false },
      { value: stored(0) },
      notWritten,
      { value: stored(0) },
      notWritten,
      { value: true },
      { reason: { code: 'ERR_DURLOG_STREAM_EXISTS' } },
    ])
    expect(await values(again.stream('absent').read())).toEqual(['kept'])
    expect(await values(again.stream('a').read())).toEqual(['first'])
    expect(await again.stream('deleted').info()).toBeUndefined()
    expect(await streamOf(again, CLIENT, 7, 'a').append('next')).toEqual(stored(1))
  },
)
