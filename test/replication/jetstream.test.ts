import { randomUUID } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { type DurlogError, type Log, open } from '../../src/index.js'
import { announceClaim, announcedGeneration } from '../../src/jetstream/claim-notice.js'
import { jetstream, rejoin, restore, standBy, takeOver } from '../../src/jetstream/index.js'
import { NatsLease } from '../../src/jetstream/nats-lease.js'
import { resolvePlace } from '../../src/jetstream/options.js'
import { publishAfter } from '../../src/jetstream/publish-after.js'
import { headerLines } from '../../src/jetstream/raw-headers.js'
import { RestoringLog } from '../../src/log/ordered-log.js'
import { openStreams } from '../../src/streams/index.js'
import { type NatsServer, startServer } from '../fixtures/nats.mjs'
import { openUntilDone, records, scratchDir, texts } from '../fixtures/scratch.js'

const REPLICATED = { durability: 'replicated' } as const
let server: NatsServer
let streams = 0

beforeAll(async () => {
  const { mkdtempSync } = await import('node:fs')
  const { tmpdir } = await import('node:os')
  server = await startServer(mkdtempSync(join(tmpdir(), 'durlog-nats-')), '')
})
afterAll(() => server.kill())

/** A new stream, with the access to it. */
function place(): { servers: string; stream: string } {
  return { servers: server.url, stream: `S${++streams}` }
}

const failure = (promise: Promise<unknown>): Promise<DurlogError> =>
  promise.then(
    () => {
      throw new Error('did not reject')
    },
    (error: DurlogError) => error,
  )

function openAt(dir: string, to: { servers: string; stream: string; subject?: string }): Promise<Log> {
  return openUntilDone(dir, { replicate: jetstream(to) })
}

async function shipped(from: { servers: string; stream: string }): Promise<string[]> {
  const dir = join(scratchDir(), 'restored')
  await restore(dir, from)
  const log = await open(dir, { readOnly: true })
  onTestFinished(() => log.close())
  return texts(log.read())
}

test('an append at replicated settles when the stream has the record', async () => {
  const to = place()
  const log = await openAt(join(scratchDir(), 'a'), to)
  expect(await Promise.all(['0', '1', '2'].map((text) => log.append(text, REPLICATED)))).toEqual([0, 1, 2])
  expect(log.replicatedSeq).toBe(2)
  expect(await shipped(to)).toEqual(['0', '1', '2'])
})

test('a copy that takes over continues the stream, and the former writer is fenced', async () => {
  const to = place()
  const former = await openAt(join(scratchDir(), 'a'), to)
  for (const text of ['0', '1', '2']) await former.append(text, REPLICATED)
  const dir = join(scratchDir(), 'b')
  const report = await takeOver(dir, to)
  expect(report).toMatchObject({ nextSeq: 3, generation: 1 })
  expect(await takeOver(dir, to)).toEqual({ ...report, records: 0 })
  expect(await failure(former.append('late', REPLICATED))).toMatchObject({
    code: 'ERR_DURLOG_FENCED',
    outcome: 'unknown',
  })
  expect(await failure(former.append('later'))).toMatchObject({ code: 'ERR_DURLOG_FENCED', outcome: 'not-written' })
  expect(former.stats().replication).toMatchObject({
    state: 'stopped',
    fenced: true,
    failure: { code: 'ERR_DURLOG_FENCED' },
    lag: { records: 1, bytes: 32 },
  })
  const writer = await openAt(dir, to)
  expect(writer.generation).toBe(1)
  for (const text of ['3', '4']) await writer.append(text, REPLICATED)
  expect(await takeOver(dir, to)).toEqual({ ...report, records: 0, nextSeq: 5 })
  for (const other of [former.dir, (await openUntilDone(join(scratchDir(), 'other'))).dir])
    expect(await failure(takeOver(other, to))).toMatchObject({
      code: 'ERR_DURLOG_NOT_EMPTY',
      message: expect.stringContaining('not the writer of the destination'),
    })
  await writer.close()
  const again = await openAt(dir, to)
  expect(await again.append('5', REPLICATED)).toBe(5)
  expect(await shipped(to)).toEqual(['0', '1', '2', '3', '4', '5'])
})

