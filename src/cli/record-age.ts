/** How many records wait for their reader, and for how long. */
import { DurlogError } from '../errors.js'
import type { ReadOnlyLog } from '../index.js'
import { timeFrom } from '../ship/voids.js'
import { formatCounted, formatDuration } from '../terminal/output.js'

/**
 * Returns the age of the first record from `seq` on, in milliseconds; undefined if there is none, or if it was trimmed
 * or cannot be read. A seq without a record is passed over.
 */
export function ageFrom(log: ReadOnlyLog, seq: number): number | undefined {
  try {
    const timeMs = timeFrom(log, seq)
    return timeMs === undefined ? undefined : Math.max(0, Date.now() - timeMs)
  } catch (error) {
    if (error instanceof DurlogError) return undefined
    throw error
  }
}

/** `ms`: the age of the oldest one, if it is known. */
export function waitingText(records: number, ms?: number): string {
  const age = ms === undefined ? '' : `, the oldest for ${formatDuration(ms)}`
  return `${formatCounted(records, 'record')} ${records === 1 ? 'waits' : 'wait'}${age}`
}
