import { randomUUID } from 'node:crypto'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { Bucket } from '../../src/archive/bucket.js'
import { resolveBucket } from '../../src/archive/bucket-options.js'
import { fenceKey, fenceOrFind } from '../../src/archive/fence.js'
import { archiveTo, restoreArchive, takeOver } from '../../src/archive/index.js'
import { archiveRoot, HistoryNames } from '../../src/archive/layout.js'
import { type DurlogError, type Log, open } from '../../src/index.js'
import { segmentFile } from '../../src/support/segment-name.js'
import { archiver, plainRecordsIn, restored, store } from '../fixtures/archive.js'
import type { FakeS3 } from '../fixtures/fake-s3.mjs'
import { openUntilDone, scratchDir, texts } from '../fixtures/scratch.js'

const REPLICATED = { durability: 'replicated' } as const

const failure = (promise: Promise<unknown>): Promise<DurlogError> =>
  promise.then(
    () => {
      throw new Error('did not reject')
    },
    (error: DurlogError) => error,
  )

function openAt(dir: string, s3: FakeS3): Promise<Log> {
  return openUntilDone(dir, { replicate: archiveTo({ ...s3.access, flushMs: 60_000 }) })
}

/** A point that the first request to arrive, and each later one, passes only once it is open. */
function gate(): { arrived: Promise<void>; pass: () => Promise<void>; open: () => void } {
  let arrive = (): void => {}
  let open = (): void => {}
  const arrived = new Promise<void>((resolve) => {
    arrive = resolve
  })
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  const pass = (): Promise<void> => {
    arrive()
    return opened
  }
  return { arrived, pass, open: () => open() }
}

/** The records of the archive's newest history. */
async function archived(s3: FakeS3): Promise<string[]> {
  return (await plainRecordsIn(await restored(s3))).map(([, , text]) => text)
}

test('a copy that takes over continues the log, and the former writer is fenced at every level', async () => {
  const s3 = await store()
  const former = await openAt(join(scratchDir(), 'a'), s3)
  for (const text of ['0', '1', '2']) await former.append(text, REPLICATED)
  await former.append('never replicated')
  const dir = join(scratchDir(), 'b')
  const report = await takeOver(dir, s3.access)
  expect(report).toMatchObject({ nextSeq: 3, generation: 1 })
  const refused = failure(former.append('late', REPLICATED))
  expect(await refused).toMatchObject({ code: 'ERR_DURLOG_FENCED', outcome: 'unknown' })
  expect(await failure(former.append('later'))).toMatchObject({ code: 'ERR_DURLOG_FENCED', outcome: 'not-written' })
  expect(await archived(s3)).toEqual(['0', '1', '2'])
  expect(await takeOver(dir, s3.access)).toEqual({ ...report, bytes: 0 })
  const writer = await openAt(dir, s3)
  expect(await writer.append('3', REPLICATED)).toBe(3)
  expect(await takeOver(dir, s3.access)).toEqual({ ...report, bytes: 0, nextSeq: 4 })
  for (const other of [former.dir, (await openUntilDone(join(scratchDir(), 'other'))).dir])
    expect(await failure(takeOver(other, s3.access))).toMatchObject({
      code: 'ERR_DURLOG_NOT_EMPTY',
      message: expect.stringContaining('not the writer of the destination'),
    })
  expect(await archived(s3)).toEqual(['0', '1', '2', '3'])
  expect(former.replicatedSeq).toBe(2)
})

test('an acknowledgement is one PUT', async () => {
  const s3 = await store()
  const log = await openAt(join(scratchDir(), 'a'), s3)
  await log.append('0', REPLICATED)
  // The work after the first acknowledgement, such as the positions of cursors.
  await log.append('1', REPLICATED)
  const before = s3.requests.length
  for (const text of ['2', '3', '4']) await log.append(text, REPLICATED)
  expect(s3.requests.slice(before).map(({ method }) => method)).toEqual(['PUT', 'PUT', 'PUT'])
})

