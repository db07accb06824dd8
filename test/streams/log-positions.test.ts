/** The positions of `readAll` state to which content of the folder they belong. */
import { cpSync, rmSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { CommittedRecord, Streams } from '../../src/streams/index.js'
import { all, mode, scratchStreams, values } from '../fixtures/streams.js'

async function appendAll(streams: Streams<unknown>, list: readonly unknown[]): Promise<void> {
  for (const value of list) await streams.stream(`s${value}`).append(value)
}

async function last(streams: Streams<unknown>): Promise<CommittedRecord<unknown>> {
  return (await all(streams.readAll())).at(-1) as CommittedRecord<unknown>
}

describe.each([
  ['of one process', true],
  ['that processes share', false],
])('in a folder %s', (_, exclusive) => {
  beforeAll(() => {
    mode.exclusive = exclusive
  })
  afterAll(() => {
    mode.exclusive = true
  })

  test('readAll continues after the position of a record, also when the folder was opened again', async () => {
    const { streams, reopen } = await scratchStreams()
    await appendAll(streams, [1, 2])
    const { logPosition, position } = await last(streams)
    const saved = JSON.parse(JSON.stringify(logPosition))
    expect(saved).toEqual({ uuid: expect.any(String), generation: 0, seq: position, checksum: expect.any(Number) })
    const again = await reopen()
    await appendAll(again, [3, 4])
    expect(await values(again.readAll({ from: saved }))).toEqual([3, 4])
    const reader = again.readAll({ from: saved, follow: true })
    expect(await values(reader, 2)).toEqual([3, 4])
    await using cursor = await again.cursor('c', { from: position })
    const [record] = await all(cursor.read({ to: position + 1 }))
    expect(record?.logPosition).toEqual(saved)
    expect(await values(again.readAll({ from: { ...saved, seq: -1, checksum: undefined } }))).toEqual([1, 2, 3, 4])
  })

  test('readAll refuses a position when an older copy of the folder was put back, and continues in no other data', async () => {
    const { dir, streams, reopen } = await scratchStreams()
    await appendAll(streams, [1])
    await streams.close()
    cpSync(dir, `${dir} copy`, { recursive: true })
    const newer = await reopen()
    await appendAll(newer, [2])
    const { logPosition } = await last(newer)
    await newer.close()
    rmSync(dir, { recursive: true })
    cpSync(`${dir} copy`, dir, { recursive: true })
    const older = await reopen()
    const refused = expect.objectContaining({
      code: 'ERR_DURLOG_CURSOR_CUT',
      message: expect.stringContaining('older copy'),
    })
    await expect(all(older.readAll({ from: logPosition }))).rejects.toEqual(refused)
    await appendAll(older, [7, 8, 9])
    await expect(older.readAll({ from: logPosition, follow: true }).next()).rejects.toEqual(refused)
    const other = await scratchStreams()
    await appendAll(other.streams, [1, 2, 3])
    await expect(all(other.streams.readAll({ from: logPosition }))).rejects.toEqual(refused)
  })
})
