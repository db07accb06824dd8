/** Catalogs with impossible values, which another program or another version of durlog has written. */
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { open } from '../../src/index.js'
import { openOrdered } from '../../src/open.js'
import { readCheckpoint } from '../../src/streams/files/folder-checkpoint.js'
import { encodingOfStreams, mainLogOf } from '../../src/streams/files/main-log.js'
import { openStreams, type Streams } from '../../src/streams/index.js'
import { scratchDir } from '../fixtures/scratch.js'
import { all } from '../fixtures/streams.js'

type Fields = Record<string, unknown> & { kind?: unknown; name?: unknown }

interface Folder {
  /** The records of the catalog's last group. */
  records: Fields[]
  /** The path of a copy whose catalog has one more group, with `changed` and the commit `commit`. */
  withGroup(changed: Fields[], commit?: Fields): Promise<string>
}

let folder: Folder

const scratch = mkdtempSync(join(tmpdir(), 'durlog-wrong-catalog-'))
afterAll(() => rmSync(scratch, { recursive: true }))

beforeAll(async () => {
  const dir = join(scratch, 'streams')
  const streams = await openStreams<unknown>(dir, { exclusive: true, durability: 'memory' })
  await fill(streams)
  await streams.close()
  const log = await open(join(dir, 'catalog'), { readOnly: true })
  const records = (await all(log.read())).map(({ data }) => JSON.parse(data.toString()) as Fields)
  await log.close()
  folder = {
    records,
    withGroup: async (changed, commit = find('commit')) => {
      const copy = join(scratchDir(), 'streams')
      cpSync(dir, copy, { recursive: true })
      const catalog = await openOrdered(join(copy, 'catalog'), { durability: 'memory' })
      for (const record of [{ kind: 'begin' }, ...changed, commit]) await catalog.append(JSON.stringify(record))
      await catalog.close()
      return copy
    },
  }
})

async function fill(streams: Streams<unknown>): Promise<void> {
  for (let i = 0; i < 20; i++) await streams.stream('a').append(i, { producer: { id: 'p', epoch: 0, seq: i } })
  await streams.stream('b').create({ fork: { stream: 'a', seq: 7 }, values: ['own'] })
  await streams.stream('r').create({ retention: { maxRecords: 16 }, values: Array.from({ length: 40 }, (_, i) => i) })
}

/** The record of the stream `name`, or the last record of this kind. */
function find(name: string): Fields {
  return folder.records.findLast((record) => record.name === name || record.kind === name) as Fields
}

/** A copy of the record of `name`, in which the member at `path` has the value `value`. */
function changed(name: string, path: (string | number)[], value: unknown): Fields {
  const record = structuredClone(find(name))
  let at = record as Record<string | number, unknown>
  for (const key of path.slice(0, -1)) at = at[key] as typeof at
  at[path.at(-1) as string] = value
  return record
}

const refused = (dir: string): Promise<unknown> =>
  expect(openStreams(dir, { exclusive: true })).rejects.toMatchObject({ code: 'ERR_DURLOG_CORRUPT' })

test('a catalog without a wrong value is accepted', async () => {
  const dir = await folder.withGroup([find('a'), find('b'), find('r')])
  const streams = await openStreams(dir, { exclusive: true })
  expect(await all(streams.stream('b').read())).toHaveLength(8)
  await streams.close()
})

const NOT_NUMBERS = [null, -1, 0.5, '1', 2 ** 48]
const NUMBERS: [name: string, path: (string | number)[]][] = [
  ['a', ['created']],
  ['a', ['disk', 0]],
  ['a', ['disk', 1]],
  ['a', ['disk', 2]],
  ['a', ['disk', 3]],
  ['a', ['producers', 0, 1]],
  ['a', ['producers', 0, 2]],
  ['a', ['producers', 0, 3, 0]],
  ['b', ['meta', 'fork', 'seq']],
  ['b', ['meta', 'fork', 'bytes']],
  ['r', ['older', 0, 1]],
  ['r', ['disk', 5]],
  ['r', ['disk', 6]],
]

test.each(NUMBERS)('a record of the stream %s without a number at %j is refused', async (name, path) => {
  for (const value of NOT_NUMBERS) {
    // The length of a record in a source may be greater than a seq.
    const isCounter = path[0] === 'producers' && path.length === 3
    if ((path.at(-1) === 'bytes' || isCounter) && value === 2 ** 48) continue
    await refused(await folder.withGroup([changed(name, path, value)]))
  }
})

