import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { restoreArchive } from '../../src/archive/index.js'
import { verify } from '../../src/index.js'
import { segmentFile } from '../../src/support/segment-name.js'
import { archiveAll, plainRecords, plainRecordsIn, store } from '../fixtures/archive.js'
import { runWithSnapshots, shimProblem } from '../fixtures/fault-shim.js'
import { codeOf, openUntilDone, scratchDir, scratchLog } from '../fixtures/scratch.js'

const CHILD = fileURLToPath(new URL('../fixtures/archive-restore-child.mjs', import.meta.url))

test.skipIf(shimProblem('snapshot_shim') !== '')(
  'a restore that was killed after any change of a file is finished by the next one, which leaves no other file',
  async () => {
    const s3 = await store()
    const log = await scratchLog({ segmentBytes: 65_536 })
    const append = async (count: number): Promise<void> => {
      for (let at = 0; at < count; at++)
        await log.append(`record ${log.nextSeq} ${'x'.repeat(300)}`, { durability: 'memory' })
    }
    await append(300)
    await log.truncateAfter(290)
    await append(110)
    const cursor = await log.cursor('consumer')
    await cursor.commit(99)
    await cursor.close()
    await archiveAll(log, s3)
    const scratch = scratchDir()
    const dir = join(scratch, 'restored')
    const copies = join(scratch, 'copies')
    const options = { ...s3.access, to: 250 }
    const child = await runWithSnapshots([CHILD, dir, JSON.stringify(options)], dir, copies)
    expect(child).toMatchObject({ code: 0, stderr: '' })
    const expected = await plainRecords(log, 250)
    const files = readdirSync(dir).sort()
    const names = readdirSync(copies)
    expect(names.length).toBeGreaterThan(40)
    for (const name of names) {
      const copy = join(copies, name)
      // A reader of a replica takes no file that is being written for damage.
      const readable = await codeOf(plainRecordsIn(copy))
      expect([name, ['none', 'ERR_DURLOG_NOT_FOUND'].includes(readable)]).toEqual([name, true])
      const code = await codeOf(restoreArchive(copy, options))
      // The last changes are those of a finished restore that removes its lock.
      expect([name, ['none', 'ERR_DURLOG_NOT_EMPTY'].includes(code)]).toEqual([name, true])
      expect([name, readdirSync(copy).sort()]).toEqual([name, files])
      expect([name, await plainRecordsIn(copy)]).toEqual([name, expected])
      expect([name, await verify(copy)]).toMatchObject([name, { state: 'clean', uuid: log.uuid }])
      const opened = await openUntilDone(copy)
      expect([name, opened.generation > log.generation]).toEqual([name, true])
      expect(await opened.cursors()).toMatchObject([{ name: 'consumer', position: 100 }])
      await opened.close()
    }
  },
)

test.each([1, 2])(
  'a restore that was killed before it had checked the last of %i pieces of a file replaces a wrong piece',
  async (pieces) => {
    const [s3, wrong] = [await store(), await store()]
    const log = await scratchLog()
    await log.append('first')
    await log.rotate()
    if (pieces === 2) await log.append('second')
    await archiveAll(log, wrong, { cursor: 'wrong' })
    const { nextSeq } = log
    await log.append('wrong')
    await archiveAll(log, wrong, { cursor: 'wrong' })
    await log.truncateAfter(nextSeq - 1)
    await log.append('right')
    await archiveAll(log, s3)
    const dir = join(scratchDir(), 'restored')
    const ending = new AbortController()
    s3.fault = ({ headers }) => void (headers['range'] !== undefined && ending.abort())
    await restoreArchive(dir, { ...s3.access, signal: ending.signal }).catch(() => {})
    expect(readdirSync(dir)).toContain('restoring')
    s3.fault = () => undefined
    const [segment, ...parts] = wrong.keys('/0000').map((key) => wrong.objects.get(key)?.body as Buffer)
    const [begin, ...more] = parts as [Buffer, Buffer?]
    writeFileSync(join(dir, segmentFile(0)), segment as Buffer)
    writeFileSync(
      join(dir, segmentFile(1)),
      Buffer.concat([begin, ...more.map((part) => part?.subarray(4096) as Buffer)]),
    )
    expect((await plainRecordsIn(dir)).at(-1)?.[2]).toBe('wrong')
    await restoreArchive(dir, s3.access)
    expect(await plainRecordsIn(dir)).toEqual(await plainRecords(log))
  },
)