test('a former writer that returns after the new one has written is fenced', async () => {
  const to = place()
  const dir = join(scratchDir(), 'a')
  const first = await openAt(dir, to)
  await first.append('0', REPLICATED)
  await first.close()
  const other = join(scratchDir(), 'b')
  await takeOver(other, to)
  const writer = await openAt(other, to)
  await writer.append('1', REPLICATED)
  const former = await openAt(dir, to)
  expect(await failure(former.append('other', REPLICATED))).toMatchObject({ code: 'ERR_DURLOG_FENCED' })
})

test('a claim succeeds although the former writer publishes without pauses', async () => {
  const to = place()
  const former = await openAt(join(scratchDir(), 'a'), to)
  let isEnded = false
  onTestFinished(() => {
    isEnded = true
  })
  const append = async (): Promise<DurlogError | undefined> => {
    while (!isEnded) {
      const error = await former.append('busy', REPLICATED).then(
        () => undefined,
        (refused) => refused,
      )
      if (error !== undefined) return error
    }
    return undefined
  }
  await former.append('first', REPLICATED)
  const nc = await connect({ servers: server.url })
  onTestFinished(() => nc.close())
  let consumers = 0
  const count = (): void => {
    consumers++
  }
  nc.subscribe(`$JS.API.CONSUMER.CREATE.${to.stream}.>`, { callback: count })
  await nc.flush()
  const writers = Array.from({ length: 16 }, append)
  const { nextSeq } = await takeOver(join(scratchDir(), 'b'), to)
  await nc.flush()
  // In a cluster, the creation of a consumer takes many times as long as a claim.
  expect(consumers).toBe(1)
  expect((await Promise.all(writers)).map((error) => error?.code)).toEqual(Array(16).fill('ERR_DURLOG_FENCED'))
  expect(nextSeq).toBeGreaterThan(former.replicatedSeq)
})

test('of two standbys that take over one wins, and a claim is replaced only with force', async () => {
  const to = place()
  const former = await openAt(join(scratchDir(), 'a'), to)
  await former.append('0', REPLICATED)
  const dirs = [join(scratchDir(), 'b'), join(scratchDir(), 'c')]
  const results = await Promise.allSettled(dirs.map((dir) => takeOver(dir, to)))
  expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  const loser = dirs[results[0]?.status === 'fulfilled' ? 1 : 0] as string
  expect(await failure(takeOver(loser, to))).toMatchObject({ code: 'ERR_DURLOG_FENCED' })
  expect(await takeOver(loser, { ...to, force: true })).toMatchObject({ generation: 2 })
  const writer = await openAt(loser, to)
  await writer.append('1', REPLICATED)
  expect(await shipped(to)).toEqual(['0', '1'])
})

test('a message of the former writer that arrives late is not stored after one of the new writer', async () => {
  const to = place()
  const former = await openAt(join(scratchDir(), 'a'), to)
  await former.append('0', REPLICATED)
  const dir = join(scratchDir(), 'b')
  await takeOver(dir, to)
  const writer = await openAt(dir, to)
  await writer.append('1', REPLICATED)
  // The former writer had sent its records 1 and 2: the message of record 2 names the id of the one before.
  const nc = await connect({ servers: server.url })
  const { headers } = await import('@nats-io/transport-node')
  const late = headers()
  late.set('Nats-Msg-Id', `${former.uuid}:2`)
  late.set('Nats-Expected-Last-Msg-Id', `${former.uuid}:1`)
  const answer = await nc.request(to.stream.toLowerCase(), 'late', { headers: late, timeout: 60_000 })
  expect(answer.json<{ error?: { err_code: number } }>().error?.err_code).toBe(10070)
  // Or it was truncated before, so that its generation is that of its successor.
  late.set('Nats-Msg-Id', `${former.uuid}:2@1`)
  late.set('Nats-Expected-Last-Msg-Id', `${former.uuid}:1@1`)
  const other = await nc.request(to.stream.toLowerCase(), 'late', { headers: late, timeout: 60_000 })
  expect(other.json<{ error?: { err_code: number } }>().error?.err_code).toBe(10070)
  await nc.close()
  await writer.append('2', REPLICATED)
  expect(await shipped(to)).toEqual(['0', '1', '2'])
})

