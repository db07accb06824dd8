import { DurlogError } from '../errors.js'

/** The error for records that are missing between others of the stream. */
export function gapInStream(first: number, last: number): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_DESTINATION_GAP',
    `the stream does not hold the records ${first} to ${last}: restore up to ${first - 1}, or from ${last + 1} on into another folder`,
    { lostFirst: first, lostLast: last },
  )
}
