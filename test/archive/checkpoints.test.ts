/** Archives of folders of streams whose main log was trimmed: checkpoints, their packs, and what is removed. */
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Bucket } from '../../src/archive/bucket.js'
import { uploadCheckpoint } from '../../src/archive/checkpoint-upload.js'
import { archive, archiveTo, restoreArchive, takeOver } from '../../src/archive/index.js'
import type { Log } from '../../src/index.js'
import { openExclusive } from '../../src/streams/api/open-streams.js'
import { ReadFile } from '../../src/streams/files/file-io.js'
import { openStreams, type Streams } from '../../src/streams/index.js'
import { archiveAll, restored, store } from '../fixtures/archive.js'
import type { FakeS3 } from '../fixtures/fake-s3.mjs'
import { codeOf, openUntilDone, scratchDir } from '../fixtures/scratch.js'
import { scratchStreams } from '../fixtures/streams.js'

const HOUR_MS = 3_600_000
const SMALL = { logSegmentBytes: 65_536 }

/** A folder of streams with a small main log, which checkpoints trim. */
async function folder(dir: string = join(scratchDir(), 'streams')): Promise<Streams<unknown>> {
  const streams = await openExclusive(dir, {}, SMALL)
  onTestFinished(() => streams.close())
  return streams
}

/** Fills the main log so that the checkpoint trims it. */
async function checkpoint(streams: Streams<unknown>, name = 'filler'): Promise<void> {
  const appended = []
  for (let n = 0; n < 12; n++) appended.push(streams.stream(name).append('f'.repeat(10_000)))
  await Promise.all(appended)
  await streams.checkpoint()
}

/** The values of every stream. */
async function contentOf(streams: Streams<unknown>): Promise<Record<string, unknown[]>> {
  const found: Record<string, unknown[]> = {}
  for await (const { name } of streams.list()) {
    const values: unknown[] = []
    for await (const { seq, value, timestamp } of streams.stream(name).read()) values.push([seq, value, timestamp])
    found[name] = values
  }
  return found
}

async function restoredContent(s3: FakeS3, options: Parameters<typeof restored>[1] = {}): Promise<unknown> {
  const copy = await openStreams<unknown>(await restored(s3, options))
  try {
    return await contentOf(copy)
  } finally {
    await copy.close()
  }
}

/** Runs an archiver until it has archived everything, as of `Date.now()` plus `later`. */
async function archiveOnce(streams: Streams<unknown>, s3: FakeS3, later = 0, historyMs = 0): Promise<void> {
  const time = Date.now() + later
  const now = vi.spyOn(Date, 'now').mockImplementation(() => time)
  try {
    const log = await openUntilDone(join(streams.dir, 'log'), { readOnly: true })
    await archiveAll(log, s3, { historyMs })
    await (log as unknown as Log).close()
  } finally {
    now.mockRestore()
  }
}

/** The bytes of all objects, as one text. */
function allBytes(s3: FakeS3): string {
  return [...s3.objects.values()].map(({ body }) => body.toString('latin1')).join('\n')
}

test('a folder whose main log was trimmed is archived, and restored equal with the records after its checkpoint', async () => {
  const s3 = await store()
  const streams = await folder()
  await streams.stream('kept').append({ n: 1 }, { producer: { id: 'p', epoch: 2, seq: 0 } })
  await streams.stream('limited').create({ retention: { maxRecords: 16 } })
  for (let n = 0; n < 64; n++) void streams.stream('limited').append(n)
  await streams.stream('ended').append(1)
  await streams.stream('ended').end()
  await checkpoint(streams)
  await streams.stream('kept').append({ n: 2 })
  await archiveOnce(streams, s3)
  const dir = await restored(s3)
  const copy = await openStreams<unknown>(dir)
  onTestFinished(() => copy.close())
  expect(await contentOf(copy)).toEqual(await contentOf(streams))
  const again = { producer: { id: 'p', epoch: 2, seq: 0 } }
  expect(await copy.stream('kept').append({ n: 1 }, again)).toMatchObject({ seq: 0, duplicate: true })
  expect(await codeOf(copy.stream('ended').append(0))).toBe('ERR_DURLOG_STREAM_ENDED')
  const log = await openUntilDone(join(dir, 'log'), { readOnly: true })
  expect(log.firstSeq).toBeGreaterThan(0)
})

