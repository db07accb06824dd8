/**
 * Decides whether the bytes after the end of a stream's file, as the catalog knows it, can come from a checkpoint that
 * did not end. If they cannot, another program has written them.
 *
 * Such a checkpoint wrote its records in order and may have been killed at any point. A power cut may also leave zeros
 * in place of any sector of its writes: if a write adds bytes to an existing block of a file, ext4 may store the new
 * length of the file before these bytes.
 */
import { frameOf, withoutSpaces } from './file-format.js'

const SECTOR_BYTES = 512
const NEWLINE = 0x0a

/** `bytes` begin at offset `from` of a file of lines. `records` are the lines that the checkpoint wrote. */
export function areOwnLines(bytes: Buffer, from: number, records: readonly Buffer[]): boolean {
  let next = 0
  let at = 0
  while (at < bytes.length) {
    const gap = bytes.indexOf(0, at)
    const end = gap === -1 ? bytes.length : gap
    const after = matchLines(bytes.subarray(at, end), at > 0, records, next)
    if (after === undefined) return false
    next = after
    at = end
    while (at < bytes.length && bytes[at] === 0) at++
    if (at < bytes.length && (from + at) % SECTOR_BYTES !== 0) return false
  }
  return true
}

/**
 * Finds the lines of `part` in `records`, from index `next` on. The last line may lack its end. After zeros, the first
 * line may lack its beginning, and records may be skipped. Returns the index of the record that may follow, or
 * undefined if a line does not fit any record.
 */
function matchLines(part: Buffer, isAfterZeros: boolean, records: readonly Buffer[], next: number): number | undefined {
  let isWhole = !isAfterZeros
  for (let at = 0; at <= part.length; isWhole = true) {
    const newline = part.indexOf(NEWLINE, at)
    const isEnded = newline !== -1
    const line = withoutSpaces(part.subarray(at, isEnded ? newline : part.length))
    at = isEnded ? newline + 1 : part.length + 1
    if (line.length === 0) {
      // A checkpoint never writes an empty line.
      if (isEnded && isWhole) return undefined
      continue
    }
    const fits = (record: Buffer | undefined): boolean => record !== undefined && holds(record, line, isWhole, isEnded)
    while (isAfterZeros && next < records.length && !fits(records[next])) next++
    if (!fits(records[next])) return undefined
    if (isEnded) next++
  }
  return next
}

/** Whether `part` is in `record`: at its beginning if `begins`, at its end if `ends`. */
function holds(record: Buffer, part: Buffer, begins: boolean, ends: boolean): boolean {
  if (begins) return (ends ? record : record.subarray(0, part.length)).equals(part)
  return ends ? record.subarray(-part.length).equals(part) : record.includes(part)
}

/** Like `areOwnLines`, for a file of frames. `records` are the data of the frames. */
export function areOwnFrames(bytes: Buffer, from: number, records: readonly Buffer[]): boolean {
  const frames: Buffer[] = []
  let length = 0
  for (const record of records) {
    if (length >= bytes.length) break
    const frame = frameOf(record)
    frames.push(frame)
    length += frame.length
  }
  const written = Buffer.concat(frames)
  for (let at = 0; at < bytes.length; ) {
    const end = Math.min(bytes.length, at + SECTOR_BYTES - ((from + at) % SECTOR_BYTES))
    while (at < end && bytes[at] === written[at]) at++
    while (at < end && bytes[at] === 0) at++
    if (at < end) return false
  }
  return true
}
