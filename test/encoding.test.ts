import { join } from 'node:path'
import { Readable } from 'node:stream'
import { finished, pipeline } from 'node:stream/promises'
import { describe, expect, test } from 'vitest'
import { type DecodedRecord, type Encoding, type Log, type OpenOptions, open } from '../src/index.js'
import { codeOf, openUntilDone, scratchDir, scratchLog } from './fixtures/scratch.js'

interface Order {
  id: number
  items?: string[]
}

async function openJson(dir: string): Promise<Log<Order, DecodedRecord<Order>>> {
  return open<Order>(dir, { encoding: 'json' })
}

/** A bigint as eight bytes. */
const BIGINT: Encoding<bigint> = {
  encode(value) {
    const bytes = Buffer.alloc(8)
    bytes.writeBigInt64LE(value)
    return bytes
  },
  decode: (data) => data.readBigInt64LE(),
}

test('with an encoding every way to append takes values, and every way to read returns them', async () => {
  const dir = join(scratchDir(), 'log')
  const log = await openJson(dir)
  await log.append({ id: 0 })
  await log.appendBatch([{ id: 1 }, { id: 2, items: ['ä'] }])
  log.write({ id: 3 })
  log.writeBatch([{ id: 4 }])
  log.appendSync({ id: 5 })
  await pipeline(Readable.from([{ id: 6 }, { id: 7 }]), log.writable())
  await log.sync()
  const ids: number[] = []
  for await (const { value } of log.read()) ids.push(value.id)
  for await (const { value } of log.readable() as AsyncIterable<DecodedRecord<Order>>) ids.push(value.id)
  for await (const batch of log.read().batches()) ids.push(...batch.map(({ value }) => value.id))
  const reader = await open<Order>(dir, { encoding: 'json', readOnly: true })
  for await (const { value } of (await reader.cursor('c')).read()) ids.push(value.id)
  expect(ids).toEqual([0, 1, 2, 3].flatMap(() => [0, 1, 2, 3, 4, 5, 6, 7]))
  expect((await log.get(2)).value).toEqual({ id: 2, items: ['ä'] })
  expect(reader.getSync(2).value.items).toEqual(['ä'])
  await reader.close()
  await log.close()
  const bytes = await openUntilDone(dir)
  expect((await bytes.get(2)).data.toString()).toBe('{"id":2,"items":["ä"]}')
  expect('value' in (await bytes.get(2))).toBe(false)
})

test('a value is decoded when it is first asked for, and once', async () => {
  let decoded = 0
  const encoding: Encoding<string> = {
    encode: (value) => value,
    decode: (data) => {
      decoded++
      return data.toString()
    },
  }
  const log = await open(join(scratchDir(), 'log'), { encoding })
  await log.append('a')
  const record = await log.get(0)
  expect([decoded, record.data.toString()]).toEqual([0, 'a'])
  expect([record.value, record.value, decoded]).toEqual(['a', 'a', 1])
  await log.close()
})

test('the values of a custom encoding are kept unchanged', async () => {
  const log = await open(join(scratchDir(), 'log'), { encoding: BIGINT })
  await log.append(2n ** 62n)
  await pipeline(Readable.from([-1n, 5n]), log.writable())
  expect([(await log.get(0)).value, (await log.get(1)).value]).toEqual([2n ** 62n, -1n])
  await log.close()
})

const nested = (depth: number): unknown => JSON.parse(`${'[{"a":'.repeat(depth / 2)}[]${'}]'.repeat(depth / 2)}`)

test('a value with more levels than other readers of JSON accept is refused, not stored', async () => {
  const log = await openJson(join(scratchDir(), 'log'))
  await log.append(nested(510) as Order)
  expect((await log.get(0)).value).toEqual(nested(510))
  await expect(pipeline(Readable.from([nested(512)]), log.writable())).rejects.toThrow('at most 512 arrays and objects')
  await log.close()
})

test.each<[OpenOptions['encoding'], unknown]>([
  ['json', undefined],
  ['json', nested(512)],
  ['json', Buffer.from('x')],
  ['json', new Uint8Array(1)],
  ['json', () => {}],
  ['json', 5n],
  ['utf8', Buffer.from('a')],
  ['utf8', 5],
  ['buffer', 'a'],
  [BIGINT as Encoding<unknown>, 'no bigint'],
  [{ encode: () => 5 as unknown as string, decode: (data) => data }, 'a'],
])('what has no such encoding is refused before anything is written (%s, %s)', async (encoding, value) => {
  const log = (await openUntilDone(join(scratchDir(), 'log'), { encoding })) as unknown as Log<unknown>
  const calls = [
    () => log.append(value),
    () => log.appendBatch([value]),
    async () => log.write(value),
    async () => log.writeBatch([value]),
    async () => log.appendSync(value),
  ]
  for (const call of calls) expect(await codeOf(call())).toBe('ERR_DURLOG_INVALID_ARGUMENT')
  expect(log.nextSeq).toBe(0)
})

