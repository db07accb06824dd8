/** Errors and figures of one session of an archiver. */
import { DurlogError } from '../errors.js'
import type { ReplicationSession } from '../ship/destination.js'
import { gapError } from '../ship/start.js'
import type { ArchivePosition } from './position.js'

/** The error if the records from `next` on were trimmed before they were archived. */
export function trimmedError(
  { log, cursor }: ReplicationSession,
  { next, isEmpty, history }: ArchivePosition,
): DurlogError {
  // The first record of a truncated log's history is fixed, also if the cursor is removed.
  const way =
    isEmpty && history.generation === 0
      ? `remove the log's cursor (durlog cursors DIR --remove ${cursor.name}) to begin with record ${log.firstSeq}`
      : undefined
  return gapError(next, log.firstSeq - 1, way)
}

/** The error if a segment does not hold `seq`, although the log is not being truncated. */
export function missingError({ log }: ReplicationSession, seq: number): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_CORRUPT',
    `record ${seq} was synced, but its segment does not hold it: run "durlog verify ${log.dir}"`,
    { path: log.dir },
  )
}

/** The error of a log that would replace records which another copy has replicated. */
export function aheadError(archived: number, from: number): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_DESTINATION_AHEAD',
    `the archive holds records up to ${archived} that another copy of the log has stored, and this log differs from record ${from} on. Nothing is overwritten; make a copy that has them with takeOver() (durlog promote)`,
  )
}

export function waitingBytes(cursor: ReplicationSession['cursor']): number {
  try {
    return cursor.lag.bytes
  } catch {
    // The lag cannot be read while a trim or a cut is running.
    return 0
  }
}
