import { spawn } from 'node:child_process'
import { getEventListeners, once } from 'node:events'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { DurlogError, type Log, open, type ReadableLog, verify } from '../src/index.js'
import { type RestoreOptions, restore, takeOver } from '../src/jetstream/index.js'
import { MARK_CHECKS } from '../src/jetstream/restore-options.js'
import { RestoringLog } from '../src/log/ordered-log.js'
import { openRestored } from '../src/open.js'
import { enterFolder, markFolder } from '../src/support/restore-folder.js'
import { missingServer, type NatsServer } from './fixtures/nats.mjs'
import { codeOf, openUntilDone, records, scratchDir, scratchLog } from './fixtures/scratch.js'
import {
  type Admin,
  admin,
  makeStream,
  publishOther,
  STREAM,
  SUBJECT,
  server,
  shipper,
  stored,
} from './fixtures/ship.js'
import { proxyTo } from './fixtures/tcp-peers.js'

if (missingServer !== '') process.stdout.write(`skipped: ${missingServer}\n`)

const CHILD = fileURLToPath(new URL('fixtures/restore-child.mjs', import.meta.url))

/** A server with a log of `count` records in the stream. */
async function shippedLog(count: number, more = ''): Promise<{ nats: NatsServer; look: Admin; log: Log }> {
  const nats = await server(more)
  const look = await admin(nats)
  await makeStream(look)
  const log = await scratchLog({ segmentBytes: 1024 * 1024 })
  // Distinct times that the clock of the restore cannot produce by chance.
  for (let i = 0; i < count; i++)
    log.appendSync(`record ${i}`, { durability: 'memory', timestamp: 1_700_000_000_000 + 10 * i })
  await log.sync()
  if (count > 0) await shipAll(log, nats)
  return { nats, look, log }
}

async function shipAll(log: Log, nats: NatsServer): Promise<void> {
  await using shipping = shipper(log, nats)
  await shipping.idle()
}

const options = ({ url }: NatsServer, more: Partial<RestoreOptions> = {}): RestoreOptions => ({
  servers: url,
  stream: STREAM,
  subject: SUBJECT,
  ...more,
})

/** All records that a reader of `log` delivers. */
const contentOf = async (log: ReadableLog): Promise<[seq: number, text: string, time: number][]> =>
  (await records(log.read())).map(({ seq, data, timestamp }) => [seq, data.toString(), timestamp])

async function restored(dir: string): Promise<{ uuid: string; content: Awaited<ReturnType<typeof contentOf>> }> {
  const log = await open(dir, { readOnly: true })
  const content = await contentOf(log)
  await log.close()
  return { uuid: log.uuid, content }
}

