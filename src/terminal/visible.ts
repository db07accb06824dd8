/** Text of other programs, such as the names of streams, in the output for a terminal. */

/** Characters that a terminal executes, or that break a line or change its direction. */
const CONTROLS = /[\p{Cc}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu

/** Returns `text` with such characters as escapes, as in JSON. */
export function visible(text: string): string {
  return text.replace(CONTROLS, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
