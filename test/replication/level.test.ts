import { once } from 'node:events'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { archiveTo } from '../../src/archive/index.js'
import { DurlogError, type Log, type OpenOptions, open, type ReplicationStats } from '../../src/index.js'
import type { ReplicationDestination, ReplicationListener } from '../../src/options/replication-link.js'
import { plainRecordsIn, restored, store } from '../fixtures/archive.js'
import type { FakeS3 } from '../fixtures/fake-s3.mjs'
import { openUntilDone, scratchDir, texts } from '../fixtures/scratch.js'

const REPLICATED = { durability: 'replicated' } as const

/** A destination that acknowledges only what the test tells it to. */
function byHand(): {
  listener: () => ReplicationListener
  replicate: ReplicationDestination
  sent: number
} {
  let listener: ReplicationListener | undefined
  const made = {
    listener: () => listener as ReplicationListener,
    sent: 0,
    replicate: {
      keepsLocal: false,
      start: (_log: Log, given: ReplicationListener) => {
        listener = given
        return {
          begin: () => {},
          flush: () => {
            made.sent++
          },
          stats: () =>
            ({ state: 'shipping', lag: { records: 0, bytes: 0, ms: 0 }, retries: 0, lastError: undefined }) as const,
          close: async () => {},
        }
      },
    },
  }
  return made
}

function openBy(replicate: NonNullable<OpenOptions['replicate']>, more: OpenOptions = {}): Promise<Log> {
  return openUntilDone(join(scratchDir(), 'log'), { ...more, replicate } as OpenOptions)
}

/** Whether `promise` is still pending after everything that the event loop has to do now. */
async function isPending(promise: Promise<unknown>): Promise<boolean> {
  const next = new Promise((resolve) => setImmediate(() => setImmediate(() => resolve('pending'))))
  return (
    (await Promise.race([
      promise.then(
        () => 'settled',
        () => 'settled',
      ),
      next,
    ])) === 'pending'
  )
}

const failure = (promise: Promise<unknown>): Promise<DurlogError> =>
  promise.then(
    () => {
      throw new Error('did not reject')
    },
    (error: DurlogError) => error,
  )

test('an append at replicated settles after the destination has acknowledged its record and every earlier one', async () => {
  const hand = byHand()
  const log = await openBy(hand.replicate)
  const first = log.append('a', REPLICATED)
  const batch = log.appendBatch(['b', 'c'], REPLICATED)
  expect(await log.append('d')).toBe(3)
  expect([await isPending(first), await isPending(batch), log.replicatedSeq]).toEqual([true, true, -1])
  hand.listener().onReplicated(1)
  expect(await first).toBe(0)
  expect(await isPending(batch)).toBe(true)
  const reached = log.reached(0, 'replicated')
  const later = [log.reached(3, 'replicated'), log.reached(2, 'replicated')]
  await reached
  hand.listener().onReplicated(2)
  expect(await batch).toEqual({ first: 1, last: 2 })
  await later[1]
  expect(await isPending(later[0] as Promise<void>)).toBe(true)
  hand.listener().onReplicated(3)
  await later[0]
  expect(log.replicatedSeq).toBe(3)
  expect(log.stats().replication).toMatchObject({ replicatedSeq: 3, waitingAppends: 0, waitingBytes: 0 })
})

test('appends that are acknowledged together settle in many turns of the event loop, also before a failure', async () => {
  const hand = byHand()
  const log = await openBy(hand.replicate)
  let settled = 0
  const appends = Array.from({ length: 5000 }, () => log.append('x', REPLICATED).then(() => settled++))
  await log.reached(4999)
  const perTurn: number[] = []
  hand.listener().onReplicated(3999)
  for (let before = 0; settled < 4000; before = settled) {
    await nextTurn()
    perTurn.push(settled - before)
  }
  // The call of `onReplicated` settles some in the first turn.
  expect(Math.max(...perTurn)).toBeLessThanOrEqual(2048)
  hand.listener().onReplicated(4998)
  hand.listener().onFailed(new DurlogError('ERR_DURLOG_DESTINATION_REFUSED', 'refused'))
  await Promise.all(appends.slice(0, 4999))
  expect((await failure(appends[4999] as Promise<number>)).code).toBe('ERR_DURLOG_DESTINATION_REFUSED')
})

test.each([
  ['a failure', ({ hand }) => hand.listener().onFailed(new DurlogError('ERR_DURLOG_DESTINATION_REFUSED', 'refused'))],
  ['a truncation', ({ log }) => log.truncateAfter(-1)],
] satisfies [string, (one: { hand: ReturnType<typeof byHand>; log: Log }) => unknown][])(
  '%s rejects the appends that wait in many turns of the event loop',
  async (_, fail) => {
    const hand = byHand()
    const log = await openBy(hand.replicate)
    let rejected = 0
    const appends = Array.from({ length: 20_000 }, () => log.append('x', REPLICATED).catch(() => rejected++))
    await log.reached(19_999)
    await fail({ hand, log })
    const perTurn: number[] = []
    for (let before = 0; rejected < appends.length; before = rejected) {
      await nextTurn()
      perTurn.push(rejected - before)
    }
    expect(Math.max(...perTurn)).toBeLessThan(appends.length / 2)
    expect(log.stats().replication).toMatchObject({ waitingAppends: 0, waitingBytes: 0 })
  },
)

