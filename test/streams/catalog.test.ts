/** The catalog without a main log: its groups, and its length. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { open } from '../../src/index.js'
import { openOrdered } from '../../src/open.js'
import type { Streams } from '../../src/streams/index.js'
import { defaultMeta } from '../../src/streams/port/meta.js'
import { CATALOG_SEGMENT_BYTES, Catalog } from '../../src/streams/state/catalog.js'
import type { CatalogChange } from '../../src/streams/state/catalog-records.js'
import { MAX_PRODUCERS } from '../../src/streams/state/decide.js'
import type { RequestSeqs, StoredRequests } from '../../src/streams/state/dedup-table.js'
import { INDEX_ENTRY_BYTES } from '../../src/streams/state/record-index.js'
import { type ProducerState, RECENT_APPENDS, StreamState } from '../../src/streams/state/state.js'
import { openUntilDone, records, scratchDir } from '../fixtures/scratch.js'
import { all, scratchStreams } from '../fixtures/streams.js'

let streamsCreated = 0

/** A change of a stream with `next` records. */
function change(name: string, next: number): CatalogChange {
  const disk = { first: 0, next, bytes: next * 10, crc: next, index: Buffer.alloc(INDEX_ENTRY_BYTES, next % 256) }
  const state = new StreamState(name, streamsCreated++, disk, defaultMeta('json'), undefined)
  state.producers = new Map([['__proto__', { epoch: 1, seq: next, recent: [next] }]])
  return { state, snapshot: state.takeSnapshot(), disk }
}

/** The head of a group. Its position is after the creation of every stream. */
const head = (group: number) => ({
  log: 'uuid',
  encoding: 'json' as const,
  position: 1_000_000 + group,
  lastTimeMs: 1,
  voids: [7],
})

test('a catalog returns the newest state of every stream, the oldest first, and stays short over thousands of groups', async () => {
  const dir = join(scratchDir(), 'catalog')
  const catalog = new Catalog(await openUntilDone(dir, { segmentBytes: 65_536, durability: 'memory' }))
  const expected = new Map<string, number>()
  for (let group = 0; group < 1200; group++) {
    const changes: CatalogChange[] = []
    for (let i = 0; i < 3; i++) {
      // Most streams rarely change, so their entries are moved.
      const name = `s${(group * 7 + i * 13) % (group % 100 === 0 ? 300 : 20)}`
      if (changes.some(({ state }) => state.name === name)) continue
      const changed = change(name, group + 1)
      if (group % 11 === 0) changed.snapshot = undefined
      changes.push(changed)
      if (changed.snapshot === undefined) expected.delete(name)
      else expected.set(name, group + 1)
    }
    await catalog.store(changes, [], head(group))
    await catalog.trim()
  }
  await catalog.close()
  expect(readdirSync(dir).filter((file) => file.endsWith('.seg')).length).toBeLessThan(15)
  const again = new Catalog(await openUntilDone(dir))
  const { head: found, streams } = await again.load()
  expect(found).toMatchObject(head(1199))
  expect(new Map((await streams.created('')).map((name) => [name, streams.get(name)?.next]))).toEqual(expected)
  const created = (await streams.created('')).map((name) => streams.get(name)?.created as number)
  expect(created).toEqual(created.toSorted((a, b) => a - b))
  const some = streams.get('s1') as StreamState
  expect([some.disk.index, some.producers.get('__proto__')]).toEqual([
    Buffer.alloc(INDEX_ENTRY_BYTES, some.next % 256),
    { epoch: 1, seq: some.next, recent: [some.next] },
  ])
})

test('a catalog stays short if each group has long records of requests', async () => {
  const dir = join(scratchDir(), 'catalog')
  const options = { segmentBytes: CATALOG_SEGMENT_BYTES, durability: 'memory' } as const
  let catalog = new Catalog(await open(dir, options))
  const seqs = Array.from({ length: 65_535 }, (_, at) => 1_000_000_000 + at)
  const stored: StoredRequests = [['client', [[0, seqs]]]]
  await catalog.store([change('rare', 1)], [], head(0))
  for (let group = 1; group < 120; group++) {
    // Opened again, the catalog knows the length of its records.
    if (group % 50 === 0) {
      await catalog.close()
      catalog = new Catalog(await open(dir, options))
      await catalog.load()
    }
    await catalog.store([change('s', group)], stored, head(group))
    await catalog.trim()
  }
  await catalog.close()
  expect(readdirSync(dir).filter((file) => file.endsWith('.seg')).length).toBeLessThan(4)
  const { streams, requests } = await new Catalog(await openUntilDone(dir)).load()
  expect([streams.get('rare')?.next, streams.get('s')?.next]).toEqual([1, 119])
  expect(requests).toEqual(stored)
})