test('appends at replicated settle while the sealed segment, whose parts are stored, is stored whole', async () => {
  const s3 = await store()
  const log = await openAt(join(scratchDir(), 'a'), s3)
  await log.append('0', REPLICATED)
  const whole = gate()
  s3.fault = async ({ method, key }) =>
    method === 'PUT' && key.includes('/log/') ? whole.pass().then(() => undefined) : undefined
  // The rest of the sealed segment is stored as a part.
  const rest = log.append('1', REPLICATED)
  await log.rotate()
  await rest
  await log.append('2', REPLICATED)
  await whole.arrived
  await log.append('3', REPLICATED)
  expect(s3.keys('/log/')).toEqual([])
  expect(await archived(s3)).toEqual(['0', '1', '2', '3'])
  whole.open()
  await vi.waitFor(() => expect(s3.keys('/tail/')).toHaveLength(2), { timeout: 60_000 })
  expect(s3.keys('/log/')).toHaveLength(1)
  expect(await archived(s3)).toEqual(['0', '1', '2', '3'])
})

test('the upload of a whole segment that the store refuses does not change what a restore delivers', async () => {
  const s3 = await store()
  const dir = join(scratchDir(), 'a')
  const log = await openAt(dir, s3)
  await log.append('0', REPLICATED)
  const refused = gate()
  s3.fault = async ({ method, key }) => {
    if (method !== 'PUT' || !key.includes('/log/')) return undefined
    void refused.pass()
    return { status: 503 }
  }
  await log.rotate()
  await log.append('1', REPLICATED)
  await refused.arrived
  // The first upload ends this session, which begins again.
  await log.append('2', REPLICATED)
  await log.close()
  s3.fault = () => undefined
  expect(await archived(s3)).toEqual(['0', '1', '2'])
  const again = await openAt(dir, s3)
  await again.append('3', REPLICATED)
  await vi.waitFor(() => expect(s3.keys('/log/')).toHaveLength(1), { timeout: 60_000 })
  expect(await archived(s3)).toEqual(['0', '1', '2', '3'])
})

test('an upload that arrives after the claim has no effect on what a restore delivers', async () => {
  const s3 = await store()
  const former = await openAt(join(scratchDir(), 'a'), s3)
  await former.append('0', REPLICATED)
  const upload = gate()
  let holds = true
  s3.fault = async ({ method, key }) => {
    if (!holds || method !== 'PUT' || !key.includes('/tail/')) return undefined
    holds = false
    await upload.pass()
    return undefined
  }
  const late = failure(former.append('late', REPLICATED))
  await upload.arrived
  const dir = join(scratchDir(), 'b')
  await takeOver(dir, s3.access)
  const writer = await openAt(dir, s3)
  await writer.append('1', REPLICATED)
  upload.open()
  expect(await late).toMatchObject({ code: 'ERR_DURLOG_FENCED' })
  expect(await archived(s3)).toEqual(['0', '1'])
})

