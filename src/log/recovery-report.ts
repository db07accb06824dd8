/** What the core found on opening, as the package tells it. */
import type { NativeRecovery } from '../native/native.js'
import type { LogRecovery } from '../types.js'

export function toRecovery(found: NativeRecovery): LogRecovery {
  const { state, scannedBytes, discardedBytes, discardedRecords, segment, offset, lostFirst, lostLast } = found
  return {
    state,
    scannedBytes,
    discardedBytes,
    discardedRecords,
    ...(offset >= 0 && { damage: { segment, offset } }),
    ...(state === 'corrupt' && lostFirst <= lostLast && { lost: { first: lostFirst, last: lostLast } }),
  }
}