test('a checkpoint with a wrong record is not archived', async () => {
  const dir = await folder.withGroup([changed('a', ['disk', 2], 'x')])
  await expect(readCheckpoint(dir)).rejects.toMatchObject({ code: 'ERR_DURLOG_CORRUPT' })
})

test('a copy of the main log of a folder with a wrong record fails with the same error', async () => {
  const dir = await folder.withGroup([changed('a', ['disk', 2], 'x')])
  await expect(encodingOfStreams(mainLogOf(dir))).rejects.toMatchObject({ code: 'ERR_DURLOG_CORRUPT' })
})

test.each<[name: string, path: (string | number)[], value: unknown]>([
  ['a', ['kind'], 'strea'],
  ['a', ['name'], ''],
  ['a', ['name'], '\ud800'],
  ['a', ['writerSeq'], 7],
  ['a', ['meta'], 'xml'],
  ['a', ['meta'], 'toString'],
  ['a', ['meta'], null],
  ['a', ['disk'], undefined],
  ['a', ['disk', 0], 21],
  ['a', ['disk', 3], 2 ** 32],
  ['a', ['disk', 4], 'AAAA'],
  ['a', ['disk', 4], '!'.repeat(24)],
  ['a', ['disk', 4], 'A'.repeat(24 * 21)],
  ['a', ['producers'], 'none'],
  ['a', ['producers', 0], 'none'],
  ['b', ['meta', 'ttlMs'], 'soon'],
  ['b', ['meta', 'expiresAtMs'], -1],
  ['b', ['meta', 'retention'], { maxRecords: '1' }],
  ['b', ['meta', 'fork', 'stream'], 'b'],
  ['b', ['meta', 'fork', 'stream'], 'missing'],
  ['b', ['meta', 'fork', 'stream'], 'r'],
  ['b', ['meta', 'fork', 'seq'], 21],
  ['b', ['meta', 'encoding'], 'buffer'],
  ['b', ['disk', 0], 6],
  ['r', ['older', 0], 'none'],
  ['r', ['older', 0, 1], 60],
  ['r', ['dropped'], [-1]],
])('a record of the stream %s with an impossible value at %j is refused (%#)', async (name, path, value) => {
  await refused(await folder.withGroup([changed(name, path, value)]))
})

test.each<[member: string, value: unknown]>([
  ['version', '1'],
  ['log', 7],
  ['encoding', 'xml'],
  ['position', -1],
  ['position', 0],
  ['lastTimeMs', 'now'],
  ['voids', [0.5]],
  ['voids', undefined],
])('a commit with an impossible value of %s is refused: %j', async (member, value) => {
  await refused(await folder.withGroup([find('a')], { ...find('commit'), [member]: value }))
})

test('a record of requests with an impossible value is refused', async () => {
  for (const requests of [[[-1, [0]]], [[0, ['x']]], [[0]], 'none'])
    await refused(await folder.withGroup([{ kind: 'requests', client: 'c', requests }]))
})

test('two forks that name each other as their source are refused', async () => {
  const fork = (name: string, stream: string): Fields => ({
    ...changed('b', ['meta', 'fork', 'stream'], stream),
    name,
  })
  await refused(await folder.withGroup([fork('x', 'y'), fork('y', 'x')]))
})

test('a wrong record of a group without a commit has no effect', async () => {
  const dir = await folder.withGroup([changed('a', ['created'], 'x')], { kind: 'begin' })
  expect((await readCheckpoint(dir)).streams).toHaveLength(3)
  const streams = await openStreams(dir, { exclusive: true })
  expect(await all(streams.stream('a').read())).toHaveLength(20)
  await streams.close()
})

test('a group of a newer version is reported as such, also if its records are different', async () => {
  const dir = await folder.withGroup([{ kind: 'new' }], { ...find('commit'), version: 3, position: 'new' })
  await expect(readCheckpoint(dir)).rejects.toMatchObject({ code: 'ERR_DURLOG_VERSION' })
  await expect(openStreams(dir, { exclusive: true })).rejects.toMatchObject({ code: 'ERR_DURLOG_VERSION' })
})
