import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { keepInFlight } from '../../bench/harness/load.js'
import { type Contender, takeTurns } from '../../bench/harness/rounds.js'

test('contenders take turns, and the first turn of each is not counted', async () => {
  const turns: string[] = []
  const contender = (name: string): Contender => ({
    bytesPerOperation: 10,
    batch: async () => {
      if (turns.at(-1) !== name) turns.push(name)
      await sleep(2)
      return { operations: 5, elapsedUs: 1000 }
    },
  })
  const contenders = new Map([
    ['a', contender('a')],
    ['b', contender('b')],
  ])
  let done = 0
  const onTurn = (): void => {
    done += 1
  }
  const summaries = await takeTurns(contenders, { rounds: 2, sliceMs: 8, onTurn })
  expect(turns).toEqual(['a', 'b', 'a', 'b', 'a', 'b'])
  expect(done).toBe(6)
  expect(summaries.get('a')?.opsPerSecond).toBeCloseTo(5000)
  expect(summaries.get('a')?.p50).toBeCloseTo(200)
})

test('a contender frees its space after each turn, the warm-up included', async () => {
  const events: string[] = []
  const contender: Contender = {
    bytesPerOperation: 1,
    batch: async () => {
      if (events.at(-1) !== 'fill') events.push('fill')
      return { operations: 1 }
    },
    tidy: async () => events.push('tidy'),
  }
  await takeTurns(new Map([['a', contender]]), { rounds: 2, sliceMs: 2, onTurn: () => events.push('over') })
  expect(events).toEqual(['fill', 'tidy', 'over', 'fill', 'tidy', 'over', 'fill', 'tidy', 'over'])
})

test('an operation that fails ends the measurement with its error', async () => {
  const each = async (): Promise<never> => {
    throw new Error('the disk is gone')
  }
  const failing = takeTurns(new Map([['a', { bytesPerOperation: 1, each }]]), { rounds: 1, sliceMs: 5 })
  await expect(failing).rejects.toThrow('the disk is gone')
})

test('the given number is kept in flight, and all have settled at the end', async () => {
  let underWay = 0
  let most = 0
  const append = async (): Promise<void> => {
    underWay += 1
    most = Math.max(most, underWay)
    await sleep(1)
    underWay -= 1
  }
  const { operations } = await keepInFlight(append, 16, 30)
  expect(most).toBe(16)
  expect(underWay).toBe(0)
  expect(operations).toBeGreaterThanOrEqual(16)
})
