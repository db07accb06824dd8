/**
 * Every call that appends takes its bytes during the call: the caller may change them at once, even if the append
 * waits.
 */
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { isCode } from '../src/errors.js'
import { type Encoding, type Log, type LogWritable, type OpenOptions, open } from '../src/index.js'
import { destination } from '../src/pino/index.js'
import { codeOf, openUntilDone, scratchDir, scratchLog } from './fixtures/scratch.js'
import { scratchStreams } from './fixtures/streams.js'

const RECORD_BYTES = 4096
const RECORDS = 600
const BATCH = 4

/** One buffer for all appends. `number` returns it with `n` in every place. */
class OneBuffer {
  readonly #words = new Uint32Array(RECORD_BYTES / 4)
  readonly bytes: Buffer = Buffer.from(this.#words.buffer)

  number(n: number): Buffer {
    this.#words.fill(n)
    return this.bytes
  }
}

/** The number that every word of `data` holds; -1 if they differ. */
function numberOf(data: Uint8Array): number {
  const words = new Uint32Array(new Uint8Array(data).buffer)
  const [first = -1] = words
  return words.every((word) => word === first) ? first : -1
}

const numbers = Array.from({ length: RECORDS }, (_, n) => n)

/** An encoding that returns the same memory for each value. */
function scratchEncoding(): Encoding<number> {
  const buffer = new OneBuffer()
  return { encode: (n) => buffer.number(n), decode: numberOf }
}

/** Little room: most appends of a test wait. */
const SMALL: OpenOptions = { maxPendingBytes: 65_536, segmentBytes: 262_144 }

/** Appends the numbers. Resolves when all are stored. */
type Flood = (log: Log) => Promise<unknown>

async function repeat(log: Log, write: () => void): Promise<void> {
  for (;;) {
    try {
      return write()
    } catch (error) {
      if (!isCode(error, 'ERR_DURLOG_BACKPRESSURE')) throw error
      await log.drain()
    }
  }
}

/** Makes all calls in one turn of the event loop and changes the buffer after each. Some of them must wait. */
async function flood(log: Log, call: (bytes: Buffer, n: number) => Promise<unknown>): Promise<void> {
  const buffer = new OneBuffer()
  const appends = numbers.map((n) => {
    const append = call(buffer.number(n), n)
    buffer.number(2 ** 31)
    return append
  })
  expect(log.stats().waitingForRoom).toBeGreaterThan(0)
  await Promise.all(appends)
}

async function inBatches(call: (batch: Buffer[]) => Promise<unknown> | unknown): Promise<void> {
  const buffers = Array.from({ length: BATCH }, () => new OneBuffer())
  const appends: unknown[] = []
  for (let n = 0; n < RECORDS; n += BATCH) {
    appends.push(call(buffers.map((buffer, at) => buffer.number(n + at))))
    for (const buffer of buffers) buffer.number(2 ** 31)
  }
  await Promise.all(appends)
}

function chunksTo(writable: LogWritable): Promise<void> {
  const buffer = new OneBuffer()
  for (const n of numbers.slice(0, -1)) writable.write(buffer.number(n))
  const finished = new Promise<void>((resolve, reject) => {
    writable.once('error', reject)
    writable.end(buffer.number(RECORDS - 1), resolve)
  })
  buffer.number(2 ** 31)
  return finished
}

const CALLS: Record<string, Flood> = {
  append: (log) => flood(log, (bytes) => log.append(bytes, { durability: 'async' })),
  'append with a signal': (log) => {
    const { signal } = new AbortController()
    return flood(log, (bytes) => log.append(bytes, { signal }))
  },
  'append with expectedSeq': (log) => flood(log, (bytes, n) => log.append(bytes, { expectedSeq: n })),
  'append of shared memory': (log) => {
    const memory = new SharedArrayBuffer(RECORD_BYTES)
    return flood(log, (bytes) => {
      const view = new Uint8Array(memory)
      view.set(bytes)
      const append = log.append(view)
      view.fill(1)
      return append
    })
  },
  appendBatch: (log) => inBatches((batch) => log.appendBatch(batch)),
  write: async (log) => {
    const buffer = new OneBuffer()
    for (const n of numbers) await repeat(log, () => log.write(buffer.number(n)))
    buffer.number(2 ** 31)
  },
  writeBatch: async (log) => {
    const buffers = Array.from({ length: BATCH }, () => new OneBuffer())
    for (let n = 0; n < RECORDS; n += BATCH)
      await repeat(log, () => log.writeBatch(buffers.map((buffer, at) => buffer.number(n + at))))
    for (const buffer of buffers) buffer.number(2 ** 31)
  },
  appendSync: async (log) => {
    const buffer = new OneBuffer()
    for (const n of numbers) await repeat(log, () => log.appendSync(buffer.number(n), { durability: 'memory' }))
    buffer.number(2 ** 31)
  },
  'writable, chunks': (log) => chunksTo(log.writable({ highWaterMark: 2 ** 24 })),
  'writable, corked': (log) => {
    const writable = log.writable({ highWaterMark: 2 ** 24 })
    writable.cork()
    return chunksTo(writable)
  },
}

describe.each(['exclusive', 'shared'])('a log that is %s stores the bytes of the call', (mode) => {
  test.each(Object.entries(CALLS))('%s', async (_, call) => {
    const dir = scratchDir()
    const log = await openUntilDone(dir, { ...SMALL, shared: mode === 'shared' } as OpenOptions)
    await call(log)
    await log.close()
    const stored: number[] = []
    for await (const { data } of (await openUntilDone(dir, { readOnly: true })).read()) stored.push(numberOf(data))
    expect(stored).toEqual(numbers)
  })
})

test('values are encoded by the call, and an encoding may return the same memory for each value', async () => {
  const log = await open<number>(join(scratchDir(), 'log'), { ...SMALL, encoding: scratchEncoding() })
  onTestFinished(() => log.close())
  const half = RECORDS / 2
  const appends = numbers.slice(0, half).map((n) => log.append(n))
  const writable = log.writable({ highWaterMark: RECORDS })
  await Promise.all([...appends, log.appendBatch(numbers.slice(half, half + BATCH))])
  for (const n of numbers.slice(half + BATCH, -1)) writable.write(n)
  await new Promise<void>((resolve) => writable.end(RECORDS - 1, resolve))
  const stored: unknown[] = []
  for await (const { value } of log.read()) stored.push(value)
  expect(stored).toEqual(numbers)
})

test('an object that the caller changes after the call is stored as it was', async () => {
  const log = await open<{ n: number; text: string }>(join(scratchDir(), 'log'), { ...SMALL, encoding: 'json' })
  onTestFinished(() => log.close())
  const value = { n: 0, text: 'x'.repeat(RECORD_BYTES) }
  const appends: Promise<unknown>[] = []
  const writable = log.writable({ highWaterMark: RECORDS })
  for (const n of numbers.slice(0, 100)) {
    value.n = n
    appends.push(log.append(value))
  }
  await Promise.all(appends)
  for (const n of numbers.slice(100)) {
    value.n = n
    writable.write(value)
  }
  value.n = -1
  await new Promise<void>((resolve) => writable.end(resolve))
  const stored: unknown[] = []
  for await (const record of log.read()) stored.push(record.value.n)
  expect(stored).toEqual(numbers)
})

test('a writable that splits lines stores the bytes of each write', async () => {
  const log = await scratchLog(SMALL)
  const writable = log.writable({ split: 'lines', highWaterMark: 2 ** 24 })
  const chunk = Buffer.alloc(RECORD_BYTES)
  for (const n of numbers) {
    chunk.fill(`${n}`.padStart(7, '0')).write('\n', RECORD_BYTES - 1)
    writable.write(chunk)
  }
  chunk.fill('x')
  await new Promise<void>((resolve) => writable.end(resolve))
  let n = 0
  for await (const { data } of log.read()) expect(Number(data.toString('latin1', 0, 7))).toBe(n++)
  expect(n).toBe(RECORDS)
})

test('a destination for pino stores each line', async () => {
  const dir = scratchDir()
  const lines = await destination({ dir, ...SMALL })
  for (const n of numbers) lines.write(`${n} ${'x'.repeat(RECORD_BYTES)}\n`)
  await lines.close()
  const stored: number[] = []
  for await (const { data } of (await openUntilDone(dir, { readOnly: true })).read())
    stored.push(Number.parseInt(data.toString(), 10))
  expect(stored).toEqual(numbers)
})

describe.each([true, false])('a folder of streams (exclusive: %s) stores the values of the call', (exclusive) => {
  // Beyond eight times this number of bytes, appends wait for a checkpoint.
  const options = { exclusive, checkpointBytes: 65_536 }

  test.each(['append', 'appendAll', 'appendBatch'] as const)('%s', async (call) => {
    const { streams } = await scratchStreams({ ...options, encoding: 'buffer' })
    const stream = streams.stream('s')
    const buffers = Array.from({ length: BATCH }, () => new OneBuffer())
    const appends: Promise<unknown>[] = []
    for (let n = 0; n < RECORDS; n += BATCH) {
      const values = buffers.map((buffer, at) => buffer.number(n + at))
      if (call === 'append') appends.push(...values.map((value) => stream.append(value)))
      else if (call === 'appendAll') appends.push(stream.appendAll(values))
      else appends.push(streams.appendBatch(values.map((value) => ({ stream: 's', value }))))
      for (const buffer of buffers) buffer.number(2 ** 31)
    }
    await Promise.all(appends)
    const stored: number[] = []
    for await (const { value } of stream.read()) stored.push(numberOf(value as Buffer))
    expect(stored).toEqual(numbers)
  })

  test('objects', async () => {
    const { streams } = await scratchStreams(options)
    const value = { n: 0, text: 'x'.repeat(RECORD_BYTES) }
    const appends = numbers.map((n) => {
      value.n = n
      return streams.stream('s').append(value)
    })
    value.n = -1
    await Promise.all(appends)
    const stored: unknown[] = []
    for await (const record of streams.stream('s').read()) stored.push((record.value as typeof value).n)
    expect(stored).toEqual(numbers)
  })

  test('create, also of a fork that copies a part of a record', async () => {
    const { streams } = await scratchStreams({ ...options, encoding: 'buffer' })
    const buffer = new OneBuffer()
    await streams.stream('source').append(buffer.number(1))
    const fork = { stream: 'source', seq: 0, bytes: RECORD_BYTES / 2 }
    const created = streams.stream('s').create({ fork, values: [buffer.number(2)] })
    buffer.number(2 ** 31)
    await created
    const stored: number[] = []
    for await (const { value } of streams.stream('s').read()) stored.push(numberOf(value as Buffer))
    expect(stored).toEqual([1, 2])
  })
})

const HELD_MAX_BYTES = 256 * 2 ** 20
/** The bytes that an append which waits takes besides its record's data. */
const HELD_OVERHEAD_BYTES = 608

test('appends that wait hold at most 256 MiB: a further one is refused, and the log then continues', async () => {
  const log = await scratchLog({ segmentBytes: 2 ** 26 })
  // The same text for each call takes the memory of one.
  const text = 'x'.repeat(2 ** 24 - HELD_OVERHEAD_BYTES)
  const rotated = log.rotate()
  const controller = new AbortController()
  const held = Array.from({ length: HELD_MAX_BYTES / 2 ** 24 }, () => log.append(text, { signal: controller.signal }))
  for (const append of held) append.catch(() => {})
  expect(await codeOf(log.append('y'))).toBe('ERR_DURLOG_BACKPRESSURE')
  expect(await codeOf(log.appendBatch(['y', 'z']))).toBe('ERR_DURLOG_BACKPRESSURE')
  controller.abort(new Error('not needed'))
  const last = log.append('last')
  await rotated
  expect(await last).toBe(0)
})

test('short records that wait count with the memory of their objects', async () => {
  const log = await scratchLog({ segmentBytes: 2 ** 26 })
  const rotated = log.rotate()
  const batch: string[] = Array(2 ** 20).fill('y')
  const controller = new AbortController()
  const held = [batch, batch].map((records) => log.appendBatch(records, { signal: controller.signal }))
  expect(await codeOf(log.appendBatch(batch))).toBe('ERR_DURLOG_BACKPRESSURE')
  controller.abort(new Error('not needed'))
  expect((await Promise.allSettled(held)).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  await rotated
})
