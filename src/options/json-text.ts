/** Checks and splits text that is JSON already, without changing the text of its values. */
import { invalidArgument } from '../errors.js'
import type { NativeJsonSplit } from '../native/json.js'
import { native } from '../native/native.js'

export type JsonSplit = NativeJsonSplit

/** The nesting that the core allows in a message: `kMaxJsonDepth`. */
export const JSON_DEPTH_MAX = 512

/** Splitting so many bytes takes about a millisecond at most: if they are values of one character. */
export const SPLIT_AT_ONCE_BYTES: number = 1 << 16

/** Splits the elements of an array, or a single value. Line breaks in `text` become spaces. */
export function splitMessages(text: Uint8Array, maxMessages: number): JsonSplit {
  return native.splitJson(text, true, maxMessages, false)
}

/** Like `splitMessages`, on another thread. The caller must not use `text` meanwhile. */
export function splitMessagesLater(text: Uint8Array, maxMessages: number): Promise<JsonSplit> {
  return native.splitJson(text, true, maxMessages, true)
}

/**
 * Returns the bytes of one value without white space around them. Line breaks in `text` become spaces, so that it fits
 * into a line. Throws ERR_DURLOG_INVALID_ARGUMENT.
 */
export function oneValue(text: Buffer): Buffer {
  const places = native.splitJson(text, false, 1, false)
  if (places === 'too deep') throw tooDeep()
  if (typeof places === 'string') throw invalidArgument('a value must be JSON in UTF-8')
  return text.subarray(places[0], places[1])
}

/** Checks the depth of JSON that `JSON.stringify` has made. Throws ERR_DURLOG_INVALID_ARGUMENT. */
export function checkedDepth(json: string): Buffer | string {
  // Each level has at least an opening and a closing bracket.
  return json.length > 2 * JSON_DEPTH_MAX ? oneValue(Buffer.from(json)) : json
}

export function tooDeep(): Error {
  return invalidArgument(
    `a value must have at most ${JSON_DEPTH_MAX} arrays and objects nested in each other, which is what other readers of JSON accept`,
  )
}