test('a folder of streams is replicated, taken over and continued, a repeated append is stored once, and the former writer rejoins', async () => {
  const to = place()
  const options = { exclusive: true, replicate: jetstream(to), durability: 'replicated' } as const
  const a = join(scratchDir(), 'a')
  const former = await openStreams(a, options)
  onTestFinished(() => former.close())
  const producer = { id: 'p', epoch: 0, seq: 0 }
  await former.stream('s').append('first', { producer })
  await former.stream('text').create({ encoding: 'utf8', values: ['a line'] })
  const dir = join(scratchDir(), 'b')
  await takeOver(dir, to)
  const late = former.stream('s').append('second', { producer: { ...producer, seq: 1 } })
  expect(await failure(late)).toMatchObject({ code: 'ERR_DURLOG_FENCED', outcome: 'unknown' })
  const next = await openStreams(dir, { ...options, replicate: jetstream(to) })
  onTestFinished(() => next.close())
  for (const [seq, value] of ['first', 'second'].entries())
    expect(await next.stream('s').append(value, { producer: { ...producer, seq } })).toMatchObject({ seq })
  const values: unknown[] = []
  for await (const { value } of next.stream('s').read()) values.push(value)
  for await (const { value } of next.stream('text').read()) values.push(value)
  expect(values).toEqual(['first', 'second', 'a line'])
  await former.close()
  const kept = await rejoin(a, { ...to, into: join(scratchDir(), 'kept') })
  expect(kept).toMatchObject({ records: 1, streams: [{ name: 's', first: 1, last: 1, records: 1 }] })
})

const LEASE_MS = 600

test('a standby takes over when the lease of the writer ends', async () => {
  const to = place()
  const writer = await open(join(scratchDir(), 'a'), { replicate: jetstream({ ...to, leaseMs: LEASE_MS }) })
  await writer.append('0', REPLICATED)
  let see = (): void => {}
  const seen = new Promise<void>((resolve) => {
    see = resolve
  })
  const dir = join(scratchDir(), 'b')
  const taken = standBy(dir, { ...to, onLease: ({ ms }) => ms === LEASE_MS && see() })
  await seen
  await writer.append('1', REPLICATED)
  await writer.close()
  expect(await taken).toMatchObject({ nextSeq: 2, generation: 1 })
  const next = await openAt(dir, to)
  await next.append('2', REPLICATED)
  expect(await shipped(to)).toEqual(['0', '1', '2'])
  expect(await standBy(dir, to)).toBeUndefined()
})

test('a writer whose lease was taken is fenced, although nothing is appended', async () => {
  const to = place()
  const replicate = jetstream({ ...to, leaseMs: LEASE_MS })
  const former = await openUntilDone(join(scratchDir(), 'a'), { replicate })
  await former.append('0', REPLICATED)
  await expect.poll(() => former.stats().replication?.lease?.isHeld).toBe(true)
  const fenced = new Promise((resolve) => former.once('replicationFailed', resolve))
  const dir = join(scratchDir(), 'b')
  await takeOver(dir, to)
  const writer = await openUntilDone(dir, { replicate })
  expect(await fenced).toMatchObject({ code: 'ERR_DURLOG_FENCED' })
  await expect.poll(() => writer.stats().replication?.lease?.isHeld).toBe(true)
})

