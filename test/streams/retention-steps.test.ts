/** Checkpoints of streams with retention that end at any of their steps, and crashes after them. */
import { cpSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Folder } from '../../src/streams/api/folder.js'
import { openExclusive } from '../../src/streams/api/open-streams.js'
import type { Stream, Streams } from '../../src/streams/index.js'
import { scratchDir } from '../fixtures/scratch.js'
import { linesOf, values } from '../fixtures/streams.js'
import { Steps } from './checkpoint-steps.js'

const OPTIONS = { checkpointMs: 3_600_000, durability: 'memory' } as const
const retention = { maxRecords: 40 }

function append(stream: Stream<unknown>, from: number, to: number): Promise<unknown> {
  return stream.appendAll(Array.from({ length: to - from }, (_, at) => from + at))
}

/** Checks that the files of the streams contain the readable records, and that there are no other files. */
async function checkFiles(streams: Streams<unknown>, dir: string, expected: Record<string, number>): Promise<void> {
  const lines = new Map<string, unknown[]>()
  for (const file of readdirSync(join(dir, 'streams')).sort()) {
    const name = file.split(/[~.]/)[0] as string
    lines.set(name, [...(lines.get(name) ?? []), ...linesOf(join(dir, 'streams', file))])
  }
  expect([...lines.keys()].sort()).toEqual(Object.keys(expected).sort())
  for (const [name, next] of Object.entries(expected)) {
    const { firstSeq = 0, nextSeq, retention: limits } = (await streams.stream(name).info()) ?? {}
    const records = Array.from({ length: next - firstSeq }, (_, at) => firstSeq + at)
    expect([name, nextSeq, await values(streams.stream(name).read())]).toEqual([name, next, records])
    expect([name, lines.get(name)]).toEqual([name, records])
    if (limits === undefined) expect(firstSeq).toBe(0)
    else expect(records.length).toBeLessThanOrEqual(56)
    if (firstSeq > 0) expect(records.length).toBeGreaterThanOrEqual(40)
  }
  const indexes = readdirSync(join(dir, 'index')).map((name) => name.split('~')[0] as string)
  expect(indexes.filter((name) => expected[name] === undefined)).toEqual([])
}

interface Life {
  streams: Folder<unknown>
  steps: Steps
}

async function open(dir: string): Promise<Life> {
  const steps = new Steps()
  return { streams: await openExclusive(dir, OPTIONS, steps.hooks), steps }
}

/**
 * Stores and drops records, then makes a checkpoint end at its step number `limit`. `stopped` is false if the
 * checkpoint has fewer steps.
 */
async function stopAt(limit: number, dir: string): Promise<{ life: Life; stopped: boolean; first: number }> {
  const life = await open(dir)
  const { streams, steps } = life
  for (const name of ['kept', 'deleted', 'replaced', 'busy']) {
    await streams.stream(name).create({ retention })
    await append(streams.stream(name), 0, 70)
  }
  await streams.checkpoint()
  for (const name of ['kept', 'deleted', 'replaced', 'busy']) await append(streams.stream(name), 70, 110)
  await streams.stream('short').create({ retention })
  await append(streams.stream('short'), 0, 30)
  const { firstSeq: first = 0 } = (await streams.stream('kept').info()) ?? {}
  const later: Promise<unknown>[] = []
  steps.reset(limit, () => {
    for (const name of ['deleted', 'replaced', 'short']) later.push(streams.stream(name).delete())
    later.push(append(streams.stream('replaced'), 0, 5), append(streams.stream('busy'), 110, 140))
  })
  const stopped = await streams.checkpoint().then(
    () => false,
    () => true,
  )
  await Promise.all(later)
  steps.reset(Number.POSITIVE_INFINITY)
  return { life, stopped, first }
}

const EXPECTED = { kept: 110, replaced: 5, busy: 140 }

/** After a crash, which left the files in `dir`. */
async function checkCrashed(dir: string, first: number): Promise<void> {
  const { streams } = await open(dir)
  expect((await streams.stream('kept').info())?.firstSeq).toBeGreaterThanOrEqual(first)
  expect(streams.changes).toEqual([])
  await streams.checkpoint()
  await checkFiles(streams, dir, EXPECTED)
  await streams.close()
}

/** After the checkpoint has failed. */
async function checkFailed({ streams }: Life, dir: string): Promise<void> {
  const { firstSeq = 0 } = (await streams.stream('kept').info()) ?? {}
  const records = Array.from({ length: 110 - firstSeq }, (_, at) => firstSeq + at)
  expect(await values(streams.stream('kept').read())).toEqual(records)
  await streams.checkpoint()
  await streams.checkpoint()
  expect(streams.changes).toEqual([])
  await checkFiles(streams, dir, EXPECTED)
  await streams.close()
}

test('a checkpoint that ends at any step by a crash or a failure loses and repeats no record of streams with retention', async () => {
  let limit = 1
  for (let stopped = true; stopped; limit++) {
    const root = scratchDir()
    const [dir, crashed] = [join(root, 'streams'), join(root, 'crashed')]
    const before = await stopAt(limit, dir)
    stopped = before.stopped
    cpSync(dir, crashed, { recursive: true })
    await checkCrashed(crashed, before.first)
    await checkFailed(before.life, dir)
  }
  expect(limit).toBeGreaterThan(20)
})

test('a checkpoint keeps the records of a fork that is deleted during the checkpoint: the deletion may be lost', async () => {
  const { streams, steps } = await open(join(scratchDir(), 'streams'))
  const [source, fork] = [streams.stream('source'), streams.stream('fork')]
  await source.create({ retention })
  await append(source, 0, 70)
  await fork.create({ fork: { stream: 'source', seq: 5 } })
  await append(source, 70, 140)
  const deleted: Promise<unknown>[] = []
  steps.reset(Number.POSITIVE_INFINITY, () => deleted.push(fork.delete()))
  await streams.checkpoint()
  expect(await Promise.all(deleted)).toEqual([true])
  expect((await source.info())?.firstSeq).toBe(0)
  steps.reset(Number.POSITIVE_INFINITY)
  await streams.checkpoint()
  expect((await source.info())?.firstSeq).toBeGreaterThan(0)
  await streams.close()
})

test('a fork that is created during a checkpoint has the records that the checkpoint would remove', async () => {
  const { streams, steps } = await open(join(scratchDir(), 'streams'))
  const [source, fork] = [streams.stream('source'), streams.stream('fork')]
  await source.create({ retention })
  await append(source, 0, 140)
  const created: Promise<unknown>[] = []
  steps.reset(Number.POSITIVE_INFINITY, () =>
    created.push(append(source, 140, 141), fork.create({ fork: { stream: 'source', seq: 5 } })),
  )
  await streams.checkpoint()
  await Promise.all(created)
  expect(await values(fork.read())).toEqual([0, 1, 2, 3, 4])
  await streams.close()
})
