import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { archiveTo, takeOver } from '../../src/archive/index.js'
import { streamsHandler } from '../../src/http/index.js'
import { openStreams, type Streams, type StreamsOptions } from '../../src/streams/index.js'
import { store } from '../fixtures/archive.js'
import type { FakeS3 } from '../fixtures/fake-s3.mjs'
import { codeOf, scratchDir } from '../fixtures/scratch.js'

async function openAt(dir: string, s3: FakeS3, options: StreamsOptions = {}): Promise<Streams<unknown>> {
  const replicate = archiveTo({ ...s3.access, flushMs: 60_000 })
  const streams = await openStreams(dir, { exclusive: true, replicate, durability: 'replicated', ...options })
  onTestFinished(() => streams.close())
  return streams
}

async function valuesOf(streams: Streams<unknown>, name: string): Promise<unknown[]> {
  const values: unknown[] = []
  for await (const { value } of streams.stream(name).read()) values.push(value)
  return values
}

test('an append to streams settles, and readers see it, when the destination has it', async () => {
  const s3 = await store()
  const streams = await openAt(join(scratchDir(), 'a'), s3)
  const stream = streams.stream('s')
  await stream.append(0)
  expect(s3.keys('/tail/')).toHaveLength(1)
  let isAway = true
  s3.fault = ({ method, key }) => (isAway && method === 'PUT' && key.includes('/tail/') ? { status: 503 } : undefined)
  const waits = stream.append(1)
  await expect.poll(() => s3.requests.some(({ status }) => status === 503)).toBe(true)
  expect(await valuesOf(streams, 's')).toEqual([0])
  isAway = false
  expect(await waits).toMatchObject({ seq: 1 })
  expect(await valuesOf(streams, 's')).toEqual([0, 1])
})

test('single appends to a folder at another level can wait for the destination', async () => {
  const s3 = await store()
  const streams = await openAt(join(scratchDir(), 'a'), s3, { durability: 'sync' })
  await streams.stream('s').append(0)
  expect(s3.keys('/tail/')).toEqual([])
  await streams.stream('s').append(1, { durability: 'replicated' })
  expect(s3.keys('/tail/')).toHaveLength(1)
  const other = await openStreams(join(scratchDir(), 'b'), { exclusive: true })
  onTestFinished(() => other.close())
  const refused = codeOf(other.stream('s').append(0, { durability: 'replicated' }))
  expect(await refused).toBe('ERR_DURLOG_INVALID_ARGUMENT')
  expect(await other.stream('s').info()).toBeUndefined()
  expect(await codeOf(openStreams(other.dir, { durability: 'replicated' }))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
})

test('a server that was replaced refuses appends with the reason, and a repeated append is stored once', async () => {
  const s3 = await store()
  const former = await openAt(join(scratchDir(), 'a'), s3)
  const producer = { id: 'p', epoch: 0, seq: 0 }
  await former.stream('s').append('first', { producer })
  const dir = join(scratchDir(), 'b')
  await takeOver(dir, s3.access)
  const late = former.stream('s').append('second', { producer: { ...producer, seq: 1 } })
  expect(await late.catch((error: unknown) => error)).toMatchObject({ code: 'ERR_DURLOG_FENCED', outcome: 'unknown' })
  expect(await codeOf(former.stream('other').append('later'))).toBe('ERR_DURLOG_FENCED')
  expect(await valuesOf(former, 's')).toEqual(['first'])
  const handler = streamsHandler(former)
  const headers = { 'content-type': 'application/json' }
  const answer = await handler.fetch(new Request('http://127.0.0.1/s', { method: 'POST', body: '["x"]', headers }))
  expect([answer.status, await handler.isHealthy()]).toEqual([503, false])
  expect(await answer.text()).toContain('another server has taken over')
  const metrics = await handler.metrics()
  for (const value of ['fenced 1', 'failed 1', 'lag_records 1', 'seq 0'])
    expect(metrics).toContain(`\ndurlog_replication_${value}\n`)
  const next = await openAt(dir, s3)
  // Clients that know no outcome repeat their appends.
  for (const [seq, value] of ['first', 'second'].entries())
    expect(await next.stream('s').append(value, { producer: { ...producer, seq } })).toMatchObject({ seq })
  expect(await valuesOf(next, 's')).toEqual(['first', 'second'])
  await former.close()
  // The former server does not serve again what it has never replicated.
  expect(await codeOf(openAt(former.dir, s3))).toBe('ERR_DURLOG_FENCED')
})

test('a list that waits for the destination to store a deletion can be cancelled', async () => {
  const s3 = await store()
  const streams = await openAt(join(scratchDir(), 'a'), s3)
  await streams.stream('s').append(0)
  s3.fault = () => ({ status: 503 })
  const deleted = codeOf(streams.stream('s').delete())
  const list = streams.list()
  const waits = list.next()
  await nextTurn()
  await list.return()
  expect(await waits).toEqual({ done: true, value: undefined })
  await streams.close()
  expect(await deleted).toBe('ERR_DURLOG_NOT_REPLICATED')
})

test.each(['replicated', 'sync'] as const)(
  'streams with the durability %s close although the destination is away',
  async (durability) => {
    const s3 = await store()
    const streams = await openAt(join(scratchDir(), 'a'), s3, { durability })
    await streams.stream('s').append(0)
    s3.fault = () => ({ status: 503 })
    const waits = codeOf(streams.stream('s').append(1, { durability: 'replicated' }))
    await streams.close()
    expect(await waits).toBe('ERR_DURLOG_NOT_REPLICATED')
  },
)
