import { getEventListeners } from 'node:events'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { archive, restoreArchive } from '../src/archive/index.js'
import { type Log, open, trim, type WaitOptions } from '../src/index.js'
import { anySignal } from '../src/options/abort-signal.js'
import { resolveShipperOptions } from '../src/ship/options.js'
import { LogShipper } from '../src/ship/shipper.js'
import { openStreams, type Streams } from '../src/streams/index.js'
import { archiveAll, store } from './fixtures/archive.js'
import { MemoryTarget } from './fixtures/memory-target.mjs'
import { openUntilDone, scratchDir } from './fixtures/scratch.js'

const REASON = new Error('no longer needed')
const LONG = { waitMs: 2 ** 31 - 1 }

/** Calls `start` with a signal, which is aborted in the same turn, and returns the error of the promise. */
async function abortedCall(start: (options: Required<WaitOptions>) => Promise<unknown>): Promise<unknown> {
  const controller = new AbortController()
  const failed = start({ signal: controller.signal }).then(
    () => 'settled',
    (error) => error,
  )
  controller.abort(REASON)
  return failed
}

const LOG_CALLS: Record<string, (log: Log, options: WaitOptions) => Promise<unknown>> = {
  append: (log, options) => log.append('x', options),
  appendBatch: (log, options) => log.appendBatch(['x'], options),
  sync: (log, options) => log.sync('full', options),
  reached: (log, options) => log.reached(0, 'full', options),
  drain: (log, options) => log.drain(options),
  trimBefore: (log, options) => log.trimBefore(0, options),
  applyRetention: (log, options) => log.applyRetention(options),
  truncateAfter: (log, options) => log.truncateAfter(-1, options),
  rotate: (log, options) => log.rotate(options),
  cursor: (log, options) => log.cursor('new', options),
  commit: async (log, options) => (await log.cursor('c')).commit(0, { durability: 'sync', ...options }),
  seek: async (log, options) => (await log.cursor('c')).seek(1, options),
}

test.each(Object.entries(LOG_CALLS))('%s of a log does nothing if its signal is aborted', async (_, call) => {
  const log = await openUntilDone(join(scratchDir(), 'log'), { retention: { maxAgeMs: 1000 } })
  await log.append('first')
  await expect(call(log, { signal: AbortSignal.abort(REASON) })).rejects.toBe(REASON)
  expect([log.firstSeq, log.nextSeq]).toEqual([0, 1])
  expect((await log.cursors()).filter(({ name, position }) => name === 'new' || position !== 0)).toEqual([])
})

const STREAM_CALLS: Record<string, (streams: Streams<unknown>, options: WaitOptions) => Promise<unknown>> = {
  append: (streams, options) => streams.stream('s').append(1, options),
  appendAll: (streams, options) => streams.stream('s').appendAll([1, 2], options),
  appendJson: (streams, options) => streams.stream('s').appendJson('[1]', options),
  appendBatch: (streams, options) => streams.appendBatch([{ stream: 's', value: 1 }], options),
  create: (streams, options) => streams.stream('s').create(options),
  end: (streams, options) => streams.stream('old').end(options),
  delete: (streams, options) => streams.stream('old').delete(options),
  info: (streams, options) => streams.stream('old').info(options),
  cursor: (streams, options) => streams.cursor('c', options),
  checkpoint: (streams, options) => streams.checkpoint(options),
}

describe.each([true, false])('streams (exclusive: %s)', (exclusive) => {
  const opened = async (): Promise<Streams<unknown>> => {
    const streams = await openStreams(join(scratchDir(), 'streams'), { exclusive })
    onTestFinished(() => streams.close())
    await streams.stream('old').append(0)
    return streams
  }

  test('no call does anything if its signal is aborted', async () => {
    const streams = await opened()
    for (const [name, call] of Object.entries(STREAM_CALLS)) {
      const failed = call(streams, { signal: AbortSignal.abort(REASON) }).catch((error) => error)
      expect([name, await failed]).toEqual([name, REASON])
    }
    expect(await streams.stream('s').info()).toBeUndefined()
    expect(await streams.stream('old').info()).toMatchObject({ nextSeq: 1, ended: false })
  })

  test('the signal ends the wait of every call, and undoes nothing', async () => {
    const streams = await opened()
    for (const [name, call] of Object.entries(STREAM_CALLS))
      expect([name, await abortedCall((options) => call(streams, options))]).toEqual([name, REASON])
    // This call settles after the earlier ones.
    expect(await streams.stream('s').append(1)).toMatchObject({ seq: 5 })
    expect(await streams.stream('old').info()).toBeUndefined()
  })

  test('the signal ends the wait for a folder that another caller has open', async () => {
    const dir = join(scratchDir(), 'streams')
    const first = await openStreams(dir, { exclusive: true })
    expect(await abortedCall((options) => openStreams(dir, { exclusive, ...LONG, ...options }))).toBe(REASON)
    await first.close()
    await (await openStreams(dir, { exclusive: true, ...LONG })).close()
  })
})