test.each(['sent', 'lost'] as const)(
  'a whole segment that is stored after the claim acknowledges nothing (its answer is %s)',
  async (answer) => {
    const s3 = await store()
    const replicate = archiveTo({ ...s3.access, flushMs: 20 })
    const former = await openUntilDone(join(scratchDir(), 'a'), { replicate })
    await former.append('0', REPLICATED)
    // No part of the next segment is stored, so that it is stored whole at once.
    await former.rotate()
    await vi.waitFor(() => expect(s3.keys('/tail/')).toEqual([]), { timeout: 60_000 })
    const gates = { log: gate(), history: gate() }
    let late: { key: string; body: Buffer; metadata: Record<string, string> } | undefined
    let refused: Promise<DurlogError> | undefined
    s3.fault = async ({ method, key, headers, body }) => {
      if (method !== 'PUT') return undefined
      if (late === undefined && key.includes('/tail/')) {
        const metadata = Object.entries(headers).filter(([name]) => name.startsWith('x-amz-meta-'))
        late = { key, body, metadata: Object.fromEntries(metadata) as Record<string, string> }
        // The writer gives up this upload, and its segment is sealed before the next attempt.
        refused = failure(former.append('2', REPLICATED))
        await former.reached(2, 'sync')
        await former.rotate()
        return { status: 503 }
      }
      if (key.includes('/log/')) {
        await gates.log.pass()
        return answer === 'lost' ? { answerAfter: () => Promise.resolve(answer) } : undefined
      }
      if (key.includes('/history/')) await gates.history.pass()
      return undefined
    }
    const first = former.append('1', REPLICATED).catch(() => {})
    await gates.log.arrived
    const { key, ...object } = late as NonNullable<typeof late>
    s3.objects.set(key, { etag: '"late"', ...object })
    const dir = join(scratchDir(), 'b')
    const taking = takeOver(dir, s3.access)
    await gates.history.arrived
    gates.log.open()
    await first
    expect(await refused).toMatchObject({ code: 'ERR_DURLOG_FENCED', outcome: 'unknown' })
    gates.history.open()
    expect(await taking).toMatchObject({ nextSeq: 2 })
    const writer = await openAt(dir, s3)
    await writer.append('2 of b', REPLICATED)
    expect(await archived(s3)).toEqual(['0', '1', '2 of b'])
  },
)

test('a claim of another copy, which has died, is completed only at the end of the history', async () => {
  const s3 = await store()
  const replicate = archiveTo({ ...s3.access, flushMs: 20 })
  const former = await openUntilDone(join(scratchDir(), 'a'), { replicate })
  await former.append('0', REPLICATED)
  await former.rotate()
  await vi.waitFor(() => expect(s3.keys('/tail/')).toEqual([]), { timeout: 60_000 })
  const accessOf = (name: string) => ({ ...s3.access, credentials: { accessKeyId: name, secretAccessKey: 'secret' } })
  const gates = { dead: gate(), forced: gate() }
  const dying = new AbortController()
  let isWhole = false
  s3.fault = async ({ method, key, headers }) => {
    const name = /Credential=(\w+)/.exec(headers['authorization'] ?? '')?.[1]
    const isEnd = /\/tail\/0*1$/.test(key)
    // The standbys have listed the archive up to record 0.
    if (name === 'dead' && method === 'PUT' && isEnd) await gates.dead.pass()
    else if (name === 'dead' && isWhole) dying.abort()
    if (name === 'forced' && method === 'HEAD' && isEnd) await gates.forced.pass()
    if (name === 'key' && method === 'PUT' && isEnd) {
      // The writer gives up this upload, and its segment is sealed before the next attempt.
      await former.rotate()
      return { status: 503 }
    }
    return undefined
  }
  const dead = failure(takeOver(join(scratchDir(), 'dead'), { ...accessOf('dead'), signal: dying.signal }))
  const forced = takeOver(join(scratchDir(), 'forced'), { ...accessOf('forced'), force: true })
  await Promise.all([gates.dead.arrived, gates.forced.arrived])
  await former.append('1', REPLICATED)
  isWhole = true
  gates.dead.open()
  await dead
  gates.forced.open()
  expect(await forced).toMatchObject({ nextSeq: 2 })
  s3.fault = () => undefined
  expect(await archived(s3)).toEqual(['0', '1'])
})

test('a truncated log does not continue a history that another copy has fenced', async () => {
  const s3 = await store()
  const dir = join(scratchDir(), 'a')
  const log = await openUntilDone(dir, { replicate: archiveTo({ ...s3.access, flushMs: 20 }) })
  await log.append('0', REPLICATED)
  await log.append('1', REPLICATED)
  await log.rotate()
  await vi.waitFor(() => expect(s3.keys('/tail/')).toEqual([]), { timeout: 60_000 })
  await log.append('2')
  await log.close()
  // The other copy has not seen the segment, which was stored after its claim, and adds its history at any later time.
  const bucket = new Bucket(resolveBucket(s3.access))
  const names = new HistoryNames(archiveRoot(bucket.prefix, log.uuid), 0)
  await fenceOrFind(bucket, fenceKey(names, 1), { generation: 1, owner: randomUUID() })
  const cut = await open(dir)
  await cut.truncateAfter(1)
  await cut.close()
  const again = await openAt(dir, s3)
  expect(await failure(again.reached(1, 'replicated'))).toMatchObject({ code: 'ERR_DURLOG_FENCED' })
  expect(again.replicatedSeq).toBe(-1)
})

