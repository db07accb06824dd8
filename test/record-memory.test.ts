/** Records that share memory: a caller cannot take it from the other records by a transfer of one of them. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openStreams } from '../src/streams/index.js'
import { codeOf, openUntilDone, scratchDir } from './fixtures/scratch.js'
import { all } from './fixtures/streams.js'

const PAYLOADS = ['one', 'two', 'three'].map((text) => Buffer.from(text))

/** The records after attempts to transfer the memory of the first one, in each way that a program has. */
async function afterTransfers(records: Buffer[]): Promise<string[]> {
  const memory = records[0]?.buffer as ArrayBuffer & Record<'transfer' | 'transferToFixedLength', () => unknown>
  expect(await codeOf(() => memory.transfer())).toBe('ERR_DURLOG_UNSUPPORTED')
  expect(await codeOf(() => memory.transferToFixedLength())).toBe('ERR_DURLOG_UNSUPPORTED')
  // Node 20 copies the memory instead, and later versions refuse.
  await codeOf(() => structuredClone(memory, { transfer: [memory] }))
  return records.map((record) => record.toString())
}

test('the memory of the records of a log', async () => {
  const log = await openUntilDone(join(scratchDir(), 'log'))
  await log.appendBatch(PAYLOADS)
  const records = await all(log.read())
  expect(await afterTransfers(records.map(({ data }) => data))).toEqual(['one', 'two', 'three'])
})

test.each([
  [true, 'read'],
  [true, 'readAll'],
  [false, 'read'],
  [false, 'readAll'],
] as const)('the memory of the records of a stream of bytes (exclusive: %s, by %s)', async (exclusive, method) => {
  await using streams = await openStreams(join(scratchDir(), 'streams'), { encoding: 'buffer', exclusive })
  await streams.stream('s').appendAll(PAYLOADS)
  await streams.checkpoint()
  const records = method === 'read' ? streams.stream('s').read() : streams.readAll()
  const values = (await all(records)).map(({ value }) => value as Buffer)
  expect(await afterTransfers(values)).toEqual(['one', 'two', 'three'])
})
