/**
 * The answer to a deletion that finds no stream, also by HTTP: it must not depend on a deletion that is not durable.
 */
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { streamsHandler } from '../../src/http/index.js'
import { openStreams, type Stream, type Streams } from '../../src/streams/index.js'
import { codeOf, scratchDir } from '../fixtures/scratch.js'
import { all, scratchStreams } from '../fixtures/streams.js'

/** Opens a copy of the folder. The copy has what the next process would find if this one were killed now. */
async function openAfterKill(dir: string): Promise<Streams<unknown>> {
  const copy = join(scratchDir(), 'copy')
  cpSync(dir, copy, { recursive: true })
  const streams = await openStreams(copy, { exclusive: true })
  onTestFinished(() => streams.close())
  return streams
}

test('delete resolves to false only after the deletion that removed the stream is durable', async () => {
  const { dir, streams } = await scratchStreams()
  const stream = streams.stream('s')
  await stream.append(1)
  const first = stream.delete()
  expect(await stream.delete()).toBe(false)
  expect(await (await openAfterKill(dir)).stream('s').info()).toBeUndefined()
  expect(await first).toBe(true)
})

test('delete of a stream that is kept for its forks resolves to false only after its deletion is durable', async () => {
  const { dir, streams } = await scratchStreams()
  const stream = streams.stream('s')
  await stream.append(1)
  await streams.stream('fork').create({ fork: { stream: 's' } })
  const first = stream.delete()
  expect(await stream.delete()).toBe(false)
  expect(await (await openAfterKill(dir)).stream('s').info()).toBeUndefined()
  expect(await first).toBe(true)
})

async function follower(stream: Stream<unknown>): Promise<() => Promise<unknown>> {
  const reader = stream.read({ follow: true })
  await reader.next()
  return () => codeOf(reader.next())
}

test.each([
  ['info', async (stream: Stream<unknown>) => () => stream.info()],
  ['read', async (stream: Stream<unknown>) => () => codeOf(all(stream.read()))],
  ['a follower', follower],
])('%s reports that a stream does not exist only after its deletion is durable', async (_, prepare) => {
  const { dir, streams } = await scratchStreams()
  const stream = streams.stream('s')
  await stream.append(1)
  const look = await prepare(stream)
  const deleted = stream.delete()
  expect([undefined, 'ERR_DURLOG_NOT_FOUND']).toContain(await look())
  expect(await (await openAfterKill(dir)).stream('s').info()).toBeUndefined()
  expect(await deleted).toBe(true)
})

type Handler = ReturnType<typeof streamsHandler>

async function answersOnlyAfterDeletion(answer: (handler: Handler) => Promise<void>, forks = 0): Promise<void> {
  const { dir, streams } = await scratchStreams()
  const handler = streamsHandler(streams)
  onTestFinished(() => handler.close())
  await streams.stream('s').append(1)
  for (let fork = 0; fork < forks; fork++) await streams.stream(`fork ${fork}`).create({ fork: { stream: 's' } })
  const first = streams.stream('s').delete()
  await answer(handler)
  expect(await (await openAfterKill(dir)).stream('s').info()).toBeUndefined()
  expect(await first).toBe(true)
}

test.each(['DELETE', 'GET'])('%s is answered with 404 only after the deletion of the stream is durable', (method) =>
  answersOnlyAfterDeletion(async (handler) => {
    expect((await handler.fetch(new Request('http://x/s', { method }))).status).toBe(404)
  }),
)

test('a stream that is kept for its forks is answered with 410 only after its deletion is durable', () =>
  answersOnlyAfterDeletion(async (handler) => {
    expect((await handler.fetch(new Request('http://x/s'))).status).toBe(410)
  }, 1))

test.each([0, 1])('the list by HTTP omits a stream with %i forks only after its deletion is durable', (forks) =>
  answersOnlyAfterDeletion(async (handler) => {
    const { streams } = (await (await handler.fetch(new Request('http://x/__ds/streams'))).json()) as {
      streams: object[]
    }
    expect(streams).toHaveLength(forks)
  }, forks),
)

test('the list by HTTP has every stream that a kill after its answer leaves, also if deletions begin meanwhile', async () => {
  const { dir, streams } = await scratchStreams()
  const handler = streamsHandler(streams)
  onTestFinished(() => handler.close())
  for (const name of ['a', 'b', 'c']) await streams.stream(name).append(1)
  const deleted = [streams.stream('a').delete()]
  // Waits for the deletion.
  const listing = handler.fetch(new Request('http://x/__ds/streams'))
  deleted.push(streams.stream('b').delete())
  const { streams: listed } = (await (await listing).json()) as { streams: { name: string }[] }
  const left = (await all((await openAfterKill(dir)).list())).map(({ name }) => name)
  expect(left).toContain('c')
  expect(listed.map(({ name }) => name)).toEqual(expect.arrayContaining(left))
  expect(await Promise.all(deleted)).toEqual([true, true])
})

test.each([
  ['before', 0],
  ['before', 1],
  ['during', 0],
  ['during', 1],
])(
  'list omits a stream that was deleted %s the iteration, and has %i forks, only after its deletion is durable',
  async (when, forks) => {
    const { dir, streams } = await scratchStreams()
    await streams.stream('first').append(1)
    await streams.stream('s').append(1)
    for (let fork = 0; fork < forks; fork++) await streams.stream('fork').create({ fork: { stream: 's' } })
    const listed = streams.list()
    if (when === 'during') await listed.next()
    const deleted = streams.stream('s').delete()
    expect((await all(listed)).map(({ name }) => name)).not.toContain('s')
    expect(await (await openAfterKill(dir)).stream('s').info()).toBeUndefined()
    expect(await deleted).toBe(true)
  },
)
