import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { expect, test } from 'vitest'
import type { LogRecord } from '../src/index.js'
import { codeOf, scratchLog, texts } from './fixtures/scratch.js'

const numbered = (count: number): string[] => Array.from({ length: count }, (_, i) => `record ${i}`)

test('a writable makes each chunk one record, and finishes when all have reached their level', async () => {
  const log = await scratchLog()
  await pipeline(Readable.from(numbered(1000)), log.writable({ durability: 'sync' }))
  expect(log.syncedSeq).toBe(999)
  expect(await texts(log.read())).toEqual(numbered(1000))
})

test('a writable applies backpressure to its source', async () => {
  const log = await scratchLog({ maxPendingBytes: 65536 })
  const writable = log.writable({ highWaterMark: 10_000 })
  let accepted = 0
  while (writable.write(Buffer.alloc(1000, 1))) accepted++
  expect(accepted).toBeLessThan(11)
  await new Promise((resolve) => writable.once('drain', resolve))
  await new Promise<void>((resolve) => writable.end(resolve))
  expect(log.nextSeq).toBe(accepted + 1)
})

test('a writable fails with the error of the append', async () => {
  const log = await scratchLog({ maxRecordBytes: 10 })
  expect(await codeOf(pipeline(Readable.from(['fine', 'much too long']), log.writable()))).toBe(
    'ERR_DURLOG_RECORD_TOO_LARGE',
  )
})

test('a writable stores nothing after the chunk that fails, and each callback reports its own chunk', async () => {
  const log = await scratchLog({ maxRecordBytes: 1000 })
  const lines = Array.from({ length: 2000 }, (_, i) => (i === 700 ? 'x'.repeat(1001) : `line ${i}`))
  const writable = log.writable()
  const failed = new Promise<unknown>((resolve) => writable.once('error', resolve))
  const told = await Promise.all(
    lines.map((line) => new Promise<unknown>((resolve) => writable.write(line, (error) => resolve(error)))),
  )
  expect(await failed).toMatchObject({ code: 'ERR_DURLOG_RECORD_TOO_LARGE' })
  expect(told.slice(0, 700).every((error) => error === null)).toBe(true)
  expect(told[700]).toMatchObject({ code: 'ERR_DURLOG_RECORD_TOO_LARGE' })
  expect(told.slice(701).every((error) => error instanceof Error)).toBe(true)
  expect(await texts(log.read())).toEqual(lines.slice(0, 700))
})

test('a writable that waits for room stores nothing after the chunk that fails', async () => {
  const log = await scratchLog({ maxRecordBytes: 10_000, maxPendingBytes: 65_536, segmentBytes: 262_144 })
  const lines = Array.from({ length: 300 }, (_, i) => `${i} ${'x'.repeat(i === 200 ? 20_000 : 5000)}`)
  expect(await codeOf(pipeline(Readable.from(lines), log.writable({ highWaterMark: 2 ** 24 })))).toBe(
    'ERR_DURLOG_RECORD_TOO_LARGE',
  )
  expect(await texts(log.read())).toEqual(lines.slice(0, 200))
})

test('a readable delivers every record and ends', async () => {
  const log = await scratchLog()
  await log.appendBatch(numbered(1000))
  const found: string[] = []
  for await (const { data } of log.readable() as AsyncIterable<LogRecord>) found.push(data.toString())
  expect(found).toEqual(numbered(1000))
})

test('a readable keeps the order when its data handler calls read', async () => {
  const log = await scratchLog()
  await log.appendBatch(numbered(1000))
  const found: string[] = []
  const readable = log.readable()
  readable.on('data', ({ data }: LogRecord) => {
    found.push(data.toString())
    readable.read()
  })
  await new Promise((resolve) => readable.once('end', resolve))
  expect(found).toEqual(numbered(1000))
})

test('a readable takes the options of read, and waits for a slow consumer', async () => {
  const log = await scratchLog()
  await log.appendBatch(numbered(100))
  const found: number[] = []
  const slow = new Transform({
    objectMode: true,
    highWaterMark: 1,
    transform({ seq }: LogRecord, _encoding, callback) {
      found.push(seq)
      setImmediate(callback)
    },
  })
  await pipeline(log.readable({ from: 10, to: 51, highWaterMark: 4 }), slow.resume())
  expect(found).toEqual(Array.from({ length: 41 }, (_, i) => i + 10))
})

test('destroying a readable that follows closes its reader', async () => {
  const log = await scratchLog()
  await log.append('a')
  const readable = log.readable({ follow: true })
  for await (const { seq } of readable as AsyncIterable<LogRecord>) {
    expect(seq).toBe(0)
    break
  }
  expect(readable.destroyed).toBe(true)
  await log.close()
})

test('a readable fails with the error of the read', async () => {
  const log = await scratchLog()
  expect(await codeOf(pipeline(log.readable({ from: 5 }), new Transform({ objectMode: true }).resume()))).toBe(
    'ERR_DURLOG_OUT_OF_RANGE',
  )
})

