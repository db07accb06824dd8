import { expect, test } from 'vitest'
import { DurlogError } from '../../src/errors.js'
import type { ReadableLog } from '../../src/index.js'
import { IdleWaiters } from '../../src/ship/idle-waiters.js'
import { nextTurn } from '../../src/timers.js'
import { adjustableClock } from '../fixtures/fake-clock.js'

test('many waiting calls of idle read one record each, and are resolved in the order of their seqs', async () => {
  const count = 1000
  let reads = 0
  const get = (): Promise<unknown> => {
    reads++
    return Promise.resolve({})
  }
  const waiters = new IdleWaiters({ nextSeq: count, get } as unknown as ReadableLog, () => {})
  const resolved: number[] = []
  const waiting: Promise<unknown>[] = []
  for (let i = 0; i < count; i++) {
    // After a truncation, a later call may wait for a lower seq.
    const seq = i ^ 1
    waiting.push(waiters.wait(seq, undefined).then(() => resolved.push(seq)))
    waiters.settle(-1, true)
  }
  expect(reads).toBe(count)
  waiters.settle(count / 2 - 1, false)
  await Promise.all(waiting.slice(0, count / 2))
  expect(resolved).toEqual(Array.from({ length: count / 2 }, (_, seq) => seq))
  waiters.reject(new DurlogError('ERR_DURLOG_CLOSED', 'closed'))
  const rest = await Promise.allSettled(waiting.slice(count / 2))
  const errors = new Set(rest.map((one) => (one.status === 'rejected' ? one.reason : undefined)))
  expect([...errors].filter((error) => error instanceof DurlogError)).toHaveLength(count / 2)
})

test.each(['resolved', 'rejected'])(
  'many waiting calls of idle are %s in several turns of the event loop',
  async (how) => {
    const ahead = adjustableClock('held')
    const waiters = new IdleWaiters({ nextSeq: 3 } as ReadableLog, () => {})
    const turns: number[] = []
    let turn = 0
    const settled = (): void => {
      turns.push(turn)
      ahead(2)
    }
    for (let seq = 0; seq < 3; seq++) waiters.wait(seq, undefined).then(settled, settled)
    if (how === 'resolved') waiters.settle(2, false)
    else waiters.reject(new DurlogError('ERR_DURLOG_CLOSED', 'closed'))
    for (; turns.length < 3; turn++) await nextTurn()
    expect(new Set(turns).size).toBe(3)
  },
)
