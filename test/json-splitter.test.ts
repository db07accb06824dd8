/** The core's splitter of JSON, compared with JSON.parse. */
import { isUtf8 } from 'node:buffer'
import { expect, test } from 'vitest'
import { native } from '../src/native/native.js'
import { JSON_DEPTH_MAX, oneValue } from '../src/options/json-text.js'

const MANY = 1_000_000
const SEED = Number(process.env['DURLOG_JSON_SEED'] ?? Date.now() % 100_000)
const TEXTS = Number(process.env['DURLOG_JSON_TEXTS'] ?? 20_000)

/** What JSON.parse makes of the bytes; undefined if they are not JSON. */
function parsed(bytes: Buffer): { value: unknown } | undefined {
  try {
    return isUtf8(bytes) ? { value: JSON.parse(bytes.toString()) } : undefined
  } catch {
    return undefined
  }
}

function split(bytes: Buffer): unknown[] | string {
  const places = native.splitJson(bytes, true, MANY, false)
  if (typeof places === 'string') return places
  const messages: unknown[] = []
  for (let at = 0; at < places.length; at += 2) {
    const text = bytes.toString('utf8', places[at], places[at + 1])
    if (/^\s|[\r\n]|\s$/.test(text)) throw new Error(`not one trimmed line: ${JSON.stringify(text)}`)
    messages.push(JSON.parse(text))
  }
  return messages
}

/** Numbers from 0 to `below` - 1 that a seed repeats. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed >>> 0
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

const PIECES = [
  ...'[]{},:"\\ \n\r\t0123456789.-+eEutrfalsn/bx',
  'true',
  'false',
  'null',
  '"a"',
  '"name":',
  '\\u00e9',
  '\\ud83d',
  '\\ud83d\\ude00',
  'ä',
  '€',
  '😀',
  '1.5e-10',
  '\u0000',
  '\u001f',
  '\u007f',
  '\ufeff',
  '\u2028',
]
const BYTES = [0x00, 0x80, 0xbf, 0xc0, 0xc2, 0xe0, 0xed, 0xa0, 0xf0, 0xf4, 0x90, 0xff, 0x22, 0x5c]

/** A valid text, or a text of random pieces; some are then damaged. */
function makeText(random: (below: number) => number): Buffer {
  const value = (depth: number): string => {
    const space = ['', '', ' ', '\n', '\r\n', '\t'][random(6)] as string
    const kind = random(depth > 4 ? 4 : 6)
    const list = (item: () => string): string => Array.from({ length: random(4) }, item).join(`${space},${space}`)
    if (kind === 0) return String(random(1000) - 500)
    if (kind === 1) return JSON.stringify(random(1e9) / 1e5)
    if (kind === 2) return JSON.stringify('ä😀"\\\n\ud83dabcdefghijklmnop'.slice(random(8), random(20)))
    if (kind === 3) return ['true', 'false', 'null'][random(3)] as string
    if (kind === 4) return `[${space}${list(() => value(depth + 1))}${space}]`
    return `{${space}${list(() => `"k${random(3)}"${space}:${space}${value(depth + 1)}`)}${space}}`
  }
  const valid = random(3) > 0
  const text = valid ? value(0) : Array.from({ length: random(12) }, () => PIECES[random(PIECES.length)]).join('')
  const bytes = Buffer.from(text)
  for (let damage = random(3); damage > 0 && bytes.length > 0; damage--)
    bytes[random(bytes.length)] = random(2) === 0 ? (BYTES[random(BYTES.length)] as number) : random(128)
  return bytes
}

test(`it accepts what JSON.parse accepts, and finds the same messages (seed ${SEED})`, () => {
  const random = randomFrom(SEED)
  let accepted = 0
  for (let i = 0; i < TEXTS; i++) {
    const bytes = makeText(random)
    const before = Buffer.from(bytes)
    const expected = parsed(bytes)
    const found = split(bytes)
    if (expected !== undefined) accepted++
    const messages = Array.isArray(expected?.value) ? expected.value : [expected?.value]
    expect({ text: before.toString('latin1'), found }).toEqual({
      text: before.toString('latin1'),
      found: expected === undefined ? 'invalid' : messages,
    })
  }
  expect(accepted).toBeGreaterThan(TEXTS / 10)
  expect(accepted).toBeLessThan(TEXTS)
})

test('a text is split in the same way on another thread', async () => {
  const text = `[${Array.from({ length: 50_000 }, (_, i) => `{"n":${i},\n"text":"ä"}`).join(' ,\n')}]`
  const [here, there] = [Buffer.from(text), Buffer.from(text)]
  const places = native.splitJson(here, true, MANY, false)
  expect(await native.splitJson(there, true, MANY, true)).toEqual(places)
  expect(there.equals(here)).toBe(true)
  expect(await native.splitJson(Buffer.from('[1,2]'), true, 1, true)).toBe('too many')
  expect(await native.splitJson(Buffer.from('[1'), true, 1, true)).toBe('invalid')
})

test('one value is one value: an array is not split, and two values are refused', () => {
  expect(oneValue(Buffer.from(' [1,\r\n2] ')).toString()).toBe('[1,  2]')
  expect(() => oneValue(Buffer.from('1 2'))).toThrow('JSON')
  const deep = JSON_DEPTH_MAX + 1
  expect(() => oneValue(Buffer.from('['.repeat(deep) + ']'.repeat(deep)))).toThrow(`at most ${JSON_DEPTH_MAX}`)
})
