/** Decides where shipping continues, by comparing the destination's last record with the log. */
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
  /** The lowest seq that was cut from the log after the cursor had passed it; Infinity if there is none. */
  cutAt: number
  /** As ShipTarget.dropsOld. */
  dropsOld: boolean
}

export interface Start {
  /** The next record to publish. */
  seq: number
  /** The first seq before it that neither the log nor the destination holds; `seq` if there is none. */
  lostFrom: number
}

/**
 * | the destination's last record | result |
 * |---|---|
 * | none; the destination keeps all records | start at the oldest record of the log; trimmed records that were shipped are lost |
 * | none; the destination drops old records by itself | start at the cursor's position |
 * | another log's | ERR_DURLOG_DESTINATION_OTHER |
 * | at or above the log's end | ERR_DURLOG_DESTINATION_AHEAD |
 * | at or above records that were cut from the log after they were shipped | ERR_DURLOG_DESTINATION_OTHER |
 * | in the log, with other content | ERR_DURLOG_DESTINATION_OTHER |
 * | in the log, with the same content; or directly before the log's first | start after it, or with it if parts of it are missing |
 * | further before the log's first | start at the log's first; the records between are lost |
 */
export function whereToStart(facts: StartFacts): Start {
  const { first, next, last, position } = facts
  if (last === undefined) {
    if (facts.dropsOld && position > first) return { seq: Math.min(position, next), lostFrom: Math.min(position, next) }
    return { seq: first, lostFrom: lostFromEmpty(first, position) }
  }
  if (last.uuid !== facts.uuid)
    throw other(
      `its last record belongs to the log ${last.uuid}, and this log is ${facts.uuid}: use a separate subject for each log`,
    )
  if (last.seq >= next)
    throw new DurlogError(
      'ERR_DURLOG_DESTINATION_AHEAD',
      `the destination holds record ${last.seq}, and the log ends before ${next}: it was truncated, or it is an older copy. Nothing is overwritten; restore from the destination, or ship to another one`,
    )
  if (last.seq >= facts.cutAt)
    throw other(`record ${facts.cutAt} and later ones were cut from the log after they were shipped`)
  if (facts.crc !== undefined && facts.crc !== last.crc)
    throw other(`its record ${last.seq} is not the one that the log holds`)
  const lostFrom = last.whole ? last.seq + 1 : last.seq
  return { seq: Math.max(lostFrom, first), lostFrom }
}

/**
 * The first record that is in neither the log nor the destination, which is empty. Records that were trimmed before the cursor
 * was created were never meant for the destination: then the cursor is still at the log's first record.
 */
function lostFromEmpty(first: number, position: number): number {
  if (position > first) return 0
  return position >= 0 ? position : first
}

function other(reason: string): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_DESTINATION_OTHER',
    `the destination holds other records: ${reason}. Nothing is overwritten`,
  )
}

/** `otherwise` is what the caller can do if there is no backup of the destination. */
export function gapError(first: number, last: number, otherwise = 'begin a new destination'): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_DESTINATION_GAP',
    `records ${first} to ${last} are not in the destination, and the log has trimmed them: restore the destination from a backup, or ${otherwise}`,
    { lostFirst: first, lostLast: last },
  )
}
