/** Load generators: they call an append function, with a number of calls in flight, for a time or a count. */
import { performance } from 'node:perf_hooks'

export interface Load {
  operations: number
  elapsedUs: number
}

/**
 * Keeps `depth` calls of `append` in flight until `millis` have passed (checked every `depth` calls), then waits for
 * the last one. Counts the settled calls. Uses callbacks, because an `await` for each call costs twice as much, and the
 * measured time should be that of the log, not of the load generator.
 */
export function keepInFlight(append: () => Promise<unknown>, depth: number, millis: number): Promise<Load> {
  return new Promise((resolve, reject) => {
    let operations = 0
    let underWay = depth
    let untilClock = depth
    const start = performance.now()
    const end = start + millis
    let going = true
    const settled = (): void => {
      operations += 1
      untilClock -= 1
      if (untilClock === 0) {
        untilClock = depth
        going = performance.now() < end
      }
      if (going) append().then(settled, reject)
      else {
        underWay -= 1
        if (underWay === 0) resolve({ operations, elapsedUs: (performance.now() - start) * 1000 })
      }
    }
    for (let i = 0; i < depth; i += 1) append().then(settled, reject)
  })
}

/** Calls `append` `count` times, one call after another. Returns the time of each call in microseconds. */
export async function timeEach(append: () => Promise<unknown>, count: number): Promise<Float64Array> {
  const latencies = new Float64Array(count)
  for (let i = 0; i < count; i += 1) {
    const start = performance.now()
    await append()
    latencies[i] = (performance.now() - start) * 1000
  }
  return latencies
}

/** As `timeEach`, for calls that block. */
export function timeEachSync(append: () => unknown, count: number): Float64Array {
  const latencies = new Float64Array(count)
  for (let i = 0; i < count; i += 1) {
    const start = performance.now()
    append()
    latencies[i] = (performance.now() - start) * 1000
  }
  return latencies
}

/** Lets the event loop turn, so that work that waits for the end of a synchronous loop can run. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/**
 * Calls `write` `count` times in bursts of `burst`, with a turn of the event loop after each burst, which the measured
 * time includes. If `write` throws ERR_DURLOG_BACKPRESSURE, awaits `drain`.
 */
export async function writeInBursts(
  write: () => unknown,
  drain: () => Promise<unknown>,
  count: number,
  burst: number,
): Promise<Load> {
  const start = performance.now()
  for (let done = 0; done < count; ) {
    const until = Math.min(count, done + burst)
    try {
      for (; done < until; done += 1) write()
      await nextTurn()
    } catch (error) {
      if ((error as { code?: string }).code !== 'ERR_DURLOG_BACKPRESSURE') throw error
      await drain()
    }
  }
  return { operations: count, elapsedUs: (performance.now() - start) * 1000 }
}

/**
 * As `keepInFlight`, but times each operation. Only for few lanes: reading the clock costs as much as a small append.
 */
export async function timeInFlight(
  append: () => Promise<unknown>,
  lanes: number,
  millis: number,
): Promise<Load & { latencies: Float64Array }> {
  const latencies: number[] = []
  const start = performance.now()
  const end = start + millis
  const lane = async (): Promise<void> => {
    for (let before = performance.now(); before < end; ) {
      await append()
      const after = performance.now()
      latencies.push((after - before) * 1000)
      before = after
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
  const elapsedUs = (performance.now() - start) * 1000
  return { operations: latencies.length, elapsedUs, latencies: Float64Array.from(latencies) }
}
