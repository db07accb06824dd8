/** `verify` reports what a reader with `salvage` finds: every lost record, and the number of intact ones. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { open, type ReadGap, verify } from '../src/index.js'
import { scratchDir } from './fixtures/scratch.js'

/** A generator of numbers below 1 that the seed determines. */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

async function makeLog(dir: string, random: () => number): Promise<void> {
  const log = await open(dir, { segmentBytes: 65_536 })
  const below = (n: number): number => Math.floor(random() * n)
  const record = (): Buffer => Buffer.alloc(1 + below(random() < 0.1 ? 9000 : 300), below(256))
  for (let calls = 100 + below(400); calls > 0; calls--) {
    if (random() < 0.3) await log.appendBatch(Array.from({ length: 1 + below(8) }, record), { durability: 'memory' })
    else log.write(record())
    if (random() < 0.02) await log.sync()
  }
  await log.close()
}

function damage(dir: string, random: () => number): void {
  const segments = readdirSync(dir).filter((name) => name.endsWith('.seg'))
  for (let places = 1 + Math.floor(random() * 12); places > 0; places--) {
    const path = join(dir, segments[Math.floor(random() * segments.length)] as string)
    const bytes = readFileSync(path)
    // Not the header: no record of a segment without a header can be read.
    const at = 8192 + Math.floor(random() * (bytes.length - 8192))
    const end = at + 1 + Math.floor(random() * (random() < 0.2 ? 3000 : 8))
    bytes.fill(Math.floor(random() * 256), at, Math.min(end, bytes.length))
    writeFileSync(path, bytes)
  }
}

function seqsOf(ranges: readonly { first: number; last: number }[]): number[] {
  return ranges.flatMap(({ first, last }) => Array.from({ length: Math.max(last - first + 1, 0) }, (_, i) => first + i))
}

test.each(Array.from({ length: 30 }, (_, i) => i + 1))('a log with random damage, seed %s', async (seed) => {
  const random = randomOf(seed)
  const dir = join(scratchDir(), 'log')
  await makeLog(dir, random)
  damage(dir, random)
  const report = await verify(dir)
  const gaps: ReadGap[] = []
  let records = 0
  let bytes = 0
  const log = await open(dir, { readOnly: true })
  for await (const { data } of log.read({ salvage: true, onGap: (gap) => gaps.push(gap) })) {
    records++
    bytes += data.length
  }
  await log.close()
  expect([report.records, report.payloadBytes]).toEqual([records, bytes])
  expect(report.segments.reduce((sum, segment) => sum + segment.records, 0)).toBe(records)
  if (report.state !== 'corrupt') return
  const lost = report.problems.map(({ lostFirst, lostLast }) => ({ first: lostFirst, last: lostLast }))
  // A gap at the end of the log has no last record for the reader.
  const found = gaps.map(({ first, last }) => ({ first, last: last === -1 ? report.nextSeq - 1 : last }))
  expect(seqsOf(lost).filter((seq) => seq < report.nextSeq)).toEqual(seqsOf(found))
})
