// The order that the producer and the consumer of the outbox share.

export const SEGMENT_BYTES = 65_536
export const MAX_BYTES = 12 * SEGMENT_BYTES
const MAX_TEXT = 4000
/** The producer waits beyond it: what waits for the consumer takes less than half of the bound. */
export const MAX_LAG_RECORDS = Math.floor(MAX_BYTES / 2 / (MAX_TEXT + 100))

export function orderOf(seq) {
  return { order: seq, text: 'x'.repeat((seq * 7919) % MAX_TEXT) }
}
