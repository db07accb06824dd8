/** Reads of many records in memory: the event loop has turns in the meantime. */

import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { streamsHandler } from '../../src/http/index.js'
import { openExclusive } from '../../src/streams/api/open-streams.js'
import { bareItem } from '../../src/streams/core/items.js'
import { EMPTY, EntryKind } from '../../src/streams/state/entry.js'
import { MemTable } from '../../src/streams/state/mem-table.js'
import { StreamTable } from '../../src/streams/state/table.js'
import { clock } from '../../src/timers.js'
import { adjustableClock } from '../fixtures/fake-clock.js'
import { scratchDir } from '../fixtures/scratch.js'
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

test('the streams that a checkpoint has not stored become part of the next one in several turns', async () => {
  const table = new StreamTable()
  for (let at = 0; at < 1000; at++) {
    const item = bareItem(EntryKind.append, `s${at}`)
    table.apply(item, { bytes: EMPTY, valueAt: 0, end: 0 }, 0, at, undefined)
  }
  table.beginCheckpoint()
  let nowMs = 0
  const spy = vi.spyOn(clock, 'now').mockImplementation(() => ++nowMs)
  onTestFinished(() => spy.mockRestore())
  let ended = false
  const done = table.endCheckpoint().finally(() => {
    ended = true
  })
  const [sizes, kept] = [[0], table.find('s999')]
  while (!ended) {
    sizes.push(table.dirty.size)
    await nextTurn()
  }
  await done
  const steps = sizes.slice(1).map((size, at) => size - (sizes[at] as number))
  expect(Math.max(...steps)).toBeLessThan(100)
  expect(table.dirty.size).toBe(1000)
  expect(table.dirty.get('s999')).toBe(kept)
})

test('everything that waits for changes is woken in several turns', async () => {
  const table = new StreamTable()
  const ahead = adjustableClock('held')
  const turns: number[] = []
  let turn = 0
  for (let at = 0; at < 3; at++)
    table.onChange(`s${at}`, () => {
      turns.push(turn)
      ahead(2)
    })
  table.wakeAll()
  for (; turns.length < 3; turn++) await nextTurn()
  expect(new Set(turns).size).toBe(3)
})

test('a file that a failed checkpoint has written is compared with its records in several turns', async () => {
  let fails = true
  const onStep = (step: string): void => {
    if (fails && step === 'catalog') throw new Error('the checkpoint ends here')
  }
  const options = { durability: 'memory', checkpointMs: 3_600_000 } as const
  const streams = await openExclusive(join(scratchDir(), 'streams'), options, { onStep })
  onTestFinished(() => streams.close())
  await streams.stream('s').appendAll(Array(20_000).fill(7))
  await expect(streams.checkpoint()).rejects.toMatchObject({ code: 'ERR_DURLOG_IO' })
  fails = false
  const ahead = adjustableClock('held')
  const { at } = MemTable.prototype
  let [found, most] = [0, 0]
  const spy = vi.spyOn(MemTable.prototype, 'at').mockImplementation(function (this: MemTable, position) {
    if (found++ === 0)
      setImmediate(() => {
        found = 0
      })
    if (found % 1000 === 0) ahead(1)
    most = Math.max(most, found)
    return at.call(this, position)
  })
  onTestFinished(() => spy.mockRestore())
  await streams.checkpoint()
  expect(most).toBeGreaterThan(900)
  expect(most).toBeLessThan(1100)
  expect(await all(streams.stream('s').read())).toHaveLength(20_000)
})
