/** The files of streams: lines, names, changes by other programs, and disk space. */
import {
  appendFileSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { DurlogError } from '../../src/errors.js'
import { openStreams, type StreamRecord, type StreamsCheckpoint } from '../../src/streams/index.js'
import { fileNameOf } from '../../src/streams/port/file-name.js'
import { codeOf, scratchDir, scratchLog } from '../fixtures/scratch.js'
import { all, linesOf, scratchStreams, values } from '../fixtures/streams.js'

test('after every checkpoint, the file of a JSON stream contains its values as JSON Lines', async () => {
  const { streams } = await scratchStreams()
  const stream = streams.stream('s')
  const given: unknown[] = []
  for (const bytes of [10, 3000, 3000, 4094, 4095, 1, 9000, 10, 300_000, 5]) {
    given.push('x'.repeat(bytes))
    await stream.append(given.at(-1))
    await streams.checkpoint()
    const info = await stream.info()
    expect(linesOf(info?.path as string)).toEqual(given)
  }
  expect(await values(stream.read())).toEqual(given)
})

test('for any Unicode names, the files of streams are in the folder, and no two names of files differ only in case', async () => {
  const names = [
    'a',
    'A',
    'a/b',
    'a%2fb',
    '../../x',
    '.',
    '..',
    'con',
    'CON',
    'con.x',
    'é',
    'e\u0301',
    'ß',
    'SS',
    'x ',
    'x.',
    '日本',
    '😀',
    '\n\0',
  ]
  names.push('n'.repeat(1024), `${'n'.repeat(1023)}m`, 'Ä'.repeat(512))
  const files = names.map((name) => fileNameOf(name).toLowerCase())
  expect(new Set(files).size).toBe(names.length)
  for (const file of files) expect(file).toMatch(/^(?!\.|(con|aux|nul|prn)(\.|$))[a-z0-9._%~-]{1,200}(?<!\.)$/)
  const { streams, dir, reopen } = await scratchStreams()
  for (const name of names) await streams.stream(name).append(name)
  const again = await reopen()
  for (const name of names) expect(await values(again.stream(name).read())).toEqual([name])
  expect(readdirSync(join(dir, 'streams'))).toHaveLength(names.length)
})

test.each(['', 'n'.repeat(1025), 'é'.repeat(513), '\ud800', 7])(
  'a name that is not Unicode text of 1 to 1024 bytes is refused',
  async (name) => {
    const { streams } = await scratchStreams()
    expect(await codeOf(() => streams.stream(name as string))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
  },
)

test('if another program has added lines, that is reported, the original is kept in changed/, and the stream continues', async () => {
  const { streams, dir } = await scratchStreams()
  const stream = streams.stream('s')
  await stream.append(1)
  await streams.checkpoint()
  const path = (await stream.info())?.path as string
  appendFileSync(path, '{"foreign":true}\n')
  await stream.append(2)
  await streams.checkpoint()
  expect(streams.changes).toMatchObject([{ stream: 's', lostFirst: -1, lostLast: -1 }])
  expect(readFileSync(streams.changes[0]?.original as string, 'utf8')).toBe('1\n{"foreign":true}\n')
  expect(streams.changes[0]?.original).toContain(join(dir, 'changed'))
  expect(linesOf(path)).toEqual([1, 2])
  expect(await values(stream.read())).toEqual([1, 2])
})

test.each([
  ['shortened', (path: string) => truncateSync(path, 3)],
  ['removed', (path: string) => rmSync(path)],
])('if a file was %s, the lost records are reported, and the stream continues with the next seq', async (_, change) => {
  const { streams, reopen } = await scratchStreams()
  const stream = streams.stream('s')
  for (let i = 0; i < 20; i++) await stream.append(i)
  await streams.checkpoint()
  change((await stream.info())?.path as string)
  expect(await codeOf(all(stream.read()))).toBe('ERR_DURLOG_STREAM_CHANGED')
  await stream.append('next')
  await streams.checkpoint()
  expect(streams.changes).toMatchObject([{ stream: 's', lostFirst: 0, lostLast: 19 }])
  expect(await all(stream.read())).toMatchObject([{ seq: 20, value: 'next' }])
  const again = (await reopen()).stream('s')
  expect(await again.append('after')).toEqual({ seq: 21, duplicate: false })
  expect(await all(again.read())).toMatchObject([{ seq: 20 }, { seq: 21 }])
  expect(await codeOf(all(again.read({ from: 5 })))).toBe('ERR_DURLOG_OUT_OF_RANGE')
})

test.each([
  ['json' as const, (bytes: Buffer) => bytes.fill('{', 4, 5)],
  ['buffer' as const, (bytes: Buffer) => bytes.fill('{', 20, 21)],
])('a damaged record of a %s stream is reported when it is read', async (encoding, damage) => {
  const { streams } = await scratchStreams({ encoding })
  const stream = streams.stream('s')
  for (let i = 0; i < 20; i++) await stream.append(encoding === 'json' ? i : Buffer.from([i]))
  await streams.checkpoint()
  const path = (await stream.info())?.path as string
  writeFileSync(path, damage(readFileSync(path)))
  await expect(all(stream.read())).rejects.toMatchObject({ code: 'ERR_DURLOG_STREAM_CHANGED', path })
})

test('damaged lines that are valid JSON only when joined are reported, with the seq of the first', async () => {
  const { streams } = await scratchStreams()
  const stream = streams.stream('s')
  for (const value of ['first', 'aa', 'bb', 333]) await stream.append(value)
  await streams.checkpoint()
  const path = (await stream.info())?.path as string
  writeFileSync(path, readFileSync(path, 'utf8').replace('"aa"\n"bb"\n333\n', '[1,2\n3,4]\n5,6\n'))
  // From the second record on, so that the checksum of the whole file is not compared.
  const read = all(stream.read({ from: 1 }))
  await expect(read).rejects.toMatchObject({ code: 'ERR_DURLOG_STREAM_CHANGED', lostFirst: 1 })
})

test('an empty folder takes at most 1 MiB, and its log stores short and long records', async () => {
  const { dir, streams, reopen } = await scratchStreams()
  let blocks = 0
  for (const entry of readdirSync(dir, { recursive: true })) blocks += statSync(join(dir, String(entry))).blocks
  expect(blocks * 512).toBeLessThanOrEqual(1 << 20)
  const given = [1, 300_000, 4_000_000, 2, 100_000, 7_000_000, 3].map((length) => 'x'.repeat(length))
  await Promise.all(given.map((value) => streams.stream('s').append(value)))
  expect(await values(streams.stream('s').read())).toEqual(given)
  expect(await values((await reopen()).stream('s').read())).toEqual(given)
})

test('a record that another program has replaced by a valid one is detected when the whole file is read', async () => {
  const { streams } = await scratchStreams()
  const stream = streams.stream('s')
  for (const value of ['first', 'second', 'third']) await stream.append(value)
  await streams.checkpoint()
  const path = (await stream.info())?.path as string
  writeFileSync(path, readFileSync(path, 'utf8').replace('second', 'forged'))
  await expect(values(stream.read())).rejects.toMatchObject({ code: 'ERR_DURLOG_STREAM_CHANGED' })
  expect(await values(stream.read({ from: 2 }))).toEqual(['third'])
})

test('a checkpoint of many streams writes the files of all, and the next checkpoint appends to them', async () => {
  const { dir, streams, reopen } = await scratchStreams()
  const names = Array.from({ length: 300 }, (_, i) => `many/${i}`)
  for (const round of [0, 1]) {
    await Promise.all(names.flatMap((name) => [0, 1].map((i) => streams.stream(name).append(`${name} ${round} ${i}`))))
    await streams.checkpoint()
  }
  const expected = (name: string) => [0, 1].flatMap((round) => [0, 1].map((i) => `${name} ${round} ${i}`))
  for (const name of names) {
    const path = (await streams.stream(name).info())?.path as string
    expect(linesOf(path)).toEqual(expected(name))
  }
  expect(readdirSync(join(dir, 'streams')).length).toBe(names.length)
  const again = await reopen()
  for (const name of names) expect(await values(again.stream(name).read())).toEqual(expected(name))
})

test('the space of deleted streams is free after the next checkpoint', async () => {
  const { streams, dir } = await scratchStreams()
  for (let i = 0; i < 200; i++) for (let j = 0; j < 20; j++) void streams.stream(`s${i}`).append('x'.repeat(300))
  await streams.checkpoint()
  expect(readdirSync(join(dir, 'streams'))).toHaveLength(200)
  expect(readdirSync(join(dir, 'index'))).toHaveLength(200)
  await Promise.all(Array.from({ length: 199 }, (_, i) => streams.stream(`s${i}`).delete()))
  const checkpoints: StreamsCheckpoint[] = []
  streams.on('checkpoint', (done) => checkpoints.push(done))
  await streams.checkpoint()
  // Deletions do not count as a negative number of records.
  expect(checkpoints.map(({ records }) => records)).toEqual([0])
  expect(readdirSync(join(dir, 'streams'))).toEqual(['s199.jsonl'])
  expect(readdirSync(join(dir, 'index'))).toEqual(['s199'])
})

test('close waits for every checkpoint that was called before it', async () => {
  const { streams } = await scratchStreams()
  const failures: unknown[] = []
  streams.on('checkpointFailed', (error) => failures.push(error))
  const calls: Promise<unknown>[] = []
  for (let round = 0; round < 2; round++) {
    for (let i = 0; i < 200; i++) calls.push(streams.stream(`s${i}`).append(i))
    calls.push(streams.checkpoint())
    // Here the first checkpoint begins, and in the second round one waits for it.
    await Promise.resolve()
  }
  await Promise.all([...calls, streams.close()])
  expect(failures).toEqual([])
})

test('listing many streams does not block the event loop', async () => {
  const { streams } = await scratchStreams({ durability: 'memory' })
  await Promise.all(Array.from({ length: 5000 }, (_, i) => streams.stream(`s${i}`).append(i)))
  let turned = false
  setImmediate(() => {
    turned = true
  })
  let listed = 0
  for await (const _ of streams.list()) if (!turned) listed++
  expect(listed).toBeLessThan(5000)
})

test('a checkpoint trims the segments of the log whose records are in the files', async () => {
  const { streams, dir } = await scratchStreams({ checkpointBytes: 2 ** 22 })
  const value = 'x'.repeat(1 << 20)
  for (let i = 0; i < 60; i++) await streams.stream(`s${i % 4}`).append(value)
  await streams.checkpoint()
  const segments = readdirSync(join(dir, 'log')).filter((file) => file.endsWith('.seg'))
  expect(segments.length).toBeLessThan(3)
})

test.each([false, true])(
  'a folder that contains a log is not opened as a folder of streams (exclusive: %s)',
  async (exclusive) => {
    const { dir } = await scratchLog()
    expect(await codeOf(openStreams(dir, { exclusive }))).toBe('ERR_DURLOG_NOT_A_LOG')
    expect(existsSync(join(dir, 'log'))).toBe(false)
  },
)

test('a folder of streams opens even if it has the files of a log', async () => {
  const { streams, dir } = await scratchStreams()
  await streams.stream('s').append(1)
  await streams.close()
  const log = await scratchLog()
  await log.close()
  cpSync(log.dir, dir, { recursive: true })
  const again = await openStreams(dir, { exclusive: true })
  expect(await values(again.stream('s').read())).toEqual([1])
  await again.close()
})

test('with create: false no folder is created, and a folder refuses another encoding', async () => {
  const dir = join(scratchDir(), 'streams')
  expect(await codeOf(openStreams(dir, { create: false }))).toBe('ERR_DURLOG_NOT_FOUND')
  expect(existsSync(dir)).toBe(false)
  const texts = await openStreams(dir, { encoding: 'utf8' })
  await texts.stream('s').append('t')
  await texts.close()
  expect(await codeOf(openStreams(dir, { encoding: 'buffer' }))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
  const again = await openStreams(dir)
  expect(await codeOf(again.stream('s').append({}))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
  expect(await values(again.stream('s').read())).toEqual(['t'])
  await again.close()
})

test.each(['log', 'catalog'])('a folder whose %s comes from another copy is refused', async (part) => {
  const [one, two] = [await scratchStreams(), await scratchStreams()]
  for (const { streams } of [one, two]) {
    await streams.stream('s').append(1)
    await streams.close()
  }
  const { cpSync } = await import('node:fs')
  rmSync(join(one.dir, part), { recursive: true })
  cpSync(join(two.dir, part), join(one.dir, part), { recursive: true })
  expect(await codeOf(openStreams(one.dir))).toBe('ERR_DURLOG_CORRUPT')
})

/** The seqs of the records that are delivered, and the error that ends the read. */
async function deliveredUntilDamage(reads: AsyncIterable<StreamRecord<unknown>>): Promise<[number[], unknown]> {
  const seqs: number[] = []
  try {
    for await (const { seq } of reads) seqs.push(seq)
  } catch (error) {
    return [seqs, (error as DurlogError).lostFirst]
  }
  return [seqs, undefined]
}

const upTo = (end: number, from = 0): number[] => Array.from({ length: end - from }, (_, i) => from + i)

describe.each([true, false])('intact records before damage are delivered (exclusive: %s)', (exclusive) => {
  test.each([
    ['json', (file: Buffer, at: number) => file.fill(0, at + 1, at + 2)],
    ['json', (file: Buffer, at: number) => file.fill('x', at - 1, at)],
    ['utf8', (file: Buffer, at: number) => file.fill('"', at + 5, at + 6)],
    ['buffer', (file: Buffer, at: number) => file.fill(1, at + 9, at + 10)],
    ['json', (file: Buffer, at: number) => file.subarray(0, at + 3)],
    ['buffer', (file: Buffer, at: number) => file.subarray(0, at + 3)],
  ] as const)('%s, change %#', async (encoding, damage) => {
    const { streams } = await scratchStreams({ encoding, exclusive })
    const stream = streams.stream('s')
    const text = (i: number): string => `${i}`.padStart(50, '0')
    const values = { json: (i: number) => ({ i, t: text(i) }), utf8: text, buffer: (i: number) => Buffer.from(text(i)) }
    for (let i = 0; i < 10; i++) await stream.append(values[encoding](i))
    await streams.checkpoint()
    const path = (await stream.info())?.path as string
    const file = readFileSync(path)
    const lineBytes = file.length / 10
    writeFileSync(path, damage(file, 7 * lineBytes))
    const [seqs, lostFirst] = await deliveredUntilDamage(stream.read())
    expect(seqs).toEqual(upTo(lostFirst as number))
    expect([6, 7]).toContain(lostFirst)
    for (const from of [1, (lostFirst as number) - 1, lostFirst as number])
      expect(await deliveredUntilDamage(stream.read({ from }))).toEqual([upTo(lostFirst as number, from), lostFirst])
  })
})

test('intact records before a damaged entry of the index are delivered', async () => {
  const { dir, streams } = await scratchStreams({ exclusive: true })
  const stream = streams.stream('s')
  for (let i = 0; i < 64; i++) await stream.append(`${i}`.padStart(50, '0'))
  await streams.checkpoint()
  const path = join(dir, 'index', 's')
  const index = readFileSync(path)
  index.fill(255, 20 * 18, 20 * 18 + 6)
  writeFileSync(path, index)
  expect(await deliveredUntilDamage(stream.read())).toEqual([upTo(20), 20])
})
