/** Long texts that are read as the body of an answer, in parts that do not end inside a character or an escape. */
import { expect, test } from 'vitest'
import { decodedText, LONG_TEXT_BYTES } from '../../src/streams/port/long-text.js'

const UNITS = ['x', '"', '\\', '\n', '\0', '\u00e9', '\u20ac', '\u{1f600}', '\\u0000', '\\\\n']
/** A character as two escapes, which JSON.stringify does not write. */
const PAIR = '\\ud83d\\ude00'

test.each(UNITS)('a long text of %j is decoded in parts', async (unit) => {
  // The parts end at each place of the unit.
  for (let shift = 0; shift < 8; shift++) {
    const text = 'x'.repeat(shift) + unit.repeat(Math.ceil((2.5 * LONG_TEXT_BYTES) / Buffer.byteLength(unit)))
    const decoded = await decodedText(Buffer.from(JSON.stringify(text)))
    expect(decoded.equals(Buffer.from(text))).toBe(true)
  }
})

test('a part does not end between the two escapes of a character', async () => {
  for (let shift = 0; shift < PAIR.length; shift++) {
    const json = `"${'x'.repeat(shift)}${PAIR.repeat(LONG_TEXT_BYTES / 4)}"`
    const decoded = await decodedText(Buffer.from(json))
    expect(decoded.equals(Buffer.from(JSON.parse(json) as string))).toBe(true)
  }
})

test.each(['"\\"', '"a\\x"', `"${'x'.repeat(LONG_TEXT_BYTES)}\\u00g0${'x'.repeat(100)}"`])(
  'a damaged record is refused: %.9s',
  async (json) => {
    await expect(decodedText(Buffer.from(json))).rejects.toThrow(SyntaxError)
  },
)
