/** The file that distinguishes the copies of a log. */
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { noteHistory, readCopy } from '../../src/ship/copy.js'
import { codeOf, scratchDir } from '../fixtures/scratch.js'

test('readers of a new folder agree on its identity, which stays the same', async () => {
  const dir = scratchDir()
  const found = await Promise.all(Array.from({ length: 8 }, () => readCopy(dir)))
  const [{ id } = { id: '' }] = found
  expect(found.map((copy) => copy.id)).toEqual(Array(8).fill(id))
  await noteHistory(dir, 3)
  expect(await readCopy(dir)).toEqual({ id, generation: 3 })
  expect(readdirSync(dir)).toEqual(['copy'])
})

test.each(['', 'null', '{}', '{"id":"../x","generation":0}', '{"id":7,"generation":0}', '{"id":"'])(
  'an identity that is damaged (%s) is refused, not replaced',
  async (text) => {
    const dir = scratchDir()
    writeFileSync(join(dir, 'copy'), text)
    expect(await codeOf(readCopy(dir))).toBe('ERR_DURLOG_CORRUPT')
    expect(await codeOf(noteHistory(dir, 1))).toBe('ERR_DURLOG_CORRUPT')
  },
)