test('a group without its commit is ignored, and the next group is valid', async () => {
  const dir = join(scratchDir(), 'catalog')
  const log = await open(dir, { segmentBytes: 65_536 })
  const catalog = new Catalog(log)
  await catalog.store([change('a', 1)], [], head(1))
  await log.append(JSON.stringify({ kind: 'begin' }))
  await log.append(JSON.stringify({ kind: 'gone', name: 'a' }))
  expect(await (await catalog.load()).streams.created('')).toEqual(['a'])
  await catalog.store([change('b', 2)], [], head(2))
  await catalog.close()
  const { streams, head: found } = await new Catalog(await openUntilDone(dir)).load()
  expect(await streams.created('')).toEqual(['a', 'b'])
  expect(found).toMatchObject(head(2))
})

test('a stream with the maximum number of producers, the longest ids and the greatest seqs fits into the catalog', async () => {
  const dir = join(scratchDir(), 'catalog')
  const catalog = new Catalog(await open(dir, { segmentBytes: CATALOG_SEGMENT_BYTES }))
  const { state, disk } = change('a', 1)
  const greatest = 2 ** 48 - 1
  const recent = new Array<number>(RECENT_APPENDS).fill(greatest)
  const producers = new Map<string, ProducerState>()
  for (let i = 0; i < MAX_PRODUCERS; i++) {
    // JSON escapes each of these characters with six.
    const id = i.toString(2).padStart(128, '0').replaceAll('0', '\u0001').replaceAll('1', '\u0002')
    producers.set(id, { epoch: greatest, seq: greatest, recent })
  }
  state.producers = producers
  await catalog.store(
    [change('before', 1), { state, snapshot: state.takeSnapshot(), disk }, change('after', 1)],
    [],
    head(1),
  )
  await catalog.close()
  const { streams } = await new Catalog(await openUntilDone(dir)).load()
  expect(await streams.created('')).toEqual(['a', 'before', 'after'])
  expect(streams.get('a')?.producers).toEqual(producers)
})

test('the requests of clients fit into the catalog if each has 65,536 records, and the last group counts', async () => {
  const dir = join(scratchDir(), 'catalog')
  const catalog = new Catalog(await open(dir, { segmentBytes: CATALOG_SEGMENT_BYTES }))
  const seqs = Array.from({ length: 65_536 }, (_, at) => 2 ** 48 - 1 - at)
  const requests: StoredRequests = ['a', 'b'].map((client) => [
    client,
    Array.from({ length: 5 }, (_, number) => [number, number === 1 ? [number] : seqs]),
  ])
  await catalog.store([change('s', 1)], [['gone', [[0, [0]]]]], head(1))
  await catalog.store([], requests, head(2))
  await catalog.close()
  const found = await new Catalog(await openUntilDone(dir)).load()
  const requestsOf = new Map<string, RequestSeqs[]>()
  for (const [client, some] of found.requests) requestsOf.set(client, [...(requestsOf.get(client) ?? []), ...some])
  expect([...requestsOf]).toEqual(requests)
  expect(await found.streams.created('')).toEqual(['s'])
})

test('the time of the last record is in info and list, also after a restart, and catalogs without it can be read', async () => {
  const { dir, streams, reopen } = await scratchStreams()
  const timesOf = async (opened: Streams<unknown>): Promise<unknown> =>
    (await all(opened.list())).map(({ name, updatedAt }) => [name, updatedAt])
  await streams.stream('a').append('x', { timestamp: 5000 })
  await streams.stream('b').appendAll(['x', 'y'], { timestamp: 7000 })
  await streams.stream('b').append('z', { timestamp: 6000, end: true })
  await streams.checkpoint()
  await streams.stream('a').append('y', { timestamp: 8000 })
  const expected = [
    ['a', 8000],
    ['b', 6000],
  ]
  expect(await timesOf(streams)).toEqual(expected)
  expect(await timesOf(await reopen())).toEqual(expected)
  await streams.close()
  await (await reopen()).close()

  const catalog = await openOrdered(join(dir, 'catalog'), {})
  const stored = (await records(catalog.read())).map(({ data }) => JSON.parse(data.toString()))
  const { updatedMs, ...older } = stored.findLast(({ name }) => name === 'a')
  expect(updatedMs).toBe(8000)
  for (const record of [{ kind: 'begin' }, older, stored.findLast(({ kind }) => kind === 'commit')])
    await catalog.append(JSON.stringify(record))
  await catalog.close()
  const again = await reopen()
  expect(await timesOf(again)).toEqual([
    ['a', undefined],
    ['b', 6000],
  ])
  await again.stream('a').append('z', { timestamp: 9000 })
  expect(await again.stream('a').info()).toMatchObject({ nextSeq: 3, updatedAt: 9000 })
})
