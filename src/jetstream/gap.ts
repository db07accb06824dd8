import { DurlogError } from '../errors.js'

/** Records that a stream does not hold between others. */
export function gapInStream(first: number, last: number): DurlogError {
  return new DurlogError(
    'ERR_DURLOG_DESTINATION_GAP',
    `the stream has no records ${first} to ${last}: restore up to ${first - 1}, or from ${last + 1} on into another folder`,
    { lostFirst: first, lostLast: last },
  )
}
