import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type Log, open, repair, verify } from '../src/index.js'
import {
  CraftedSegment,
  type Files,
  HEADER_BYTES,
  payloadOf,
  readFiles,
  SEGMENT_BYTES,
  segmentName,
  writeFiles,
} from './fixtures/crafted-log.js'
import { DAMAGED_LOGS, type Damage, REFUSED } from './fixtures/damaged-logs/index.js'
import { codeOf, scratchDir } from './fixtures/scratch.js'

const OPTIONS = { segmentBytes: SEGMENT_BYTES, strategy: 'pwrite' } as const

function damagedLog({ make, also }: Damage): { dir: string; evidence: Files } {
  const dir = join(scratchDir(), 'log')
  writeFiles(dir, make())
  also?.(dir)
  return { dir, evidence: readFiles(dir) }
}

/** "0-2 4" for 0, 1, 2, 4. */
function ranges(seqs: number[]): string {
  const found: [number, number][] = []
  for (const seq of seqs) {
    const last = found.at(-1)
    if (last !== undefined && last[1] + 1 === seq) last[1] = seq
    else found.push([seq, seq])
  }
  return found.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join(' ')
}

/** The seqs of a text that `ranges` returns. */
function seqsIn(text: string): number[] {
  return text.split(' ').flatMap((range) => {
    const [first = 0, last = first] = range.split('-').map(Number)
    return Array.from({ length: last - first + 1 }, (_, at) => first + at)
  })
}

async function readSeqs(log: Log, salvage: boolean): Promise<number[]> {
  const seqs: number[] = []
  for await (const { seq, data } of log.read({ salvage })) {
    expect(data.toString()).toBe(payloadOf(seq))
    seqs.push(seq)
  }
  return seqs
}

function expectUntouched(dir: string, evidence: Files): void {
  const now = readFiles(dir)
  for (const [name, bytes] of evidence)
    if (!/^spare-[0-9a-f]{16}$/.test(name)) expect(now.get(name)?.equals(bytes), name).toBe(true)
}

async function stateOf(dir: string): Promise<string> {
  try {
    return (await verify(dir)).state
  } catch (error) {
    return (error as { code: string }).code
  }
}

const refuses = ({ open: found }: Damage): boolean => found.startsWith('ERR_')
const isCut = ({ open: found }: Damage): boolean => found === 'torn-tail' || found === 'hole'
/** A strict open reads only the end of the log, so readers find the damage before that. */
const isMetByReaders = (damage: Damage): boolean =>
  damage.open === 'clean' && damage.verify === 'corrupt' && damage.lost !== undefined

describe('a strict open', () => {
  test.each(DAMAGED_LOGS.filter((damage) => !refuses(damage)))(
    'reports $open for $name, and takes appends',
    async (damage) => {
      const { dir, evidence } = damagedLog(damage)
      const log = await open(dir, OPTIONS)
      expect(log.recovery.state).toBe(damage.open)
      expect(log.nextSeq).toBe(damage.next)
      if (isMetByReaders(damage)) expect(await codeOf(readSeqs(log, false))).toBe('ERR_DURLOG_CORRUPT')
      else if (damage.verify !== 'corrupt') expect(ranges(await readSeqs(log, false))).toBe(damage.reads)
      const seq = await log.append(payloadOf(damage.next as number))
      expect(seq).toBe(damage.next)
      await log.close()
      const again = await open(dir, OPTIONS)
      expect(again.recovery.state).toBe('clean')
      expect(again.nextSeq).toBe(seq + 1)
      expect(await readSeqs(again, true)).toContain(seq)
      await again.close()
      if (damage.verify === undefined) expect(await stateOf(dir)).toBe('clean')
      for (const [name, bytes] of evidence)
        if (bytes.equals(Buffer.from('mine'))) expect(existsSync(join(dir, name))).toBe(true)
    },
  )

  test.each(DAMAGED_LOGS.filter(refuses))('refuses $name and changes nothing', async (damage) => {
    const { dir, evidence } = damagedLog(damage)
    for (let i = 0; i < 2; i++) {
      const error = await open(dir, OPTIONS).then(
        () => undefined,
        (reason: unknown) => reason,
      )
      expect(error).toMatchObject({ code: damage.open, path: expect.stringContaining(dir) })
      if (damage.lost) expect(error).toMatchObject({ lostFirst: damage.lost[0], lostLast: damage.lost[1] })
    }
    expectUntouched(dir, evidence)
  })
})

