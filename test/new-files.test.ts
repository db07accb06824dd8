/** Files and folders that root makes in the folder of another user. */
import { appendFileSync, chownSync, lstatSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { expect, test } from 'vitest'
import { readArchive, restoreArchive } from '../src/archive/index.js'
import { open } from '../src/index.js'
import { readCopy } from '../src/ship/copy.js'
import { FailureFile } from '../src/ship/failure-file.js'
import { openStreams } from '../src/streams/index.js'
import { archiveAll, store } from './fixtures/archive.js'
import { records, scratchDir } from './fixtures/scratch.js'

const [USER, GROUP] = [12345, 12346]
const notRoot = process.geteuid?.() !== 0
const REASON = 'only root can give a file to another user'

function folderOfUser(): string {
  const dir = join(scratchDir(), 'app')
  mkdirSync(dir)
  chownSync(dir, USER, GROUP)
  return dir
}

/** The files and folders in `dir` that belong to another user. */
function ofOthers(dir: string): string[] {
  const paths = readdirSync(dir, { recursive: true }) as string[]
  expect(paths.length).toBeGreaterThan(3)
  return paths.filter((path) => {
    const { uid, gid } = lstatSync(join(dir, path))
    return uid !== USER || gid !== GROUP
  })
}

test.for([true, false])(
  'what root makes in the streams of a user belongs to the user (exclusive: %s)',
  async (exclusive, { skip }) => {
    skip(notRoot, REASON)
    const dir = folderOfUser()
    const streams = await openStreams<unknown>(join(dir, 'streams'), { exclusive })
    const stream = streams.stream('s')
    await stream.appendAll(Array.from({ length: 40 }, (_, n) => n))
    await streams.stream('b').create({ encoding: 'buffer', values: [Buffer.from('x')] })
    const cursor = await streams.cursor('consumer')
    await streams.checkpoint()
    appendFileSync(join(dir, 'streams', 'streams', 's.jsonl'), 'strange\n')
    await stream.append(1)
    await streams.checkpoint()
    expect(readdirSync(join(dir, 'streams', 'changed'))).toHaveLength(1)
    // The socket is used only by processes of root, and the user may remove it.
    expect(ofOthers(dir)).toEqual(exclusive ? [] : [join('streams', 'owner', 'socket')])
    await cursor.close()
    await streams.close()
  },
)

test('what root makes for a log of a user, its shipper and its archive belongs to the user', async ({ skip }) => {
  skip(notRoot, REASON)
  const dir = folderOfUser()
  const path = join(dir, 'deep', 'log')
  const log = await open(path, { segmentBytes: 65_536 })
  const s3 = await store()
  await log.append('record')
  await archiveAll(log, s3)
  const failures = new FailureFile(path, 'ship')
  failures.failed(new Error('down'))
  await failures.settled()
  await readCopy(path)
  await log.close()
  expect(readdirSync(path)).toContain('ship.status')
  await restoreArchive(join(dir, 'restored'), s3.access)
  const cache = { dir: join(dir, 'cache'), maxBytes: 1 << 20 }
  expect(await records(readArchive({ ...s3.access, cache }) as never)).toHaveLength(1)
  expect(readdirSync(cache.dir)).toHaveLength(1)
  expect(ofOthers(dir)).toEqual([])
})
