/**
 * Offsets and cursors of the protocol. An offset is the seq of the next record in 16 digits, so that texts sort as numbers do,
 * after 16 zeros: the conformance suite writes the first offset of a stream so.
 */
const DIGITS = 16
const RESERVED = `${'0'.repeat(DIGITS)}_`
const OFFSET = /^0{16}_([0-9]{16})$/
/** 2024-10-09, from which the protocol counts intervals. */
const CURSOR_EPOCH_MS = 1_728_432_000_000
const CURSOR_INTERVAL_MS = 20_000
const MAX_JITTER_INTERVALS = 180

export function offsetOf(seq: number): string {
  return RESERVED + String(seq).padStart(DIGITS, '0')
}

/** Undefined if the offset is malformed. */
export function seqOfOffset(offset: string): number | undefined {
  const digits = OFFSET.exec(offset)?.[1]
  return digits === undefined ? undefined : Number(digits)
}

/** The number of the present interval. */
export function currentCursor(): number {
  return Math.floor((Date.now() - CURSOR_EPOCH_MS) / CURSOR_INTERVAL_MS)
}

/** The cursor after `last`, that of the client: always greater, so that a cache is asked for something new. */
export function cursorAfter(last: string | undefined): number {
  const now = currentCursor()
  const seen = last !== undefined && /^[0-9]{1,15}$/.test(last) ? Number(last) : -1
  return seen < now ? now : seen + 1 + Math.floor(Math.random() * MAX_JITTER_INTERVALS)
}
