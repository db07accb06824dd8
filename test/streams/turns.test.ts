/** Reads of many records in memory: the event loop has turns in the meantime. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { streamsHandler } from '../../src/http/index.js'
import { all, scratchStreams } from '../fixtures/streams.js'

const RECORDS = 150_000
/** A read of RECORDS records takes much more than this many milliseconds, and a turn takes about one. */
const TURNS = 2

/** Returns the number of turns of the event loop while `work` runs. */
async function turnsOf(work: () => Promise<void>): Promise<number> {
  let ended = false
  const done = work().finally(() => {
    ended = true
  })
  let turns = 0
  while (!ended) {
    await nextTurn()
    turns++
  }
  await done
  return turns
}

async function count(records: AsyncIterable<unknown>): Promise<void> {
  let found = 0
  for await (const _ of records) found++
  expect(found).toBe(RECORDS)
}

test('a long text that is appended over HTTP is encoded in many turns', async () => {
  const { streams } = await scratchStreams({ durability: 'memory' })
  await streams.stream('s').create({ encoding: 'utf8' })
  const { fetch } = streamsHandler(streams)
  // Three bytes each, so that no power of two divides the text between two of them.
  const text = `"${'\u20ac'.repeat(2_000_000)}\n`
  const post = async (): Promise<void> => {
    const headers = { 'content-type': 'text/plain' }
    const answer = await fetch(new Request('http://host.example/s', { method: 'POST', headers, body: text }))
    expect(answer.status).toBe(204)
  }
  expect(await turnsOf(post)).toBeGreaterThan(TURNS)
  const [record] = await all(streams.stream('s').read())
  expect(record?.value === text).toBe(true)
})

test.each([
  ['sent as an event', '\n', '&live=sse', 'event: control'],
  ['read', '"', '', ''],
])('a long text is %s in many turns', async (_, character, query, mark) => {
  const { streams } = await scratchStreams({ durability: 'memory' })
  await streams.stream('s').create({ encoding: 'utf8' })
  await streams.stream('s').append(character.repeat(3_000_000))
  const { fetch } = streamsHandler(streams)
  const read = async (): Promise<void> => {
    const { body } = await fetch(new Request(`http://host.example/s?offset=-1${query}`))
    for await (const part of body ?? []) if (Buffer.from(part).includes(mark)) break
  }
  expect(await turnsOf(read)).toBeGreaterThan(8)
})

test('reads of many records in memory give the event loop turns', async () => {
  const { streams } = await scratchStreams({ durability: 'memory', checkpointBytes: 2 ** 28 })
  const stream = streams.stream('s')
  for (let at = 0; at < RECORDS; at += 50_000) await stream.appendAll(new Array(50_000).fill(7))
  expect(await turnsOf(() => count(stream.read()))).toBeGreaterThan(TURNS)
  expect(await turnsOf(() => count(streams.readAll()))).toBeGreaterThan(TURNS)
  const { fetch } = streamsHandler(streams)
  const readBody = async (): Promise<void> => {
    const answer = await fetch(new Request('http://host.example/s?offset=-1'))
    expect(((await answer.json()) as unknown[]).length).toBe(RECORDS)
  }
  expect(await turnsOf(readBody)).toBeGreaterThan(TURNS)
})