test('a signal ends the wait of an append at replicated, and the record stays', async () => {
  const hand = byHand()
  const log = await openBy(hand.replicate)
  const aborted = new AbortController()
  const waiting = log.append('a', { ...REPLICATED, signal: aborted.signal })
  expect(await isPending(waiting)).toBe(true)
  await log.sync()
  aborted.abort(new Error('too long'))
  const { code, outcome, cause } = await failure(waiting)
  expect([code, outcome, cause]).toEqual(['ERR_DURLOG_NOT_REPLICATED', 'unknown', new Error('too long')])
  expect(await log.append('b')).toBe(1)
  expect(log.stats().replication).toMatchObject({ waitingAppends: 0, waitingBytes: 0 })
  expect(await texts(log.read())).toEqual(['a', 'b'])
})

test('appends that wait for the destination hold at most maxPendingBytes, and those at lower levels continue', async () => {
  const hand = byHand()
  const log = await openBy(hand.replicate, { maxPendingBytes: 65_536 })
  const record = 'x'.repeat(30_000)
  const waiting = [1, 2, 3].map(() => log.append(record, REPLICATED))
  expect(await log.append('y')).toBe(2)
  expect(log.stats().replication).toMatchObject({ waitingAppends: 3, waitingBytes: 91_632 })
  hand.listener().onReplicated(2)
  expect(await Promise.all(waiting.slice(0, 2))).toEqual([0, 1])
  await log.reached(3)
  hand.listener().onReplicated(3)
  expect(await waiting[2]).toBe(3)
})

test('a truncation rejects the appends whose records it removes, and never acknowledges others in their place', async () => {
  const hand = byHand()
  const log = await openBy(hand.replicate)
  const kept = log.append('a', REPLICATED)
  const cut = failure(log.append('b', REPLICATED))
  await log.sync()
  await log.truncateAfter(0)
  expect(await cut).toMatchObject({ code: 'ERR_DURLOG_NOT_REPLICATED', outcome: 'unknown' })
  hand.listener().onReplicated(0)
  expect(await kept).toBe(0)
  expect(await isPending(log.append('c', REPLICATED).catch(() => {}))).toBe(true)
})

test('a reader with replicatedOnly delivers only replicated records, and follows', async () => {
  const hand = byHand()
  const log = await openBy(hand.replicate)
  for (const text of ['a', 'b', 'c']) await log.append(text)
  hand.listener().onReplicated(0)
  expect(await texts(log.read({ replicatedOnly: true }))).toEqual(['a'])
  const reader = log.read({ replicatedOnly: true, follow: true })
  expect((await reader.next()).value?.data.toString()).toBe('a')
  const next = reader.next()
  expect(await isPending(next)).toBe(true)
  hand.listener().onReplicated(1)
  expect((await next).value?.data.toString()).toBe('b')
  await reader.return()
  const other = await openUntilDone(log.dir, { readOnly: true })
  expect(() => other.read({ replicatedOnly: true })).toThrow(/replicatedOnly/)
})

test('a fenced writer rejects waiting and later appends at every level, and can still be read and closed', async () => {
  const hand = byHand()
  const log = await openBy(hand.replicate)
  const waiting = failure(log.append('a', REPLICATED))
  await log.sync()
  const reported = new Promise((resolve) => log.on('replicationFailed', resolve))
  hand.listener().onFailed(new DurlogError('ERR_DURLOG_FENCED', 'another writer has taken over'))
  expect(await waiting).toMatchObject({ code: 'ERR_DURLOG_FENCED', outcome: 'unknown' })
  for (const durability of ['replicated', 'sync', 'memory'] as const)
    expect(await failure(log.append('b', { durability }))).toMatchObject({
      code: 'ERR_DURLOG_FENCED',
      outcome: 'not-written',
    })
  expect(() => log.write('b')).toThrow(expect.objectContaining({ code: 'ERR_DURLOG_FENCED' }))
  expect(await reported).toMatchObject({ code: 'ERR_DURLOG_FENCED' })
  await log.sync()
  expect(await texts(log.read())).toEqual(['a'])
  await log.close()
})

test('each append that a failed destination rejects has a separate error', async () => {
  const hand = byHand()
  const log = await openBy(hand.replicate)
  const append = (): Promise<DurlogError> => failure(log.append('a', REPLICATED))
  const waiting = [append(), append()]
  await log.sync()
  hand.listener().onFailed(new DurlogError('ERR_DURLOG_FENCED', 'another writer has taken over'))
  const later = [append(), append(), failure(log.append('b')), failure(log.append('b'))]
  const errors = await Promise.all([...waiting, ...later])
  expect(errors.map(({ code }) => code)).toEqual(errors.map(() => 'ERR_DURLOG_FENCED'))
  expect(new Set(errors).size).toBe(errors.length)
})

