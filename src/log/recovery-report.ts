/** Converts the core's recovery report to the public one. */
import type { NativeRecovery } from '../native/log.js'
import type { LogRecovery } from '../types.js'

export function toRecovery(found: NativeRecovery): LogRecovery {
  const { state, scannedFrom, scannedBytes, discardedBytes, discardedRecords, segment, offset, lostFirst, lostLast } =
    found
  return {
    state,
    scannedFrom,
    scannedBytes,
    discardedBytes,
    discardedRecords,
    ...(offset >= 0 && { damage: { segment, offset } }),
    ...(state === 'corrupt' && lostFirst <= lostLast && { lost: { first: lostFirst, last: lostLast } }),
  }
}