test('a lease that was deleted in the key-value bucket is stored again by its writer', async () => {
  const to = place()
  const { stream } = to
  const resolved = { ...resolvePlace(to), subject: stream.toLowerCase() }
  const writer = await openAt(join(scratchDir(), 'a'), to)
  await writer.append('0', REPLICATED)
  const nc = await connect({ servers: server.url })
  onTestFinished(() => nc.close())
  const { headers } = await import('@nats-io/transport-node')
  const value = { owner: randomUUID(), beat: 0, ms: LEASE_MS }
  const lease = new NatsLease(resolved)
  onTestFinished(() => lease.close())
  let version = await lease.write(value, undefined)
  for (const [name, operation] of [
    ['KV-Operation', 'DEL'],
    ['KV-Operation', 'PURGE'],
    ['Nats-Marker-Reason', 'MaxAge'],
  ] as const) {
    const marker = headers()
    marker.set(name, operation)
    await nc.request(`$KV.durlog-leases.${stream}.${stream.toLowerCase()}`, '', { headers: marker, timeout: 60_000 })
    expect(await lease.write(value, version)).toBeUndefined()
    expect(await lease.read()).toBeUndefined()
    version = await lease.write(value, undefined)
    expect(await lease.read()).toEqual({ ...value, version })
  }
})

async function entriesIn(dir: string): Promise<string[]> {
  const log = await open(dir, { readOnly: true })
  const found = (await records(log.read())).map(({ seq, timestamp, data }) => `${seq} ${timestamp} ${data}`)
  await log.close()
  return found
}

test('a former writer rejoins although it is killed after any step, follows, and takes over again', async () => {
  const to = place()
  const [a, b] = [join(scratchDir(), 'a'), join(scratchDir(), 'b')]
  const small = { segmentBytes: 2 ** 16 }
  const first = await open(a, { ...small, replicate: jetstream(to) })
  await Promise.all(['0', '1', '2'].map((text) => first.append(text, REPLICATED)))
  await first.close()
  const into = join(a, '..', 'kept')
  expect(await failure(rejoin(a, { ...to, into }))).toMatchObject({ code: 'ERR_DURLOG_NOT_FOUND' })
  await takeOver(b, to)
  const writer = await openAt(b, to)
  await Promise.all(['3 of b', '4', '5 of b'].map((text) => writer.append(text, REPLICATED)))
  const common = (await entriesIn(b)).slice(0, 3)
  const former = await open(a, small)
  // The record 4 is the same in both logs.
  const { timestamp } = await writer.get(4)
  await former.append('3 of a', { timestamp })
  await former.append('4', { timestamp })
  await former.close()
  const own = (await entriesIn(a)).slice(3)

  const nc = await connect({ servers: server.url })
  onTestFinished(() => nc.close())
  const over = { connection: nc, stream: to.stream }
  const root = join(scratchDir(), 'killed')
  let kills = 0
  const kill = (): void => {
    const dir = join(root, `${kills++}`)
    cpSync(a, join(dir, 'a'), { recursive: true })
    if (existsSync(into)) cpSync(into, join(dir, 'kept'), { recursive: true })
  }
  for (const name of ['skipTo', 'appendNext', 'sync', 'truncateAfter', 'removeCursor', 'close'] as const) {
    const step = RestoringLog.prototype[name] as (...args: unknown[]) => Promise<never>
    vi.spyOn(RestoringLog.prototype, name).mockImplementation(function (this: RestoringLog, ...args: unknown[]) {
      kill()
      return step.apply(this, args)
    })
  }
  const report = { uuid: writer.uuid, nextSeq: 3, first: 3, last: 4, records: 2 }
  expect(await rejoin(a, { ...over, into })).toEqual(report)
  kill()
  vi.restoreAllMocks()
  expect(kills).toBeGreaterThanOrEqual(12)
  for (let i = 0; i < kills; i++) {
    const dir = join(root, `${i}`)
    expect(await rejoin(join(dir, 'a'), { ...over, into: join(dir, 'kept') }), `kill ${i}`).toEqual(report)
    expect(await entriesIn(join(dir, 'kept')), `kill ${i}`).toEqual(own)
    expect(await entriesIn(join(dir, 'a')), `kill ${i}`).toEqual(common)
  }
  expect(await failure(open(a))).toMatchObject({ code: 'ERR_DURLOG_REPLICA' })
  expect(await takeOver(a, to)).toMatchObject({ nextSeq: 6, generation: 2 })
  expect(await entriesIn(a)).toEqual(await entriesIn(b))
  expect(await failure(writer.append('6 of b', REPLICATED))).toMatchObject({ code: 'ERR_DURLOG_FENCED' })
  const again = await openAt(a, to)
  expect(await again.append('6 of a', REPLICATED)).toBe(6)
})