test('a writable reports how far it got', async () => {
  const log = await scratchLog({ maxRecordBytes: 10 })
  await log.append('before')
  const writable = log.writable()
  expect([writable.appended, writable.lastSeq]).toEqual([0, -1])
  expect(await codeOf(pipeline(Readable.from(['a', 'b', 'much too long', 'c']), writable))).toBe(
    'ERR_DURLOG_RECORD_TOO_LARGE',
  )
  expect([writable.appended, writable.lastSeq]).toEqual([2, 2])
  expect(await texts(log.read())).toEqual(['before', 'a', 'b'])
})

test('a writable that splits makes each line a record, regardless of where chunks end', async () => {
  const lines = Array.from({ length: 500 }, (_, i) => `line ${i} ${'ä'.repeat(i % 7)}`)
  const bytes = Buffer.from(`${lines.join('\n')}\nthe last has no newline`)
  for (const step of [1, 7, 1000, bytes.length]) {
    const log = await scratchLog()
    const chunks = Array.from({ length: Math.ceil(bytes.length / step) }, (_, i) =>
      bytes.subarray(i * step, (i + 1) * step),
    )
    const writable = log.writable({ split: 'lines', durability: 'memory' })
    await pipeline(Readable.from(chunks), writable)
    expect(await texts(log.read())).toEqual([...lines, 'the last has no newline'])
    expect(writable.appended).toBe(501)
  }
})

test('an empty chunk or line is refused, or skipped with skipEmpty', async () => {
  const cases: [object, string[], string[] | string][] = [
    [{}, ['a', '', 'b'], 'ERR_DURLOG_RECORD_EMPTY'],
    [{ skipEmpty: true }, ['a', '', 'b'], ['a', 'b']],
    [{ split: 'lines' }, ['a\n\nb\n'], 'ERR_DURLOG_RECORD_EMPTY'],
    [{ split: 'lines', skipEmpty: true }, ['\na\n', '\n\nb', '\n\n'], ['a', 'b']],
  ]
  for (const [options, chunks, expected] of cases) {
    const log = await scratchLog()
    const writable = log.writable(options)
    const done = new Promise<void>((resolve, reject) => {
      writable.on('error', reject).on('finish', resolve)
    })
    const code = codeOf(done)
    for (const chunk of chunks) writable.write(chunk)
    writable.end()
    if (typeof expected === 'string') expect(await code).toBe(expected)
    else {
      expect(await code).toBe('none')
      expect(await texts(log.read())).toEqual(expected)
    }
  }
})

test('a writable reports each chunk, and stores nothing after the one that fails, if chunks span many groups', async () => {
  const log = await scratchLog({ maxRecordBytes: 100 })
  const writable = log.writable({ split: 'lines', durability: 'memory' })
  const failed = new Promise<unknown>((resolve) => writable.once('error', resolve))
  const chunks = ['a\n'.repeat(10_000), 'b\n'.repeat(10_000), `${'c\n'.repeat(10_000)}${'x'.repeat(101)}`, 'd\n']
  writable.cork()
  const results = chunks.map((chunk) => new Promise<unknown>((resolve) => writable.write(chunk, (e) => resolve(e))))
  writable.uncork()
  expect(await failed).toMatchObject({ code: 'ERR_DURLOG_RECORD_TOO_LARGE' })
  expect((await Promise.all(results)).map((error) => error === null)).toEqual([true, true, false, false])
  expect([writable.appended, writable.lastSeq]).toEqual([30_000, 29_999])
  expect(log.nextSeq).toBe(30_000)
})

test('a line that is too long ends the stream before it is held in memory, after the lines before it', async () => {
  const log = await scratchLog({ maxRecordBytes: 100 })
  const writable = log.writable({ split: 'lines' })
  const chunks = ['one\ntwo\n', 'x'.repeat(60), 'x'.repeat(60), '\nthree\n']
  expect(await codeOf(pipeline(Readable.from(chunks), writable))).toBe('ERR_DURLOG_RECORD_TOO_LARGE')
  expect(await texts(log.read())).toEqual(['one', 'two'])
  expect([writable.appended, writable.lastSeq]).toEqual([2, 1])
})

test('a writable that splits lines lets the caller use the memory of a chunk again after its callback', async () => {
  const log = await scratchLog()
  const writable = log.writable({ split: 'lines' })
  const chunk = Buffer.alloc(4)
  for (const text of ['ab\nc', 'defg', 'h\nij', '\nklm']) {
    chunk.write(text)
    await new Promise<void>((resolve) => writable.write(chunk, () => resolve()))
  }
  chunk.fill('x')
  await new Promise<void>((resolve) => writable.end(resolve))
  expect(await texts(log.read())).toEqual(['ab', 'cdefgh', 'ij', 'klm'])
})

test.each([new Error('stop'), undefined])('a destroyed writable appends nothing more (%s)', async (reason) => {
  const log = await scratchLog({ durability: 'memory' })
  const writable = log.writable({ split: 'lines' })
  writable.on('error', () => {})
  const written = new Promise<unknown>((resolve) => writable.write('line\n'.repeat(100_000), resolve))
  while (writable.appended === 0) await new Promise(setImmediate)
  writable.destroy(reason)
  expect(await written).toEqual(reason ?? expect.objectContaining({ code: 'ERR_DURLOG_CLOSED' }))
  const { nextSeq } = log
  expect(nextSeq).toBeLessThan(100_000)
  expect([writable.appended, writable.lastSeq]).toEqual([nextSeq, nextSeq - 1])
})
