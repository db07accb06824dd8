/** Determines the record with which shipping continues, by comparing the destination's last record with the log. */
import { DurlogError } from '../errors.js'
import type { ShippedRecord } from './types.js'

export interface StartFacts {
  uuid: string
  /** The seqs that the log holds: `first` to below `next`. */
  first: number
  next: number
  /** The destination's last record; undefined if the destination is empty. */
  last: ShippedRecord | undefined
  /** The CRC of the log's record with the seq of `last`; undefined if the log does not hold it. */
  crc: number | undefined
  /** The cursor's position: every record before it was acknowledged. -1 if it is unknown. */
  position: number
  /** The lowest shipped seq that was cut from the log; Infinity if there is none. */
  cutAt: number
  /** As ShipTarget.dropsOld. */
  dropsOld: boolean
}

export interface ShipStart {
  /** The seq of the next record to publish. */
  seq: number
  /** The first seq below `seq` that neither the log nor the destination holds; equal to `seq` if there is none. */
  lostFrom: number
}

/**
 * Finds the record with which shipping continues:
 *
 * | the destination's last record | result |
 * |---|---|
 * | there is none, and the destination keeps all records | start at the log's oldest record; trimmed records that were shipped are lost |
 * | there is none, and the destination drops old records by itself | start at the cursor's position |
 * | it belongs to another log | ERR_DURLOG_DESTINATION_OTHER |
 * | its seq is at or above the log's next seq | ERR_DURLOG_DESTINATION_AHEAD |
 * | its seq is at or above that of a shipped record that was cut from the log | ERR_DURLOG_DESTINATION_OTHER |
 * | the log holds it with other content | ERR_DURLOG_DESTINATION_OTHER |
 * | the log holds it with the same content, or it is directly before the log's first record | start after it, or with it if parts of it are missing |
 * | it is further before the log's first record | start at the log's first record; the records between the two are lost |
 */
export function whereToStart(facts: StartFacts): ShipStart {
  const { first, next, last, position } = facts
  if (last === undefined) {
    if (facts.dropsOld && position > first) return { seq: Math.min(position, next), lostFrom: Math.min(position, next) }
    return { seq: first, lostFrom: lostFromEmpty(first, position) }
  }
  if (last.uuid !== facts.uuid)
    throw other(
      `its last record belongs to the log ${last.uuid}, but this log is ${facts.uuid}: use a separate subject for each log`,
    )
  if (last.seq >= next)
    throw new DurlogError(
      'ERR_DURLOG_DESTINATION_AHEAD',
      `the destination holds record ${last.seq}, but the log's next seq is ${next}: the log was truncated, or it is an older copy. Nothing is overwritten; restore from the destination, or ship to another one`,
    )
  if (last.seq >= facts.cutAt)
    throw other(`record ${facts.cutAt} and later ones were cut from the log after they were shipped`)
  if (facts.crc !== undefined && facts.crc !== last.crc)
    throw other(`its record ${last.seq} differs from the log's record ${last.seq}`)
  const lostFrom = last.whole ? last.seq + 1 : last.seq
  return { seq: Math.max(lostFrom, first), lostFrom }
}

/**
 * Returns the first lost record if the destination is empty. If the cursor is still at the log's first record, no
 * record is lost: records that were trimmed before the cursor was created were never to be shipped.
 */
function lostFromEmpty(first: number, position: number): number {
  if (position > first) return 0
  return position >= 0 ? position : first
}

function other(reason: string): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_DESTINATION_OTHER',
    `the destination holds other records: ${reason}. Nothing is overwritten; use another destination for this log`,
  )
}

/** `otherwise` is the remedy if there is no backup of the destination. */
export function gapError(first: number, last: number, otherwise = 'begin a new destination'): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_DESTINATION_GAP',
    `records ${first} to ${last} are not in the destination, and the log has trimmed them: restore the destination from a backup, or ${otherwise}`,
    { lostFirst: first, lostLast: last },
  )
}
