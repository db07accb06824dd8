/** Other readers remove a piece from the cache at each step of a reader. */
import { existsSync, mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { readArchive } from '../../src/archive/index.js'
import type { Log } from '../../src/index.js'
import { archiveAll, store } from '../fixtures/archive.js'
import { records, scratchDir, scratchLog } from '../fixtures/scratch.js'

type Step = (path: string) => void
const steps = vi.hoisted(() => new Map<string, Step>())

/** Returns `call` with the steps before and after it. */
const stepping = vi.hoisted(
  () =>
    (name: string, call: (path: string, ...rest: never[]) => Promise<unknown>) =>
    async (path: string, ...rest: never[]): Promise<unknown> => {
      steps.get(`before ${name}`)?.(path)
      const result = await call(path, ...rest)
      steps.get(`after ${name}`)?.(path)
      return result
    },
)

vi.mock('node:fs/promises', async (original) => {
  const calls = (await original()) as Record<string, never>
  return {
    ...calls,
    readdir: stepping('readdir', calls['readdir'] as never),
    rename: stepping('rename', calls['rename'] as never),
    rm: stepping('rm', calls['rm'] as never),
    utimes: stepping('utimes', calls['utimes'] as never),
  }
})
vi.mock('../../src/index.js', async (original) => {
  const calls = (await original()) as Record<string, never>
  return { ...calls, open: stepping('open', calls['open'] as never) }
})

afterEach(() => steps.clear())

async function append(log: Log, count: number): Promise<void> {
  for (let at = 0; at < count; at++)
    await log.append(`record ${log.nextSeq} ${'x'.repeat(300)}`, { durability: 'memory' })
}

const isPiece = (path: string): boolean => /[0-9a-f]{64}$/.test(path)
const removeFolder: Step = (path) => rmSync(path, { recursive: true })
/** As in the middle of a removal. */
const removeFiles: Step = (path) => {
  for (const name of readdirSync(path)) rmSync(join(path, name))
}
const removeOnePiece: Step = (dir) => {
  const piece = readdirSync(dir).find(isPiece)
  if (piece !== undefined) removeFolder(join(dir, piece))
}
/** Another reader has begun to write the piece with the final name, and not finished. */
const addIncomplete: Step = (making) => {
  const [folder] = making.split('.new-') as [string]
  mkdirSync(folder)
  writeFileSync(join(folder, 'incomplete'), '')
}

test.each<[string, string, (path: string) => boolean, Step]>([
  ['before utimes', 'its folder', isPiece, removeFolder],
  ['after utimes', 'its folder', isPiece, removeFolder],
  ['after utimes', 'its file', isPiece, removeFiles],
  ['after open', 'its folder', isPiece, removeFolder],
  ['after open', 'its file', isPiece, removeFiles],
  ['after readdir', 'another piece', (path) => !isPiece(path), removeOnePiece],
  ['before rename', 'after adding it', () => true, addIncomplete],
  ['before rename', 'while it is added', () => true, removeFolder],
])(
  'a reader gets a piece again that another reader has removed from the cache (%s, %s)',
  async (name, _, isMeant, step) => {
    const s3 = await store()
    const log = await scratchLog({ segmentBytes: 65_536 })
    await append(log, 1000)
    await archiveAll(log, s3)
    const dir = scratchDir()
    let taken = 0
    steps.set(name, (path) => {
      if (!path.startsWith(dir) || !isMeant(path) || !existsSync(path) || taken >= 3) return
      taken++
      step(path)
    })
    const found = await records(readArchive({ ...s3.access, cache: { dir, maxBytes: 200_000 } }) as never)
    expect(found.map(({ data }) => data.toString())).toEqual(
      (await records(log.read())).map(({ data }) => data.toString()),
    )
    expect(taken).toBe(3)
  },
)

test('a piece that another reader has open on Windows stays in the cache, and the reader that needs the room continues', async () => {
  const s3 = await store()
  const log = await scratchLog({ segmentBytes: 65_536 })
  await append(log, 1000)
  await archiveAll(log, s3)
  const dir = scratchDir()
  let refused = 0
  steps.set('before rm', (path) => {
    if (!path.startsWith(dir) || !isPiece(path) || !existsSync(path)) return
    refused++
    throw Object.assign(new Error('EBUSY: resource busy or locked, rmdir'), { code: 'EBUSY' })
  })
  const found = await records(readArchive({ ...s3.access, cache: { dir, maxBytes: 200_000 } }) as never)
  expect(found).toHaveLength(1000)
  expect(refused).toBeGreaterThan(0)
})

test('a reader removes the files of a reader that was killed while it added a piece, and not those of a living reader', async () => {
  const s3 = await store()
  const log = await scratchLog()
  await append(log, 10)
  await archiveAll(log, s3)
  const dir = scratchDir()
  const leave = (suffix: string, ageMs: number, fileAgeMs: number): string => {
    const name = `${'0'.repeat(64)}.new-${suffix}`
    const file = join(dir, name, '00000000000000000000.seg')
    mkdirSync(join(dir, name))
    writeFileSync(file, 'x')
    utimesSync(file, new Date(), new Date(Date.now() - fileAgeMs))
    utimesSync(join(dir, name), new Date(), new Date(Date.now() - ageMs))
    return name
  }
  const day = 86_400_000
  leave('killed', day, day)
  const living = [leave('begun', 0, 0), leave('slow', day, 0)]
  expect(await records(readArchive({ ...s3.access, cache: { dir } }) as never)).toHaveLength(10)
  expect(readdirSync(dir).filter((name) => name.includes('.new-'))).toEqual(living)
})

test('a reader whose pieces are removed each time before it has read them fails', async () => {
  const s3 = await store()
  const log = await scratchLog()
  await append(log, 10)
  await archiveAll(log, s3)
  const dir = scratchDir()
  steps.set('after utimes', removeFolder)
  await expect(records(readArchive({ ...s3.access, cache: { dir } }) as never)).rejects.toMatchObject({
    code: 'ERR_DURLOG_NOT_FOUND',
  })
})
