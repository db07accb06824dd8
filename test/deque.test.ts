import { expect, test } from 'vitest'
import { Deque } from '../src/log/deque.js'

test('items come out in the order they went in, across growth and wrap-around', () => {
  const queue = new Deque<number>()
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
  const queue = new Deque<string>()
  expect([queue.size, queue.peek(), queue.shift(), queue.size]).toEqual([0, undefined, undefined, 0])
  queue.push('a')
  expect([queue.peek(), queue.shift(), queue.peek()]).toEqual(['a', 'a', undefined])
})
