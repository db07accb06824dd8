import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { PacedWork } from '../src/support/paced-work.js'
import { adjustableClock } from './fixtures/fake-clock.js'

test('pieces of work run in order, each after all that the previous one continues in its turn', async () => {
  adjustableClock('held')
  const work = new PacedWork()
  const done: string[] = []
  for (const name of ['a', 'b', 'c'])
    work.run(() => {
      done.push(name)
      void (async () => {
        for (let await_ = 0; await_ < 5; await_++) await undefined
        done.push(`${name} continued`)
      })()
    })
  await nextTurn()
  expect(done).toEqual(['a', 'a continued', 'b', 'b continued', 'c', 'c continued'])
})

test('a piece that has used the time of a turn delays the others to the next one', async () => {
  const ahead = adjustableClock('held')
  const work = new PacedWork()
  const turnOf: number[] = []
  let turn = 0
  for (let piece = 0; piece < 3; piece++)
    work.run(() => {
      turnOf.push(turn)
      ahead(2)
    })
  for (; turnOf.length < 3; turn++) await nextTurn()
  expect(new Set(turnOf).size).toBe(3)
})

test('a piece that throws does not stop the others', async () => {
  adjustableClock('held')
  const work = new PacedWork()
  const fail = (): void =>
    work.run(() => {
      throw new Error('failed')
    })
  expect(fail).toThrow('failed')
  const done = new Promise<void>((resolve) => work.run(resolve))
  await done
})
