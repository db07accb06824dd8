/** Decodes long records of text in several turns of the event loop. */
import { TimeSlice } from '../../support/time-slice.js'

/** A longer record takes more than a millisecond. */
export const LONG_TEXT_BYTES: number = 1 << 16
/** The longest escape, `\u0000`. */
const ESCAPE_BYTES = 6
const QUOTE_BYTES = 1

/** Returns the text of the JSON string `json` in UTF-8. Throws a SyntaxError if `json` is no JSON string. */
export async function decodedText(json: Buffer): Promise<Buffer> {
  const slice = new TimeSlice()
  // The text is not longer than its JSON.
  const text = Buffer.allocUnsafe(json.length)
  const jsonEnd = json.length - QUOTE_BYTES
  let length = 0
  for (let at = QUOTE_BYTES; at < jsonEnd; ) {
    if (slice.isSpent) await slice.nextTurn()
    const part = partOf(json, at, Math.min(at + LONG_TEXT_BYTES, jsonEnd), jsonEnd)
    length += text.write(part.text, length)
    at = part.end
  }
  return text.subarray(0, length)
}

/** Decodes the part of a JSON string from `start` to `most`, or to a lower end: it does not end inside a character. */
function partOf(json: Buffer, start: number, most: number, jsonEnd: number): { text: string; end: number } {
  let end = most
  while (end < jsonEnd && isContinuation(json[end])) end--
  for (const least = end - ESCAPE_BYTES; ; end--) {
    try {
      const text = JSON.parse(`"${json.toString('utf8', start, end)}"`) as string
      // The other half of a surrogate pair is in the next escape.
      if (end < jsonEnd && /[\ud800-\udbff]$/.test(text)) return { text: text.slice(0, -1), end: end - ESCAPE_BYTES }
      return { text, end }
    } catch (error) {
      // The part may end inside an escape.
      if (end === jsonEnd || end === least) throw error
    }
  }
}

/** Whether `byte` is a later byte of a character in UTF-8. */
export function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80
}