test('the next checkpoint uploads what has changed, in few requests', async () => {
  const s3 = await store()
  const streams = await folder()
  for (let n = 0; n < 60; n++) void streams.stream(`s-${n}`).append('x'.repeat(200))
  await checkpoint(streams)
  await archiveOnce(streams, s3)
  const packsBefore = s3.keys('/pack/')
  const requestsBefore = s3.requests.length
  expect(s3.requests.filter(({ method, key }) => method === 'PUT' && key.includes('/pack/')).length).toBeLessThan(4)
  await streams.stream('s-7').append('y'.repeat(200))
  await streams.checkpoint()
  await archiveOnce(streams, s3)
  const added = s3.keys('/pack/').filter((key) => !packsBefore.includes(key))
  const addedBytes = added.reduce((sum, key) => sum + (s3.objects.get(key)?.body.length ?? 0), 0)
  // One record, and the text with the streams.
  expect(addedBytes).toBeLessThan(20_000)
  expect(s3.requests.length - requestsBefore).toBeLessThan(60)
  expect(await restoredContent(s3)).toEqual(await contentOf(streams))
  // As if the main log had no record after the checkpoint.
  for (const key of [...s3.keys('/log/'), ...s3.keys('/tail/')]) s3.objects.delete(key)
  expect(await restoredContent(s3)).toEqual(await contentOf(streams))
})

test('a deleted stream is in no object after the stated time, and the others are restored equal', async () => {
  const s3 = await store()
  const streams = await folder()
  const secret = 'a-secret-that-must-not-stay'
  await streams.stream('private').append(secret)
  await streams.stream('kept').append('kept')
  await checkpoint(streams)
  await archiveOnce(streams, s3)
  expect(allBytes(s3)).toContain(secret)
  await streams.stream('private').delete()
  await checkpoint(streams)
  await checkpoint(streams)
  // The pack with the deleted bytes is replaced, then the older checkpoint is removed with its objects.
  await archiveOnce(streams, s3, 2 * HOUR_MS)
  await checkpoint(streams)
  await archiveOnce(streams, s3, 4 * HOUR_MS)
  await archiveOnce(streams, s3, 6 * HOUR_MS)
  expect(allBytes(s3)).not.toContain(secret)
  expect(allBytes(s3)).not.toContain('private')
  expect(s3.keys('/checkpoint/').length).toBeLessThan(3)
  expect(await restoredContent(s3)).toEqual(await contentOf(streams))
})

test('an archiver that is killed between any two requests leaves an archive that can be restored', async () => {
  const s3 = await store()
  const streams = await folder()
  await streams.stream('deleted').append('x'.repeat(5000))
  await checkpoint(streams, 'a')
  await archiveOnce(streams, s3)
  const earlier = await contentOf(streams)
  await streams.stream('deleted').delete()
  await checkpoint(streams, 'a')
  const content = await contentOf(streams)
  // The archive before each write of the archiver. A pack has no effect before a checkpoint names it.
  const states: FakeS3['objects'][] = []
  s3.fault = ({ method, key }) => {
    const isNewPack = method === 'PUT' && key.includes('/pack/')
    if ((method === 'PUT' || method === 'DELETE') && !isNewPack) states.push(new Map(s3.objects))
    return undefined
  }
  await archiveOnce(streams, s3, 2 * HOUR_MS)
  s3.fault = () => undefined
  expect(states.length).toBeGreaterThan(4)
  for (const state of states) {
    s3.objects = state
    const found = (await restoredContent(s3)) as typeof content
    expect(found).toEqual(found['deleted'] === undefined ? { a: content['a']?.slice(0, found['a']?.length) } : earlier)
  }
  const [first] = states
  s3.objects = first as FakeS3['objects']
  await archiveOnce(streams, s3, 4 * HOUR_MS)
  expect(await restoredContent(s3)).toEqual(await contentOf(streams))
})

test('two archivers share checkpoints, and neither removes what the other needs', async () => {
  const s3 = await store()
  const streams = await folder()
  const log = await openUntilDone(join(streams.dir, 'log'), { readOnly: true })
  for (let round = 0; round < 2; round++) {
    await checkpoint(streams, `round-${round}`)
    await Promise.all(['one', 'other'].map((cursor) => archiveAll(log, s3, { cursor, historyMs: 0 })))
    expect(await restoredContent(s3)).toEqual(await contentOf(streams))
  }
})

