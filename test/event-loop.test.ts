/**
 * Loops of awaited calls that settle at once, and large chunks of a stream, let the event loop turn; its turns share
 * commits.
 */
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Log } from '../src/index.js'
import { clock } from '../src/timers.js'
import { scratchLog } from './fixtures/scratch.js'

const MIB = Buffer.alloc(2 ** 20, 1)
const RECORDS = Array.from({ length: 1000 }, () => Buffer.alloc(1000, 1))

/** How many of `most` awaited calls are made before the event loop has turned. */
async function callsInTurn(call: () => Promise<unknown>, most: number): Promise<number> {
  await call()
  let turned = false
  await new Promise(setImmediate)
  setImmediate(() => {
    turned = true
  })
  let calls = 0
  while (!turned && calls < most) {
    await call()
    calls++
  }
  return calls
}

/** Each count takes at least several milliseconds. */
const LOOPS: [string, number, (log: Log) => () => Promise<unknown>][] = [
  ['appends of 1 MiB', 40, (log) => () => log.append(MIB)],
  ['batches of 1,000 records', 40, (log) => () => log.appendBatch(RECORDS)],
  ['appends of 100 B', 3_000_000, (log) => () => log.append('x'.repeat(100))],
  ['drain', 3_000_000, (log) => () => log.drain()],
  ['sync', 1_000_000, (log) => () => log.sync()],
]

test.each(LOOPS)('a loop of %s at memory lets the event loop turn', async (_title, most, makeCall) => {
  const log = await scratchLog({ durability: 'memory', segmentBytes: 64 * 2 ** 20 })
  expect(await callsInTurn(makeCall(log), most)).toBeLessThan(most)
})

const CHUNKS: [string, Buffer, number][] = [
  ['100,000 short lines', Buffer.from('line\n'.repeat(100_000)), 100_000],
  ['2,000 lines of 16 KiB', Buffer.from(`${'x'.repeat(16_383)}\n`.repeat(2000)), 2000],
]

async function mostLinesInTurn(chunk: Buffer, lines: number): Promise<number> {
  const log = await scratchLog({ durability: 'memory' })
  const writable = log.writable({ split: 'lines' })
  let mostInTurn = 0
  let before = 0
  let done = false
  const look = (): void => {
    mostInTurn = Math.max(mostInTurn, log.nextSeq - before)
    before = log.nextSeq
    if (!done) setImmediate(look)
  }
  look()
  await new Promise<void>((resolve) => writable.end(chunk, resolve))
  done = true
  look()
  expect(log.nextSeq).toBe(lines)
  return mostInTurn
}

test.each(CHUNKS)('a writable that splits a chunk of %s lets the event loop turn', async (_title, chunk, lines) => {
  expect(await mostLinesInTurn(chunk, lines)).toBeLessThan(lines / 4)
})

// However slow the machine is: the clock moves on by 1 ms at each look.
test.each(CHUNKS)(
  'a writable splits a chunk of %s for 1 ms in a turn of the event loop',
  async (_title, chunk, lines) => {
    let now = 0
    const spy = vi.spyOn(clock, 'now').mockImplementation(() => now++)
    onTestFinished(() => spy.mockRestore())
    expect(await mostLinesInTurn(chunk, lines)).toBeLessThanOrEqual(128)
  },
)

test('a writable that skips a chunk of empty lines lets the event loop turn', async () => {
  const log = await scratchLog({ durability: 'memory' })
  const writable = log.writable({ split: 'lines', skipEmpty: true })
  let turns = 0
  let done = false
  const turn = (): void => {
    turns++
    if (!done) setImmediate(turn)
  }
  turn()
  await new Promise<void>((resolve) => writable.end(Buffer.from('\n'.repeat(409_600)), resolve))
  done = true
  expect(turns).toBeGreaterThan(50)
})

test('appends of several callbacks of one turn of the event loop share a commit', async () => {
  const log = await scratchLog({ durability: 'sync' })
  await log.append('first')
  const { commits } = log.stats()
  const appends = Array.from(
    { length: 20 },
    (_, at) =>
      new Promise((resolve, reject) => {
        setImmediate(() => log.append(`record ${at}`).then(resolve, reject))
      }),
  )
  await Promise.all(appends)
  expect(log.stats().commits).toBe(commits + 1)
})
