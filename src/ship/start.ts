/** Where shipping goes on: what the destination holds last, compared with the log. */
import { DurlogError } from '../errors.js'
import type { ShippedRecord } from './types.js'

export interface StartFacts {
  uuid: string
  /** The seqs that the log holds: `first` to below `next`. */
  first: number
  next: number
  /** Undefined if the destination is empty. */
  last: ShippedRecord | undefined
  /** The CRC of the log's record with the seq of `last`; undefined if the log does not hold it. */
  crc: number | undefined
  /** The cursor's position: every record before it was acknowledged. -1 if it is not known. */
  position: number
  /** The lowest seq that was cut from the log behind the cursor; Infinity if none was. */
  cutAt: number
  /** As ShipTarget.dropsOld. */
  dropsOld: boolean
}

export interface Start {
  /** The next record to publish. */
  seq: number
  /** The first seq of those before it that can be had nowhere any more; `seq` if there is none. */
  lostFrom: number
}

/**
 * | the destination's last record | then |
 * |---|---|
 * | none; the destination keeps what it has | from the oldest record of the log: it was never shipped, or the destination lost it |
 * | none; the destination drops old records by itself | from the cursor's position |
 * | another log's | ERR_DURLOG_DESTINATION_OTHER |
 * | at or above the log's end | ERR_DURLOG_DESTINATION_AHEAD |
 * | at or above what was cut from the log after it was shipped | ERR_DURLOG_DESTINATION_OTHER |
 * | in the log, and not the same | ERR_DURLOG_DESTINATION_OTHER |
 * | in the log, and the same; or right before the log's first | from the one after it, or from itself if parts of it are missing |
 * | before the log's first, with others between them | these are lost: from the log's first |
 */
export function whereToStart(facts: StartFacts): Start {
  const { first, next, last, position } = facts
  if (last === undefined) {
    const seq = facts.dropsOld && position > first ? Math.min(position, next) : first
    // What was trimmed before there was a cursor was never meant for the destination.
    return { seq, lostFrom: position >= 0 && position < first ? position : seq }
  }
  if (last.uuid !== facts.uuid)
    throw other(
      `its last record is of the log ${last.uuid}, and this one is ${facts.uuid}: give each log a subject of its own`,
    )
  if (last.seq >= next)
    throw new DurlogError(
      'ERR_DURLOG_DESTINATION_AHEAD',
      `the destination holds record ${last.seq}, and the log ends before ${next}: it was truncated, or it is an older copy. Nothing is overwritten; restore from the destination, or ship to another one`,
    )
  if (last.seq >= facts.cutAt)
    throw other(`it holds records from ${facts.cutAt} on that were cut from the log after they were shipped`)
  if (facts.crc !== undefined && facts.crc !== last.crc)
    throw other(`its record ${last.seq} is not the one that the log holds`)
  const lostFrom = last.whole ? last.seq + 1 : last.seq
  return { seq: Math.max(lostFrom, first), lostFrom }
}

function other(what: string): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_DESTINATION_OTHER',
    `the destination holds other records: ${what}. Nothing is overwritten`,
  )
}

export function gapError(first: number, last: number): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_DESTINATION_GAP',
    `records ${first} to ${last} are not in the destination, and the log has trimmed them: bring them back from a copy, or leave them out with onGap: 'skip'`,
    { lostFirst: first, lostLast: last },
  )
}
