/** Splits a JSON body into messages without changing the text of their values. */
import { isUtf8 } from 'node:buffer'
import { badRequest, HttpError } from './http-error.js'

/** A limit, because a message takes many times the memory and the time of its bytes. */
const MAX_MESSAGES = 100_000

const NEWLINE = 0x0a
const RETURN = 0x0d
const SPACE = 0x20
const QUOTE = 0x22
const COMMA = 0x2c
const BACKSLASH = 0x5c
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/**
 * Returns the messages of a body: the elements of an array, or its single value. Each is one line. Throws an HttpError
 * with status 400 or 413.
 */
export function messagesOf(body: Buffer): Buffer[] {
  let value: unknown
  try {
    if (!isUtf8(body)) throw new SyntaxError('not UTF-8')
    value = JSON.parse(body.toString())
  } catch {
    throw badRequest('the body is not valid JSON in UTF-8')
  }
  const line = inOneLine(body)
  if (!Array.isArray(value)) return [trimmed(line, 0, line.length)]
  return value.length === 0 ? [] : elementsOf(line)
}

/** Replaces line breaks by spaces. They are between tokens, because strings in JSON have none. */
function inOneLine(json: Buffer): Buffer {
  if (json.indexOf(NEWLINE) === -1 && json.indexOf(RETURN) === -1) return json
  return Buffer.from(json.map((byte) => (byte === NEWLINE || byte === RETURN ? SPACE : byte)))
}

/** Returns the bytes of each element of the array `json`, which must be valid and have at least one element. */
function elementsOf(json: Buffer): Buffer[] {
  const elements: Buffer[] = []
  let depth = 0
  let start = 0
  for (let at = 0; at < json.length; at++) {
    switch (json[at]) {
      case QUOTE:
        at = endOfString(json, at)
        break
      case OPEN_ARRAY:
      case OPEN_OBJECT:
        if (depth++ === 0) start = at + 1
        break
      case CLOSE_ARRAY:
      case CLOSE_OBJECT:
        if (--depth === 0) elements.push(trimmed(json, start, at))
        break
      case COMMA:
        if (depth !== 1) break
        elements.push(trimmed(json, start, at))
        if (elements.length === MAX_MESSAGES)
          throw new HttpError(413, 'too-large', `a body must have at most ${MAX_MESSAGES} messages: split it`)
        start = at + 1
    }
  }
  return elements
}

/**
 * Returns the position of the quote that ends the string that begins at `at`. The loop takes less time than a call of
 * `indexOf` for each string.
 */
function endOfString(json: Buffer, at: number): number {
  let end = at + 1
  while (json[end] !== QUOTE) end += json[end] === BACKSLASH ? 2 : 1
  return end
}

/** Returns the bytes from `start` to `end` without white space around them. */
function trimmed(json: Buffer, start: number, end: number): Buffer {
  let [first, after] = [start, end]
  while (isSpace(json[first])) first++
  while (isSpace(json[after - 1])) after--
  return json.subarray(first, after)
}

function isSpace(byte: number | undefined): boolean {
  return byte === SPACE || byte === 0x09 || byte === NEWLINE || byte === RETURN
}
