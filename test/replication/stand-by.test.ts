import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { BucketLease } from '../../src/archive/bucket-lease.js'
import { resolveBucket } from '../../src/archive/bucket-options.js'
import { archiveTo, restoreArchive, standBy, takeOver } from '../../src/archive/index.js'
import { RestoredFiles } from '../../src/archive/restored-files.js'
import { DurlogError, type Log, open } from '../../src/index.js'
import { Lease } from '../../src/ship/lease.js'
import { openStreams } from '../../src/streams/index.js'
import { plainRecords, store } from '../fixtures/archive.js'
import type { FakeS3 } from '../fixtures/fake-s3.mjs'
import { codeOf, scratchDir } from '../fixtures/scratch.js'

const REPLICATED = { durability: 'replicated' } as const
const LEASE_MS = 600

/** The access of the machine `name`, by whose requests a test recognises it. */
function accessOf(s3: FakeS3, name: string) {
  return { ...s3.access, credentials: { accessKeyId: name, secretAccessKey: 'secret' } }
}

function replicateTo(s3: FakeS3, name: string) {
  return archiveTo({ ...accessOf(s3, name), flushMs: 60_000, leaseMs: LEASE_MS })
}

async function openAt(dir: string, s3: FakeS3, name: string): Promise<Log> {
  const log = await open(dir, { replicate: replicateTo(s3, name) })
  onTestFinished(() => log.close())
  return log
}

/** A standby, which has caught up and seen the lease when this resolves. */
async function standingBy(dir: string, s3: FakeS3, name: string) {
  const ending = new AbortController()
  let see = (): void => {}
  const seen = new Promise<void>((resolve) => {
    see = resolve
  })
  const onLease = ({ ms }: { ms: number }): void => {
    if (ms > 0) see()
  }
  const taken = standBy(dir, { ...accessOf(s3, name), pollMs: 50, onLease, signal: ending.signal })
  taken.catch(() => {})
  onTestFinished(async () => {
    ending.abort()
    await taken.catch(() => {})
  })
  await Promise.race([seen, taken])
  return { name, dir, taken, ending }
}

async function textsOf(log: Log): Promise<string[]> {
  return (await plainRecords(log)).map(([, , text]) => text)
}

test('a standby in a folder that holds neither a log nor a replica is refused, and does not write there', async () => {
  const s3 = await store()
  const dir = scratchDir()
  writeFileSync(join(dir, 'notes'), '')
  expect(await codeOf(standBy(dir, s3.access))).toBe('ERR_DURLOG_NOT_EMPTY')
  expect(await codeOf(standBy(join(dir, 'notes'), s3.access))).toBe('ERR_DURLOG_NOT_EMPTY')
  expect(await codeOf(takeOver(join(dir, 'notes'), s3.access))).toBe('ERR_DURLOG_NOT_EMPTY')
  await (await open(join(dir, 'log'))).close()
  writeFileSync(join(dir, 'durlog-backup'), '')
  await expect(takeOver(dir, s3.access)).rejects.toThrow('is a backup and no replica')
})

test('a folder that the user may not read is refused with a code', async ({ skip }) => {
  skip(process.geteuid?.() !== 0, 'only root can become another user')
  const s3 = await store()
  const dir = scratchDir()
  chmodSync(dir, 0o700)
  process.seteuid?.(65_534)
  onTestFinished(() => void process.seteuid?.(0))
  const calls = [standBy(dir, s3.access), takeOver(dir, s3.access), restoreArchive(dir, s3.access)]
  expect(await Promise.all(calls.map(codeOf))).toEqual(Array(3).fill('ERR_DURLOG_IO'))
})

test('of two standbys, one takes over when the lease of the writer ends, and the other continues to stand by', async () => {
  const s3 = await store()
  const first = await openAt(join(scratchDir(), 'a'), s3, 'a')
  for (const text of ['0', '1']) await first.append(text, REPLICATED)
  const standbys = [
    await standingBy(join(scratchDir(), 'b'), s3, 'b'),
    await standingBy(join(scratchDir(), 'c'), s3, 'c'),
  ]
  await first.append('2', REPLICATED)
  await first.close()
  const winner = await Promise.race(standbys.map((standby) => standby.taken.then(() => standby)))
  expect(await winner.taken).toMatchObject({ nextSeq: 3, generation: 1 })
  const second = await openAt(winner.dir, s3, winner.name)
  await second.append('3', REPLICATED)
  const loser = standbys.find((standby) => standby !== winner) as (typeof standbys)[0]
  await expect.poll(() => second.stats().replication?.lease?.isHeld).toBe(true)
  await second.close()
  expect(await loser.taken).toMatchObject({ nextSeq: 4, generation: 2 })
  const third = await openAt(loser.dir, s3, loser.name)
  expect(await textsOf(third)).toEqual(['0', '1', '2', '3'])
})

test('a writer that cannot reach the destination is replaced, and is fenced when it can, although nothing is appended', async () => {
  const s3 = await store()
  const former = await openAt(join(scratchDir(), 'a'), s3, 'a')
  await former.append('0', REPLICATED)
  await expect.poll(() => former.stats().replication?.lease?.isHeld).toBe(true)
  let isAway = true
  s3.fault = ({ headers }) => (isAway && headers['authorization']?.includes('=a/') ? { drop: true } : undefined)
  const standby = await standingBy(join(scratchDir(), 'b'), s3, 'b')
  await standby.taken
  const writer = await openAt(standby.dir, s3, 'b')
  await writer.append('1', REPLICATED)
  await expect.poll(() => former.stats().replication?.lease?.error).toBeDefined()
  // It continues until the destination refuses it.
  await former.append('local')
  const fenced = new Promise((resolve) => former.once('replicationFailed', resolve))
  isAway = false
  expect(await fenced).toMatchObject({ code: 'ERR_DURLOG_FENCED' })
  expect(await codeOf(former.append('later'))).toBe('ERR_DURLOG_FENCED')
  expect(await textsOf(writer)).toEqual(['0', '1'])
})

