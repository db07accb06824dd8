/** Offsets and ETags belong to the data for which they were returned: no other data continues at them. */
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { streamsHandler } from '../../src/http/index.js'
import { openStreams, type Streams } from '../../src/streams/index.js'
import { StreamIdentities } from '../../src/streams/port/stream-identities.js'
import { archiver, restored, store } from '../fixtures/archive.js'
import { offsetAt, seqOf } from '../fixtures/http.js'
import { openUntilDone, scratchDir } from '../fixtures/scratch.js'
import { scratchStreams } from '../fixtures/streams.js'

const ORIGIN = 'http://host.example/'

function client(streams: Streams<unknown>) {
  const { fetch } = streamsHandler(streams, { longPollMs: 1 })
  const call = (target: string, init?: RequestInit): Promise<Response> => fetch(new Request(ORIGIN + target, init))
  const end = async (name: string): Promise<string> =>
    (await call(name, { method: 'HEAD' })).headers.get('stream-next-offset') as string
  /** The statuses of every kind of request that continues at `offset`. */
  const continued = async (name: string, offset: string): Promise<number[]> => {
    const fork = { 'stream-forked-from': `/${name}`, 'stream-fork-offset': offset }
    const answers = [
      await call(`${name}?offset=${offset}`),
      await call(`${name}?offset=${offset}&live=long-poll`),
      await call(`${name}?offset=${offset}&live=sse`),
      await call(`${name}-fork`, { method: 'PUT', headers: fork }),
    ]
    for (const { body } of answers) await body?.cancel()
    return answers.map(({ status }) => status)
  }
  return { call, end, continued }
}

const ZERO = '0000000000000000_0000000000000000'
const GONE = [410, 410, 410, 410]

test.each([true, false])(
  'the offsets of a deleted stream are refused by a stream of the same name (exclusive: %s)',
  async (exclusive) => {
    const { streams } = await scratchStreams({ exclusive } as object)
    const { call, end, continued } = client(streams)
    const stream = streams.stream('s')
    await stream.appendAll([0, 1, 2])
    const offset = await end('s')
    const etag = (await call('s?offset=-1')).headers.get('etag') as string
    await stream.delete()
    await stream.appendAll([3, 4, 5, 6])
    for (const seq of [0, 1, 3, 4]) expect(await continued('s', offsetAt(offset, seq))).toEqual(GONE)
    const again = await call('s?offset=-1', { headers: { 'if-none-match': etag } })
    expect([again.status, await again.json()]).toEqual([200, [3, 4, 5, 6]])
    expect(await continued('s', await end('s'))).toEqual([200, 204, 200, 201])
  },
)

test('offsets are kept by a restart, a checkpoint and a change of the owner', async () => {
  const { dir, streams, reopen } = await scratchStreams()
  await streams.stream('s').appendAll([0, 1])
  const offset = await client(streams).end('s')
  await streams.checkpoint()
  const again = await reopen()
  expect(await client(again).end('s')).toBe(offset)
  await again.close()
  const shared = await openStreams(dir)
  onTestFinished(() => shared.close())
  const other = await openStreams(dir)
  onTestFinished(() => other.close())
  expect([await client(shared).end('s'), await client(other).end('s')]).toEqual([offset, offset])
  await shared.close()
  await other.stream('s').append(2)
  const answer = await client(other).call(`s?offset=${offset}`)
  expect(await answer.json()).toEqual([2])
})

test('the offsets of a stream sort as text, also with those of its events and of the list', async () => {
  const { streams } = await scratchStreams()
  const { call, end } = client(streams)
  const offsets: string[] = []
  for (const n of [0, 1, 2]) {
    await streams.stream('s').append(n)
    offsets.push(await end('s'))
  }
  expect([...offsets].sort()).toEqual(offsets)
  expect(offsets.map(seqOf)).toEqual([1, 2, 3])
  expect((await (await call('__ds/streams')).json()).streams[0].nextOffset).toBe(offsets[2])
})

test('the zero offset is the first one of every stream; other offsets with a zero identity are refused', async () => {
  const { streams } = await scratchStreams()
  const { call, continued } = client(streams)
  await streams.stream('s').appendAll([0, 1])
  expect(await (await call(`s?offset=${offsetAt(ZERO, 0)}`)).json()).toEqual([0, 1])
  expect(await continued('s', offsetAt(ZERO, 1))).toEqual(GONE)
})

test.each([true, false])(
  'a fork continues at the offsets of its sources before its first record (exclusive: %s)',
  async (exclusive) => {
    const { streams } = await scratchStreams({ exclusive } as object)
    const { call, end } = client(streams)
    await streams.stream('a').appendAll([0, 1, 2, 3])
    const offset = await end('a')
    await streams.stream('b').create({ fork: { stream: 'a', seq: 3 } } as object)
    await streams.stream('b').append('b')
    await streams.stream('c').create({ fork: { stream: 'b', seq: 2 } } as object)
    await streams.stream('c').append('c')
    const at = async (name: string, seq: number) => {
      const answer = await call(`${name}?offset=${offsetAt(offset, seq)}`)
      return answer.status === 200 ? answer.json() : answer.status
    }
    expect([await at('b', 1), await at('b', 3), await at('b', 4)]).toEqual([[1, 2, 'b'], ['b'], 410])
    expect([await at('c', 1), await at('c', 2), await at('c', 3)]).toEqual([[1, 'c'], ['c'], 410])
    const ofB = await end('b')
    const fromB = await call(`c?offset=${offsetAt(ofB, 1)}`)
    expect(await fromB.json()).toEqual([1, 'c'])
    expect((await call(`a?offset=${ofB}`)).status).toBe(410)
  },
)

test('a restored folder refuses the offsets and the ETags of the original', async () => {
  const s3 = await store()
  const dir = join(scratchDir(), 'streams')
  const streams = await openStreams(dir)
  onTestFinished(() => streams.close())
  const made = archiver(await openUntilDone(join(dir, 'log'), { readOnly: true }), s3)
  await streams.stream('s').appendAll([0, 1])
  await made.idle()
  const copy = await openStreams(await restored(s3))
  onTestFinished(() => copy.close())
  const offset = await client(streams).end('s')
  const etag = (await client(streams).call('s')).headers.get('etag') as string
  const { call, continued } = client(copy)
  expect(await continued('s', offset)).toEqual(GONE)
  expect((await call('s', { headers: { 'if-none-match': etag } })).status).toBe(200)
})

test('the identities of streams differ, and depend on the log and its generation', () => {
  const found = new Set<string>()
  const folders = [new StreamIdentities('a', 0), new StreamIdentities('a', 1), new StreamIdentities('b', 0)]
  const created = Array.from({ length: 20_000 }, (_, at) => (at % 2 === 0 ? at : at * 2 ** 32))
  for (const identities of folders) for (const at of created) found.add(identities.of(at))
  expect(found.size).toBe(60_000)
  for (const identity of found) expect(identity).toMatch(/^(?!0{16})[0-9]{16}$/)
})
