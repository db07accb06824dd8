import { describe, expect, test } from 'vitest'
import { InputLines, isBlank, PrefixSplitter, type Splitter } from '../../src/cli/input.js'

/** The records that `splitter` makes of `bytes` in pieces of `size`. */
function split(splitter: Splitter, bytes: Buffer, size: number): string[] {
  const found: Buffer[] = []
  for (let start = 0; start < bytes.length && !splitter.problem; start += size) {
    found.push(...splitter.push(bytes.subarray(start, start + size)))
  }
  if (!splitter.problem) found.push(...splitter.end())
  return found.map((record) => record.toString())
}

function prefixed(...records: string[]): Buffer {
  return Buffer.concat(
    records.flatMap((record) => {
      const length = Buffer.alloc(4)
      length.writeUInt32LE(Buffer.byteLength(record))
      return [length, Buffer.from(record)]
    }),
  )
}

describe('lines', () => {
  test.each([1, 2, 3, 5, 100])('do not depend on the division of the input (pieces of %i bytes)', (size) => {
    const input = Buffer.from('one\ntwo\r\n\u00e4\u00f6\u00fc\nlast without newline')
    expect(split(new InputLines(100), input, size)).toEqual(['one', 'two\r', 'äöü', 'last without newline'])
  })

  test('blank lines are delivered, because the caller counts lines', () => {
    expect(split(new InputLines(100), Buffer.from('\n\na\n\r\n'), 2)).toEqual(['', '', 'a', '\r'])
    expect(['', '\r', ' ', 'a', '\r\r'].map((line) => isBlank(Buffer.from(line)))).toEqual([
      true,
      true,
      false,
      false,
      false,
    ])
  })

  test.each([1, 100])(
    'a line that is too long is an error with the number of the line (pieces of %i bytes)',
    (size) => {
      const splitter = new InputLines(4)
      expect(split(splitter, Buffer.from('four\nfives\n'), size)).toEqual(['four'])
      expect(splitter.problem?.message).toContain('line 2')
    },
  )
})

describe('length-prefixed records', () => {
  test.each([1, 3, 4, 7, 100])('do not depend on the division of the input (pieces of %i bytes)', (size) => {
    expect(split(new PrefixSplitter(100), prefixed('a', 'line\nbreak', 'c'), size)).toEqual(['a', 'line\nbreak', 'c'])
  })

  test.each([1, 100])('an end within a record is an error (pieces of %i bytes)', (size) => {
    const splitter = new PrefixSplitter(100)
    expect(split(splitter, prefixed('one', 'two').subarray(0, -1), size)).toEqual(['one'])
    expect(splitter.problem?.message).toContain('record 2')
  })

  test('a length of zero or above the limit is an error before its record is allocated', () => {
    for (const length of [0, 101, 0xffffffff]) {
      const splitter = new PrefixSplitter(100)
      const bad = Buffer.alloc(4)
      bad.writeUInt32LE(length)
      expect(split(splitter, Buffer.concat([prefixed('ok'), bad]), 100)).toEqual(['ok'])
      expect(splitter.problem?.message).toContain(String(length))
    }
  })
})
