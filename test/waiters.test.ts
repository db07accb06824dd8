import { expect, test } from 'vitest'
import { GroupRejection } from '../src/caller-stack.js'
import { closedError } from '../src/errors.js'
import { Waiters } from '../src/log/append/waiters.js'

test('each waiter resolves with its own seq once the level has passed it, and not before', async () => {
  const waiters = new Waiters()
  const settled: number[] = []
  for (let seq = 0; seq < 5; seq++) void waiters.wait(seq).then((value) => settled.push(value))
  waiters.settle(0)
  await Promise.resolve()
  expect(settled).toEqual([])
  waiters.settle(3)
  await Promise.resolve()
  expect(settled).toEqual([0, 1, 2])
  expect(waiters.size).toBe(2)
  waiters.settle(10)
  await Promise.resolve()
  expect(settled).toEqual([0, 1, 2, 3, 4])
  expect(waiters.size).toBe(0)
})

test('a call settles at most the given number of waiters, and the next call settles the rest', async () => {
  const waiters = new Waiters()
  const promises = [0, 1, 2].map((seq) => waiters.wait(seq))
  expect(waiters.settle(3, 2)).toBe(2)
  expect(waiters.size).toBe(1)
  expect(waiters.settle(3, 2)).toBe(1)
  expect(await Promise.all(promises)).toEqual([0, 1, 2])
})

test('order and seqs survive growth while the ring is wrapped', async () => {
  const waiters = new Waiters()
  const promises: Promise<number>[] = []
  let next = 0
  for (let round = 0; round < 20; round++) {
    for (let i = 0; i < 37; i++) promises.push(waiters.wait(next++))
    waiters.settle(next - 20)
  }
  waiters.settle(next)
  expect(await Promise.all(promises)).toEqual(Array.from({ length: next }, (_, seq) => seq))
})

test('two waiters may wait for the same seq', async () => {
  const waiters = new Waiters()
  const both = Promise.all([waiters.wait(7), waiters.wait(7)])
  waiters.settle(8)
  expect(await both).toEqual([7, 7])
})

test('a failure rejects the waiters from its first seq on, oldest first, and keeps earlier ones', async () => {
  const waiters = new Waiters()
  const promises = [0, 1, 2, 3].map((seq) => waiters.wait(seq))
  const order: number[] = []
  const outcomes = Promise.allSettled(promises)
  waiters.failFrom(2, (seq) => {
    order.push(seq)
    return Promise.reject(new Error(`lost ${seq}`))
  })
  waiters.settle(0)
  expect(order).toEqual([2, 3])
  expect(waiters.size).toBe(2)
  const again = waiters.wait(2)
  waiters.settle(3)
  expect(await again).toBe(2)
  expect((await outcomes).map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'rejected'])
})

test('a call settles at most the given number of waiters that have failed, after those that were reached before', async () => {
  const waiters = new Waiters()
  const order: string[] = []
  for (const seq of [0, 1, 2, 3])
    waiters.wait(seq).then(
      () => order.push(`reached ${seq}`),
      () => order.push(`failed ${seq}`),
    )
  waiters.failFrom(1, () => Promise.reject(new Error('lost')))
  expect([waiters.settle(1, 2), waiters.size]).toEqual([2, 2])
  expect([waiters.settle(1, 2), waiters.size]).toEqual([2, 0])
  await new Promise((resolve) => setImmediate(resolve))
  expect(order).toEqual(['reached 0', 'failed 1', 'failed 2', 'failed 3'])
})

test('rejecting from below everything empties the queue', async () => {
  const waiters = new Waiters()
  const outcomes = Promise.allSettled(Array.from({ length: 100 }, (_, seq) => waiters.wait(seq)))
  waiters.failFrom(0, () => Promise.reject(new Error('gone')))
  waiters.settle(0)
  expect(waiters.size).toBe(0)
  expect((await outcomes).every(({ status }) => status === 'rejected')).toBe(true)
})

test('ten thousand calls that fail together are rejected in order', async () => {
  const waiters = new Waiters()
  const order: number[] = []
  const all = Promise.all(
    Array.from({ length: 10_000 }, (_, seq) => waiters.wait(seq).catch(() => void order.push(seq))),
  )
  const group = new GroupRejection()
  const [unknown, notWritten] = [closedError('a'), closedError('b')]
  waiters.failFrom(0, (seq) => group.rejection(seq < 5000 ? unknown : notWritten))
  waiters.settle(0)
  await all
  expect(order).toEqual(Array.from({ length: 10_000 }, (_, seq) => seq))
})
