/**
 * Offsets and cursors of the protocol. An offset is `0000000000000000_` and the seq of the next record in 16 digits, so
 * offsets sort as text in the order of their seqs. The zeros before `_` have no meaning: the conformance suite writes
 * the first offset of a stream in this form.
 */
const DIGITS = 16
const RESERVED = `${'0'.repeat(DIGITS)}_`
const OFFSET = /^0{16}_([0-9]{16})$/
/** 2024-10-09, the time from which the protocol counts intervals. */
const CURSOR_EPOCH_MS = 1_728_432_000_000
const CURSOR_INTERVAL_MS = 20_000
const MAX_JITTER_INTERVALS = 180

export function offsetOf(seq: number): string {
  return RESERVED + String(seq).padStart(DIGITS, '0')
}

/** Returns undefined if the offset is malformed. */
export function seqOfOffset(offset: string): number | undefined {
  const digits = OFFSET.exec(offset)?.[1]
  return digits === undefined ? undefined : Number(digits)
}

/** Returns the number of the current interval. */
export function currentCursor(): number {
  return Math.floor((Date.now() - CURSOR_EPOCH_MS) / CURSOR_INTERVAL_MS)
}

/**
 * Returns a cursor that is greater than `last`, the client's previous one. So the URL of its next request is new, and
 * no cache answers it with an old response.
 */
export function cursorAfter(last: string | undefined): number {
  const now = currentCursor()
  const seen = last !== undefined && /^[0-9]{1,15}$/.test(last) ? Number(last) : -1
  return seen < now ? now : seen + 1 + Math.floor(Math.random() * MAX_JITTER_INTERVALS)
}
