/** Forks of forks: the stream that has their records. */
import { expect, test } from 'vitest'
import { placeOf } from '../../src/streams/files/record-source.js'
import { defaultMeta, type StreamMeta } from '../../src/streams/port/meta.js'
import { NO_DISK, StreamState } from '../../src/streams/state/state.js'
import { scratchStreams, values } from '../fixtures/streams.js'

/** The number of times that `meta.fork` of any stream was read, which happens for each stream that a search visits. */
let visited = 0

function stateOf(name: string, source?: StreamState, seq = 0): StreamState {
  const fork = source && { stream: source.name, seq, bytes: 0 }
  const meta: StreamMeta = {
    ...defaultMeta('json'),
    get fork() {
      visited++
      return fork
    },
  }
  return new StreamState(name, 0, { ...NO_DISK, first: seq, next: seq }, meta, source)
}

/** A chain of `length` forks, each of which begins `step` records after the previous one. The last one is first. */
function chainOf(length: number, step: number): StreamState[] {
  const states = [stateOf('0')]
  for (let i = 1; i <= length; i++) {
    const state = stateOf(`${i}`, states[0], 5 + i * step)
    state.next = state.visible = 5 + (i + 1) * step
    // Every creation of a fork looks at the first seq of its source.
    expect(state.firstSeq).toBe(0)
    states.unshift(state)
  }
  return states
}

const LENGTH = 20_000
/** The limit of the steps of a search in a skip list of LENGTH streams. */
const SEARCH = 6 * Math.log2(LENGTH)

test('a fork finds its records at once after a long chain of forks that have no records themselves', () => {
  const [last, ...others] = chainOf(LENGTH, 0)
  visited = 0
  expect(placeOf(last as StreamState, 3).owner).toBe(others.at(-1))
  expect(visited).toBeLessThan(10)
})

test('making a chain of forks with records visits a few streams for each fork', () => {
  visited = 0
  chainOf(LENGTH, 2)
  expect(visited).toBeLessThan(20 * LENGTH)
})

test('a read of a chain of forks with records visits a few streams for each link', () => {
  const states = chainOf(LENGTH, 2)
  const last = states[0] as StreamState
  visited = 0
  for (let link = 1; link <= LENGTH; link++) {
    const { owner, end } = placeOf(last, 5 + 2 * link + 1)
    expect([owner === states[LENGTH - link], end]).toEqual([true, 5 + 2 * (link + 1)])
  }
  expect(visited).toBeLessThan(SEARCH * LENGTH)
})

test('a fork begins after the records that a stream of its chain has lost', () => {
  const states = chainOf(9, 2)
  const oldest = (): (number | undefined)[] => states.map(({ firstSeq }) => firstSeq)
  expect(oldest()).toEqual(Array(10).fill(0))
  const lost = states[5] as StreamState
  lost.forks = 1
  lost.disk = { ...lost.disk, first: lost.visible, next: lost.visible }
  expect(oldest()).toEqual([...Array(5).fill(lost.visible), lost.visible, ...Array(4).fill(0)])
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
