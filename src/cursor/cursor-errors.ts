/** The errors of a cursor whose next or delivered records are gone. */
import { DurlogError } from '../errors.js'

export function cutError(name: string, cut: number, reached: number): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_CURSOR_CUT',
    `records ${cut} to ${reached - 1}, which the cursor "${name}" had delivered or committed, were cut from the log, and other records may have their seqs: call "seek" with the seq at which to continue`,
    { lostFirst: cut, lostLast: reached - 1 },
  )
}

export function replacedError(name: string, seq: number): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_CURSOR_CUT',
    `the log's record ${seq} is not the one that the cursor "${name}" has passed: an older copy of the log was put back. Call "seek" with the seq at which to continue`,
    { lostFirst: seq, lostLast: seq },
  )
}

export function trimmedError(name: string, from: number, first: number): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_CURSOR_OVERRUN',
    `records ${from} to ${first - 1}, which the cursor "${name}" had not read, were trimmed: seek to ${first} to continue`,
    { lostFirst: from, lostLast: first - 1 },
  )
}

export function notSynced(seq: number): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_OUT_OF_RANGE',
    `record ${seq} is not known to be synced, and no process has the log open for writing: open it, or continue the restore, and repeat the call. syncedSeq is the last record that is known to be synced`,
  )
}
