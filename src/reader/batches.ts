/** Iterates over the records of a reader in arrays. */
import { whole } from '../options/checks.js'
import type { LogReader, LogRecord } from '../types.js'

/** The allowed values of `maxRecords`. */
const BATCH_RECORDS = { min: 1, max: 65_536, unit: 'records' }
const DEFAULT_BATCH_RECORDS = 1024

export type Batches = AsyncGenerator<LogRecord[], undefined, undefined>

/** `buffered` takes at most `max` of the records that `reader` has decoded. */
export function inBatches(
  reader: LogReader,
  buffered: (max: number) => LogRecord[],
  maxRecords: number | undefined,
): Batches {
  return endingFirst(reader, generate(reader, buffered, maxRecords))
}

/**
 * Makes the `return` of `batches` end `reader` first. A generator's own `return` waits for the pending `next`, which may never
 * settle for a follower.
 */
export function endingFirst(reader: LogReader, batches: Batches): Batches {
  const end = batches.return.bind(batches)
  batches.return = async (value) => {
    await reader.return()
    return end(value)
  }
  return batches
}

async function* generate(
  reader: LogReader,
  buffered: (max: number) => LogRecord[],
  maxRecords: number | undefined,
): Batches {
  const max = whole('maxRecords', maxRecords, BATCH_RECORDS, DEFAULT_BATCH_RECORDS)
  try {
    for (;;) {
      const records = buffered(max)
      if (records.length === 0) {
        const { done, value } = await reader.next()
        if (done) return undefined
        records.push(value, ...buffered(max - 1))
      }
      yield records
    }
  } finally {
    await reader.return()
  }
}