/** A stream whose records 0 to 2 were dropped, and that begins with the claim of `b` after them. */
async function beginningWithClaim() {
  const to = place()
  const [a, b] = [join(scratchDir(), 'a'), join(scratchDir(), 'b')]
  const former = await open(a, { replicate: jetstream(to) })
  for (const text of ['0', '1', '2']) await former.append(text, REPLICATED)
  await former.close()
  await takeOver(b, to)
  const nc = await connect({ servers: server.url })
  onTestFinished(() => nc.close())
  await (await jetstreamManager(nc)).streams.purge(to.stream, { keep: 1 })
  return { to, a, b }
}

/** A stream that drops messages after an hour. */
async function droppingPlace() {
  const to = place()
  const nc = await connect({ servers: server.url })
  onTestFinished(() => nc.close())
  const { streams } = await jetstreamManager(nc)
  const subject = to.stream.toLowerCase()
  await streams.add({ name: to.stream, subjects: [subject], max_age: 3_600_000_000_000 })
  return { to, nc, streams, subject }
}

test('a former writer is fenced, although the stream has dropped the claim', async () => {
  const { to, streams } = await droppingPlace()
  const a = join(scratchDir(), 'a')
  const former = await openAt(a, to)
  await former.append('0', REPLICATED)
  const b = join(scratchDir(), 'b')
  await takeOver(b, to)
  await streams.purge(to.stream)
  expect(await failure(former.append('1 of a', REPLICATED))).toMatchObject({ code: 'ERR_DURLOG_FENCED' })
  await former.close()
  const again = await openAt(a, to)
  expect(await failure(again.append('2 of a', REPLICATED))).toMatchObject({ code: 'ERR_DURLOG_FENCED' })
  const writer = await openAt(b, to)
  expect(await writer.append('1', REPLICATED)).toBe(1)
})

/** A replica of a log with the records 0 and 1, in a stream that drops messages. */
async function droppingReplica() {
  const at = await droppingPlace()
  const [a, b] = [join(scratchDir(), 'a'), join(scratchDir(), 'b')]
  const former = await openAt(a, at.to)
  for (const text of ['0', '1']) await former.append(text, REPLICATED)
  const ending = new AbortController()
  const onCaughtUp = (): void => ending.abort()
  await restore(b, { ...at.to, follow: true, onCaughtUp, signal: ending.signal })
  return { ...at, former, b }
}

test('a replica that has all records takes over from a stream that has dropped all messages', async () => {
  const { to, streams, former, b } = await droppingReplica()
  await streams.purge(to.stream)
  const ending = new AbortController()
  const onCaughtUp = (): void => ending.abort()
  await restore(b, { ...to, follow: true, onCaughtUp, signal: ending.signal })
  expect(await takeOver(b, to)).toMatchObject({ nextSeq: 2, generation: 1 })
  expect(await failure(former.append('2 of a', REPLICATED))).toMatchObject({ code: 'ERR_DURLOG_FENCED' })
  const writer = await openAt(b, to)
  expect(await writer.append('2 of b', REPLICATED)).toBe(2)
})

