import { crc32 } from 'node:zlib'
import { expect, test } from 'vitest'
import { crc32WithTable } from '../../src/ship/record-crc.js'

test('the checksum without the function of node:zlib is the same', () => {
  const bytes = Buffer.from(Array.from({ length: 1000 }, (_, at) => at * 7))
  for (const data of ['', '123456789', 'ü:€', bytes])
    for (const before of [0, 1, 0xffffffff]) expect(crc32WithTable(data, before)).toBe(crc32(data, before))
})
