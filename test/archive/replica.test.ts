import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { restoreArchive } from '../../src/archive/index.js'
import type { Log } from '../../src/index.js'
import { archiveAll, archiver, type Plain, plainRecords, plainRecordsIn, store } from '../fixtures/archive.js'
import type { FakeS3 } from '../fixtures/fake-s3.mjs'
import { codeOf, scratchDir, scratchLog } from '../fixtures/scratch.js'

const SMALL = { segmentBytes: 65_536 } as const

async function append(log: Log, count: number): Promise<void> {
  for (let at = 0; at < count; at++)
    await log.append(`record ${log.nextSeq} ${'x'.repeat(300)}`, { durability: 'memory' })
}

interface Replica {
  following: Promise<unknown>
  /** Resolves when the replica has the records of `log`; rejects if it has ended. */
  caughtUp: (log: Log) => Promise<unknown>
  /** Ends the replica and returns its records. */
  end: () => Promise<Plain[]>
}

function replica(s3: FakeS3): Replica {
  const dir = join(scratchDir(), 'replica')
  const ending = new AbortController()
  const credentials = { ...s3.access.credentials, accessKeyId: 'replica' }
  let nextSeq = -1
  const onCaughtUp = (next: number): void => {
    nextSeq = next
  }
  const options = { ...s3.access, credentials, follow: true, pollMs: 1, onCaughtUp, signal: ending.signal }
  const following = restoreArchive(dir, options)
  following.catch(() => {})
  onTestFinished(() => ending.abort())
  const ended = following.then(() => Promise.reject(new Error('the replica has ended')))
  return {
    following,
    caughtUp: (log) => Promise.race([expect.poll(() => nextSeq).toBe(log.nextSeq), ended]),
    end: async () => {
      ending.abort()
      await following
      return plainRecordsIn(dir)
    },
  }
}

/** An archived log with `records` records, and a replica that has them. */
async function replicaOf(records: number): Promise<Replica & { s3: FakeS3; log: Log }> {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  await append(log, records)
  await archiveAll(log, s3)
  const made = replica(s3)
  await made.caughtUp(log)
  return { ...made, s3, log }
}

/** Resolves to the largest number of requests in `count` polls that begin from now on. */
function requestsOfPolls(s3: FakeS3, count: number): Promise<number> {
  const polls: number[] = []
  return new Promise((resolve) => {
    s3.fault = ({ query }) => {
      if (query['prefix']?.endsWith('/history/') === true) polls.push(0)
      if (polls.length > count) resolve(Math.max(...polls.slice(0, count)))
      if (polls.length > 0) polls[polls.length - 1] = (polls.at(-1) as number) + 1
      return undefined
    }
  })
}

test('a poll of a replica has few requests, however many objects and histories the archive has', async () => {
  const s3 = await store()
  s3.pageSize = 20
  const log = await scratchLog(SMALL)
  for (let history = 0; history < 8; history++) {
    await append(log, 600)
    await archiveAll(log, s3)
    await log.truncateAfter(log.nextSeq - 2)
  }
  for (let part = 0; part < 30; part++) {
    await append(log, 1)
    await archiveAll(log, s3)
  }
  const { caughtUp, end } = replica(s3)
  await caughtUp(log)
  expect(await requestsOfPolls(s3, 3)).toBeLessThan(8)
  await append(log, 600)
  await archiveAll(log, s3)
  await caughtUp(log)
  expect(await requestsOfPolls(s3, 3)).toBeLessThan(8)
  await log.truncateAfter(log.nextSeq - 1)
  await append(log, 300)
  await archiveAll(log, s3)
  await caughtUp(log)
  expect(await end()).toEqual(await plainRecords(log))
})

test('a replica continues if another log is archived to its prefix', async () => {
  const { s3, log, caughtUp, end } = await replicaOf(10)
  const other = await scratchLog(SMALL)
  await append(other, 1)
  await archiveAll(other, s3)
  await append(log, 1)
  await archiveAll(log, s3)
  await caughtUp(log)
  expect(await end()).toEqual(await plainRecords(log))
})

test('a replica stops if everything in the archive was deleted', async () => {
  const { s3, following } = await replicaOf(700)
  s3.objects.clear()
  expect(await codeOf(following)).toBe('ERR_DURLOG_NOT_FOUND')
})

test('a replica reports records that are missing in the archive', async () => {
  const { s3, log, following } = await replicaOf(700)
  // The archiver continues, and the replica lists no objects until one is missing.
  s3.fault = ({ headers }) => (headers['authorization']?.includes('replica') === true ? { status: 503 } : undefined)
  await append(log, 1)
  await archiveAll(log, s3)
  const [missing] = s3.keys('/tail/').slice(-1) as [string]
  await append(log, 1)
  await archiveAll(log, s3)
  s3.objects.delete(missing)
  s3.fault = () => undefined
  expect(await codeOf(following)).toBe('ERR_DURLOG_DESTINATION_GAP')
})

test('a replica that is behind requests several parts at the same time, and stores them in order', async () => {
  const { s3, log, caughtUp, end } = await replicaOf(10)
  let list = (): void => {}
  const listed = new Promise<void>((resolve) => {
    list = resolve
  })
  let ask = (): void => {}
  const asked = new Promise<void>((resolve) => {
    ask = resolve
  })
  let requests = 0
  s3.fault = async ({ method, key, headers }) => {
    if (method !== 'GET' || headers['authorization']?.includes('replica') !== true) return undefined
    if (key === '') await listed
    if (!key.includes('/tail/')) return undefined
    if (++requests === 4) ask()
    await asked
    return undefined
  }
  const archiving = archiver(log, s3)
  for (let part = 0; part < 6; part++) {
    await append(log, 1)
    await archiving.idle()
  }
  list()
  await caughtUp(log)
  expect(await end()).toEqual(await plainRecords(log))
})
