/**
 * Offsets and cursors of the protocol. An offset is the identity of its stream in 16 digits, `_`, and the seq of the
 * next record in 16 digits, so the offsets of a stream sort as text in the order of their seqs. Zeros are the first
 * offset of any stream: the conformance suite writes it in this form.
 */
import type { ServedPort, StreamView } from '../streams/port/port.js'
import { badRequest } from './http-error.js'

const SEQ_DIGITS = 16
const OFFSET = /^([0-9]{16})_([0-9]{16})$/
export const ANY_STREAM = '0000000000000000'
/** 2024-10-09, the time from which the protocol counts intervals. */
const CURSOR_EPOCH_MS = 1_728_432_000_000
const CURSOR_INTERVAL_MS = 20_000
const MAX_JITTER_INTERVALS = 180
const CURSOR_MAX = Number.MAX_SAFE_INTEGER - MAX_JITTER_INTERVALS

/** Returns the offset of the record `seq` of a stream. */
export function offsetOf(access: ServedPort, { created }: Pick<StreamView, 'created'>, seq: number): string {
  return `${access.identities.of(created)}_${String(seq).padStart(SEQ_DIGITS, '0')}`
}

export interface Offset {
  identity: string
  seq: number
}

/** Returns undefined if the offset is malformed. */
export function parseOffset(text: string): Offset | undefined {
  const [, identity, digits] = OFFSET.exec(text) ?? []
  return identity === undefined ? undefined : { identity, seq: Number(digits) }
}

/** Returns the number of the current interval. */
export function currentCursor(): number {
  return Math.floor((Date.now() - CURSOR_EPOCH_MS) / CURSOR_INTERVAL_MS)
}

/**
 * Returns the cursor of a request; undefined if it is no number. Throws an HttpError with status 400 if no cursor can
 * be greater.
 */
export function cursorOf(text: string | undefined): number | undefined {
  if (text === undefined || !/^[0-9]+$/.test(text)) return undefined
  const cursor = Number(text)
  if (cursor > CURSOR_MAX) throw badRequest(`cursor must be at most ${CURSOR_MAX}: use the last Stream-Cursor`)
  return cursor
}

/**
 * Returns a cursor that is greater than `last`, the client's previous one. So the URL of its next request is new, and
 * no cache answers it with an old response.
 */
export function cursorAfter(last = -1): number {
  const now = currentCursor()
  return last < now ? now : last + 1 + Math.floor(Math.random() * MAX_JITTER_INTERVALS)
}
