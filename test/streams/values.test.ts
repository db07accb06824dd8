/** The values of one append, which are encoded and framed together. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openStreams, type Streams, type StreamsOptions } from '../../src/streams/index.js'
import { codeOf } from '../fixtures/scratch.js'
import { scratchStreams } from '../fixtures/streams.js'

/** Longer than the values that are copied into memory that streams share. */
const LONG = 'ä'.repeat(20_000)

async function valuesOf(streams: Streams<unknown>, name: string): Promise<unknown[]> {
  const values: unknown[] = []
  let seq = 0
  for await (const record of streams.stream(name).read()) {
    expect(record.seq).toBe(seq++)
    values.push(record.value)
  }
  return values
}

/** Stores in several ways, and returns the records that are expected for each stream. */
async function fill(streams: Streams<unknown>): Promise<Record<string, unknown[]>> {
  const kinds = [1, null, { a: [LONG, '\ud83d\ude00\n'] }, [], -0.5, Number.NaN, new Date(0), { toJSON: () => 'x' }]
  const { seq } = await streams.stream('kinds').appendAll(kinds)
  expect(seq).toBe(0)
  await streams.stream('kinds').appendAll(['text', LONG, ''])
  expect(await streams.stream('kinds').appendAll(['text', 1])).toEqual({ seq: 11, duplicate: false })
  await streams.stream('ended').appendAll([{ n: 1 }, { n: 2 }], { end: true })
  expect(await codeOf(streams.stream('ended').appendAll([3, 4]))).toBe('ERR_DURLOG_STREAM_ENDED')
  expect(await streams.stream('made').create({ values: [1, 2, 3], end: true })).toBe(true)
  expect(await streams.stream('made').create({ values: [1, 2, 3], end: true })).toBe(false)
  const producer = { id: 'p', epoch: 0, seq: 0 }
  expect(await streams.stream('once').appendAll([1, 2], { producer, expectedSeq: 0 })).toMatchObject({ seq: 0 })
  expect(await streams.stream('once').appendAll([1, 2], { producer })).toEqual({ seq: 0, duplicate: true })
  expect(await codeOf(streams.stream('once').appendAll([3, 4], { expectedSeq: 1 }))).toBe('ERR_DURLOG_SEQ_CONFLICT')
  await streams.stream('many').appendAll(Array.from({ length: 3_000 }, (_, n) => n))
  return {
    kinds: [...(JSON.parse(JSON.stringify(kinds)) as unknown[]), 'text', LONG, '', 'text', 1],
    ended: [{ n: 1 }, { n: 2 }],
    made: [1, 2, 3],
    once: [1, 2],
    many: Array.from({ length: 3_000 }, (_, n) => n),
  }
}

async function expectStored(streams: Streams<unknown>, expected: Record<string, unknown[]>): Promise<void> {
  for (const [name, values] of Object.entries(expected)) expect(await valuesOf(streams, name)).toEqual(values)
  expect(await streams.stream('ended').info()).toMatchObject({ ended: true, nextSeq: 2 })
  expect(await streams.stream('made').info()).toMatchObject({ ended: true, nextSeq: 3 })
}

test.each([true, false])(
  'the values of an append are stored in order, and read from memory, the log and files (exclusive: %s)',
  async (exclusive) => {
    const options: StreamsOptions = { exclusive, durability: 'memory', checkpointMs: 3_600_000 }
    const { dir, streams } = await scratchStreams(options)
    const expected = await fill(streams)
    await expectStored(streams, expected)
    const positions: number[] = []
    for await (const { position } of streams.readAll()) positions.push(position)
    expect(positions.length).toBe(Object.values(expected).flat().length)
    expect(positions.every((position, at) => at === 0 || position > (positions[at - 1] as number))).toBe(true)
    await streams.checkpoint()
    await expectStored(streams, expected)
    await streams.close()
    const again = await openStreams(dir, options)
    onTestFinished(() => again.close())
    await expectStored(again, expected)
  },
)

