import { execFile } from 'node:child_process'
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { inspect, type LogPosition } from '../src/index.js'
import { codeOf, openUntilDone, scratchDir, scratchLog, writeAll } from './fixtures/scratch.js'

const EXAMPLE = new URL('../examples/snapshot.mjs', import.meta.url)
const numbered = (count: number): string[] => Array.from({ length: count }, (_, i) => `record ${i}`)

test('a snapshot is current until a record that it covers is cut', async () => {
  const log = await scratchLog()
  await writeAll(log, numbered(10))
  await log.sync()
  const { uuid, generation } = log
  const checksums: Record<number, number> = {}
  for (let seq = 0; seq < 10; seq++) checksums[seq] = await log.checksum(seq)
  const at = (seq: number): LogPosition => ({ uuid, generation, seq, checksum: checksums[seq] ?? 0 })
  const reader = await openUntilDone(log.dir, { readOnly: true })
  const current = async (seq: number): Promise<boolean> => {
    const answers = [await log.isCurrent(at(seq)), await reader.isCurrent(at(seq))]
    expect(answers[0]).toBe(answers[1])
    return answers[0] as boolean
  }
  expect([await current(-1), await current(9), await current(10)]).toEqual([true, true, false])
  await log.truncateAfter(5)
  await writeAll(log, numbered(20))
  expect([await current(5), await current(6), await current(9), await current(20)]).toEqual([true, false, false, false])
  const reopened = { ...at(20), generation: log.generation, checksum: await log.checksum(20) }
  expect(await log.isCurrent(reopened)).toBe(true)
  await log.close()
  const next = await openUntilDone(log.dir)
  expect(await next.isCurrent(reopened)).toBe(true)
  expect(await next.isCurrent(at(9))).toBe(false)
})

test('the generation counts truncations that removed records, and every API reports the same value', async () => {
  const log = await scratchLog()
  await writeAll(log, numbered(10))
  expect([log.generation, (await inspect(log.dir)).generation]).toEqual([0, 0])
  await log.truncateAfter(9)
  expect(log.generation).toBe(0)
  const reader = await openUntilDone(log.dir, { readOnly: true })
  await log.truncateAfter(5)
  await log.truncateAfter(3)
  expect([log.generation, (await inspect(log.dir)).generation]).toEqual([2, 2])
  expect(reader.generation).toBe(0)
  await reader.refresh()
  expect(reader.generation).toBe(2)
  await log.close()
  expect((await openUntilDone(log.dir)).generation).toBe(2)
})

test('the generation does not change when a log is opened whose cursor has not noticed a truncation yet', async () => {
  const log = await scratchLog()
  await writeAll(log, numbered(10))
  const cursor = await log.cursor('behind')
  await cursor.seek(10)
  await cursor.close()
  await log.truncateAfter(5)
  await log.close()
  const next = await openUntilDone(log.dir)
  expect(next.generation).toBe(1)
  await next.append('later')
  await next.close()
  const last = await openUntilDone(log.dir)
  expect(last.generation).toBe(1)
  await expect(last.cursor('behind').then((found) => found.read().next())).rejects.toMatchObject({
    code: 'ERR_DURLOG_CURSOR_CUT',
    lostFirst: 6,
    lostLast: 9,
  })
})

test('a snapshot of another log, of a future generation or with a damaged list of cuts is not current', async () => {
  const log = await scratchLog()
  await writeAll(log, numbered(10))
  const position = { uuid: log.uuid, generation: log.generation, seq: 3, checksum: await log.checksum(3) }
  expect(await log.isCurrent(position)).toBe(true)
  const other = position.uuid.replace(/^./, (digit) => (digit === '0' ? '1' : '0'))
  expect(await log.isCurrent({ ...position, uuid: other })).toBe(false)
  expect(await log.isCurrent({ ...position, generation: 1 })).toBe(false)
  await log.truncateAfter(5)
  writeFileSync(join(log.dir, 'cuts'), Buffer.alloc(8192, 1))
  expect(await log.isCurrent(position)).toBe(false)
  expect((await inspect(log.dir)).generation).toBe(-1)
})

