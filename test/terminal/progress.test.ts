import { expect, test } from 'vitest'
import { formatElapsed, progressLine } from '../../src/terminal/progress.js'

test('a bar shows the share that is done and the time', () => {
  expect(progressLine('append', 50, 200, 61_000)).toBe(`append [${'#'.repeat(10)}${'-'.repeat(30)}] 25% | 1m1s`)
})

test('a bar is never more than full', () => {
  expect(progressLine('append', 300, 200, 0)).toBe(`append [${'#'.repeat(40)}] 100% | 0s`)
})

test('a bar without a total shows the time alone', () => {
  expect(progressLine('verify', 7, 0, 59_999)).toBe('verify 59s')
  expect(formatElapsed(60_000)).toBe('1m0s')
})
