import { expect, test } from 'vitest'
import { Positions } from '../../src/streams/state/positions.js'
import { random } from '../http/hostile-requests.js'

test('positions that are added one by one or in runs, and removed from the beginning, are those of an array', () => {
  const next = random(7)
  let positions = new Positions()
  let expected: number[] = []
  let end = 0
  for (let step = 0; step < 300; step++) {
    const count = 1 + Math.floor(next() * (step % 20 === 0 ? 20_000 : 10))
    const kind = Math.floor(next() * 4)
    if (kind === 0) positions.push(end)
    if (kind === 1) positions.pushRun(end, count)
    const added = kind === 0 ? 1 : kind === 1 ? count : 0
    expected = expected.concat(Array.from({ length: added }, (_, at) => end + at))
    end += added + 1
    const before = positions
    const passed = kind > 1 ? Math.min(count, expected.length) : 0
    positions = positions.after(passed)
    expect([...before.first(passed)]).toEqual(expected.slice(0, passed))
    expected = expected.slice(passed)
    expect(positions.length).toBe(expected.length)
  }
  expect([...positions.first(expected.length)]).toEqual(expected)
  expect(expected.every((position, at) => positions.at(at) === position)).toBe(true)
})
