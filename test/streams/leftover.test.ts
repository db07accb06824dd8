/**
 * Recognises the bytes that a checkpoint that did not end may leave in the file of a stream, after kills and power
 * cuts.
 */
import { expect, test } from 'vitest'
import { frameOf } from '../../src/streams/files/file-format.js'
import { areOwnFrames, areOwnLines } from '../../src/streams/files/leftover.js'

const SECTOR = 512
const FROM = 300
const records = Array.from({ length: 8 }, (_, n) => Buffer.from(JSON.stringify({ n, filler: 'x'.repeat(150 + n) })))
/** Lines with spaces up to the end of a page, as a checkpoint writes them. */
const lines = Buffer.from(
  `${records.slice(0, 4).join('\n')}\n`.padEnd(4096 - FROM, ' ') + `${records.slice(4).join('\n')}\n`.padEnd(2048, ' '),
)
const frames = Buffer.concat(records.map(frameOf))

/**
 * Returns `bytes`, which are at offset FROM of a file, with zeros in each sector of the file whose bit in `mask` is
 * set.
 */
function torn(bytes: Buffer, mask: number): Buffer {
  const result = Buffer.from(bytes)
  for (let sector = 0; sector * SECTOR < FROM + bytes.length; sector++)
    if ((mask >> sector) & 1)
      result.fill(0, Math.max(sector * SECTOR - FROM, 0), Math.max((sector + 1) * SECTOR - FROM, 0))
  return result
}

test('lines of a checkpoint are recognised after a power cut has left any of their sectors as zeros', () => {
  for (let mask = 0; mask < 2 ** 12; mask++)
    expect([mask, areOwnLines(torn(lines, mask), FROM, records)]).toEqual([mask, true])
})

test('frames of a checkpoint are recognised after a power cut has left any of their sectors as zeros', () => {
  for (let mask = 0; mask < 2 ** 3; mask++)
    expect([mask, areOwnFrames(torn(frames, mask), FROM, records)]).toEqual([mask, true])
})

test('lines and frames that end at any byte are recognised, also with zeros up to the end of a sector', () => {
  for (const [bytes, areOwn] of [
    [lines, areOwnLines],
    [frames, areOwnFrames],
  ] as const)
    for (let length = 0; length < bytes.length; length++) {
      const zeros = Buffer.alloc((SECTOR - ((FROM + length) % SECTOR)) % SECTOR)
      expect(areOwn(bytes.subarray(0, length), FROM, records)).toBe(true)
      expect(areOwn(Buffer.concat([bytes.subarray(0, length), zeros]), FROM, records)).toBe(true)
    }
})

test('equal lines after zeros are recognised', () => {
  const equal = ['"x"', '"x"', '"y"'].map((text) => Buffer.from(text))
  const bytes = Buffer.concat([Buffer.alloc(SECTOR - FROM), Buffer.from('"x"\n"y"\n')])
  expect(areOwnLines(bytes, FROM, equal)).toBe(true)
})

test.each([
  ['another line', Buffer.from('{"n":99}\n')],
  ['a line of another program after own lines', Buffer.concat([lines, Buffer.from('{"n":99}\n')])],
  ['a changed byte', Buffer.from(lines.toString().replace('"n":2', '"n":7'))],
  ['lines in another order', Buffer.from(`${records[1]}\n${records[0]}\n`)],
  ['a missing line', Buffer.from(`${records[0]}\n${records[2]}\n`)],
  ['an empty line', Buffer.from(`${records[0]}\n\n`)],
  ['zeros that end within a sector', Buffer.concat([Buffer.alloc(10), lines.subarray(10)])],
  ['another line after zeros', Buffer.concat([Buffer.alloc(SECTOR - FROM), Buffer.from('{"n":99}\n')])],
  [
    'lines in another order after zeros',
    Buffer.concat([Buffer.alloc(SECTOR - FROM), Buffer.from(`${records[1]}\n${records[0]}\n`)]),
  ],
  [
    'a line after the last record',
    Buffer.concat([Buffer.from(`${records.join('\n')}\n`), Buffer.from(`${records[0]}\n`)]),
  ],
])('%s is not recognised as written by a checkpoint', (_, bytes) => {
  expect(areOwnLines(bytes, FROM, records)).toBe(false)
})

test.each([
  ['another frame', frameOf(Buffer.from('other'))],
  ['a changed byte', Buffer.concat([frames.subarray(0, 40), Buffer.from('!'), frames.subarray(41)])],
  ['a frame after the last record', Buffer.concat([frames, frameOf(Buffer.from('other'))])],
])('in a file of frames, %s is not recognised as written by a checkpoint', (_, bytes) => {
  expect(areOwnFrames(bytes, FROM, records)).toBe(false)
})
