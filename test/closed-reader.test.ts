/** Readers that still deliver records after their log was closed, while another writer changes it. */
import { spawnSync } from 'node:child_process'
import { readdirSync, readlinkSync } from 'node:fs'
import { platform } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import type { Log, ReadableLog } from '../src/index.js'
import { openUntilDone, records, scratchDir } from './fixtures/scratch.js'

type Face = 'writer' | 'reader' | 'member'

const FACES: readonly Face[] = platform() === 'linux' ? ['writer', 'reader', 'member'] : ['writer', 'reader']
const COUNT = 60

/** A log whose records take 20 segments, and the object that its readers come from. */
async function makeLog(face: Face): Promise<{ writer: Log; log: ReadableLog }> {
  const dir = join(scratchDir(), 'log')
  const writer = await openUntilDone(dir, { segmentBytes: 65_536, shared: face === 'member' })
  for (let i = 0; i < COUNT; i++) await writer.append(Buffer.alloc(20_000, 'old'), { durability: 'memory' })
  await writer.sync()
  return { writer, log: face === 'reader' ? await openUntilDone(dir, { readOnly: true }) : writer }
}

const descriptorsOf = (dir: string): string[] =>
  readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith(dir) ? [fd] : []
    } catch {
      return []
    }
  })

test.each(FACES.flatMap((face) => [false, true].map((refill) => [face, refill] as const)))(
  'a reader of a closed log ends at a later cut, and delivers no record that replaces a removed one (%s, %s)',
  async (face, refill) => {
    const { writer, log } = await makeLog(face)
    const reader = log.read()
    expect((await reader.next()).value?.seq).toBe(0)
    await log.close()
    await writer.close()
    const next = await openUntilDone(log.dir)
    await next.truncateAfter(10)
    if (refill) await next.appendBatch(Array.from({ length: COUNT }, () => 'new'))
    const delivered = await records(reader)
    expect(delivered.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    expect(delivered.every(({ data }) => data.length === 20_000)).toBe(true)
  },
)

test.each(FACES)('a reader of a closed log that has delivered a record after a later cut fails (%s)', async (face) => {
  const { writer, log } = await makeLog(face)
  const reader = log.read()
  for (let seq = 0; seq < 20; seq++) await reader.next()
  await log.close()
  await writer.close()
  const next = await openUntilDone(log.dir)
  await next.truncateAfter(10)
  await expect(records(reader)).rejects.toMatchObject({ code: 'ERR_DURLOG_OUT_OF_RANGE' })
})

test.skipIf(platform() !== 'linux').each(FACES)(
  'a closed log has no open file once its last reader has ended (%s)',
  async (face) => {
    const { writer, log } = await makeLog(face)
    const [read, left, unused] = [log.read(), log.read(), log.read()]
    await Promise.all([read.next(), left.next()])
    await log.close()
    await writer.close()
    expect(await records(read)).toHaveLength(COUNT - 1)
    await left.return()
    expect(descriptorsOf(log.dir)).not.toEqual([])
    await unused.return()
    expect(descriptorsOf(log.dir)).toEqual([])
  },
)

test('an abandoned reader of a closed log does not keep the process alive', () => {
  const fixture = fileURLToPath(new URL('./fixtures/abandoned-reader.mjs', import.meta.url))
  const { status, stdout, stderr } = spawnSync(process.execPath, [fixture, join(scratchDir(), 'log')], {
    encoding: 'utf8',
    timeout: 60_000,
  })
  expect([status, stdout], stderr).toEqual([0, 'closed\n'])
})
