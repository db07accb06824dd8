import { expect, test } from 'vitest'
import { Backoff } from '../../src/ship/backoff.js'

test.each([
  new TypeError("Cannot read properties of undefined (reading 'digest')"),
  new RangeError('Invalid array length'),
  new ReferenceError('x is not defined'),
  // Of another realm.
  Object.assign(new Error('x'), { name: 'TypeError' }),
])('an error of the program is not retried: %s', (error) => {
  const failed = (): number => new Backoff().failed(error, Number.POSITIVE_INFINITY)
  expect(failed).toThrow(expect.objectContaining({ code: 'ERR_DURLOG_IO', cause: error }))
})

test.each([new Error('read ECONNRESET'), new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED') })])(
  'a failure of the destination is retried: %s',
  (error) => {
    expect(new Backoff().failed(error, Number.POSITIVE_INFINITY)).toBeGreaterThan(0)
  },
)
