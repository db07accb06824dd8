import { createHash, randomBytes } from 'node:crypto'
import { truncateSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import zlib from 'node:zlib'
import { expect, onTestFinished, test, vi } from 'vitest'
import { listArchive, type ReadArchiveOptions, readArchive } from '../../src/archive/index.js'
import { HEADER_BYTES } from '../../src/archive/piece.js'
import { hashNow, readBody } from '../../src/archive/piece-io.js'
import { loadZstd } from '../../src/archive/zstd.js'
import { type Log, verify } from '../../src/index.js'
import { archiveAll, plainRecords, plainRecordsIn, restored, store } from '../fixtures/archive.js'
import type { FakeS3 } from '../fixtures/fake-s3.mjs'
import { codeOf, scratchDir, scratchLog } from '../fixtures/scratch.js'

const SMALL = { segmentBytes: 65_536 } as const
/** Node before 22.15 compresses with the package. */
const HAS_PACKAGE = !('zstdCompressSync' in zlib)
const ZSTD = { compress: 'zstd' } as const

async function append(log: Log, count: number): Promise<void> {
  for (let at = 0; at < count; at++)
    await log.append(`record ${log.nextSeq} ${'x'.repeat(300)}`, { durability: 'memory' })
}

async function textsIn(options: ReadArchiveOptions): Promise<string[]> {
  const found: string[] = []
  for await (const { data } of readArchive(options)) found.push(data.toString())
  return found
}

/** The keys of the objects that are compressed. */
function compressed(s3: FakeS3): string[] {
  return [...s3.keys('/log/'), ...s3.keys('/tail/')].filter(
    (key) => s3.objects.get(key)?.metadata['x-amz-meta-durlog-zstd'] !== undefined,
  )
}

async function frameOf(bytes: Buffer): Promise<Buffer> {
  const compress =
    (await loadZstd()).compress ?? (zlib as unknown as { zstdCompressSync: typeof zlib.gzipSync }).zstdCompressSync
  return Buffer.from(compress(bytes) as Uint8Array)
}

test('whole segments are compressed, and a restore, a reader and a listing decompress them', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  await append(log, 700)
  await archiveAll(log, s3, ZSTD)
  const whole = s3.keys('/log/')
  expect(whole.length).toBeGreaterThan(2)
  expect(compressed(s3)).toEqual(whole)
  for (const key of whole) expect(s3.objects.get(key)?.body.length).toBeLessThan(10_000)
  const dir = await restored(s3)
  expect(await plainRecordsIn(dir)).toEqual(await plainRecords(log))
  expect(await verify(dir)).toMatchObject({ state: 'clean', uuid: log.uuid, nextSeq: 700 })
  expect(await textsIn(s3.access)).toEqual((await plainRecords(log)).map(([, , text]) => text))
  const { points } = await listArchive(s3.access)
  expect(points[0]?.bytes).toBeGreaterThan(60_000)
})

test('an object that is read in several ranges is decompressed as a whole', async () => {
  const s3 = await store()
  const log = await scratchLog()
  await log.append(randomBytes(9 * 2 ** 20), { durability: 'memory' })
  await log.rotate()
  await append(log, 3)
  await archiveAll(log, s3, ZSTD)
  const [key] = compressed(s3) as [string]
  expect(s3.objects.get(key)?.body.length).toBeGreaterThan(2 ** 23)
  let progress: number[] = []
  const onProgress = (...counted: number[]): void => {
    progress = counted
  }
  expect(await plainRecordsIn(await restored(s3, { onProgress }))).toEqual(await plainRecords(log))
  expect(progress[0]).toBe(progress[1])
})

test('archivers with and without compression continue the same archive', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  for (let part = 0; part < 4; part++) {
    await append(log, 250)
    await archiveAll(log, s3, { cursor: `archive-${part % 2}`, compress: part % 2 === 0 ? 'zstd' : 'none' })
  }
  expect(compressed(s3).length).toBeGreaterThan(0)
  expect(compressed(s3).length).toBeLessThan(s3.keys('/log/').length)
  expect(await plainRecordsIn(await restored(s3))).toEqual(await plainRecords(log))
})

test('a history that begins inside a compressed segment shares the records before it', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  await append(log, 700)
  await archiveAll(log, s3, ZSTD)
  await log.truncateAfter(250)
  await append(log, 300)
  await archiveAll(log, s3, ZSTD)
  const dir = await restored(s3)
  expect(await plainRecordsIn(dir)).toEqual(await plainRecords(log))
  expect(await verify(dir)).toMatchObject({ state: 'clean', nextSeq: 551 })
})

test.each([
  ['cut short', (body: Buffer) => body.subarray(0, body.length - 20)],
  ['changed', (body: Buffer) => Buffer.concat([body.subarray(0, 100), Buffer.from([7, 7, 7, 7]), body.subarray(104)])],
  ['of another segment', (_: Buffer, other: Buffer) => other],
])('a compressed object that was %s is reported as damaged', async (_name, change) => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  await append(log, 700)
  await archiveAll(log, s3, ZSTD)
  const [first, second] = compressed(s3).map(
    (key) => s3.objects.get(key) as NonNullable<ReturnType<typeof s3.objects.get>>,
  )
  if (first === undefined || second === undefined) throw new Error('there are fewer than two compressed objects')
  first.body = change(first.body, second.body)
  expect(await codeOf(restored(s3))).toBe('ERR_DURLOG_CORRUPT')
  expect(await codeOf(textsIn(s3.access))).toBe('ERR_DURLOG_CORRUPT')
})

