import { describe, expect, test } from 'vitest'
import { attempts, Backoff } from '../../src/ship/backoff.js'

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

describe('pauses between attempts', () => {
  test('begin short, double, and are never much longer than two seconds', () => {
    const backoff = new Backoff()
    const error = new Error('no answer')
    const made = Array.from({ length: 40 }, () => backoff.failed(error, Number.POSITIVE_INFINITY))
    expect(made[0]).toBeLessThan(70)
    expect(made.every((pause) => pause <= 2500)).toBe(true)
    expect(made.slice(10).every((pause) => pause >= 1500)).toBe(true)
    for (const [i, pause] of made.slice(0, 5).entries()) {
      expect(pause).toBeGreaterThanOrEqual(Math.floor(50 * 2 ** i * 0.75))
      expect(pause).toBeLessThanOrEqual(Math.ceil(50 * 2 ** i * 1.25))
    }
    backoff.succeeded()
    expect(backoff.failures).toBe(0)
    // The time of the earlier failures does not count any more.
    expect(backoff.failed(error, 0)).toBeLessThan(70)
  })
})

describe('repeated work', () => {
  const failing = (failures: number): (() => Promise<string>) => {
    let calls = 0
    return async () => {
      if (calls++ < failures) throw new Error(`failure ${calls}`)
      return `call ${calls}`
    }
  }
  const often = { isTransient: () => true, retryForMs: Number.POSITIVE_INFINITY, signal: undefined }

  test('is repeated up to its number of times, and not after a failure that is not transient', async () => {
    expect(await attempts(2, failing(1), often)).toBe('call 2')
    await expect(attempts(2, failing(2), often)).rejects.toThrow('failure 2')
    await expect(attempts(2, failing(2), { ...often, isTransient: () => false })).rejects.toThrow('failure 1')
  })

  test('ends with the reason of its signal, also during a pause', async () => {
    const controller = new AbortController()
    const reason = new Error('no longer needed')
    const onRetry = (): void => controller.abort(reason)
    await expect(attempts(9, failing(9), { ...often, signal: controller.signal, onRetry })).rejects.toBe(reason)
  })
})