test('with fencedAppends "replicated", a fenced writer keeps accepting appends at other levels', async () => {
  const hand = byHand()
  const log = await openBy({ ...hand.replicate, keepsLocal: true })
  hand.listener().onFailed(new DurlogError('ERR_DURLOG_FENCED', 'another writer has taken over'))
  expect(await log.append('a')).toBe(0)
  expect(await failure(log.append('b', REPLICATED))).toMatchObject({
    code: 'ERR_DURLOG_FENCED',
    outcome: 'not-written',
  })
  expect(log.nextSeq).toBe(1)
})

test('close waits for the destination, and rejects what it has not acknowledged', async () => {
  const hand = byHand()
  const log = await openBy(hand.replicate)
  const waiting = log.append('a', REPLICATED)
  await log.sync()
  const closed = log.close()
  expect(await failure(log.append('b', REPLICATED))).toMatchObject({ code: 'ERR_DURLOG_CLOSED' })
  expect(await isPending(closed)).toBe(true)
  hand.listener().onReplicated(0)
  expect(await waiting).toBe(0)
  await closed
})

test('the level replicated is refused without a destination', async () => {
  const log = await openUntilDone(join(scratchDir(), 'log'))
  expect(await failure(log.append('a', REPLICATED))).toMatchObject({ code: 'ERR_DURLOG_INVALID_ARGUMENT' })
  expect(await failure(log.reached(0, 'replicated'))).toMatchObject({ code: 'ERR_DURLOG_INVALID_ARGUMENT' })
  expect(log.nextSeq).toBe(0)
})

/** Holds the uploads of parts until `release` is called. */
function holdParts(s3: FakeS3): () => void {
  let release = (): void => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  s3.fault = async ({ method, key }) => {
    if (method === 'PUT' && key.includes('/tail')) await held
    return undefined
  }
  onTestFinished(() => release())
  return release
}

test('appends at replicated share an upload', async () => {
  const s3 = await store()
  const log = await openBy(archiveTo({ ...s3.access, flushMs: 60_000 }))
  await log.append('first', REPLICATED)
  const release = holdParts(s3)
  const before = s3.keys('/tail').length
  const waiting = Array.from({ length: 64 }, (_, i) => log.append(`record ${i}`, REPLICATED))
  await log.sync()
  expect(await isPending(waiting[0] as Promise<number>)).toBe(true)
  release()
  await Promise.all(waiting)
  expect(s3.keys('/tail').length - before).toBeLessThanOrEqual(2)
  expect((await plainRecordsIn(await restored(s3))).length).toBe(65)
})

test('while the store is away, appends at replicated wait and are acknowledged when it returns', async () => {
  const s3 = await store()
  const log = await openBy(archiveTo({ ...s3.access, flushMs: 60_000 }))
  await log.append('a', REPLICATED)
  s3.fault = () => ({ drop: true })
  const waiting = log.append('b', REPLICATED)
  expect(await log.append('c')).toBe(2)
  expect(await isPending(waiting)).toBe(true)
  s3.fault = () => undefined
  expect(await waiting).toBe(1)
})

test('after replication has failed, its lag and the failure stay visible, also if its cursor was never opened', async () => {
  const s3 = await store()
  const dir = join(scratchDir(), 'log')
  const first = await openUntilDone(dir)
  await first.append('a')
  await first.close()
  const reader = await openUntilDone(dir, { readOnly: true })
  const held = await reader.cursor('archive')
  const log = await openUntilDone(dir, { replicate: archiveTo(s3.access) })
  await once(log, 'replicationFailed')
  await log.append('b')
  const { state, lag, failure: reason } = log.stats().replication as ReplicationStats
  expect([state, lag.records, reason?.code]).toEqual(['stopped', 2, 'ERR_DURLOG_LOCKED'])
  expect([lag.bytes, lag.ms]).toEqual([64, expect.any(Number)])
  await held.close()
})

test('a destination that cannot start or close leaves no lock', async () => {
  const dir = join(scratchDir(), 'log')
  const { replicate } = byHand()
  const reason = new Error('no destination')
  const fails = (): never => {
    throw reason
  }
  const failing = { ...replicate, start: fails } as ReplicationDestination
  await expect(openUntilDone(dir, { replicate: failing })).rejects.toBe(reason)
  const start: ReplicationDestination['start'] = (log, listener) => ({
    ...replicate.start(log, listener),
    close: async () => fails(),
  })
  const log = await open(dir, { replicate: { ...replicate, start } as ReplicationDestination })
  const appended = failure(log.append('x', REPLICATED))
  await log.sync()
  await expect(log.close()).rejects.toBe(reason)
  expect((await appended).code).toBe('ERR_DURLOG_NOT_REPLICATED')
  await (await openUntilDone(dir)).close()
})

test('options of a destination are checked before a log is made', () => {
  expect(() => archiveTo({ bucket: 's3://b', fencedAppends: 'none' as never })).toThrow(/fencedAppends/)
  expect(() => archiveTo({ bucket: 'b' })).toThrow(/bucket/)
})