test('the signal ends an open that is in progress, and a log that it opens later is closed', async () => {
  const dir = join(scratchDir(), 'log')
  for (const options of [{}, { shared: true }]) {
    const controller = new AbortController()
    const { signal } = controller
    const listen = signal.addEventListener.bind(signal)
    // `open` listens once the core has begun.
    signal.addEventListener = (...args: Parameters<typeof listen>) => {
      listen(...args)
      queueMicrotask(() => controller.abort(REASON))
    }
    await expect(open(dir, { ...options, signal })).rejects.toBe(REASON)
    await (await open(dir, LONG)).close()
  }
})

test('the signal ends the wait for a log, a cursor and a trim', async () => {
  const log = await openUntilDone(join(scratchDir(), 'log'))
  await log.append('x')
  await log.rotate()
  await log.cursor('c')
  const reader = await openUntilDone(log.dir, { readOnly: true })
  expect(await abortedCall((options) => open(log.dir, { ...LONG, ...options }))).toBe(REASON)
  expect(await abortedCall((options) => reader.cursor('c', { ...LONG, ...options }))).toBe(REASON)
  expect(await abortedCall((options) => trim(log.dir, { before: 1, ...LONG, ...options }))).toBe(REASON)
})

test('the signal ends the wait of a new cursor for the sync of the records before it', async () => {
  const log = await openUntilDone(join(scratchDir(), 'log'), { durability: 'memory' })
  await log.append('x')
  const reader = await openUntilDone(log.dir, { readOnly: true })
  expect(reader.syncedSeq).toBe(-1)
  expect(await abortedCall((options) => reader.cursor('new', { from: 1, ...options }))).toBe(REASON)
  const cursor = await reader.cursor('new', LONG)
  expect(cursor.position).toBe(0)
})

test('the signal ends the wait for a level, and the record is stored', async () => {
  const log = await openUntilDone(join(scratchDir(), 'log'), { durability: 'memory' })
  const seq = log.write('x')
  expect(await abortedCall((options) => log.reached(seq, 'sync', options))).toBe(REASON)
  expect(await abortedCall((options) => log.sync('full', options))).toBe(REASON)
  expect(await log.sync()).toBe(seq)
})

test('the signal ends the wait for a destination, which other callers continue', async () => {
  const log = await openUntilDone(join(scratchDir(), 'log'))
  await log.append('x')
  let connect = (): void => {}
  const connected = new Promise<void>((resolve) => {
    connect = resolve
  })
  const target = new MemoryTarget()
  const last = target.last.bind(target)
  target.last = (isFirst) => connected.then(() => last(isFirst))
  const shipper = new LogShipper(log, target, resolveShipperOptions(log, {}))
  onTestFinished(() => shipper.close())
  const other = shipper.idle()
  expect(await abortedCall((options) => shipper.idle(options))).toBe(REASON)
  await expect(shipper.idle({ signal: AbortSignal.abort(REASON) })).rejects.toBe(REASON)
  connect()
  await other
})

/** The number of listeners and of dependent signals that `signal` has. */
function heldBy(signal: AbortSignal): number {
  const values = Object.getOwnPropertySymbols(signal).map((symbol) => Reflect.get(signal, symbol) as unknown)
  const sets = values.filter((value) => value instanceof Set)
  return sets.reduce((sum, { size }) => sum + size, getEventListeners(signal, 'abort').length)
}

test('a signal of several signals is aborted with the first of them, and leaves nothing when it is forgotten', () => {
  const [one, other] = [new AbortController(), new AbortController()]
  const both = [one.signal, undefined, other.signal]
  const forgotten = anySignal(both)
  const { signal } = anySignal(both)
  forgotten.forget()
  other.abort(REASON)
  const late = anySignal(both)
  late.forget()
  expect([signal.reason, forgotten.signal.aborted, late.signal.reason]).toEqual([REASON, false, REASON])
  anySignal([one.signal]).forget()
  one.abort()
  expect([heldBy(one.signal), heldBy(other.signal)]).toEqual([0, 0])
})

test('requests to a store, and an archiver that has failed, leave nothing at the signal', async () => {
  const { signal } = new AbortController()
  const log = await openUntilDone(join(scratchDir(), 'log'))
  await log.append('first')
  const s3 = await store()
  await archiveAll(log, s3)
  await restoreArchive(join(scratchDir(), 'restored'), { ...s3.access, signal })
  expect(heldBy(signal)).toBe(0)

  const failed = archive(log, { ...s3.access, bucket: 's3://missing', cursor: 'failed', signal })
  onTestFinished(() => failed.close())
  await new Promise((resolve) => failed.once('error', resolve))
  await expect.poll(() => heldBy(signal)).toBe(0)
})