test.each([true, false])(
  'a value without a JSON form is refused and nothing is stored (exclusive: %s)',
  async (exclusive) => {
    const { streams } = await scratchStreams({ exclusive, durability: 'memory' })
    const circular: unknown[] = []
    circular.push(circular)
    for (const bad of [
      undefined,
      () => 0,
      10n,
      Symbol('s'),
      circular,
      { toJSON: () => undefined },
      new Uint8Array(1),
    ]) {
      expect(await codeOf(streams.stream('s').appendAll([1, bad]))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
      expect(await codeOf(streams.stream('s').create({ values: [1, bad] }))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
    }
    expect(await streams.stream('s').info()).toBeUndefined()
    await streams.stream('text').create({ encoding: 'utf8', values: ['a', 'b'] })
    await expect(streams.stream('text').appendAll([new Date(0), {}])).rejects.toThrow(
      'must be a string (encoding utf8)',
    )
    expect(await codeOf(streams.stream('bytes').create({ encoding: 'buffer', values: ['a', 'b'] }))).toBe(
      'ERR_DURLOG_INVALID_ARGUMENT',
    )
    await streams.stream('text').appendAll(['c', 'd'])
    expect(await valuesOf(streams, 'text')).toEqual(['a', 'b', 'c', 'd'])
  },
)

test.each([true, false])(
  'a text of JSON is stored as it is written, and refused as a whole (exclusive: %s)',
  async (exclusive) => {
    const { streams, dir } = await scratchStreams({ exclusive, durability: 'memory' })
    const stream = streams.stream('s')
    const bytes = Buffer.from(' [1.0, {"a" :\n"ä"}, 12345678901234567890] ')
    const first = stream.appendJson(bytes)
    bytes.fill(0)
    expect(await first).toEqual({ seq: 0, duplicate: false })
    expect(await stream.appendJson('"one"')).toEqual({ seq: 3, duplicate: false })
    expect(await stream.appendJson('[[2]]', { expectedSeq: 4 })).toEqual({ seq: 4, duplicate: false })
    for (const bad of ['', '[]', '[1', '[1,]', '1 2', '"\ud800"', Buffer.from([0x22, 0xff, 0x22]), 5, undefined, {}])
      expect(await codeOf(stream.appendJson(bad as string))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
    await expect(stream.appendJson(`[1,${'['.repeat(513)}${']'.repeat(513)}]`)).rejects.toThrow('at most 512')
    await expect(stream.appendJson(`[1${',1'.repeat(65_535)}]`)).rejects.toThrow('1 to 65535 values')
    await streams.stream('text').create({ encoding: 'utf8' })
    expect(await codeOf(streams.stream('text').appendJson('["a","b"]'))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
    await streams.checkpoint()
    const stored = readFileSync(join(dir, 'streams/s.jsonl'), 'utf8')
    const lines = stored.split('\n').map((line) => line.trim())
    expect(lines).toEqual(['1.0', '{"a" : "ä"}', '12345678901234567890', '"one"', '[2]', ''])
  },
)

test.each([true, false])('a reader may change the bytes that it has got (exclusive: %s)', async (exclusive) => {
  const options = { encoding: 'buffer', exclusive } as const
  const { streams, reopen } = await scratchStreams(options)
  // The second is too long for memory that streams share.
  const stored = [Buffer.from('short'), Buffer.alloc(100_000, 'long')]
  await streams.stream('s').append(stored[0])
  await streams.stream('s').append(stored[1])
  for (const value of await valuesOf(streams, 's')) (value as Buffer).fill('x')
  expect(await valuesOf(streams, 's')).toEqual(stored)
  await streams.checkpoint()
  for (const value of await valuesOf(streams, 's')) (value as Buffer).fill('x')
  expect(await valuesOf(await reopen(), 's')).toEqual(stored)
})
