/** Rules of docs/FORMAT.md that a reader could misunderstand: durlog and the independent reader agree on each. */
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { open, type RecoveryState, verify } from '../../src/index.js'
import { CraftedSegment, type Files, segmentName, writeFiles } from '../fixtures/crafted-log.js'
import { codeOf, openUntilDone, records, scratchDir } from '../fixtures/scratch.js'
import { crc32c, readLog } from './independent-reader.mjs'

interface Rule {
  name: string
  /** Its segments by their first seqs. */
  segments: () => Record<number, Buffer>
  reads: readonly number[]
  next: number
  open: RecoveryState
  verify?: RecoveryState
}

const RESERVED = 1
const PADDING = 3
const MARKER = 4
const VOID = 5

const unsynced = (seq: number): number => seq
const records0To2 = (version = 1): CraftedSegment => new CraftedSegment({ version }).records(0, 2, unsynced)

/** A frame that is not a record and marks no record as synced. */
function other(segment: CraftedSegment, state: number, seq: number, continues = false): Buffer {
  const isVoid = state === VOID
  return segment.frame(seq, {
    state,
    continues,
    unsynced: isVoid ? 1 : seq,
    payload: isVoid ? Buffer.alloc(8) : '',
  })
}

/** Batch 3 to 4 with another frame in between. */
function tornBatch(state: number): Buffer {
  const segment = records0To2(2)
  segment.put(segment.frame(3, { continues: true, unsynced: 3 })).put(other(segment, state, 4))
  return segment.records(4 + (state === VOID ? 1 : 0), 5, unsynced).bytes
}

function batchBitOn(state: number): Buffer {
  const segment = records0To2(2)
  segment.put(other(segment, state, 3, true))
  return segment.records(3 + (state === VOID ? 1 : 0), 5, unsynced).bytes
}

/** The reservation of a dead writer for a batch of three records of 40 bytes. */
function reservedBatch(): Buffer {
  const segment = records0To2(2)
  segment.bytes.writeUInt32LE(3 * 40 - 24 + RESERVED * 2 ** 29, segment.end)
  segment.bytes.writeUInt32LE(7 + 3 * 2 ** 8, segment.end + 4)
  return segment.bytes
}

function withBytes(at: number, bytes: number[], fileEnds?: number): Buffer {
  const segment = records0To2()
  segment.bytes.set(bytes, segment.end + at)
  return fileEnds === undefined ? segment.bytes : segment.bytes.subarray(0, segment.end + fileEnds)
}

/** Changes one copy of the header, with a valid checksum. */
function otherHeader(copyAt: number, change: (copy: Buffer) => void): Buffer {
  const { bytes } = records0To2()
  const copy = bytes.subarray(copyAt, copyAt + 64)
  change(copy)
  copy.writeUInt32LE(crc32c(copy.subarray(0, 60)), 60)
  return bytes
}

const TORN = { reads: [0, 1, 2], next: 3, open: 'torn-tail' } as const
const HOLE = { reads: [0, 1, 2], next: 3, open: 'hole' } as const
const WHOLE = { reads: [0, 1, 2], next: 3, open: 'clean' } as const