describe('verify', () => {
  test.each(DAMAGED_LOGS)('of $name changes nothing', async (damage) => {
    const { dir, evidence } = damagedLog(damage)
    const expected = damage.verify ?? (refuses(damage) ? 'corrupt' : damage.open)
    const report = await verify(dir)
    expect(report.state).toBe(expected)
    expect(report.problems.length > 0).toBe(expected !== 'clean')
    if (damage.lost) {
      // The loss that `open` reports begins with a torn batch, whose whole records a reader with salvage delivers.
      const delivered = new Set(seqsIn(damage.reads))
      for (let seq = damage.lost[0]; seq <= damage.lost[1]; seq++) {
        const isLost = report.problems.some(({ lostFirst, lostLast }) => lostFirst <= seq && seq <= lostLast)
        expect([seq, isLost]).toEqual([seq, !delivered.has(seq)])
      }
    }
    expectUntouched(dir, evidence)
  })
})

describe('salvage', () => {
  test.each(DAMAGED_LOGS.filter((damage) => refuses(damage) || damage.verify === 'corrupt'))(
    'reads the whole records of $name, appends after them and keeps the evidence',
    async (damage) => {
      const { dir, evidence } = damagedLog(damage)
      const log = await open(dir, { ...OPTIONS, recovery: 'salvage' })
      if (refuses(damage)) expect(log.recovery.state).toBe('corrupt')
      const whole = await readSeqs(log, true)
      expect(ranges(whole)).toBe(damage.reads)
      const next = log.nextSeq
      expect(next).toBeGreaterThan(whole.at(-1) ?? -1)
      expect(await log.append(payloadOf(next))).toBe(next)
      expect(await readSeqs(log, true)).toEqual([...whole, next])
      await log.close()
      if (refuses(damage)) expectUntouched(dir, evidence)
      // The records written after the damage are a valid log again.
      const strict = await open(dir, OPTIONS)
      expect(strict.recovery.state).toBe('clean')
      expect(strict.nextSeq).toBe(next + 1)
      expect(await readSeqs(strict, true)).toEqual([...whole, next])
      await strict.close()
    },
  )

  test.each(DAMAGED_LOGS.filter(refuses))('of $name assigns no seq twice if nothing was appended', async (damage) => {
    const { dir, evidence } = damagedLog(damage)
    const first = await open(dir, { ...OPTIONS, recovery: 'salvage' })
    const next = first.nextSeq
    await first.close()
    const second = await open(dir, { ...OPTIONS, recovery: 'salvage' })
    expect(second.nextSeq).toBe(next)
    await second.close()
    expectUntouched(dir, evidence)
  })
})

