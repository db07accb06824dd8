import { expect, test } from 'vitest'
import { Turns } from '../src/support/turns.js'

test('a hundred thousand pieces of work run in the order of their calls, two at a time', async () => {
  const turns = new Turns(2)
  const begun: number[] = []
  let running = 0
  let most = 0
  const work = async (piece: number): Promise<void> => {
    begun.push(piece)
    most = Math.max(most, ++running)
    await undefined
    running--
  }
  const pieces = Array.from({ length: 100_000 }, (_, piece) => piece)
  await Promise.all(pieces.map((piece) => turns.take(() => work(piece))))
  expect([most, turns.busy]).toEqual([2, false])
  expect(begun).toEqual(pieces)
})

test('work that fails gives its turn to the next', async () => {
  const turns = new Turns()
  const failed = turns.take(() => Promise.reject(new Error('failed')))
  const next = turns.take(async () => 'done')
  await expect(failed).rejects.toThrow('failed')
  expect([await next, turns.busy]).toEqual(['done', false])
})
