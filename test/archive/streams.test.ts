import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openStreams } from '../../src/streams/index.js'
import { archiver, restored, store } from '../fixtures/archive.js'
import { codeOf, openUntilDone, scratchDir } from '../fixtures/scratch.js'

test('streams are restored with their records, files, producers, ends, deletions and cursors', async () => {
  const s3 = await store()
  const dir = join(scratchDir(), 'streams')
  const streams = await openStreams<{ n: number }>(dir)
  onTestFinished(() => streams.close())
  const log = await openUntilDone(join(dir, 'log'), { readOnly: true })
  const made = archiver(log, s3)
  for (let n = 0; n < 60; n++) await streams.stream(`chat-${n % 7}`).append({ n })
  await streams.stream('counted').append({ n: 1 }, { producer: { id: 'p', epoch: 2, seq: 0 } })
  await streams.stream('ended').append({ n: 2 })
  await streams.stream('ended').end()
  await streams.stream('deleted').append({ n: 3 })
  await streams.stream('deleted').delete()
  const cursor = await streams.cursor('mailer')
  for await (const { position } of cursor.read()) {
    await cursor.commit(position)
    if (position === 9) break
  }
  await made.idle()
  await streams.checkpoint()
  for (let n = 60; n < 90; n++) await streams.stream(`chat-${n % 7}`).append({ n })
  await made.idle()
  const target = await restored(s3)
  const copy = await openStreams<{ n: number }>(target)
  onTestFinished(() => copy.close())
  await copy.checkpoint()
  await streams.checkpoint()
  for (const name of ['chat-0', 'chat-6', 'counted', 'ended']) {
    const path = join('streams', `${name}.jsonl`)
    expect(readFileSync(join(target, path), 'utf8')).toBe(readFileSync(join(dir, path), 'utf8'))
  }
  const again = { producer: { id: 'p', epoch: 2, seq: 0 } }
  expect(await copy.stream('counted').append({ n: 1 }, again)).toMatchObject({ seq: 0, duplicate: true })
  expect(await codeOf(copy.stream('ended').append({ n: 0 }))).toBe('ERR_DURLOG_STREAM_ENDED')
  const names = []
  for await (const { name } of copy.list()) names.push(name)
  expect(names).not.toContain('deleted')
  await cursor.close()
  const continued = await copy.cursor('mailer')
  const first = await continued.read()[Symbol.asyncIterator]().next()
  expect(first.value).toMatchObject({ position: 10 })
  await continued.close()
})

test('a stream with retention is restored with its newest records', async () => {
  const s3 = await store()
  const dir = join(scratchDir(), 'streams')
  const streams = await openStreams<number>(dir)
  onTestFinished(() => streams.close())
  const log = await openUntilDone(join(dir, 'log'), { readOnly: true })
  const made = archiver(log, s3)
  const retention = { maxRecords: 16 }
  await streams.stream('s').create({ retention })
  for (let n = 0; n < 100; n++) void streams.stream('s').append(n)
  await streams.checkpoint()
  await streams.stream('s').append(100)
  await made.idle()
  const copy = await openStreams<number>(await restored(s3))
  onTestFinished(() => copy.close())
  await copy.checkpoint()
  const { firstSeq = 0, ...info } = (await copy.stream('s').info()) ?? {}
  expect(info).toMatchObject({ nextSeq: 101, retention })
  expect(101 - firstSeq).toBeGreaterThanOrEqual(16)
  expect(101 - firstSeq).toBeLessThanOrEqual(32)
  const found: number[] = []
  for await (const { value } of copy.stream('s').read()) found.push(value)
  expect(found).toEqual(Array.from({ length: 101 - firstSeq }, (_, at) => firstSeq + at))
})
