/** Seqs that hold no record, as one of several writers died: nothing of them is ever shipped. */
import { DurlogError } from '../errors.js'
import type { ReadableLog } from '../index.js'

/** The first seq after those that `error` says hold no record; undefined for another error. */
function behindVoid(error: unknown): number | undefined {
  const isVoid = error instanceof DurlogError && error.code === 'ERR_DURLOG_VOID'
  return isVoid && error.lostLast !== undefined ? error.lostLast + 1 : undefined
}

/** Whether the log, which holds `last`, has no record from `first` to `last`. What cannot be read counts as a record. */
export async function isVoid(log: ReadableLog, first: number, last: number): Promise<boolean> {
  for (let seq = first; seq <= last; ) {
    try {
      await log.get(seq)
      return false
    } catch (error) {
      const behind = behindVoid(error)
      if (behind === undefined) return false
      seq = behind
    }
  }
  return true
}

/** The time of the first record from `first` on; undefined if there is none. Throws like `getSync`. */
export function timeFrom(log: ReadableLog, first: number): number | undefined {
  for (let seq = first; ; ) {
    try {
      return log.getSync(seq).timestamp
    } catch (error) {
      const behind = behindVoid(error)
      if (behind === undefined) throw error
      if (behind >= log.nextSeq) return undefined
      seq = behind
    }
  }
}
