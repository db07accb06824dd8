/** The thread of an archiver, which only the built package has: the sources run here without it. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { plainRecords, plainRecordsIn, restored, store } from '../fixtures/archive.js'
import type { FakeS3 } from '../fixtures/fake-s3.mjs'
import { openUntilDone, scratchDir } from '../fixtures/scratch.js'

const CHILD = fileURLToPath(new URL('../fixtures/archive-child.mjs', import.meta.url))
const RECORDS = 300
/** No object but those of records is as large. */
const SMALL_BYTES = 4096

/** Archives a log of `RECORDS` kilobytes in another process, which must end by itself. */
async function archiveInChild(to: FakeS3): Promise<{ dir: string; sent: number; hashed: number; code: string }> {
  const dir = join(scratchDir(), 'log')
  const { stdout } = await promisify(execFile)(process.execPath, [CHILD, dir, JSON.stringify(to.access), `${RECORDS}`])
  return { dir, ...JSON.parse(stdout) }
}

test("the caller's thread hashes and sends no records", async () => {
  const s3 = await store()
  const { dir, sent, hashed, code } = await archiveInChild(s3)
  expect({ code, isSmall: Math.max(sent, hashed) < SMALL_BYTES }).toEqual({ code: '', isSmall: true })
  const log = await openUntilDone(dir, { readOnly: true })
  expect(await plainRecords(log)).toHaveLength(RECORDS)
  expect(await plainRecordsIn(await restored(s3))).toEqual(await plainRecords(log))
})

test('requests of the thread are repeated after lost connections and errors of the store', async () => {
  const s3 = await store()
  let failures = 0
  s3.fault = ({ method, key }) => {
    if (method !== 'PUT' || !/\/tail\/\d/.test(key) || failures === 4) return undefined
    return [{ drop: true }, { status: 503, code: 'SlowDown' }, { status: 409 }, { dropAfter: true }][failures++]
  }
  const { dir, code } = await archiveInChild(s3)
  expect({ code, failures }).toEqual({ code: '', failures: 4 })
  expect(s3.overwritten.filter((key) => /\/\d{20}$/.test(key))).toEqual([])
  const log = await openUntilDone(dir, { readOnly: true })
  expect(await plainRecordsIn(await restored(s3))).toEqual(await plainRecords(log))
})

test('a refusal that the thread receives stops the archiver with its code', async () => {
  const s3 = await store()
  s3.fault = ({ method, key }) =>
    method === 'PUT' && /\/tail\/\d/.test(key) ? { status: 403, code: 'AccessDenied' } : undefined
  expect(await archiveInChild(s3)).toMatchObject({ code: 'ERR_DURLOG_DESTINATION_REFUSED' })
})
