/**
 * docs/FORMAT.md describes folders of streams completely: a reader that was written from it finds what durlog reads.
 */
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openExclusive } from '../../src/streams/api/open-streams.js'
import { openStreams, type Streams } from '../../src/streams/index.js'
import { fileNameOf as ownFileNameOf } from '../../src/streams/port/file-name.js'
import { codeOf, scratchDir } from '../fixtures/scratch.js'
import { all, leave } from '../fixtures/streams.js'
import { Steps } from '../streams/checkpoint-steps.js'
import { fileNameOf, readStreams } from './streams-reader.mjs'

const NAMES = [
  'plain',
  'Über/Größe',
  '.hidden.',
  'con',
  'com1.txt',
  'console',
  'a b',
  'UPPER',
  '漢'.repeat(60),
  'x'.repeat(181),
]

async function expectTheSame(streams: Streams<unknown>, copy: string): Promise<void> {
  const found = readStreams(copy)
  const listed = await all(streams.list())
  expect([...found.keys()].sort()).toEqual(listed.map(({ name }) => name).sort())
  for (const { name, ended, encoding } of listed) {
    const { records, ...stream } = found.get(name) as NonNullable<ReturnType<typeof found.get>>
    expect([name, stream.ended, stream.options.encoding]).toEqual([name, ended, encoding])
    expect([name, records]).toEqual([name, await all(streams.stream(name).read())])
  }
}

test('file names are those that the document describes', () => {
  for (const name of [...NAMES, 'nul.', 'lpt9', 'lpt', 'a.b.', '%41', '~', '\n', 'CON', '.', '..'])
    expect([name, fileNameOf(name)]).toEqual([name, ownFileNameOf(name)])
})

test('streams of every encoding have the same records in a reader that was written from the document', async () => {
  const dir = join(scratchDir(), 'streams')
  const streams: Streams<unknown> = await openStreams(dir, { exclusive: true, checkpointMs: 3_600_000 })
  for (let round = 0; round < 3; round++) {
    for (const [at, name] of NAMES.entries()) {
      for (let i = 0; i < 3 * at; i++)
        await streams.stream(name).append({ round, i, text: 'ö'.repeat((i * 1031) % 5000) })
      const producer = { id: 'p', epoch: round >> 1, seq: round & 1 }
      await streams.stream(name).append('produced', { producer, writerSeq: `w${round}` })
    }
    // Epochs above 2^48 - 1 have more bytes.
    const producer = { id: 'wide', epoch: Number.MAX_SAFE_INTEGER - 1 + (round >> 1), seq: round & 1 }
    await streams.stream('wide').append('produced', { producer })
    await streams.appendBatch(NAMES.slice(0, 5).map((stream) => ({ stream, value: [round] })))
    await streams.stream('text').create({ encoding: 'utf8', contentType: 'text/markdown', ttlMs: 3_600_000 })
    await streams.stream('text').append(`"line" ${round}\n\u2028`)
    await streams.stream('frames').create({ encoding: 'buffer' })
    await streams.stream('frames').append(Buffer.alloc(3000 * (round + 1), round))
    await streams.stream(`ended ${round}`).appendAll([1, 2, 3], { end: true })
    await streams.stream(`fork ${round}`).create({ fork: { stream: 'Über/Größe', seq: 2 } })
    await streams.stream(`fork ${round}`).append({ fork: round })
    await streams.stream(`cut ${round}`).create({ fork: { stream: 'frames', seq: round, bytes: 10 } })
    if (round === 2) {
      await streams.stream('ended 0').delete()
      await streams.stream('UPPER').delete()
      await streams.stream('Über/Größe').delete()
      await streams.stream('fork 0').delete()
    }
    // The copies before it have a main log that continues after the catalog.
    for (const checkpointed of [false, true]) {
      if (checkpointed) await streams.checkpoint()
      const copy = `${dir}-${round}-${checkpointed}`
      cpSync(dir, copy, { recursive: true })
      await expectTheSame(streams, copy)
    }
  }
  await streams.close()
  expect(readStreams(dir).size).toBeGreaterThan(10)
})

test('streams with retention have the same records in a reader that was written from the document', async () => {
  const dir = join(scratchDir(), 'streams')
  const streams: Streams<unknown> = await openStreams(dir, { exclusive: true, checkpointMs: 3_600_000 })
  const retention = { maxRecords: 16 }
  const copied = (): string => {
    const copy = join(scratchDir(), 'copy')
    cpSync(dir, copy, { recursive: true })
    return copy
  }
  const names = ['Lines', 'frames', 'fork', 'fork of all']
  await streams.stream('Lines').create({ retention })
  await streams.stream('frames').create({ encoding: 'buffer', retention: { maxBytes: 65_536 } })
  await streams.stream('source').appendAll([1, 2, 3])
  for (const name of names.slice(2)) await streams.stream(name).create({ fork: { stream: 'source' }, retention })
  for (let round = 0; round < 4; round++) {
    for (let i = 0; i < 11; i++) {
      await streams.stream('Lines').append({ round, i, text: 'ö'.repeat(i === 7 ? 3000 : i) })
      await streams.stream('frames').append(Buffer.alloc(i === 7 ? 20_000 : 900, round))
      await streams.stream('fork').append({ round, i })
    }
    await streams.stream('fork of all').append(round)
    // The copy before the last checkpoint has a main log that continues after the catalog.
    if (round === 3) await expectTheSame(streams, copied())
    await streams.checkpoint()
  }
  await expectTheSame(streams, copied())
  for (const name of names) {
    const { firstSeq } = (await streams.stream(name).info()) ?? {}
    expect([name, firstSeq === 0]).toEqual([name, name === 'fork of all'])
  }
  const { path = '' } = (await streams.stream('Lines').info()) ?? {}
  rmSync(path)
  await streams.stream('Lines').append('after the loss')
  await streams.close()
  const reopened: Streams<unknown> = await openStreams(dir, { exclusive: true })
  await expectTheSame(reopened, dir)
  await reopened.close()
})

test('after a crash at any step of a checkpoint, a reader that was written from the document finds what durlog finds', async () => {
  let isStopped = true
  let limit = 0
  while (isStopped) {
    const dir = join(scratchDir(), 'streams')
    const steps = new Steps()
    const options = { checkpointMs: 3_600_000, durability: 'memory' } as const
    const streams = await openExclusive(dir, options, steps.hooks)
    for (const name of ['kept', 'deleted', 'replaced']) await streams.stream(name).appendAll([1, 2, 3])
    await streams.stream('fork').create({ fork: { stream: 'kept' } })
    await streams.checkpoint()
    for (const name of ['deleted', 'replaced', 'kept']) await streams.stream(name).delete()
    await streams.stream('replaced').appendAll(['a', 'longer value'])
    await streams.stream('fork').append(4)
    steps.reset(++limit)
    isStopped = (await codeOf(streams.checkpoint())) !== 'none'
    await leave(streams)
    const copy = `${dir}-copy`
    cpSync(dir, copy, { recursive: true })
    const reopened = await openExclusive(dir, options, {})
    await expectTheSame(reopened, copy)
    await reopened.close()
  }
  expect(limit).toBeGreaterThan(5)
})
