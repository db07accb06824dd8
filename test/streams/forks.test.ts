/** Forks of forks: the stream that has their records. */
import { expect, test } from 'vitest'
import { defaultMeta } from '../../src/streams/meta.js'
import { NO_DISK, NO_FILES, StreamState } from '../../src/streams/state.js'
import { scratchStreams, values } from '../fixtures/streams.js'

function stateOf(name: string, source?: StreamState, seq = 0): StreamState {
  const meta = defaultMeta('json')
  const forked = source === undefined ? meta : { ...meta, fork: { stream: source.name, seq } }
  return new StreamState(name, 0, { ...NO_DISK, first: seq, next: seq }, NO_FILES, forked as typeof meta, source)
}

test('a fork finds its records at once after a long chain of forks that have no records themselves', () => {
  const first = stateOf('0')
  let last = first
  for (let i = 1; i <= 20_000; i++) last = stateOf(`${i}`, last, 5)
  // The steps of a read are the streams from fork to base.
  let steps = 0
  for (let at: StreamState | undefined = last; at !== undefined; at = at.base) steps++
  expect([steps, last.base]).toEqual([2, first])
})

test('a fork of a fork has the records of each stream of the chain that are before its fork', async () => {
  const { streams, reopen } = await scratchStreams()
  const fork = async (name: string, source: string, seq: number, own: string[]): Promise<void> => {
    await streams.stream(name).create({ fork: { stream: source, seq } })
    for (const value of own) await streams.stream(name).append(value)
  }
  for (let i = 0; i < 5; i++) await streams.stream('a').append(`a${i}`)
  await fork('b', 'a', 3, ['b3', 'b4'])
  await fork('c', 'b', 2, [])
  await fork('d', 'c', 2, ['d2'])
  await fork('e', 'b', 4, [])
  await fork('f', 'e', 3, ['f3'])
  await fork('g', 'e', 4, ['g4'])
  const expected = {
    b: ['a0', 'a1', 'a2', 'b3', 'b4'],
    c: ['a0', 'a1'],
    d: ['a0', 'a1', 'd2'],
    e: ['a0', 'a1', 'a2', 'b3'],
    f: ['a0', 'a1', 'a2', 'f3'],
    g: ['a0', 'a1', 'a2', 'b3', 'g4'],
  }
  const check = async (opened: typeof streams): Promise<void> => {
    for (const [name, found] of Object.entries(expected))
      expect(await values(opened.stream(name).read())).toEqual(found)
  }
  await check(streams)
  await streams.checkpoint()
  await check(streams)
  await check(await reopen())
})