test('an archiver that was stopped for hours removes no checkpoint of a copy that has taken over', async () => {
  const s3 = await store()
  const streams = await folder()
  await checkpoint(streams)
  await archiveOnce(streams, s3)
  await checkpoint(streams)
  let arrive = (): void => {}
  let resume = (): void => {}
  const arrived = new Promise<void>((resolve) => {
    arrive = resolve
  })
  const resumed = new Promise<void>((resolve) => {
    resume = resolve
  })
  let isStored = false
  s3.fault = async ({ method, key, query }) => {
    if (method === 'PUT' && key.includes('/checkpoint/')) isStored = true
    // The archiver is about to remove what is not needed.
    if (isStored && method === 'GET' && query['prefix']?.endsWith('/checkpoint/')) {
      arrive()
      await resumed
    }
    return undefined
  }
  const log = await openUntilDone(join(streams.dir, 'log'), { readOnly: true })
  const former = archiveAll(log, s3, { historyMs: 0 }).catch((error: unknown) => error)
  await arrived
  s3.fault = () => undefined
  const target = join(scratchDir(), 'taken')
  await takeOver(target, s3.access)
  const before = s3.keys('/checkpoint/')
  const replicate = archiveTo({ ...s3.access, historyMs: 0 })
  const first = await openExclusive(target, { exclusive: true, replicate }, SMALL)
  await checkpoint(first)
  await first.close()
  const next = await openExclusive(target, { exclusive: true, replicate }, {})
  onTestFinished(() => next.close())
  const added = (): string[] => s3.keys('/checkpoint/').filter((key) => !before.includes(key))
  await vi.waitFor(() => expect(added()).toHaveLength(1), { timeout: 60_000 })
  const [stored] = added()
  const time = Date.now() + 3 * HOUR_MS
  const now = vi.spyOn(Date, 'now').mockImplementation(() => time)
  resume()
  await former
  now.mockRestore()
  expect(s3.keys('/checkpoint/')).toContain(stored)
  expect(await restoredContent(s3)).toEqual(await contentOf(next))
})

test('a replica joins no pieces into a file longer than its segment, if a copy continued that segment from its middle', async () => {
  const s3 = await store()
  const streams = await folder()
  await checkpoint(streams)
  await archiveOnce(streams, s3)
  const behind = join(scratchDir(), 'behind')
  const ending = new AbortController()
  onTestFinished(() => ending.abort())
  let next = -1
  const onCaughtUp = (nextSeq: number): void => {
    next = nextSeq
  }
  const following = restoreArchive(behind, { ...s3.access, follow: true, pollMs: 1, onCaughtUp, signal: ending.signal })
  const caughtUp = async ({ dir }: Streams<unknown>): Promise<void> => {
    const { nextSeq } = await openUntilDone(join(dir, 'log'), { readOnly: true })
    await Promise.race([vi.waitFor(() => expect(next).toBe(nextSeq), { timeout: 60_000 }), following])
  }
  await caughtUp(streams)
  await streams.stream('filler').append('f'.repeat(10_000))
  await streams.checkpoint()
  await archiveOnce(streams, s3, HOUR_MS)
  await streams.stream('filler').append('the first record of the copy')
  await archiveOnce(streams, s3)
  // The copy's file of this segment begins at the checkpoint, so it has more room than the replica's.
  const target = join(scratchDir(), 'taken')
  await takeOver(target, s3.access)
  const replicate = archiveTo({ ...s3.access, flushMs: 60_000 })
  const taken = await openExclusive(target, { exclusive: true, replicate, durability: 'replicated' }, SMALL)
  onTestFinished(() => taken.close())
  const fill = async (count: number): Promise<void> => {
    for (let n = 0; n < count; n++) await taken.stream('filler').append('f'.repeat(10_000))
  }
  // The replica's file is full after five of them, and the copy's after six.
  await fill(6)
  await caughtUp(taken)
  const content = await contentOf(taken)
  // The last piece in the archive is the copy's whole segment, which the replica has in two files.
  s3.fault = ({ method, key, body }) => {
    // Not the fence, which has the same name.
    const isPart = method === 'PUT' && /tail-\d+\/0*20$/.test(key) && body.length > 4096
    return isPart ? { drop: true } : undefined
  }
  const last = codeOf(fill(1))
  await vi.waitFor(() => expect(s3.keys('/log-')).toHaveLength(1), { timeout: 60_000 })
  ending.abort()
  await following
  await takeOver(behind, s3.access)
  s3.fault = () => undefined
  expect(await last).toBe('ERR_DURLOG_FENCED')
  const copy = await openExclusive(behind, { exclusive: true, replicate, durability: 'replicated' }, SMALL)
  onTestFinished(() => copy.close())
  expect(await contentOf(copy)).toEqual(content)
  await copy.stream('filler').append('the next one')
})