test('a replica that may lack a record does not take over from a stream that has dropped all messages', async () => {
  const { to, streams, subject, former, b } = await droppingReplica()
  await former.append('2', REPLICATED)
  await streams.purge(to.stream)
  expect(await failure(takeOver(b, { ...to, force: true }))).toMatchObject({ code: 'ERR_DURLOG_NOT_FOUND' })
  // Nor from another stream with as many messages.
  await streams.delete(to.stream)
  await streams.add({ name: to.stream, subjects: [subject], max_age: 3_600_000_000_000, first_seq: 3 })
  expect(await failure(takeOver(b, { ...to, force: true }))).toMatchObject({ code: 'ERR_DURLOG_NOT_FOUND' })
})

test('a writer that was stopped before its first publish is fenced, although a claim was stored and dropped meanwhile', async () => {
  const { to, nc, streams, subject } = await droppingPlace()
  const dir = join(scratchDir(), 'a')
  const before = await openAt(dir, to)
  await before.append('0', REPLICATED)
  await before.close()
  await streams.purge(to.stream)
  const former = await openAt(dir, to)
  await expect.poll(() => former.stats().replication?.state).toBe('shipping')
  const live = { nc, manager: await jetstreamManager(nc) }
  const notice = { uuid: former.uuid, generation: 1 }
  await announceClaim(live, { ...to, subject, timeoutMs: 60_000 }, notice, false)
  await nc.request(subject, 'claim', { timeout: 60_000 })
  await streams.purge(to.stream)
  expect(await failure(former.append('1 of a', REPLICATED))).toMatchObject({ code: 'ERR_DURLOG_FENCED' })
})

test('a claim that the server has received before, and that was removed, is not taken for a claim', async () => {
  const { to, nc, streams, subject } = await droppingPlace()
  const live = { nc, manager: await jetstreamManager(nc) }
  const at = { ...to, subject, timeoutMs: 60_000 }
  const id = headerLines([['Nats-Msg-Id', 'the claim']])
  expect(await publishAfter(live, at, id, 0)).toBe(1)
  await streams.purge(to.stream)
  await expect(publishAfter(live, at, id, 0)).rejects.toThrow('has already received')
})

test('the first record needs no second attempt because other subjects of the stream are in use', async () => {
  const to = place()
  const nc = await connect({ servers: server.url })
  onTestFinished(() => nc.close())
  const { streams } = await jetstreamManager(nc)
  const base = to.stream.toLowerCase()
  await streams.add({ name: to.stream, subjects: [`${base}.>`] })
  const log = await openAt(join(scratchDir(), 'log'), { ...to, subject: `${base}.log` })
  await expect.poll(() => log.stats().replication?.state).toBe('shipping')
  await nc.request(`${base}.other`, 'x', { timeout: 60_000 })
  expect(await log.append('0', REPLICATED)).toBe(0)
  expect(log.stats().replication).toMatchObject({ lastError: undefined })
})

test('a notice that arrives late replaces no later one', async () => {
  const { to, nc, subject } = await droppingPlace()
  const live = { nc, manager: await jetstreamManager(nc) }
  const at = { ...to, subject, timeoutMs: 60_000 }
  const uuid = randomUUID()
  for (const generation of [1, 3, 2]) await announceClaim(live, at, { uuid, generation }, false)
  expect(await announcedGeneration(live, at, uuid)).toBe(3)
  expect(await announcedGeneration(live, at, randomUUID())).toBeUndefined()
})