const RULES: Rule[] = [
  {
    name: 'a void is whole in a segment of version 1',
    segments: () => ({ 0: records0To2(1).void(3, 2).records(5, 6, unsynced).bytes }),
    reads: [0, 1, 2, 5, 6],
    next: 7,
    open: 'clean',
  },
  { name: 'a marker inside a batch makes the batch the damage', segments: () => ({ 0: tornBatch(MARKER) }), ...HOLE },
  { name: 'a void inside a batch makes the batch the damage', segments: () => ({ 0: tornBatch(VOID) }), ...HOLE },
  { name: 'padding inside a batch makes the batch the damage', segments: () => ({ 0: tornBatch(PADDING) }), ...HOLE },
  {
    name: 'bit 28 of a marker means nothing',
    segments: () => ({ 0: batchBitOn(MARKER) }),
    reads: [0, 1, 2, 3, 4, 5],
    next: 6,
    open: 'clean',
  },
  {
    name: 'bit 28 of a void means nothing',
    segments: () => ({ 0: batchBitOn(VOID) }),
    reads: [0, 1, 2, 4, 5],
    next: 6,
    open: 'clean',
  },
  { name: 'the reservation of a batch ends the log', segments: () => ({ 0: reservedBatch() }), ...TORN },
  {
    name: 'a zero word is free space, and four bytes after it are damage after the end',
    segments: () => ({ 0: withBytes(4, [1, 2, 3, 4]) }),
    ...TORN,
  },
  { name: 'a file may end within a word of zeros', segments: () => ({ 0: withBytes(0, [], 2) }), ...WHOLE },
  { name: 'a file may end within a header of zeros', segments: () => ({ 0: withBytes(0, [], 23) }), ...WHOLE },
  {
    name: 'bytes that are not zero before a file ends within a word are damage',
    segments: () => ({ 0: withBytes(0, [0, 1], 2) }),
    ...TORN,
  },
  {
    name: 'an empty segment named as the expected seq is the end of the log',
    segments: () => ({ 0: records0To2().bytes, 3: new CraftedSegment({ salt: 9n }).bytes }),
    ...WHOLE,
  },
  {
    name: 'a log of one empty segment is empty',
    segments: () => ({ 0: new CraftedSegment().bytes }),
    reads: [],
    next: 0,
    open: 'clean',
  },
  {
    name: 'the first of two good copies of a header counts',
    segments: () => ({ 0: otherHeader(2048, (copy) => copy.writeBigUInt64LE(99n, 32)) }),
    ...WHOLE,
    verify: 'corrupt',
  },
  {
    name: 'a copy of version 0 is not good',
    segments: () => ({ 0: otherHeader(0, (copy) => copy.writeUInt32LE(0, 8)) }),
    ...WHOLE,
    verify: 'corrupt',
  },
]

function write(segments: Record<number, Buffer>): string {
  const dir = join(scratchDir(), 'log')
  const files: Files = new Map(Object.entries(segments).map(([seq, bytes]) => [segmentName(BigInt(seq)), bytes]))
  writeFiles(dir, files)
  return dir
}

describe('a rule of the format', () => {
  test.each(RULES)('$name', async (rule) => {
    const dir = write(rule.segments())
    const found = readLog(dir)
    expect(found.records.map(({ seq }) => seq)).toEqual(rule.reads)
    expect(found.nextSeq).toBe(rule.next)
    const reader = await openUntilDone(dir, { readOnly: true })
    expect((await records(reader.read())).map(({ seq }) => seq)).toEqual(rule.reads)
    expect(reader.nextSeq).toBe(rule.next)
    expect((await verify(dir)).state).toBe(rule.verify ?? rule.open)
    const log = await open(dir)
    expect(log.recovery.state).toBe(rule.open)
    expect(log.nextSeq).toBe(rule.next)
    await log.close()
  })

  test('a header of version 0 in both copies is damage', async () => {
    const dir = write({ 0: new CraftedSegment({ version: 0 }).records(0, 2).bytes })
    expect(() => readLog(dir)).toThrow('both copies')
    expect(await codeOf(open(dir))).toBe('ERR_DURLOG_CORRUPT')
  })

  test('a newer version in one good copy refuses the segment', async () => {
    const dir = write({ 0: otherHeader(2048, (copy) => copy.writeUInt32LE(3, 8)) })
    expect(() => readLog(dir)).toThrow('format version 3')
    expect(await codeOf(open(dir))).toBe('ERR_DURLOG_VERSION')
  })

  test.each([
    { unsynced: 0, verdict: 'corrupt' },
    { unsynced: 5, verdict: 'torn-tail' },
  ])('the first frame of a torn batch counts for the synced end: unsynced $unsynced, $verdict', async (rule) => {
    const batch = new CraftedSegment({ salt: 9n })
    batch.put(batch.frame(5, { continues: true, unsynced: rule.unsynced }))
    const dir = write({ 0: records0To2().bytes, 5: batch.bytes })
    expect((await verify(dir)).state).toBe(rule.verdict)
  })
})