test('a restore up to a record uses the newest checkpoint before it, and is refused if there is none', async () => {
  const s3 = await store()
  const streams = await folder()
  await checkpoint(streams)
  await streams.stream('later').append(1)
  await archiveOnce(streams, s3)
  const end = (await openUntilDone(join(streams.dir, 'log'), { readOnly: true })).nextSeq
  const earlier = await contentOf(streams)
  await checkpoint(streams)
  await archiveOnce(streams, s3)
  expect(await restoredContent(s3, { to: end })).toEqual(earlier)
  expect(await restoredContent(s3)).toEqual(await contentOf(streams))
  s3.objects.delete(s3.keys('/checkpoint/')[0] as string)
  const refused = restored(s3, { to: end })
  await expect(refused).rejects.toMatchObject({ code: 'ERR_DURLOG_DESTINATION_GAP', lostFirst: 0 })
})

test('a damaged or missing object of the newest checkpoint is found, and the previous checkpoint is restored', async () => {
  const s3 = await store()
  const streams = await folder()
  await checkpoint(streams)
  await archiveOnce(streams, s3)
  const packsBefore = s3.keys('/pack/')
  await checkpoint(streams)
  await archiveOnce(streams, s3)
  const content = await contentOf(streams)
  const objects = new Map(s3.objects)
  const [key] = s3.keys('/pack/').filter((one) => !packsBefore.includes(one))
  const newest = s3.keys('/checkpoint/').at(-1)
  for (const damaged of [key, newest].filter((one) => one !== undefined)) {
    const object = objects.get(damaged)
    if (object === undefined) throw new Error('missing')
    const body = Buffer.from(object.body)
    body[10] = (body[10] as number) ^ 1
    s3.objects = new Map(objects).set(damaged, { ...object, body })
    expect(await restoredContent(s3)).toEqual(content)
    s3.objects = new Map(objects)
    s3.objects.delete(damaged)
    expect(await restoredContent(s3)).toEqual(content)
  }
})

test('a checkpoint that names impossible places is refused, and nothing is written outside the folder', async () => {
  const s3 = await store()
  const streams = await folder()
  await streams.stream('a').append('x'.repeat(2000))
  await checkpoint(streams)
  await archiveOnce(streams, s3)
  const objects = new Map(s3.objects)
  const [key] = s3.keys('/checkpoint/')
  const { createHash } = await import('node:crypto')
  const object = objects.get(key as string)
  if (object === undefined) throw new Error('missing')
  const manifest = JSON.parse(object.body.toString())
  const changes: ((manifest: {
    packs: unknown[][]
    buckets: [string, number[]][]
    [name: string]: unknown
  }) => void)[] = [
    (one) => Object.assign(one, { packs: [['../../x', 10, 10, 0]] }),
    (one) => Object.assign(one, { packs: 5 }),
    (one) => Object.assign(one, { buckets: [[one.buckets[0]?.[0], [0, 0, 10, 0]]] }),
    (one) => Object.assign(one, { buckets: [[one.buckets[0]?.[0], [7, 0, 10, 0]]] }),
    (one) => Object.assign(one, { head: { ...(one['head'] as object), position: -1 } }),
    (one) => Object.assign(one, { from: 2 ** 40 }),
    (one) => Object.assign(one, { version: 'one' }),
  ]
  for (const change of changes) {
    const changed = structuredClone(manifest)
    change(changed)
    const body = Buffer.from(JSON.stringify(changed))
    const sha256 = createHash('sha256').update(body).digest('hex')
    s3.objects = new Map(objects).set(key as string, {
      ...object,
      body,
      metadata: { ...object.metadata, 'x-amz-meta-durlog-sha256': sha256 },
    })
    expect(await codeOf(restored(s3, { retryForMs: 1 }))).toMatch(
      /^ERR_DURLOG_(DESTINATION_GAP|CORRUPT|DESTINATION_UNREACHABLE)$/,
    )
  }
})

