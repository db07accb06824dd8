import { expect, test } from 'vitest'
import { inParallel } from '../../src/archive/in-parallel.js'

test('no request is in flight when several requests reject because one has failed', async () => {
  const started: number[] = []
  const ended: number[] = []
  let end = (): void => {}
  const held = new Promise<void>((resolve) => {
    end = resolve
  })
  const failed = new Error('failed')
  const items = Array.from({ length: 100 }, (_, item) => item)
  let rejected = false
  const requests = inParallel(items, async (item) => {
    started.push(item)
    if (item === 0) throw failed
    await held
    ended.push(item)
  }).catch((error: unknown) => {
    rejected = true
    return error
  })
  await new Promise(setImmediate)
  expect(rejected).toBe(false)
  end()
  expect(await requests).toBe(failed)
  expect(ended).toEqual(started.slice(1))
  expect(started.length).toBeLessThan(items.length)
})
