import { expect, test } from 'vitest'
import { groupCommit } from '../../bench/harness/group-commit.js'

test('appends during a commit form the next group, in order', async () => {
  const groups: string[][] = []
  const append = groupCommit(async (group) => {
    groups.push(group.map(String))
    await new Promise((resolve) => setTimeout(resolve, 1))
  })
  const first = append(Buffer.from('a'))
  await new Promise((resolve) => setImmediate(resolve))
  await Promise.all([first, append(Buffer.from('b')), append(Buffer.from('c'))])
  await append(Buffer.from('d'))
  expect(groups).toEqual([['a'], ['b', 'c'], ['d']])
})

test('a commit that fails fails its group, and the next one runs', async () => {
  let calls = 0
  const append = groupCommit(async () => {
    calls += 1
    if (calls === 1) throw new Error('no')
  })
  await expect(append(Buffer.from('a'))).rejects.toThrow('no')
  await append(Buffer.from('b'))
  expect(calls).toBe(2)
})
