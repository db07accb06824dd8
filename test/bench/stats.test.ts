import { describe, expect, test } from 'vitest'
import { mergeLatencies, quantile, summarize } from '../../bench/harness/stats.js'

describe('quantiles', () => {
  test('a quantile between two values is interpolated', () => {
    expect(quantile([4, 1, 3, 2], 0.5)).toBe(2.5)
    expect(quantile([1, 2, 3], 1)).toBe(3)
    expect(quantile([], 0.5)).toBeNaN()
  })
})

describe('summaries', () => {
  test('one distant value is an outlier and moves the mean, not the median', () => {
    const latencies = Float64Array.from([10, 10, 11, 12, 12, 1000])
    const summary = summarize({ latencies, bytesPerOperation: 100 })
    expect(summary.p50).toBe(11.5)
    expect(summary.outlierShare).toBeCloseTo(1 / 6)
    expect(summary.max).toBe(1000)
    expect(summary.mean).toBeCloseTo(1055 / 6)
  })

  test('concurrent operations are counted by wall time, not by the sum of their latencies', () => {
    const latencies = Float64Array.from([100, 100, 100, 100])
    const summary = summarize({ latencies, bytesPerOperation: 1000, operations: 4, elapsedUs: 100 })
    expect(summary.opsPerSecond).toBe(40_000)
    expect(summary.megabytesPerSecond).toBe(40)
  })

  test('rounds are merged in order', () => {
    expect([...mergeLatencies([Float64Array.of(1, 2), Float64Array.of(3)])]).toEqual([1, 2, 3])
  })
})
