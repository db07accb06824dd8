/** Stores lines of JSON unchanged: to parse and encode them again would round numbers of more than 15 digits. */

import { oneValue } from '../../options/json-text.js'
import { EncodedValue } from '../../streams/port/encoding.js'

/**
 * The value of a line of JSON, whose parsed value is `parsed`. Throws ERR_DURLOG_INVALID_ARGUMENT if it is nested too
 * deeply.
 */
export function storedJson(line: Buffer, parsed: unknown): EncodedValue<Buffer> {
  return new EncodedValue(typeof parsed === 'string' ? 'utf8' : 'json', oneValue(line))
}