describe.skipIf(missingServer !== '')('a restored log', () => {
  test('has the seqs, times, bytes and UUID of the shipped log', async () => {
    const { nats, log } = await shippedLog(3000)
    const dir = join(scratchDir(), 'restored')
    const report = await restore(dir, options(nats))
    expect(report).toEqual({ uuid: log.uuid, firstSeq: 0, nextSeq: 3000, records: 3000, resumed: false })
    expect(await restored(dir)).toEqual({ uuid: log.uuid, content: await contentOf(log) })
    expect(await verify(dir)).toMatchObject({ state: 'clean', problems: [], records: 3000 })
    expect(readdirSync(dir)).not.toContain('restoring')
  })

  test('can be appended to and shipped to the same subject, in a new generation', async () => {
    const { nats, look } = await shippedLog(10)
    const dir = join(scratchDir(), 'restored')
    await restore(dir, options(nats))
    const log = await openUntilDone(dir)
    await log.append('after the loss')
    await shipAll(log, nats)
    const last = (await stored(look)).at(-1)
    expect(last).toMatchObject({ text: 'after the loss', headers: { 'Durlog-Seq': '10', 'Durlog-Generation': '1' } })
  })

  test('holds the records from a seq to before another, or before a time', async () => {
    const { nats, look, log } = await shippedLog(100)
    for (let i = 0; i < 20; i++) await publishOther(look, 'orders.other')
    const content = await contentOf(log)
    const cases: [Partial<RestoreOptions>, number, number][] = [
      [{ from: 30, to: 40 }, 30, 40],
      [{ to: 1 }, 0, 1],
      [{ from: 99 }, 99, 100],
      [{ until: 1_700_000_000_500 }, 0, 50],
      [{ from: 20, until: new Date(1_700_000_000_504) }, 20, 51],
    ]
    for (const [given, first, next] of cases) {
      const dir = join(scratchDir(), 'restored')
      await restore(dir, options(nats, given))
      expect((await restored(dir)).content).toEqual(content.slice(first, next))
    }
    for (const end of [{ to: 0 }, { until: 1_700_000_000_000 }, { from: 20, until: 1_700_000_000_020 }]) {
      const dir = join(scratchDir(), 'empty')
      expect(await codeOf(restore(dir, options(nats, end)))).toBe('ERR_DURLOG_NOT_FOUND')
      expect(readdirSync(dir)).toEqual([])
    }
  })

  test('has its long records unsplit again', async () => {
    const { nats, log } = await shippedLog(0, 'max_payload: 8192')
    const long = 'x'.repeat(100_000)
    for (const data of ['before', long, 'between', long, 'after']) await log.append(data)
    await shipAll(log, nats)
    const dir = join(scratchDir(), 'restored')
    await restore(dir, options(nats))
    expect((await restored(dir)).content).toEqual(await contentOf(log))
  })

  test('begins after a record of which the stream has dropped a part', async () => {
    const { nats, look, log } = await shippedLog(1, 'max_payload: 8192')
    await log.append('x'.repeat(20_000))
    await log.append('record 2')
    await shipAll(log, nats)
    const { state } = await look.manager.streams.info(STREAM)
    expect(state.messages).toBeGreaterThan(4)
    await look.manager.streams.purge(STREAM, { keep: 2 })
    const dir = join(scratchDir(), 'restored')
    expect(await codeOf(restore(`${dir}-1`, options(nats, { from: 1 })))).toBe('ERR_DURLOG_DESTINATION_GAP')
    expect(await restore(dir, options(nats))).toMatchObject({ firstSeq: 2, nextSeq: 3 })
    expect((await restored(dir)).content).toEqual((await contentOf(log)).slice(2))
  })

  test('is identical if its restore was killed and run again', async () => {
    const { nats, log } = await shippedLog(20_000)
    const dir = join(scratchDir(), 'restored')
    let kills = 0
    for (const records of [1000, 5000, 12_000]) {
      const child = spawn(process.execPath, [CHILD, dir, JSON.stringify(options(nats)), String(records)], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      onTestFinished(() => void child.kill('SIGKILL'))
      // The child loops at that record until it is killed.
      child.stdout.once('data', () => child.kill('SIGKILL'))
      const [, signal] = await once(child, 'close')
      if (signal === 'SIGKILL') kills++
    }
    expect(kills).toBe(3)
    const report = await restore(dir, options(nats))
    expect(report).toMatchObject({ resumed: true, nextSeq: 20_000 })
    expect(report.records).toBeLessThan(20_000)
    expect(await restored(dir)).toEqual({ uuid: log.uuid, content: await contentOf(log) })
    expect(await verify(dir)).toMatchObject({ state: 'clean' })
  })

  test('is a replica that gets a record which is stored between any two of its questions', async () => {
    const { nats, look, log } = await shippedLog(3)
    const dir = join(scratchDir(), 'restored')
    let shipping = Promise.resolve()
    const shipOne = (text: string): Promise<void> => {
      shipping = shipping.then(async () => {
        await log.append(text)
        await shipAll(log, nats)
      })
      return shipping
    }
    for (let at = 1; at <= 6; at++) {
      let questions = 0
      const { nc } = await admin(nats)
      const request = nc.request.bind(nc)
      nc.request = async (subject, payload, more) => {
        if (Buffer.from(payload ?? '').includes('last_by_subj') && ++questions === at) await shipOne(`racing ${at}`)
        return request(subject, payload, more)
      }
      const ending = new AbortController()
      const following = restore(dir, {
        connection: nc,
        stream: STREAM,
        subject: SUBJECT,
        follow: true,
        signal: ending.signal,
      })
      await shipOne(`after ${at}`)
      const caughtUp = expect.poll(async () => (await restored(dir)).content.length === log.nextSeq).toBe(true)
      await Promise.race([following, caughtUp])
      ending.abort(new Error('enough'))
      await following
      await nc.close()
    }
    expect((await restored(dir)).content).toEqual(await contentOf(log))
    expect(await stored(look)).toHaveLength(log.nextSeq)
  })

  test('is a replica while its restore follows, and continues when that is started again', async () => {
    const { nats, log } = await shippedLog(10)
    const shipping = shipper(log, nats)
    const dir = join(scratchDir(), 'restored')
    for (const end of [20, 30]) {
      const ending = new AbortController()
      const following = restore(dir, options(nats, { follow: true, signal: ending.signal }))
      for (let i = end - 10; i < end; i++) await log.append(`record ${i}`)
      await shipping.idle()
      const replica = await expectLog(dir)
      await expect.poll(() => replica.refresh().then(() => replica.nextSeq)).toBe(log.nextSeq)
      await replica.close()
      ending.abort()
      await following
    }
    expect((await restored(dir)).content).toEqual(await contentOf(log))
    // Without `follow`, the restore ends, and the folder is an ordinary log.
    await restore(dir, options(nats))
    expect(readdirSync(dir)).not.toContain('restoring')
  })

  test('is a replica that reports no earlier than with its last record that it has caught up', async () => {
    const { nats, log } = await shippedLog(0)
    // Each record arrives in several reads of the socket.
    for (let i = 0; i < 20; i++) await log.append(Buffer.alloc(400_000, i))
    await shipAll(log, nats)
    const ending = new AbortController()
    const caughtUp: number[] = []
    const onCaughtUp = (next: number): void => {
      caughtUp.push(next)
      if (next === 20) ending.abort()
    }
    await restore(join(scratchDir(), 'restored'), options(nats, { follow: true, signal: ending.signal, onCaughtUp }))
    expect(caughtUp).toEqual([20])
  })
})

test.skipIf(missingServer !== '')('a replica that lost its connection does not continue in other records', async () => {
  const { nats, look } = await shippedLog(5)
  let isOpen = true
  const proxy = await proxyTo(nats.port, () => isOpen)
  let caughtUp = -1
  const following = restore(join(scratchDir(), 'replica'), {
    ...options(nats, { servers: proxy.url, follow: true }),
    onCaughtUp: (next) => {
      caughtUp = next
    },
  })
  const code = codeOf(following)
  await expect.poll(() => caughtUp).toBe(5)
  isOpen = false
  proxy.cut()
  // An older copy of the log is shipped to the stream, which has lost its messages.
  const older = join(scratchDir(), 'older')
  await restore(older, options(nats, { to: 2 }))
  await look.manager.streams.purge(STREAM)
  const log = await openUntilDone(older)
  for (let seq = 2; seq < 9; seq++) await log.append(`other ${seq}`)
  await shipAll(log, nats)
  isOpen = true
  expect(await code).toBe('ERR_DURLOG_DESTINATION_OTHER')
})

test.skipIf(missingServer !== '')(
  'a replica continues when its stream was emptied and the log is shipped again',
  async () => {
    const { nats, look, log } = await shippedLog(5)
    const dir = join(scratchDir(), 'replica')
    const ending = new AbortController()
    const caughtUp: number[] = []
    const retries: string[] = []
    const following = restore(
      dir,
      options(nats, {
        follow: true,
        signal: ending.signal,
        onCaughtUp: (next) => caughtUp.push(next),
        onRetry: ({ error }) => retries.push(error.message),
      }),
    )
    await Promise.race([following, expect.poll(() => caughtUp).toEqual([5])])
    await look.manager.streams.purge(STREAM)
    await shipAll(log, nats)
    await log.append('record 5')
    await shipAll(log, nats)
    await Promise.race([following, expect.poll(() => caughtUp.at(-1), { timeout: 20_000 }).toBe(6)])
    expect(retries.length).toBeGreaterThan(0)
    ending.abort()
    await following
    expect((await restored(dir)).content).toEqual(await contentOf(log))
  },
)

test.skipIf(missingServer !== '')('a replica of a stream that was emptied does not take over', async () => {
  const { nats, look } = await shippedLog(5)
  const dir = join(scratchDir(), 'replica')
  const ending = new AbortController()
  const onCaughtUp = (): void => ending.abort()
  await restore(dir, options(nats, { follow: true, signal: ending.signal, onCaughtUp }))
  await look.manager.streams.purge(STREAM)
  expect(await codeOf(takeOver(dir, options(nats)))).toBe('ERR_DURLOG_NOT_FOUND')
  expect(readdirSync(dir)).toContain('restoring')
})

test.skipIf(missingServer !== '')(
  'a restore from a seq continues after the stream has dropped that record',
  async () => {
    const { nats, look } = await shippedLog(10)
    const dir = join(scratchDir(), 'restored')
    const ending = new AbortController()
    const onCaughtUp = (): void => ending.abort()
    await restore(dir, options(nats, { from: 2, follow: true, signal: ending.signal, onCaughtUp }))
    await look.manager.streams.purge(STREAM, { keep: 3 })
    expect(await restore(dir, options(nats, { from: 2 }))).toMatchObject({ firstSeq: 2, nextSeq: 10, resumed: true })
  },
)

/** The log, opened as soon as it exists. */
async function expectLog(dir: string): ReturnType<typeof openReadOnly> {
  await expect.poll(() => codeOf(openReadOnly(dir).then((log) => log.close()))).toBe('none')
  return openReadOnly(dir)
}
const openReadOnly = (dir: string) => open(dir, { readOnly: true })

describe.skipIf(missingServer !== '')('a restore', () => {
  test('leaves no listener on its signal', async () => {
    const { nats } = await shippedLog(3)
    const { signal } = new AbortController()
    await restore(join(scratchDir(), 'restored'), options(nats, { signal }))
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  test('ends with the reason of its signal if it is aborted before it has found a record', async () => {
    const nats = await server()
    await nats.kill()
    const ending = new AbortController()
    const following = restore(join(scratchDir(), 'restored'), options(nats, { follow: true, signal: ending.signal }))
    const reason = new Error('the test ends')
    setImmediate(() => ending.abort(reason))
    await expect(following).rejects.toBe(reason)
  })

  test('refuses a folder that holds something else, and changes nothing in it', async () => {
    const { nats } = await shippedLog(3)
    const dir = scratchDir()
    writeFileSync(join(dir, 'mine.txt'), 'mine')
    expect(await codeOf(restore(dir, options(nats)))).toBe('ERR_DURLOG_NOT_EMPTY')
    expect(readdirSync(dir)).toEqual(['mine.txt'])
    const ended = join(scratchDir(), 'restored')
    await restore(ended, options(nats))
    expect(await codeOf(restore(ended, options(nats)))).toBe('ERR_DURLOG_NOT_EMPTY')
  })

  test.each<[string, Partial<RestoreOptions>, string]>([
    ['a missing stream', { stream: 'NOWHERE' }, 'ERR_DURLOG_DESTINATION_MISSING'],
    ['a subject without records', { subject: 'orders.empty' }, 'ERR_DURLOG_NOT_FOUND'],
    ['a subject of others', { subject: 'orders.other' }, 'ERR_DURLOG_DESTINATION_OTHER'],
    ['records that are not shipped yet', { from: 3 }, 'ERR_DURLOG_NOT_FOUND'],
    ['an end before the beginning', { from: 2, to: 2 }, 'ERR_DURLOG_INVALID_ARGUMENT'],
  ])('of %s reports that', async (_what, given, code) => {
    const { nats, look } = await shippedLog(3)
    await publishOther(look, 'orders.other')
    expect(await codeOf(restore(join(scratchDir(), 'restored'), options(nats, given)))).toBe(code)
  })

  test('stops at records that are missing in the stream, with their seqs', async () => {
    const { nats, look } = await shippedLog(20)
    for (const sequence of [8, 9]) await look.manager.streams.deleteMessage(STREAM, sequence)
    const dir = join(scratchDir(), 'restored')
    await expect(restore(dir, options(nats))).rejects.toMatchObject({
      code: 'ERR_DURLOG_DESTINATION_GAP',
      lostFirst: 7,
      lostLast: 8,
    })
    await restore(join(scratchDir(), 'rest'), options(nats, { from: 9 }))
  })

  test.each([
    ['bytes', 'another record 2', 1_700_000_000_020],
    ['time', 'record 2', 1_700_000_000_021],
  ])('does not continue a folder whose last record has other %s than the stream', async (_what, text, time) => {
    const { nats, log } = await shippedLog(5)
    const dir = join(scratchDir(), 'restored')
    enterFolder(dir, MARK_CHECKS)
    await markFolder(dir, { stream: STREAM, subject: SUBJECT, uuid: log.uuid, first: 0 })
    const begun = await openRestored(dir, { uuid: log.uuid, firstSeq: 0, generation: 1 }, {})
    for (const seq of [0, 1]) begun.appendSync(`record ${seq}`, { timestamp: 1_700_000_000_000 + 10 * seq })
    begun.appendSync(text, { timestamp: time })
    await begun.close()
    expect(await codeOf(restore(dir, options(nats)))).toBe('ERR_DURLOG_DESTINATION_OTHER')
    expect(await codeOf(restore(dir, options(nats, { subject: 'orders.other' })))).not.toBe('none')
    expect(readdirSync(dir)).toContain('restoring')
  })

  test('reports a record that the stream loses while it is read', async () => {
    const { nats, look } = await shippedLog(5)
    const { nc } = await admin(nats)
    const request = nc.request.bind(nc)
    nc.request = async (subject, payload, more) => {
      if (subject.includes('CONSUMER.CREATE')) await look.manager.streams.deleteMessage(STREAM, 5)
      return request(subject, payload, more)
    }
    const restoring = restore(join(scratchDir(), 'restored'), { connection: nc, stream: STREAM, subject: SUBJECT })
    await expect(restoring).rejects.toMatchObject({ code: 'ERR_DURLOG_DESTINATION_GAP', lostFirst: 4, lostLast: 4 })
  })

  test('ends its connection and reports its failure, also if the log fails to close', async () => {
    const { nats, look } = await shippedLog(5)
    await look.manager.streams.deleteMessage(STREAM, 3)
    const proxy = await proxyTo(nats.port)
    const { close } = RestoringLog.prototype
    vi.spyOn(RestoringLog.prototype, 'close').mockImplementationOnce(async function (this: RestoringLog) {
      await close.call(this)
      throw new DurlogError('ERR_DURLOG_IO', 'the device fails')
    })
    onTestFinished(() => void vi.restoreAllMocks())
    const restoring = restore(join(scratchDir(), 'restored'), options(nats, { servers: proxy.url }))
    expect(await codeOf(restoring)).toBe('ERR_DURLOG_DESTINATION_GAP')
    await expect.poll(() => proxy.open()).toBe(0)
  })

  test('stops at a record whose checksum is wrong', async () => {
    const { nats, look, log } = await shippedLog(3)
    const { headers } = await import('@nats-io/transport-node')
    const forged = headers()
    for (const [name, value] of Object.entries({
      Uuid: log.uuid,
      Seq: '3',
      Timestamp: '1700000000030',
      Crc: '00000000',
    }))
      forged.set(`Durlog-${name}`, value)
    await look.nc.request(SUBJECT, 'record 3', { headers: forged, timeout: 60_000 })
    const dir = join(scratchDir(), 'restored')
    await expect(restore(dir, options(nats))).rejects.toMatchObject({ code: 'ERR_DURLOG_CORRUPT', lostFirst: 3 })
  })

  test('continues when the server was killed and started again', async () => {
    const { nats, log } = await shippedLog(20_000)
    const dir = join(scratchDir(), 'restored')
    let restarted: Promise<unknown> | undefined
    const onProgress = (): void => {
      restarted ??= nats.kill().then(() => nats.start())
    }
    await restore(dir, options(nats, { onProgress, timeoutMs: 2000 }))
    expect(restarted).toBeDefined()
    await restarted
    expect((await restored(dir)).content).toEqual(await contentOf(log))
  })
})
