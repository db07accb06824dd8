/** The requests of a client that the owner has not answered. */
import { expect, test } from 'vitest'
import { DurlogError } from '../../src/errors.js'
import { PendingRequests } from '../../src/streams/processes/pending-requests.js'
import { nextTurn } from '../../src/timers.js'
import { adjustableClock } from '../fixtures/fake-clock.js'

const BYTES = Buffer.alloc(0)
const FAILURE = (): DurlogError => new DurlogError('ERR_DURLOG_STALLED', 'no answer')

/** Creates PendingRequests with `count` requests. `rejected` gets the number of each rejected request. */
function opened(count: number): { requests: PendingRequests; rejected: number[] } {
  const requests = new PendingRequests()
  const rejected: number[] = []
  for (let number = 0; number < count; number++)
    requests.add({ bytes: BYTES, start: number, end: number, onAnswer: () => {}, reject: () => rejected.push(number) })
  return { requests, rejected }
}

test('an answer removes its request once, in any order of the answers, and oldest is the oldest unanswered request', () => {
  const COUNT = 5000
  const { requests } = opened(COUNT)
  const open = new Set(Array.from({ length: COUNT }, (_, number) => number))
  for (let step = 0; step < COUNT; step++) {
    // 7 and the count have no common divisor, so each number is answered once, and the first numbers late.
    const number = (COUNT - 1 + step * 7) % COUNT
    expect(requests.take(number)?.start).toBe(number)
    expect(requests.take(number)).toBe(undefined)
    open.delete(number)
    expect([requests.size, requests.oldest]).toEqual([open.size, open.values().next().value ?? COUNT])
  }
  requests.add({ bytes: BYTES, start: COUNT, end: COUNT, onAnswer: () => {}, reject: () => {} })
  expect([requests.next, requests.oldest, requests.take(COUNT)?.start]).toEqual([COUNT + 1, COUNT, COUNT])
})

test('open requests are repeated in the order of their calls, without those that got a response', () => {
  const { requests } = opened(3000)
  for (let number = 0; number < 2990; number++) if (number !== 7) requests.take(number)
  expect(requests.all.map(({ start }) => start)).toEqual([
    7, 2990, 2991, 2992, 2993, 2994, 2995, 2996, 2997, 2998, 2999,
  ])
})

test('a request is rejected only once, after its ticks or with all others', () => {
  const { requests, rejected } = opened(3)
  requests.take(1)
  requests.tick(0, 2, FAILURE)
  requests.add({ bytes: BYTES, start: 3, end: 3, onAnswer: () => {}, reject: () => rejected.push(3) })
  expect(rejected).toEqual([])
  requests.tick(1, 2, FAILURE)
  expect(rejected).toEqual([0, 2])
  requests.rejectAll(FAILURE)
  requests.rejectAll(FAILURE)
  expect([rejected, requests.size]).toEqual([[0, 2, 3], 0])
})

test('ticks of an earlier stall do not count, because the owner has worked since', () => {
  const { requests, rejected } = opened(1)
  for (let stall = 0; stall < 10; stall++) for (let tick = 0; tick < 2; tick++) requests.tick(tick, 3, FAILURE)
  expect(rejected).toEqual([])
  requests.tick(2, 3, FAILURE)
  expect(rejected).toEqual([0])
})

test('many requests are rejected in several turns of the event loop, and requests that are made meanwhile are not', async () => {
  const ahead = adjustableClock('held')
  const { requests } = opened(0)
  const turns = new Set<number>()
  let [turn, rejected] = [0, 0]
  const reject = (): void => {
    rejected++
    turns.add(turn)
    ahead(2)
  }
  const add = (): void => requests.add({ bytes: BYTES, start: 0, end: 0, onAnswer: () => {}, reject })
  for (let number = 0; number < 100; number++) add()
  requests.rejectAll(FAILURE)
  add()
  expect(requests.size).toBe(1)
  for (; rejected < 100; turn++) await nextTurn()
  expect(turns.size).toBeGreaterThan(1)
  expect(requests.size).toBe(1)
})