test('a record that was not written with the encoding can be read, and fails only when its value is requested', async () => {
  const dir = join(scratchDir(), 'log')
  const bytes = await open(dir)
  await bytes.append('{"id":')
  await bytes.append('{"id":1}')
  await bytes.close()
  const log = await openJson(dir)
  const codes: string[] = []
  for await (const record of log.read()) codes.push(await codeOf(async () => record.value))
  expect(codes).toEqual(['ERR_DURLOG_DECODE', 'none'])
  expect((await log.get(0)).data.toString()).toBe('{"id":')
  await log.close()
})

test.each<[unknown, RegExp]>([
  ['xml', /encoding must be json, utf8, buffer/],
  [5, /encoding must be/],
  [{ encode: () => '' }, /encode and decode/],
  [{ encode: () => '', decode: () => '', name: 'x' }, /there is no "name"/],
])('an encoding that is none is refused (%s)', async (encoding, message) => {
  await expect(open(join(scratchDir(), 'log'), { encoding } as OpenOptions)).rejects.toThrow(message)
})

test('an encoding that throws something that has no text form fails with a code', async () => {
  const fail = (): never => {
    throw Object.create(null)
  }
  const plain = await scratchLog()
  await plain.append('x')
  await plain.close()
  const log = await openUntilDone(plain.dir, { encoding: { encode: fail, decode: fail } })
  expect(await codeOf(() => log.append('x'))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
  const record = (await log.get(0)) as DecodedRecord<unknown>
  expect(await codeOf(() => record.value)).toBe('ERR_DURLOG_DECODE')
})

describe.each([undefined, 'utf8'] as const)('half of a surrogate pair in a log with the encoding %s', (encoding) => {
  const HALF = 'key \ud83d\udd11'.slice(0, 5)
  const open = (): Promise<Log> => scratchLog(encoding === undefined ? {} : ({ encoding } as object))

  test.each<[string, (log: Log, text: string) => unknown]>([
    ['append', (log, text) => log.append(text)],
    ['append of a long text', (log, text) => log.append('ä'.repeat(100_000) + text)],
    ['appendBatch', (log, text) => log.appendBatch(['whole', text])],
    ['write', (log, text) => log.write(text)],
    ['writeBatch', (log, text) => log.writeBatch(['whole', text])],
    ['appendSync', (log, text) => log.appendSync(text)],
    ['writable', (log, text) => finished(log.writable().end(text))],
    ['writable of lines', (log, text) => finished(log.writable({ split: 'lines' }).end(`${text}\n`))],
  ])('is refused by %s, which stores nothing', async (_name, call) => {
    const log = await open()
    for (const text of [HALF, '\udd11', '\udd11\ud83d', `\ufffd${HALF}`])
      expect(await codeOf(async () => call(log, text))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
    expect(log.nextSeq).toBe(0)
    await call(log, 'key \ud83d\udd11 \ufffd')
    await log.sync()
    expect((await log.get(log.nextSeq - 1)).data.toString()).toContain('key \ud83d\udd11 \ufffd')
    await log.close()
  })

  test('is refused while appends wait for room', async () => {
    const log = await scratchLog({ maxPendingBytes: 65_536, ...(encoding && { encoding }) } as object)
    const appends = Array.from({ length: 100 }, () => log.append('x'.repeat(4000)))
    expect(log.stats().waitingForRoom).toBeGreaterThan(0)
    expect(await codeOf(() => log.append(HALF))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
    expect(await codeOf(() => log.appendBatch([HALF]))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
    await Promise.all(appends)
    await log.close()
  })
})

test('a writable stores strings of other encodings than UTF-8', async () => {
  const log = await scratchLog()
  const writable = log.writable()
  writable.write('ff00', 'hex')
  await finished(writable.end('/w==', 'base64'))
  expect((await log.get(0)).data).toEqual(Buffer.from([0xff, 0]))
  expect((await log.get(1)).data).toEqual(Buffer.from([0xff]))
  await log.close()
})
