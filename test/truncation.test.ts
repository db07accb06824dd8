import { setImmediate as turn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { Truncation } from '../src/reader/truncation.js'

test('a cut knows the lowest later cut, after any number of them', () => {
  const first = new Truncation(Number.POSITIVE_INFINITY)
  expect(first.lowestLater()).toBe(Number.POSITIVE_INFINITY)
  const seen = first.followedBy(7)
  let last = seen
  for (let i = 0; i < 300_000; i++) last = last.followedBy(1000 + i)
  expect(first.lowestLater()).toBe(7)
  expect(seen.lowestLater()).toBe(1000)
  expect(last.lowestLater()).toBe(Number.POSITIVE_INFINITY)
})

test('a log that is cut repeatedly keeps only the newest cut in memory', async () => {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as () => void
  const start = (): [WeakRef<Truncation>, Truncation] => {
    const first = new Truncation(0)
    return [new WeakRef(first), first.followedBy(1)]
  }
  const [first, last] = start()
  await turn()
  gc()
  expect(first.deref()).toBeUndefined()
  expect(last.nextSeq).toBe(1)
})