test('an error of a disk ends an archiver of streams, which does not repeat it as one of the store', async () => {
  const s3 = await store()
  const streams = await folder()
  await checkpoint(streams)
  const denied = Object.assign(new Error('EIO: i/o error, open'), { code: 'EIO', errno: -5, syscall: 'open' })
  const spy = vi.spyOn(ReadFile, 'open').mockRejectedValue(denied)
  onTestFinished(() => spy.mockRestore())
  const log = await openUntilDone(join(streams.dir, 'log'), { readOnly: true })
  const archiver = archive(log, { ...s3.access, flushMs: 60_000 })
  onTestFinished(() => archiver.close())
  const onRetry = vi.fn()
  archiver.on('retry', onRetry)
  const [failure] = await once(archiver, 'error')
  expect(failure).toMatchObject({ code: 'ERR_DURLOG_IO', errnoName: 'EIO' })
  expect(onRetry).not.toHaveBeenCalled()
})

test('a trimmed folder is replicated, an append settles when the bucket can restore it, and a copy takes over', async () => {
  const s3 = await store()
  const dir = join(scratchDir(), 'streams')
  const plain = await folder(dir)
  await checkpoint(plain)
  await plain.close()
  const replicate = archiveTo({ ...s3.access, flushMs: 60_000 })
  const streams = await openStreams<unknown>(dir, { exclusive: true, replicate, durability: 'replicated' })
  onTestFinished(() => streams.close())
  await streams.stream('s').append('acknowledged')
  const content = await contentOf(streams)
  const target = join(scratchDir(), 'taken')
  await takeOver(target, s3.access)
  expect(await codeOf(streams.stream('s').append('late'))).toBe('ERR_DURLOG_FENCED')
  const next = await openStreams<unknown>(target, { exclusive: true, replicate, durability: 'replicated' })
  onTestFinished(() => next.close())
  expect(await contentOf(next)).toEqual(content)
  await next.stream('s').append('later')
  expect(await restoredContent(s3)).toEqual(await contentOf(next))
})

test('an archive of streams without checkpoints, from record 0 on, is continued, and nothing is lost at once or later', async () => {
  const s3 = await store()
  const streams = await folder()
  for (let n = 0; n < 20; n++) await streams.stream('old').append(n)
  const log = await openUntilDone(join(streams.dir, 'log'), { readOnly: true })
  const end = log.nextSeq
  const old = await contentOf(streams)
  await archiveOnce(streams, s3)
  // As an earlier version has left it.
  for (const key of [...s3.keys('/checkpoint/'), ...s3.keys('/pack/')]) s3.objects.delete(key)
  expect(await restoredContent(s3)).toEqual(old)
  const day = 24 * HOUR_MS
  for (const days of [0, 8]) {
    await checkpoint(streams)
    await archiveOnce(streams, s3, days * day, 7 * day)
    expect(await restoredContent(s3)).toEqual(await contentOf(streams))
    // Each state of the last seven days.
    if (days === 0) expect(await restoredContent(s3, { to: end })).toEqual(old)
  }
  // What only states before that needed is removed.
  expect(s3.keys('/tail/').map((key) => Number(key.slice(-20)))).not.toContain(0)
})

test('the streams of a checkpoint are sorted in several turns of the event loop', async () => {
  const { dir, streams } = await scratchStreams({ exclusive: true, durability: 'memory' })
  await Promise.all(Array.from({ length: 1000 }, (_, at) => streams.stream(`s${at}`).append(at)))
  await streams.checkpoint()
  const { sort } = Array.prototype
  let [sorted, most] = [0, 0]
  const spy = vi.spyOn(Array.prototype, 'sort').mockImplementation(function (this: unknown[], compare) {
    if (Object.hasOwn(Object(this[0]), 'stream')) {
      if (sorted++ === 0)
        setImmediate(() => {
          sorted = 0
        })
      most = Math.max(most, sorted)
    }
    return sort.call(this, compare)
  })
  onTestFinished(() => spy.mockRestore())
  const bucket = { put: async () => {} } as unknown as Bucket
  const options = { dir, generation: 0, historyMs: 0, onStored: () => {} }
  const { streams: archived } = await uploadCheckpoint(bucket, 'root', undefined, options)
  expect(archived.size).toBe(1000)
  // There are four. Between two immediates, one may run in a callback of the pool after another one in an immediate.
  expect(most).toBeLessThanOrEqual(2)
})
