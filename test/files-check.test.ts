/** Another program changes the files of an open log or of an open folder of streams. */
import { copyFileSync, cpSync, readdirSync, renameSync, rmSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { DurlogError } from '../src/errors.js'
import { type Log, type OpenOptions, open } from '../src/index.js'
import { openStreams } from '../src/streams/index.js'
import { scratchDir } from './fixtures/scratch.js'

const WRITERS: OpenOptions[] = [
  { strategy: 'mmap' },
  { strategy: 'pwrite' },
  { strategy: 'direct' },
  { strategy: 'auto' },
  { shared: true },
]

const CHANGES = {
  truncated: (file: string): void => truncateSync(file, 0),
  moved: (file: string): void => renameSync(file, `${file}.1`),
  deleted: (file: string): void => rmSync(file),
  replaced: (file: string): void => {
    copyFileSync(file, `${file}.new`)
    renameSync(`${file}.new`, file)
  },
}

const CASES = WRITERS.flatMap((options) => Object.entries(CHANGES).map(([how, change]) => ({ options, how, change })))
const unix = process.platform !== 'win32'
if (!unix) console.log('skipped: Windows does not let another program move or replace an open file')

function newestSegment(dir: string): string {
  const names = readdirSync(dir).filter((name) => name.endsWith('.seg'))
  return join(dir, names.sort().at(-1) as string)
}

/** Appends until an append fails. */
async function firstFailure(append: () => Promise<unknown>): Promise<DurlogError> {
  for (;;) {
    try {
      await append()
      await new Promise((resolve) => setImmediate(resolve))
    } catch (error) {
      return error as DurlogError
    }
  }
}

test.runIf(unix).each(CASES)(
  'a log whose newest segment was $how is latched: $options',
  async ({ options, change }) => {
    const log: Log = await open(scratchDir(), { segmentBytes: 1 << 20, ...options })
    for (let i = 0; i < 100; i++) await log.append(`before ${i}`)
    const latched = new Promise<DurlogError>((resolve) => log.on('latched', resolve))
    const file = newestSegment(log.dir)
    change(file)
    await firstFailure(() => log.append('after', { durability: 'sync' }))
    const error = await latched
    // A store into the map of a truncated file fails at once.
    if (error.code !== 'ERR_DURLOG_SYNC_FAILED') expect(error.code).toBe('ERR_DURLOG_FILE_CHANGED')
    expect(error.path).toBe(file)
    const later = await firstFailure(() => log.append('later'))
    expect(later).toMatchObject({ code: 'ERR_DURLOG_LATCHED', path: file })
    await log.close()
  },
)

test.runIf(unix)('a shared log whose newest records became zeros, before later ones, is latched', async () => {
  const log = await open(scratchDir(), { segmentBytes: 1 << 20, shared: true })
  for (let i = 0; i < 20; i++) await log.append(Buffer.alloc(3000, 1))
  const latched = new Promise<DurlogError>((resolve) => log.on('latched', resolve))
  const file = newestSegment(log.dir)
  truncateSync(file, 20_000)
  truncateSync(file, 1 << 20)
  await firstFailure(() => log.append('after'))
  expect(await latched).toMatchObject({ code: 'ERR_DURLOG_FILE_CHANGED', path: file })
  await log.close()
})

test.runIf(unix).each(WRITERS)('an idle log whose segment was moved is latched: %o', async (options) => {
  const log = await open(scratchDir(), options)
  await log.append('one')
  const file = newestSegment(log.dir)
  const latched = new Promise<DurlogError>((resolve) => log.on('latched', resolve))
  renameSync(file, `${file}.1`)
  const keepsAlive = setInterval(() => {}, 1000)
  expect(await latched).toMatchObject({ code: 'ERR_DURLOG_FILE_CHANGED', path: file })
  clearInterval(keepsAlive)
  await log.close()
})

const NAMES = [
  { name: 'lock', options: {} },
  { name: 'lock', options: { shared: true } },
  { name: 'shared', options: { shared: true } },
] as const

test.runIf(unix).each(NAMES)('a log whose file $name was deleted is latched: $options', async ({ name, options }) => {
  const log: Log = await open(scratchDir(), options)
  await log.append('one')
  rmSync(join(log.dir, name))
  const error = await firstFailure(() => log.append('more', { durability: 'memory' }))
  expect(['ERR_DURLOG_FILE_CHANGED', 'ERR_DURLOG_LATCHED']).toContain(error.code)
  expect(error.path).toBe(join(log.dir, name))
  await log.close()
})

test.runIf(unix)('every member of a shared log is latched', async () => {
  const dir = scratchDir()
  const one = await open(dir, { shared: true })
  const other = await open(dir, { shared: true })
  await one.append('one')
  const latched = [one, other].map((log) => new Promise<DurlogError>((resolve) => log.on('latched', resolve)))
  rmSync(newestSegment(dir))
  await firstFailure(() => one.append('more'))
  await firstFailure(() => other.append('more'))
  await Promise.all(latched)
  await one.close()
  await other.close()
})

const FOLDERS = [true, false].flatMap((exclusive) =>
  ['streams', 'index'].flatMap((part) => [true, false].map((replaced) => ({ exclusive, part, replaced }))),
)

test.runIf(unix).each(FOLDERS)(
  'streams whose folder $part another program moved (replaced by a copy: $replaced) keep their records in the log (exclusive: $exclusive)',
  async ({ exclusive, part, replaced }) => {
    const dir = join(scratchDir(), 'streams')
    const options = { exclusive, checkpointMs: 3_600_000 }
    const streams = await openStreams(dir, options)
    const append = async (from: number): Promise<void> => {
      for (let n = from; n < from + 40; n++) await streams.stream('a').append({ n })
    }
    await append(0)
    await streams.checkpoint()
    const path = join(dir, part)
    renameSync(path, `${path}.1`)
    if (replaced) cpSync(`${path}.1`, path, { recursive: true })
    await append(40)
    await expect(streams.checkpoint()).rejects.toMatchObject({ code: 'ERR_DURLOG_FILE_CHANGED', path })
    await streams.close().catch(() => {})
    rmSync(path, { recursive: true, force: true })
    renameSync(`${path}.1`, path)
    const again = await openStreams<{ n: number }>(dir, options)
    onTestFinished(() => again.close())
    const stored: number[] = []
    for await (const { value } of again.stream('a').read()) stored.push(value.n)
    expect(stored).toEqual(Array.from({ length: 80 }, (_, n) => n))
    expect(again.changes).toEqual([])
  },
)

test.runIf(unix).each(['log', 'catalog', '.'])(
  'streams whose %s another program moves accept no more records',
  async (part) => {
    const streams = await openStreams(join(scratchDir(), 'streams'), { exclusive: true })
    await streams.stream('a').append({ n: 1 })
    await streams.checkpoint()
    const path = join(streams.dir, part)
    renameSync(path, `${path}.1`)
    const error = await firstFailure(() => streams.stream('a').append({ n: 2 }))
    expect(['ERR_DURLOG_FILE_CHANGED', 'ERR_DURLOG_LATCHED']).toContain(error.code)
    expect(error.message).toContain('another program')
    await streams.close().catch(() => {})
  },
)
