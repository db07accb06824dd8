/** Seqs without a record: readers skip them, and a call that requests one fails with a code. */
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { frames, type ReadableLog } from '../src/index.js'
import { openRestored } from '../src/open.js'
import { lastRecord } from '../src/ship/voids.js'
import { durlog, durlogProcess } from './fixtures/command.js'
import { CraftedSegment, type Files, payloadOf, segmentName, writeFiles } from './fixtures/crafted-log.js'
import { codeOf, openUntilDone, records, scratchDir } from './fixtures/scratch.js'
import { readLog } from './format/independent-reader.mjs'

const segmentOf = (salt: bigint): CraftedSegment => new CraftedSegment({ version: 2, salt })
/** Voids within a segment, of a batch, around a segment boundary and at the end. */
const FILES: Files = new Map([
  [segmentName(0), segmentOf(1n).records(0, 2).void(3, 1).records(4, 5).void(6, 3).records(9, 9).void(10, 1).bytes],
  [segmentName(11), segmentOf(2n).void(11, 1).records(12, 14).void(15, 2).marker(17).bytes],
])
const SEQS = [0, 1, 2, 4, 5, 9, 12, 13, 14]
const VOID = [3, 6, 7, 8, 10, 11, 15, 16]

function writeLog(): string {
  const dir = join(scratchDir(), 'log')
  writeFiles(dir, FILES)
  return dir
}

async function seqsOf(log: ReadableLog, from: number): Promise<number[]> {
  return (await records(log.read({ from }))).map(({ seq }) => seq)
}

describe('seqs without a record', () => {
  test('are skipped by a reader that begins at any seq', async () => {
    const log = await openUntilDone(writeLog(), { readOnly: true })
    expect(log.nextSeq).toBe(17)
    for (let from = 0; from <= 17; from++) expect(await seqsOf(log, from)).toEqual(SEQS.filter((seq) => seq >= from))
  })

  test('are skipped by a follower that waits after them', async () => {
    const dir = writeLog()
    const log = await openUntilDone(dir)
    const reader = log.read({ from: 13, follow: true })
    expect((await reader.next()).value?.seq).toBe(13)
    expect((await reader.next()).value?.seq).toBe(14)
    const next = reader.next()
    expect(await log.append('on')).toBe(17)
    expect((await next).value?.seq).toBe(17)
    await reader.return()
  })

  test.each([false, true])('make get fail with a distinct code, readOnly %s', async (readOnly) => {
    const dir = writeLog()
    const log: ReadableLog = await (readOnly ? openUntilDone(dir, { readOnly: true }) : openUntilDone(dir))
    for (const seq of VOID) {
      expect(await codeOf(log.get(seq))).toBe('ERR_DURLOG_VOID')
      expect(() => log.getSync(seq)).toThrow(`seq ${seq} holds no record`)
    }
    for (const seq of SEQS) expect((await log.get(seq)).data.toString()).toBe(payloadOf(seq))
    expect(await codeOf(log.get(17))).toBe('ERR_DURLOG_OUT_OF_RANGE')
  })

  test('do not change the result of seqAt for records', async () => {
    const log = await openUntilDone(writeLog())
    const first = (await log.get(0)).timestamp
    expect(await log.seqAt(first)).toBe(0)
    expect(await log.seqAt(first - 1)).toBe(0)
    const seq = await log.append('later')
    expect(await seqsOf(log, await log.seqAt((await log.get(seq)).timestamp))).toEqual([seq])
  })

  test('are never the result of seqAt: the result is the next record, or nextSeq', async () => {
    const segment = segmentOf(1n)
    const at = (seq: number, ms: number): Buffer => segment.frame(seq, { ms })
    segment.put(at(0, 10)).void(1, 3).put(at(4, 30)).put(at(5, 50)).void(6, 2).put(at(8, 70)).void(9, 2)
    const dir = join(scratchDir(), 'log')
    writeFiles(dir, new Map([[segmentName(0), segment.bytes]]))
    const log = await openUntilDone(dir, { readOnly: true })
    const base = (await log.get(0)).timestamp - 10
    const found = [0, 10, 11, 30, 40, 50, 60, 70, 71].map((ms) => log.seqAt(base + ms))
    expect(await Promise.all(found)).toEqual([0, 0, 4, 4, 5, 5, 8, 8, 11])
  })

  test('are passed over by the search for the last record, however many there are', async () => {
    for (const [records, end] of [
      [0, 3],
      [1, 1],
      [1, 2],
      [6, 1000],
      [1000, 1001],
    ] as const) {
      const dir = join(scratchDir(), 'log')
      const log = await openRestored(dir, { uuid: randomUUID(), firstSeq: 0, generation: 0 }, { durability: 'memory' })
      // Every second seq before the last record is a void too.
      for (let seq = 0; seq < records; seq += 2) {
        if (seq > 0) await log.skipTo(seq, 1000)
        await log.append(payloadOf(seq), { timestamp: 1000 })
      }
      await log.skipTo(end, 2000)
      expect(log.nextSeq).toBe(end)
      expect((await lastRecord(log))?.seq).toBe(records === 0 ? undefined : records - 1 - ((records - 1) % 2))
      await log.close()
    }
  })

  test('at the end of a log do not hide its last record from stat and doctor', async () => {
    const dir = writeLog()
    const log = await openUntilDone(dir, { readOnly: true })
    const { timestamp } = await log.get(14)
    const { stdout } = await durlog(['stat', dir, '--json'])
    expect(JSON.parse(stdout.toString())).toMatchObject({ nextSeq: 17, newest: new Date(timestamp).toISOString() })
    const examined = JSON.parse((await durlogProcess(['doctor', dir, '--json'])).stdout.toString())
    expect(examined.findings).toContainEqual(expect.objectContaining({ check: 'log', verdict: 'OK' }))
  })

  test('are named by dump, and read by a reader written from the format document', async () => {
    const dir = writeLog()
    const kinds: string[] = []
    for await (const { kind } of frames(dir, segmentName(11))) kinds.push(kind)
    expect(kinds).toEqual(['void', 'record', 'record', 'record', 'void', 'marker', 'free'])
    const found = readLog(dir)
    expect(found.records.map(({ seq }) => seq)).toEqual(SEQS)
    expect(found).toMatchObject({ nextSeq: 17, syncedEnd: 17 })
  })
})