test('a second archiver of the log removes no part of a history that is fenced', async () => {
  const s3 = await store()
  const dir = join(scratchDir(), 'a')
  const former = await openAt(dir, s3)
  await former.append('0', REPLICATED)
  const reader = await openUntilDone(dir, { readOnly: true })
  const second = archiver(reader, s3, { cursor: 'second' }).on('error', () => {})
  await second.idle()
  // The second archiver does not know this part. No other one uploads the whole segment.
  await former.append('1', REPLICATED)
  await former.close()
  const again = await openUntilDone(dir)
  await again.rotate()
  const history = gate()
  s3.fault = async ({ key }) => (key.includes('/history/') ? history.pass().then(() => undefined) : undefined)
  const taking = takeOver(join(scratchDir(), 'b'), s3.access)
  await history.arrived
  expect(await failure(second.idle())).toMatchObject({ code: 'ERR_DURLOG_DESTINATION_OTHER' })
  expect(s3.keys('/log/')).toHaveLength(1)
  // Otherwise an upload with one of these names that was delayed could still be acknowledged.
  expect(s3.keys('/tail/').map((key) => Number(key.slice(-20)))).toEqual([0, 1, 2])
  history.open()
  expect(await taking).toMatchObject({ nextSeq: 2 })
})

test('a claim succeeds after a bounded number of uploads, although uploads of the former writer are always faster', async () => {
  const s3 = await store()
  const former = await openAt(join(scratchDir(), 'a'), s3)
  await former.append('0', REPLICATED)
  let uploads = 0
  let isFenced = false
  s3.fault = async ({ method, key, headers }) => {
    const isClaim = method === 'PUT' && key.includes('/tail/') && headers['x-amz-meta-durlog-fence'] !== undefined
    // A claim arrives after the next uploads, unless the writer has stopped, or has nothing more to append.
    for (let i = 0; isClaim && !isFenced && i < 24 && uploads < 150; i++)
      isFenced = await former.append(`${uploads++}`, REPLICATED).then(
        () => false,
        ({ code }) => code === 'ERR_DURLOG_FENCED',
      )
    return undefined
  }
  const { nextSeq } = await takeOver(join(scratchDir(), 'b'), s3.access)
  expect(isFenced).toBe(true)
  expect(nextSeq).toBe(former.replicatedSeq + 1)
  expect(uploads).toBeLessThanOrEqual(64)
})

test('of two standbys that take over at the same time one wins, and the other remains a replica', async () => {
  const s3 = await store()
  const former = await openAt(join(scratchDir(), 'a'), s3)
  await former.append('0', REPLICATED)
  const dirs = [join(scratchDir(), 'b'), join(scratchDir(), 'c')] as const
  const results = await Promise.allSettled(dirs.map((dir) => takeOver(dir, s3.access)))
  expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  const [winner, loser] = results[0]?.status === 'fulfilled' ? dirs : [dirs[1], dirs[0]]
  const writer = await openAt(winner, s3)
  await writer.append('1', REPLICATED)
  await restoreArchive(loser, s3.access)
  expect((await plainRecordsIn(loser)).map(([, , text]) => text)).toEqual(['0', '1'])
})

