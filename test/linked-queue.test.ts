import { expect, test } from 'vitest'
import { LinkedQueue } from '../src/support/linked-queue.js'

test('items are removed in the order of their addition, while others are added', () => {
  const queue = new LinkedQueue<number>()
  const out: number[] = []
  let next = 0
  for (let round = 0; round < 50; round++) {
    for (let i = 0; i < round; i++) queue.push(next++)
    for (let i = 0; i < round / 2; i++) out.push(queue.shift() as number)
  }
  while (queue.size > 0) out.push(queue.shift() as number)
  expect(out).toEqual(Array.from({ length: next }, (_, i) => i))
})

test('an empty queue gives nothing', () => {
  const queue = new LinkedQueue<string>()
  expect([queue.size, queue.peek(), queue.shift(), queue.size]).toEqual([0, undefined, undefined, 0])
  queue.push('a')
  expect([queue.peek(), queue.shift(), queue.peek()]).toEqual(['a', 'a', undefined])
})

test('an item can be removed once from any place, and the others keep their order', () => {
  const queue = new LinkedQueue<number>()
  const removals = [0, 1, 2, 3, 4].map((item) => queue.push(item))
  for (const item of [2, 0, 4, 2]) removals[item]?.()
  expect(queue.size).toBe(2)
  queue.push(5)
  expect(queue.removeIf((item) => item === 3)).toEqual([3])
  expect([queue.shift(), queue.shift(), queue.shift()]).toEqual([1, 5, undefined])
  removals[1]?.()
  expect(queue.size).toBe(0)
})

test('an item is inserted after the last one that precedes it', () => {
  const queue = new LinkedQueue<number>()
  const removals = [5, 3, 9, 3.5, 1].map((item) => queue.insertAfter((other) => other <= item, item))
  removals[3]?.()
  queue.push(0)
  expect(queue.removeIf(() => true)).toEqual([1, 3, 5, 9, 0])
  expect(queue.size).toBe(0)
})

test('an item that comes first is inserted at once, however many others there are', () => {
  const queue = new LinkedQueue<number>()
  let compared = 0
  for (let item = 1000; item > 0; item--)
    queue.insertAfter((other) => {
      compared++
      return other <= item
    }, item)
  expect(compared).toBeLessThan(2000)
  expect(queue.removeIf(() => true)).toEqual(Array.from({ length: 1000 }, (_, i) => i + 1))
})
