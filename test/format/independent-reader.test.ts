import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { inspect, type Log, type OpenOptions, open, type Strategy } from '../../src/index.js'
import { records, scratchDir } from '../fixtures/scratch.js'
import { crc32c, type FoundLog, readLog } from './independent-reader.mjs'

const STRATEGIES: readonly Strategy[] = ['auto', 'mmap', 'pwrite', 'direct']
const LEVELS = ['memory', 'async', 'sync', 'full'] as const

/** Lengths around every boundary of the format, and some that fill segments. */
function payloadOf(seq: number): Buffer {
  const lengths = [1, 7, 8, 9, 25, 4071, 4072, 4073, 9000, 64]
  return Buffer.alloc(lengths[seq % lengths.length] as number, seq % 251)
}

async function fill(log: Log, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    const seq = log.nextSeq
    if (i % 9 === 8) {
      const batch = [payloadOf(seq), payloadOf(seq + 1), payloadOf(seq + 2)]
      await log.appendBatch(batch, { durability: LEVELS[i % 4] })
    } else await log.append(payloadOf(seq), { durability: LEVELS[i % 4] })
  }
}

async function expectTheSame(dir: string, found: FoundLog): Promise<void> {
  const log = await open(dir, { readOnly: true })
  const own = await records(log.read())
  const summary = await inspect(dir)
  await log.close()
  expect(found.records.map(({ seq }) => seq)).toEqual(own.map(({ seq }) => seq))
  expect(found.records.every(({ data }, i) => data.equals((own[i] as { data: Buffer }).data))).toBe(true)
  expect(found.records.map(({ timestamp }) => timestamp)).toEqual(own.map(({ timestamp }) => timestamp))
  expect(found.records.every(({ seq, data }) => data.equals(payloadOf(seq)))).toBe(true)
  expect(found.nextSeq).toBe(summary.nextSeq)
  expect(found.uuid).toBe(summary.uuid.replaceAll('-', ''))
}

/** Opens a log with small segments, fills it and closes it, twice. */
async function writeTwice(dir: string, options: OpenOptions): Promise<void> {
  for (const count of [60, 40]) {
    const log = await open(dir, { segmentBytes: 65536, maxRecordBytes: 16384, ...options })
    await fill(log, count)
    await log.close()
  }
}

describe('a reader written from docs/FORMAT.md alone', () => {
  test('computes the check value of the checksum and reads the bytes of the example', () => {
    expect(crc32c(Buffer.from('123456789'))).toBe(0xe3069283)
    const identity = Buffer.from('000102030405060708090a0b0c0d0e0f8877665544332211', 'hex')
    expect(crc32c(identity)).toBe(0xed97321e)
    const document = readFileSync(new URL('../../docs/FORMAT.md', import.meta.url), 'utf8')
    const line = /^ {4}06 00 .+$/m.exec(document)?.[0] as string
    const frame = Buffer.from(line.replaceAll(' ', ''), 'hex')
    const head = Buffer.from(frame.subarray(0, 24))
    head.fill(0, 4, 8)
    expect(crc32c(identity, head, frame.subarray(24, 30))).toBe(frame.readUInt32LE(4))
    expect(frame.toString('latin1', 24, 30)).toBe('durlog')
  })

  test.each(STRATEGIES)(
    'reads the records of strategy %s: levels, batches, rotation, a second open',
    async (strategy) => {
      const dir = join(scratchDir(), 'log')
      await writeTwice(dir, { strategy })
      const found = readLog(dir)
      await expectTheSame(dir, found)
      expect(found.segments.length).toBeGreaterThan(2)
      expect(found.records.some(({ continues }) => continues)).toBe(true)
      expect(found.segments.every(({ endsWith }) => endsWith === 'free')).toBe(true)
    },
  )

  test.each(['auto', 'none', 'zero'] as const)('reads records on preallocation %s', async (preallocate) => {
    const dir = join(scratchDir(), 'log')
    await writeTwice(dir, { strategy: 'pwrite', preallocate })
    await expectTheSame(dir, readLog(dir))
  })

  test('concludes from the slot that everything in a closed log is synced', async () => {
    const dir = join(scratchDir(), 'log')
    await writeTwice(dir, {})
    const found = readLog(dir)
    expect(found.syncedEnd).toBe(found.nextSeq)
  })

  test('reads recycled segments and none of the records that were there before', async () => {
    const dir = join(scratchDir(), 'log')
    const log = await open(dir, { segmentBytes: 65536, maxRecordBytes: 16384 })
    for (let round = 0; round < 6; round++) {
      await fill(log, 40)
      await log.trimBefore(log.nextSeq - 20)
    }
    expect(log.stats().recycled).toBeGreaterThan(0)
    await log.close()
    const found = readLog(dir)
    expect(found.segments.some(({ header }) => header.recycled)).toBe(true)
    await expectTheSame(dir, found)
  })

  test('reads a log while its writer has it open, up to the last record in memory', async () => {
    const dir = join(scratchDir(), 'log')
    const log = await open(dir, { strategy: 'mmap', segmentBytes: 65536, maxRecordBytes: 16384 })
    for (let i = 0; i < 5; i++) log.write(payloadOf(i))
    const found = readLog(dir)
    expect(found.nextSeq).toBe(5)
    expect(found.records.map(({ data }) => data)).toEqual([0, 1, 2, 3, 4].map(payloadOf))
    await log.close()
  })

  test('ends a truncated log at the cut', async () => {
    const dir = join(scratchDir(), 'log')
    const log = await open(dir, { segmentBytes: 65536, maxRecordBytes: 16384 })
    await fill(log, 50)
    await log.truncateAfter(3)
    await log.close()
    const found = readLog(dir)
    expect(found.nextSeq).toBe(4)
    expect(existsSync(join(dir, '00000000000000000000.seg'))).toBe(true)
    await expectTheSame(dir, found)
  })
})
