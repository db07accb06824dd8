/** The formats of times and durations on the command line. */
import { describe, expect, test } from 'vitest'
import { toAgeMs, toBytes, toTimeMs, toWaitMs } from '../../src/cli/arguments.js'
import { durlog } from '../fixtures/command.js'

describe('a time', () => {
  test.each([
    ['2026-01-31T12:00Z', Date.UTC(2026, 0, 31, 12)],
    ['2026-01-31T12:00:05.250Z', Date.UTC(2026, 0, 31, 12, 0, 5, 250)],
    ['2026-01-31 12:00+02:00', Date.UTC(2026, 0, 31, 10)],
    ['2026-01-31T12:00-0130', Date.UTC(2026, 0, 31, 13, 30)],
    ['2026-01-31T12:00', new Date(2026, 0, 31, 12).getTime()],
    ['2026-01-31', new Date(2026, 0, 31).getTime()],
    ['1700000000000', 1_700_000_000_000],
  ])('%s is understood', (text, ms) => {
    expect(toTimeMs(text)).toBe(ms)
  })

  test.each(['record 12', '-5', '12', '', '2026', '2026-02-30', '2026-13-01', '2026-01-31T25:00', 'Jan 5', '5 days'])(
    '%j is refused',
    (text) => {
      expect(() => toTimeMs(text)).toThrow(/It must be a time/)
    },
  )

  test('trim --before refuses a value that is neither a seq nor a time', async () => {
    for (const before of ['--before=record 12', '--before=-5']) {
      const { code, stderr } = await durlog(['trim', 'DIR', before])
      expect([code, stderr]).toEqual([64, expect.stringContaining("'--before <seq|time>' argument")])
    }
  })
})

test.each([
  [['append', ''], 'dir'],
  [['import', '', '--keep', 'FILE'], 'dir'],
  [['restore', 'NEW', ''], 'source'],
  [['doctor', ''], 'dir'],
  [['top', 'A', 'B', ''], 'dirs'],
  [['serve', ''], 'dir'],
])('an empty argument is refused, and does not mean the working directory: %j', async (args, name) => {
  const { code, stderr } = await durlog(args)
  expect([code, stderr]).toEqual([64, expect.stringContaining(`the argument "${name}" is empty`)])
})

describe('a duration', () => {
  test.each([
    ['1500', 1500],
    ['250ms', 250],
    ['1.5s', 1500],
    ['2h', 7_200_000],
    ['2147483647', 2 ** 31 - 1],
  ])('to wait %s is %i ms', (text, ms) => {
    expect(toWaitMs(text)).toBe(ms)
  })

  test.each(['99999999999', '30d', '-1', '1.5', 'soon', ''])('a time to wait of %j is refused', (text) => {
    expect(() => toWaitMs(text)).toThrow(/up to 2147483647 ms/)
  })

  test('top refuses an interval that is too long for a timer, and one that is too short', async () => {
    for (const interval of ['99999999999', '0']) {
      const { code, stderr } = await durlog(['top', 'DIR', '-i', interval])
      expect([code, stderr]).toEqual([64, expect.stringContaining('--interval')])
    }
  })

  test('top refuses a count of 0 samples', async () => {
    const { code, stderr } = await durlog(['top', 'DIR', '-n', '0'])
    expect([code, stderr]).toEqual([64, expect.stringContaining('It must be at least 1.')])
  })

  test('an age has a unit', () => {
    expect(toAgeMs('7d')).toBe(604_800_000)
    expect(() => toAgeMs('7')).toThrow(/must be a duration/)
  })
})

test('sizes have binary units', () => {
  expect(['65536', '64K', '64KiB', '64kb', '1M'].map(toBytes)).toEqual([65536, 65536, 65536, 65536, 2 ** 20])
})
