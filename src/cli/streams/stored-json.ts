/** Stores lines of JSON unchanged: to parse and encode them again would round numbers of more than 15 digits. */
import { EncodedValue } from '../../streams/encoding.js'

/** The value of a line of JSON, which must be valid. `parsed` is its parsed value. */
export function storedJson(line: Buffer, parsed: unknown): EncodedValue<string> {
  // In valid JSON, carriage returns are only between tokens. Some programs would take them for the end of a line.
  const text = line.toString().trim().replaceAll('\r', ' ')
  return new EncodedValue(typeof parsed === 'string' ? 'text' : 'json', text)
}