describe('repair', () => {
  test.each(DAMAGED_LOGS.filter(isCut))('cuts $name after copying the bytes', async (damage) => {
    const { dir, evidence } = damagedLog(damage)
    const plan = await repair(dir)
    expect(plan).toMatchObject({ state: damage.open, applied: false })
    expect(plan.cuts.length).toBeGreaterThan(0)
    expectUntouched(dir, evidence)
    const backup = join(dir, '..', 'backup')
    const done = await repair(dir, { apply: true, backup })
    expect(done).toMatchObject({ state: damage.open, applied: true })
    for (const { segment, offset, removed } of done.cuts) {
      const before = evidence.get(segment) as Buffer
      const saved = readFileSync(join(backup, removed ? segment : `${segment}.from-${offset}`))
      // The copy may end before the trailing zeros.
      const gone = before.subarray(removed ? 0 : offset)
      expect(Buffer.concat([saved, Buffer.alloc(gone.length - saved.length)]).equals(gone)).toBe(true)
      if (removed) continue
      // In the block of the header, the slot has changed.
      const kept = readFileSync(join(dir, segment)).subarray(HEADER_BYTES, offset)
      expect(kept.equals(before.subarray(HEADER_BYTES, offset))).toBe(true)
    }
    expect(await stateOf(dir)).toBe('clean')
    const log = await open(dir, OPTIONS)
    expect(log.recovery.state).toBe('clean')
    expect(log.nextSeq).toBe(damage.next)
    expect(ranges(await readSeqs(log, false))).toBe(damage.reads)
    await log.close()
  })

  test.each(DAMAGED_LOGS.filter((damage) => !isCut(damage)))('finds nothing to cut in $name', async (damage) => {
    const { dir, evidence } = damagedLog(damage)
    const backup = join(dir, '..', 'backup')
    for (const options of [{}, { apply: true, backup }]) {
      if (refuses(damage)) expect(await codeOf(repair(dir, options))).toBe(damage.open)
      else if (damage.verify === 'corrupt') expect(await codeOf(repair(dir, options))).toBe('ERR_DURLOG_CORRUPT')
      else expect(await repair(dir, options)).toMatchObject({ state: 'clean', applied: false, cuts: [] })
    }
    expect(existsSync(backup)).toBe(false)
    expectUntouched(dir, evidence)
  })

  test('cuts nothing if the copy fails', async () => {
    const damage = DAMAGED_LOGS.find(({ open: found }) => found === 'torn-tail') as Damage
    const { dir, evidence } = damagedLog(damage)
    expect(await codeOf(repair(dir, { apply: true, backup: join(dir, [...evidence.keys()][0] as string) }))).not.toBe(
      'none',
    )
    expectUntouched(dir, evidence)
    expect(await codeOf(repair(dir, { apply: true }))).not.toBe('none')
    expectUntouched(dir, evidence)
  })
})

test('a cut of the only watermark writes another: damage before it is still reported', async () => {
  // Records 0 to 9 were synced, but only record 11, after a torn record 10, has a watermark that covers them.
  const sealed = new CraftedSegment({ salt: 1n }).records(0, 9, (seq) => seq)
  const last = new CraftedSegment({ salt: 2n }).records(10, 11, (seq) => seq - 10)
  last.bytes.writeUInt8(0xff, last.offset(10) + 30)
  sealed.bytes.writeUInt8(0xff, sealed.offset(9) + 30)
  const dir = join(scratchDir(), 'log')
  const files: Files = new Map([
    [segmentName(0), sealed.bytes],
    [segmentName(10), last.bytes],
  ])
  writeFiles(dir, files)
  for (const state of ['hole', 'clean'] as const) {
    const opened = await open(dir, OPTIONS)
    expect(opened.recovery).toMatchObject({ state, scannedFrom: 10 })
    await opened.close()
  }
  expect(readFileSync(join(dir, segmentName(0))).equals(sealed.bytes)).toBe(true)
  expect(await stateOf(dir)).toBe('corrupt')
  // An open does not read the older segment, and reports that; a repair reads the same segments as verify.
  expect(await codeOf(repair(dir))).toBe('ERR_DURLOG_CORRUPT')
  const log = await open(dir, OPTIONS)
  expect(log.nextSeq).toBe(10)
  await log.close()
})

describe('every function', () => {
  test.each(REFUSED)('refuses $name', async (damage) => {
    const { dir, evidence } = damagedLog(damage)
    const verdict = await stateOf(dir)
    expect([damage.open, 'corrupt']).toContain(verdict)
    expect(await codeOf(open(dir, OPTIONS))).toBe(damage.open)
    expect(await codeOf(open(dir, { ...OPTIONS, recovery: 'salvage' }))).toBe(damage.open)
    expect(await codeOf(open(dir, { ...OPTIONS, readOnly: true }))).toBe(damage.open)
    expect(await codeOf(repair(dir))).toBe(damage.open)
    expectUntouched(dir, evidence)
  })
})

test('the table has more than forty damaged logs, each with its own name', () => {
  const names = [...DAMAGED_LOGS, ...REFUSED].map(({ name }) => name)
  expect(new Set(names).size).toBe(names.length)
  expect(names.length).toBeGreaterThan(40)
})