test('a snapshot of records that an older copy of the folder has replaced is not current', async () => {
  const log = await scratchLog()
  await log.appendBatch(numbered(10))
  await log.close()
  const copy = join(scratchDir(), 'copy')
  cpSync(log.dir, copy, { recursive: true })
  const lost = await openUntilDone(log.dir)
  await lost.appendBatch(Array.from({ length: 10 }, (_, i) => `lost ${i}`))
  const at = async (seq: number): Promise<LogPosition> => ({
    uuid: lost.uuid,
    generation: lost.generation,
    seq,
    checksum: await lost.checksum(seq),
  })
  const positions = [await at(9), await at(10), await at(15), await at(19)]
  await lost.close()
  rmSync(log.dir, { recursive: true })
  cpSync(copy, log.dir, { recursive: true })
  const restored = await openUntilDone(log.dir)
  await restored.appendBatch(Array.from({ length: 15 }, (_, i) => `new ${i}`))
  const current = await Promise.all(positions.map((position) => restored.isCurrent(position)))
  expect(current).toEqual([true, false, false, false])
})

test('a snapshot without a checksum is not current, and one whose last record was trimmed is', async () => {
  const log = await scratchLog({ segmentBytes: 65_536 })
  await log.append('first')
  const { uuid, generation } = log
  const position = { uuid, generation, seq: 0, checksum: await log.checksum(0) }
  expect(await log.isCurrent({ ...position, checksum: undefined })).toBe(false)
  expect(await log.isCurrent({ uuid, generation, seq: -1, checksum: undefined })).toBe(true)
  await log.rotate()
  await log.trimBefore(1)
  expect(log.firstSeq).toBe(1)
  expect(await log.isCurrent(position)).toBe(true)
  expect(await codeOf(log.checksum(0))).toBe('ERR_DURLOG_OUT_OF_RANGE')
})

test('an invalid position is refused', async () => {
  const log = await scratchLog()
  const { uuid, generation } = log
  const positions = [
    undefined,
    {},
    { uuid, generation },
    { uuid, generation, seq: -2 },
    { uuid, generation: 0.5, seq: 1 },
    { uuid, generation, seq: 1, checksum: -1 },
    { uuid, generation, seq: 1, checksum: '7' },
  ]
  for (const position of positions)
    expect(await codeOf(log.isCurrent(position as LogPosition))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
})

test('the example of docs/SNAPSHOTS.md keeps its balances over restarts and a truncation', async () => {
  const program = readFileSync(EXAMPLE, 'utf8')
  const document = readFileSync(new URL('../docs/SNAPSHOTS.md', import.meta.url), 'utf8')
  expect(document).toContain(program)
  const dir = join(scratchDir(), 'log')
  const run = async (...args: string[]): Promise<string> =>
    (await promisify(execFile)(process.execPath, [fileURLToPath(EXAMPLE), dir, ...args])).stdout.trim()
  expect(await run('ann', '5')).toBe('replayed 0 records: {"ann":5}')
  expect(await run('bob', '2')).toBe('replayed 0 records: {"ann":5,"bob":2}')
  const log = await openUntilDone(dir)
  await log.append('{"name":"bob","amount":1}')
  await log.close()
  expect(await run('ann', '1')).toBe('replayed 1 records: {"ann":6,"bob":3}')
  // The snapshot covers records 0 to 3. After a cut, other records get seqs 1 to 3.
  const cut = await openUntilDone(dir)
  await cut.truncateAfter(0)
  for (const name of ['eve', 'eve', 'eve', 'eve']) await cut.append(`{"name":"${name}","amount":1}`)
  await cut.close()
  expect(await run('ann', '1')).toBe('replayed 5 records: {"ann":6,"eve":4}')
})
