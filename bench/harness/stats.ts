/** Statistics of latencies. */

/** The latency of each operation in microseconds. */
export type LatenciesUs = Float64Array

export interface Summary {
  count: number
  /** This and all values up to `stddev` are microseconds. */
  p50: number
  p90: number
  p99: number
  p999: number
  min: number
  max: number
  mean: number
  stddev: number
  /** The share of latencies, 0 to 1, beyond Tukey's fences: 1.5 interquartile ranges below p25 or above p75. */
  outlierShare: number
  opsPerSecond: number
  /** In units of 10^6 bytes. */
  megabytesPerSecond: number
  /** The latencies at CURVE_SHARES, for the chart. */
  curve: number[]
  /** The figures of each round, if there were several: they show the variation between runs on this machine. */
  rounds?: { p50: number; opsPerSecond: number }[]
}

/** The points of a percentile curve. */
export const CURVE_SHARES: readonly number[] = [0, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9999]

/**
 * Returns the interpolated value below which a `share` (0 to 1) of the sorted values lies; NaN if there are no values.
 */
export function quantileSorted(sorted: ArrayLike<number>, share: number): number {
  const position = (sorted.length - 1) * share
  const below = sorted[Math.floor(position)] ?? Number.NaN
  const above = sorted[Math.ceil(position)] ?? Number.NaN
  return below + (above - below) * (position - Math.floor(position))
}

export function quantile(values: ArrayLike<number>, share: number): number {
  return quantileSorted(Float64Array.from(values).sort(), share)
}

export function median(values: ArrayLike<number>): number {
  return quantile(values, 0.5)
}

export function sum(values: Iterable<number>): number {
  let total = 0
  for (const value of values) total += value
  return total
}

function outlierShareSorted(sorted: Float64Array): number {
  const low = quantileSorted(sorted, 0.25)
  const high = quantileSorted(sorted, 0.75)
  const reach = 1.5 * (high - low)
  let outside = 0
  for (const value of sorted) if (value < low - reach || value > high + reach) outside += 1
  return outside / sorted.length
}

export interface Measured {
  latencies: LatenciesUs
  bytesPerOperation: number
  /**
   * The number of operations and their wall time in microseconds. Required if several operations were in flight at
   * once, or if a latency is the mean of several operations. Otherwise the rate is calculated from the sum of the
   * latencies.
   */
  operations?: number | undefined
  elapsedUs?: number | undefined
}

export function summarize({ latencies, bytesPerOperation, operations, elapsedUs }: Measured): Summary {
  const sorted = Float64Array.from(latencies).sort()
  const total = sum(sorted)
  const mean = total / sorted.length
  let squares = 0
  for (const value of sorted) squares += (value - mean) ** 2
  const opsPerSecond = ((operations ?? sorted.length) / (elapsedUs ?? total)) * 1e6
  return {
    count: sorted.length,
    p50: quantileSorted(sorted, 0.5),
    p90: quantileSorted(sorted, 0.9),
    p99: quantileSorted(sorted, 0.99),
    p999: quantileSorted(sorted, 0.999),
    min: sorted[0] ?? Number.NaN,
    max: sorted.at(-1) ?? Number.NaN,
    mean,
    stddev: Math.sqrt(squares / Math.max(1, sorted.length - 1)),
    outlierShare: outlierShareSorted(sorted),
    opsPerSecond,
    megabytesPerSecond: (opsPerSecond * bytesPerOperation) / 1e6,
    curve: CURVE_SHARES.map((share) => quantileSorted(sorted, share)),
  }
}

/** Joins the latencies of several rounds. */
export function mergeLatencies(rounds: readonly LatenciesUs[]): LatenciesUs {
  const merged = new Float64Array(sum(rounds.map((round) => round.length)))
  let at = 0
  for (const round of rounds) {
    merged.set(round, at)
    at += round.length
  }
  return merged
}
