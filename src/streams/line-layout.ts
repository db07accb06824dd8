/**
 * Places lines in a file so that a reader never sees one in part: docs/STREAMS.md, "The file of a stream". A kill, or a reader
 * that looks at the wrong moment, finds a write ended after any page of it.
 */
import { PAGE_BYTES } from './aligned-memory.js'

/** One write. */
export interface Piece {
  offset: number
  bytes: Buffer
  /** To be made by O_DIRECT: it spans pages, and begins and ends at a block. */
  direct: boolean
  /** The offset after each record that it completes. */
  ends: number[]
}

/** The value of a record that is placed in a file. */
export interface Placed {
  readonly data: Buffer
  readonly length: number
}

const NEWLINE = 0x0a
const SPACE = 0x20
const NEWLINE_BYTES = Buffer.from([NEWLINE])
/** More pages at once are written by O_DIRECT. */
const BUFFERED_PAGES_MAX = 16
/** An O_DIRECT write is about this long, or holds one longer line. */
const DIRECT_BYTES = 1 << 18

/** Places `lines`, which have no newline yet, from offset `start` on, a piece at a time. */
export function layOutLines(start: number, lines: readonly Placed[]): Iterable<Piece> {
  let total = 0
  let longest = 0
  for (const { length } of lines) {
    total += length + 1
    longest = Math.max(longest, length + 1)
  }
  const direct = longest > PAGE_BYTES || total > BUFFERED_PAGES_MAX * PAGE_BYTES
  return direct ? inBlocks(start, lines) : inPages(start, lines)
}

/** Each write lies within a page; a line that does not fit into the rest of one begins on the next page. */
function* inPages(start: number, lines: readonly Placed[]): Generator<Piece> {
  let parts: Buffer[] = []
  let piece: Piece = { offset: start, bytes: NEWLINE_BYTES, direct: false, ends: [] }
  let at = start
  for (const line of lines) {
    const room = PAGE_BYTES - (at % PAGE_BYTES)
    if (line.length + 1 > room) {
      parts.push(Buffer.alloc(room, SPACE))
      at += room
    }
    if (at % PAGE_BYTES === 0 && parts.length > 0) {
      yield { ...piece, bytes: Buffer.concat(parts) }
      parts = []
      piece = { ...piece, offset: at, ends: [] }
    }
    parts.push(line.data, NEWLINE_BYTES)
    at += line.length + 1
    piece.ends.push(at)
  }
  if (parts.length > 0) yield { ...piece, bytes: Buffer.concat(parts) }
}

/** Writes of whole blocks, after spaces up to the first block. The last line of each is filled up before its newline. */
function* inBlocks(start: number, lines: readonly Placed[]): Generator<Piece> {
  let offset = Math.ceil(start / PAGE_BYTES) * PAGE_BYTES
  if (offset > start) yield { offset: start, bytes: Buffer.alloc(offset - start, SPACE), direct: false, ends: [] }
  for (let first = 0; first < lines.length; ) {
    let [last, used] = [first, 0]
    for (; last < lines.length && (used === 0 || used < DIRECT_BYTES); last++)
      used += (lines[last] as Placed).length + 1
    const piece: Piece = { offset, bytes: Buffer.alloc(roundUp(used), SPACE), direct: true, ends: [] }
    let at = 0
    for (; first < last; first++) {
      at += (lines[first] as Placed).data.copy(piece.bytes, at)
      if (first === last - 1) at = piece.bytes.length - 1
      piece.bytes[at++] = NEWLINE
      piece.ends.push(offset + at)
    }
    yield piece
    offset += piece.bytes.length
  }
}

function roundUp(bytes: number): number {
  return Math.ceil(bytes / PAGE_BYTES) * PAGE_BYTES
}

/** Lines at the beginning of `bytes`, without spaces around them, and where each ends; the rest has no newline. */
export function* completeLines(bytes: Buffer): Generator<{ line: Buffer; end: number }> {
  for (let at = 0; ; ) {
    const newline = bytes.indexOf(NEWLINE, at)
    if (newline === -1) return
    yield { line: withoutSpaces(bytes.subarray(at, newline)), end: newline + 1 }
    at = newline + 1
  }
}

export function withoutSpaces(bytes: Buffer): Buffer {
  let [first, end] = [0, bytes.length]
  while (first < end && bytes[first] === SPACE) first++
  while (end > first && bytes[end - 1] === SPACE) end--
  return bytes.subarray(first, end)
}
