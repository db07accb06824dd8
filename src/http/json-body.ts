/** Splits a body of JSON into messages without changing how their values are written. */
import { isUtf8 } from 'node:buffer'
import { badRequest } from './refusal.js'

const QUOTE = 0x22
const COMMA = 0x2c
const BACKSLASH = 0x5c
const OPEN = [0x5b, 0x7b]
const CLOSE = [0x5d, 0x7d]
const SPACES = [0x20, 0x09, 0x0a, 0x0d]

/** The messages of a body: the elements of an array, or its one value. Each is one line. */
export function messagesOf(body: Buffer): Buffer[] {
  let value: unknown
  try {
    if (!isUtf8(body)) throw new SyntaxError('not UTF-8')
    value = JSON.parse(body.toString())
  } catch {
    throw badRequest('the body is not JSON')
  }
  if (!Array.isArray(value)) return [oneLine(body)]
  if (value.length === 0) return []
  const messages = elementsOf(body).map(oneLine)
  return messages
}

/** The bytes of each element of the array `body`, which is valid JSON. */
function elementsOf(body: Buffer): Buffer[] {
  const elements: Buffer[] = []
  let depth = 0
  let start = 0
  for (let at = 0; at < body.length; at++) {
    const byte = body[at] as number
    if (byte === QUOTE) at = endOfString(body, at)
    else if (OPEN.includes(byte)) {
      if (depth++ === 0) start = at + 1
    } else if (CLOSE.includes(byte)) {
      if (--depth === 0) elements.push(body.subarray(start, at))
    } else if (byte === COMMA && depth === 1) {
      elements.push(body.subarray(start, at))
      start = at + 1
    }
  }
  return elements
}

/** The position of the quote that ends the string which begins at `at`. */
function endOfString(body: Buffer, at: number): number {
  let end = body.indexOf(QUOTE, at + 1)
  for (;;) {
    let backslashes = 0
    while (body[end - 1 - backslashes] === BACKSLASH) backslashes++
    if (backslashes % 2 === 0) return end
    end = body.indexOf(QUOTE, end + 1)
  }
}

/** Without spaces around it. Line breaks between its tokens become spaces; a string of JSON has none. */
function oneLine(json: Buffer): Buffer {
  let [start, end] = [0, json.length]
  while (SPACES.includes(json[start] as number)) start++
  while (SPACES.includes(json[end - 1] as number)) end--
  const value = json.subarray(start, end)
  if (value.indexOf(0x0a) === -1 && value.indexOf(0x0d) === -1) return value
  return Buffer.from(value.map((byte) => (byte === 0x0a || byte === 0x0d ? 0x20 : byte)))
}
