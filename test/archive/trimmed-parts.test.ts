import { expect, test } from 'vitest'
import { archiveAll, plainRecords, plainRecordsIn, restored, store } from '../fixtures/archive.js'
import { scratchLog } from '../fixtures/scratch.js'

test('the parts of a segment that was trimmed before it was archived whole stay in the archive', async () => {
  const s3 = await store()
  const log = await scratchLog({ segmentBytes: 65_536 })
  await log.append('in a part')
  await archiveAll(log, s3)
  await log.rotate()
  const before = await plainRecords(log)
  await log.append('x')
  await log.trimBefore(1)
  expect(log.firstSeq).toBe(1)
  await archiveAll(log, s3)
  await log.rotate()
  await log.append('y')
  await archiveAll(log, s3)
  expect(await plainRecordsIn(await restored(s3, { retryForMs: 1 }))).toEqual([...before, ...(await plainRecords(log))])
})
