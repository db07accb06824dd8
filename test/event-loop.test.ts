/** Loops of awaited calls that settle at once let the event loop turn. */
import { expect, test } from 'vitest'
import type { Log } from '../src/index.js'
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

/** Each count takes several milliseconds at the least. */
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