test('a writer whose lease another process holds is fenced after the claim, although nothing is appended', async () => {
  const s3 = await store()
  const former = await openAt(join(scratchDir(), 'a'), s3, 'a')
  await former.append('0', REPLICATED)
  const isHeld = (): boolean | undefined => former.stats().replication?.lease?.isHeld
  await expect.poll(isHeld).toBe(true)
  const lease = new Lease(new BucketLease(resolveBucket(accessOf(s3, 'b')), former.uuid), scratchDir(), 60_000)
  lease.accepted()
  onTestFinished(() => lease.close())
  const fenced = new Promise((resolve) => former.once('replicationFailed', resolve))
  const asked = (): number => s3.requests.filter(({ method, key }) => method === 'HEAD' && key.includes('tail')).length
  const before = asked()
  expect(await lease.look()).toBe(true)
  // The writer has noticed, and has found no claim.
  await expect.poll(asked).toBeGreaterThan(before)
  await expect.poll(isHeld).toBe(false)
  await takeOver(join(scratchDir(), 'b'), accessOf(s3, 'b'))
  expect(await fenced).toMatchObject({ code: 'ERR_DURLOG_FENCED' })
})

test('a standby replaces one that took the lease, claimed the log and died', async () => {
  const s3 = await store()
  const writer = await openAt(join(scratchDir(), 'a'), s3, 'a')
  await writer.append('0', REPLICATED)
  const dead = await standingBy(join(scratchDir(), 'b'), s3, 'b')
  await writer.close()
  await dead.taken
  const next = await standingBy(join(scratchDir(), 'c'), s3, 'c')
  expect(await next.taken).toMatchObject({ nextSeq: 1, generation: 2 })
})

test('a writer whose open takes longer than its lease is not replaced', async () => {
  const s3 = await store()
  const first = await openAt(join(scratchDir(), 'a'), s3, 'a')
  await first.append('0', REPLICATED)
  const standby = await standingBy(join(scratchDir(), 'b'), s3, 'b')
  await first.close()
  await standby.taken
  let open = (): void => {}
  const opened = new Promise<undefined>((resolve) => {
    open = () => resolve(undefined)
  })
  onTestFinished(() => open())
  let renewals = 0
  s3.fault = ({ headers, method, key }) => {
    if (!headers['authorization']?.includes('=b/')) return undefined
    if (!key.endsWith('/lease')) return opened
    if (method === 'PUT') renewals++
    return undefined
  }
  const writer = await openAt(standby.dir, s3, 'b')
  const other = await standingBy(join(scratchDir(), 'c'), s3, 'c')
  const replaced = other.taken.then(() => 'replaced')
  const renewed = async (): Promise<string> => {
    await expect.poll(() => renewals, { timeout: 60_000 }).toBeGreaterThan(15)
    return 'renewed'
  }
  expect(await Promise.race([replaced, renewed()])).toBe('renewed')
  open()
  await writer.append('1', REPLICATED)
})

test('a standby whose disk is full waits, and continues', async () => {
  const s3 = await store()
  const writer = await openAt(join(scratchDir(), 'a'), s3, 'a')
  await writer.append('0', REPLICATED)
  vi.spyOn(RestoredFiles.prototype, 'write').mockRejectedValueOnce(new DurlogError('ERR_DURLOG_NO_SPACE', 'full'))
  onTestFinished(() => void vi.restoreAllMocks())
  const retries: string[] = []
  const dir = join(scratchDir(), 'b')
  const taken = standBy(dir, { ...accessOf(s3, 'b'), pollMs: 50, onRetry: ({ error }) => retries.push(error.message) })
  await Promise.race([taken, expect.poll(() => retries).toEqual(['full'])])
  await writer.close()
  expect(await taken).toMatchObject({ nextSeq: 1, generation: 1 })
})

test('a folder of streams stands by, and the folder of a writer does not', async () => {
  const s3 = await store()
  const options = { exclusive: true, durability: 'replicated' } as const
  const first = await openStreams(join(scratchDir(), 'a'), { ...options, replicate: replicateTo(s3, 'a') })
  await first.stream('s').append('x')
  expect(await standBy(first.dir, accessOf(s3, 'a'))).toBeUndefined()
  const standby = await standingBy(join(scratchDir(), 'b'), s3, 'b')
  await first.close()
  await standby.taken
  const second = await openStreams(standby.dir, { ...options, replicate: replicateTo(s3, 'b') })
  onTestFinished(() => second.close())
  expect(await second.stream('s').append('y')).toMatchObject({ seq: 1 })
})

test('a standby ends with its signal, and continues as a replica afterwards', async () => {
  const s3 = await store()
  const writer = await openAt(join(scratchDir(), 'a'), s3, 'a')
  await writer.append('0', REPLICATED)
  const dir = join(scratchDir(), 'b')
  const standby = await standingBy(dir, s3, 'b')
  standby.ending.abort(new Error('ended'))
  await expect(standby.taken).rejects.toThrow('ended')
  const again = await standingBy(dir, s3, 'b')
  await writer.close()
  expect(await again.taken).toMatchObject({ nextSeq: 1, resumed: true })
})