test('a takeover leaves no file of one that was killed, also if that one had finished', async () => {
  const s3 = await store()
  const log = await openAt(join(scratchDir(), 'a'), s3)
  await log.append('0', REPLICATED)
  const dir = join(scratchDir(), 'b')
  const ending = new AbortController()
  await restoreArchive(dir, { ...s3.access, follow: true, onCaughtUp: () => ending.abort(), signal: ending.signal })
  const leave = (): void => {
    mkdirSync(join(dir, 'restoring.lock'))
    writeFileSync(join(dir, 'restoring.lock', 'lock'), '')
  }
  leave()
  writeFileSync(join(dir, 'copy.960e9ad1-c98e-41ab-96c1-ee09fdf6f4e9'), '')
  await takeOver(dir, s3.access)
  const files = ['copy', 'cuts', 'live', 'lock', segmentFile(0)].sort()
  expect(readdirSync(dir).sort()).toEqual(files)
  leave()
  expect(await takeOver(dir, s3.access)).toMatchObject({ generation: 1, bytes: 0 })
  expect(readdirSync(dir).sort()).toEqual(files)
})

test('a takeover whose claims are refused again and again pauses between them', async () => {
  const s3 = await store()
  const former = await openAt(join(scratchDir(), 'a'), s3)
  await former.append('0', REPLICATED)
  let isRefused = true
  s3.fault = ({ method, key }) =>
    isRefused && method === 'PUT' && key.includes('/tail') ? { status: 412, code: 'PreconditionFailed' } : undefined
  const onRetry = (): void => {
    isRefused = false
  }
  const report = await takeOver(join(scratchDir(), 'b'), { ...s3.access, onRetry })
  expect([report.nextSeq, isRefused]).toEqual([1, false])
})

test('an interrupted takeover continues, and a claim of another copy is replaced only with force', async () => {
  const s3 = await store()
  const former = await openAt(join(scratchDir(), 'a'), s3)
  await former.append('0', REPLICATED)
  const dir = join(scratchDir(), 'b')
  // The claimer dies after each of its writes in turn: of the fence, then of the history.
  for (const key of ['/history/', '/cursors']) {
    s3.fault = (request) => (request.key.includes(key) ? { status: 403 } : undefined)
    await takeOver(dir, s3.access).catch(() => {})
  }
  s3.fault = () => undefined
  const other = join(scratchDir(), 'c')
  const claimed = { code: 'ERR_DURLOG_FENCED', message: expect.stringContaining('durlog promote --force') }
  expect(await failure(takeOver(other, s3.access))).toMatchObject(claimed)
  expect(await failure(former.append('late', REPLICATED))).toMatchObject({ code: 'ERR_DURLOG_FENCED' })
  const forced = await takeOver(other, { ...s3.access, force: true })
  expect(await failure(takeOver(dir, s3.access))).toMatchObject({ code: 'ERR_DURLOG_FENCED' })
  expect(forced.generation).toBe(2)
  const writer = await openAt(other, s3)
  await writer.append('1', REPLICATED)
  expect(await archived(s3)).toEqual(['0', '1'])
})

test('a restored copy that has not taken over does not replace replicated records', async () => {
  const s3 = await store()
  const former = await openAt(join(scratchDir(), 'a'), s3)
  await former.append('0', REPLICATED)
  const copy = await restored(s3)
  await former.append('1', REPLICATED)
  const log = await openAt(copy, s3)
  expect(await failure(log.append('other', REPLICATED))).toMatchObject({ code: 'ERR_DURLOG_DESTINATION_AHEAD' })
  expect(await former.append('2', REPLICATED)).toBe(2)
  expect(await archived(s3)).toEqual(['0', '1', '2'])
})

test('a truncated log continues to replicate, and its truncated records are not restored', async () => {
  const s3 = await store()
  const dir = join(scratchDir(), 'a')
  const log = await openAt(dir, s3)
  for (const text of ['0', '1', '2']) await log.append(text, REPLICATED)
  await log.truncateAfter(0)
  expect(await log.append('new', REPLICATED)).toBe(1)
  await log.close()
  const again = await open(dir, { replicate: archiveTo({ ...s3.access, flushMs: 60_000 }) })
  await again.append('newer', REPLICATED)
  expect(await texts(again.read({ replicatedOnly: true }))).toEqual(['0', 'new', 'newer'])
  await again.close()
  expect(await archived(s3)).toEqual(['0', 'new', 'newer'])
})
