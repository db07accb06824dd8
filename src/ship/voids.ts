/** Voids: seqs without a record, which a writer that died has left. They are never shipped. */
import { isCode } from '../errors.js'
import type { LogRecord, ReadableLog } from '../index.js'

/** Returns the first seq after the void that `error` reports; undefined for any other error. */
function seqAfterVoid(error: unknown): number | undefined {
  return isCode(error, 'ERR_DURLOG_VOID') && error.lostLast !== undefined ? error.lostLast + 1 : undefined
}

/**
 * Whether none of the seqs `first` to `last`, which the log holds, has a record. A seq that cannot be read counts as a
 * record.
 */
export async function isVoid(log: ReadableLog, first: number, last: number): Promise<boolean> {
  for (let seq = first; seq <= last; ) {
    try {
      await log.get(seq)
      return false
    } catch (error) {
      const next = seqAfterVoid(error)
      if (next === undefined) return false
      seq = next
    }
  }
  return true
}

/** Returns the timestamp of the first record from `first` on; undefined if there is none. Throws like `getSync`. */
export function timeFrom(log: ReadableLog, first: number): number | undefined {
  for (let seq = first; ; ) {
    try {
      return log.getSync(seq).timestamp
    } catch (error) {
      const next = seqAfterVoid(error)
      if (next === undefined) throw error
      if (next >= log.nextSeq) return undefined
      seq = next
    }
  }
}

/** Returns the last record of the log; undefined if it holds none. Rejects like `get`. */
export async function lastRecord(log: ReadableLog): Promise<LogRecord | undefined> {
  let last: LogRecord | undefined
  // The seqs from `high` on have no record. If a record is later than `last`, it is one of `low` to `high` - 1. They
  // are halved, because a void may have millions of seqs.
  let [low, high] = [log.firstSeq, log.nextSeq]
  for (let seq = high - 1; low < high; seq = low + Math.floor((high - low) / 2)) {
    try {
      last = await log.get(seq)
      low = seq + 1
    } catch (error) {
      const next = seqAfterVoid(error)
      if (next === undefined) throw error
      if (next < high) low = next
      else high = seq
    }
  }
  return last
}