test('an unknown algorithm is refused', async () => {
  const s3 = await store()
  const log = await scratchLog(SMALL)
  expect(await codeOf(archiveAll(log, s3, { compress: 'gzip' as 'zstd' }))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
})

test.each(['2000000000', '70000', '-1', '0'])(
  'a compressed object with the stated length %s is reported as damaged, and is not decompressed',
  async (zstd) => {
    const s3 = await store()
    const log = await scratchLog(SMALL)
    await append(log, 300)
    await archiveAll(log, s3, ZSTD)
    const object = s3.objects.get(compressed(s3)[0] as string) as NonNullable<ReturnType<typeof s3.objects.get>>
    Object.assign(object.metadata, { 'x-amz-meta-durlog-zstd': zstd })
    expect(await codeOf(restored(s3))).toBe('ERR_DURLOG_CORRUPT')
    expect(await codeOf(textsIn(s3.access))).toBe('ERR_DURLOG_CORRUPT')
  },
)

test('a frame that holds more bytes than expected is refused', async () => {
  const zstd = await loadZstd()
  const frame = await frameOf(Buffer.alloc(70_000))
  await expect(zstd.decompress(frame, 69_999)).rejects.toThrow()
  expect(await zstd.decompress(frame, 70_000)).toHaveLength(70_000)
})

test('a segment that is too long for the package is stored without compression, and refused if it is compressed', async () => {
  const path = join(scratchDir(), 'segment')
  writeFileSync(path, '')
  const length = 2 ** 29 + 1
  truncateSync(path, length)
  const body = await readBody({ path, begin: HEADER_BYTES, end: length }, true, () => '')
  expect(body.isCompressed).toBe(!HAS_PACKAGE)
  const code = await codeOf((await loadZstd()).decompress(await frameOf(Buffer.alloc(9)), length))
  expect(code).toBe(HAS_PACKAGE ? 'ERR_DURLOG_UNSUPPORTED' : 'none')
})

test.skipIf(HAS_PACKAGE)('a segment is not in memory while it is compressed', async () => {
  const path = join(scratchDir(), 'segment')
  writeFileSync(path, '')
  const length = 2 ** 29
  truncateSync(path, length)
  const before = process.resourceUsage().maxRSS
  const { bytes, sha256 } = await readBody({ path, begin: HEADER_BYTES, end: length }, true, () => '')
  expect(process.resourceUsage().maxRSS - before).toBeLessThan(128 * 1024)
  expect(sha256).toBe(createHash('sha256').update(bytes).digest('hex'))
  expect((await (await loadZstd()).decompress(bytes, length)).length).toBe(length)
})

test('a segment that cannot be compressed is stored, although the result is longer', async () => {
  const path = join(scratchDir(), 'segment')
  const piece = randomBytes(5 * 2 ** 20)
  for (const slot of [1024, 3072]) piece.fill(0, slot, slot + 12)
  writeFileSync(path, piece)
  const { bytes, pieceSha256 } = await readBody({ path, begin: HEADER_BYTES, end: piece.length }, true, hashNow)
  expect(pieceSha256).toBe(hashNow(piece))
  expect(piece.equals(await (await loadZstd()).decompress(bytes, piece.length))).toBe(true)
})

test('a piece states nothing about how far its log was synced, compressed or not', async () => {
  const path = join(scratchDir(), 'segment')
  const segment = randomBytes(HEADER_BYTES + 70_000)
  writeFileSync(path, segment)
  const piece = Buffer.from(segment)
  for (const slot of [1024, 3072]) piece.fill(0, slot, slot + 12)
  const from = { path, begin: HEADER_BYTES, end: segment.length }
  expect(piece.equals((await readBody(from, false, hashNow)).bytes)).toBe(true)
  const compressed = await readBody(from, true, hashNow)
  expect(piece.equals(await (await loadZstd()).decompress(compressed.bytes, piece.length))).toBe(true)
})

test.skipIf(!HAS_PACKAGE)('an application may use the package too', async () => {
  const zstd = await loadZstd()
  const piece = Buffer.alloc(70_000, 'a record ')
  const frame = await frameOf(piece)
  const require = createRequire(import.meta.url)
  const path = require.resolve('@bokuweb/zstd-wasm')
  const { Module } = require(join(dirname(path), 'module.js'))
  const before = Module['HEAP8']
  await require(path).init()
  await expect.poll(() => Module['HEAP8']).not.toBe(before)
  expect(piece.equals(await zstd.decompress(frame, piece.length))).toBe(true)
  expect(frame.equals(await frameOf(piece))).toBe(true)
})

test('a process that had no free descriptor to load the package tries again', async () => {
  const full = Object.assign(new Error('EMFILE'), { code: 'EMFILE', errno: -24, syscall: 'open' })
  let failures = 1
  vi.resetModules()
  vi.doMock('node:zlib', () => ({ default: {} }))
  vi.doMock('../../src/support/optional-package.js', async (original) => {
    const { loadOptional } = await original<typeof import('../../src/support/optional-package.js')>()
    const load = async (): Promise<object> => {
      if (failures-- > 0) throw full
      return {}
    }
    return { loadOptional: (needs: string, packages: string) => loadOptional(needs, packages, load) }
  })
  onTestFinished(() => {
    vi.doUnmock('node:zlib')
    vi.doUnmock('../../src/support/optional-package.js')
    vi.resetModules()
  })
  const zstd = await import('../../src/archive/zstd.js')
  expect(await codeOf(zstd.loadZstd())).toBe('ERR_DURLOG_TOO_MANY_FILES')
  expect(await zstd.loadZstd()).toEqual({})
})