test('a stream that begins with a claim is restored from the next record on, and without one holds no record', async () => {
  const { to, b } = await beginningWithClaim()
  expect(await failure(restore(join(scratchDir(), 'none'), to))).toMatchObject({ code: 'ERR_DURLOG_NOT_FOUND' })
  const writer = await openAt(b, to)
  for (const text of ['3', '4']) await writer.append(text, REPLICATED)
  const dir = join(scratchDir(), 'restored')
  expect(await restore(dir, to)).toMatchObject({ firstSeq: 3, nextSeq: 5 })
  expect(await entriesIn(dir)).toEqual((await entriesIn(b)).slice(3))
})

test('a replica that has all records takes over from a stream that holds only a claim', async () => {
  const { to, b } = await beginningWithClaim()
  const into = join(scratchDir(), 'kept')
  const writer = await openAt(b, to)
  await writer.append('3', REPLICATED)
  await writer.close()
  const c = join(scratchDir(), 'c')
  await takeOver(c, to)
  const nc = await connect({ servers: server.url })
  onTestFinished(() => nc.close())
  await (await jetstreamManager(nc)).streams.purge(to.stream, { keep: 1 })
  expect(await rejoin(b, { ...to, into })).toMatchObject({ nextSeq: 4, records: 0 })
  expect(await takeOver(b, { ...to, force: true })).toMatchObject({ nextSeq: 4, generation: 3 })
})

test('a former writer rejoins a stream that has dropped the records before a claim', async () => {
  const { to, a, b } = await beginningWithClaim()
  const late = await open(a)
  await late.append('3 of a')
  await late.close()
  const writer = await openAt(b, to)
  for (const text of ['3 of b', '4 of b']) await writer.append(text, REPLICATED)
  const into = join(scratchDir(), 'kept')
  expect(await rejoin(a, { ...to, into })).toMatchObject({ nextSeq: 3, first: 3, last: 3, records: 1 })
  expect(await takeOver(a, to)).toMatchObject({ nextSeq: 5 })
  expect(await entriesIn(a)).toEqual(await entriesIn(b))
})

test('a former writer rejoins a stream that has dropped a part of its oldest record', async () => {
  const to = place()
  const [a, b] = [join(scratchDir(), 'a'), join(scratchDir(), 'b')]
  const former = await open(a, { replicate: jetstream(to) })
  await former.append(Buffer.alloc(3_000_000, 'x'), REPLICATED)
  await former.append('1', REPLICATED)
  await former.close()
  await takeOver(b, to)
  const nc = await connect({ servers: server.url })
  onTestFinished(() => nc.close())
  // The last part, record 1 and the claim.
  await (await jetstreamManager(nc)).streams.purge(to.stream, { keep: 3 })
  const late = await open(a)
  await late.append('2 of a')
  await late.close()
  const into = join(scratchDir(), 'kept')
  expect(await rejoin(a, { ...to, into })).toMatchObject({ nextSeq: 2, first: 2, last: 2, records: 1 })
})

test('a restore ends at an error of this file system, and does not repeat it as one of the server', async () => {
  const to = place()
  const streams = await openStreams(join(scratchDir(), 'a'), { exclusive: true, replicate: jetstream(to) })
  onTestFinished(() => streams.close())
  await streams.stream('s').create()
  await streams.stream('s').append('0', REPLICATED)
  const onRetry = vi.fn()
  const [unmarked, noFolder] = [join(scratchDir(), 'unmarked'), join(scratchDir(), 'no-folder')]
  mkdirSync(join(unmarked, 'restoring.new'), { recursive: true })
  expect(await failure(restore(unmarked, { ...to, onRetry }))).toMatchObject({ errnoName: 'EISDIR' })
  const ending = new AbortController()
  await restore(noFolder, { ...to, follow: true, signal: ending.signal, onCaughtUp: () => ending.abort() })
  rmSync(join(noFolder, 'log'), { recursive: true })
  writeFileSync(join(noFolder, 'log'), '')
  expect(await failure(restore(noFolder, { ...to, onRetry }))).toMatchObject({ errnoName: 'EEXIST' })
  expect(onRetry).not.toHaveBeenCalled()
})
