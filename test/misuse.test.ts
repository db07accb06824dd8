/** A caller's mistake is refused before anything is written, with an error that names it. */
import { getEventListeners } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { DurlogError, frames, inspect, type Log, open, repair, verify } from '../src/index.js'
import { openUntilDone, scratchDir, scratchLog, texts } from './fixtures/scratch.js'

async function errorOf(call: () => unknown): Promise<unknown> {
  try {
    await call()
  } catch (error) {
    return error
  }
  return undefined
}

// biome-ignore lint/suspicious/noExplicitAny: a caller without types may pass anything.
type Untyped = any

const WRONG: [title: string, call: (log: Untyped) => unknown, message: RegExp][] = [
  [
    'append, unknown key',
    (log) => log.append('x', { durabilty: 'full' }),
    /"durabilty".*durability, timestamp, expectedSeq, signal/,
  ],
  ['append, a level alone', (log) => log.append('x', 'full'), /must be an object; got "full"/],
  ['append, null', (log) => log.append('x', null), /must be an object; got null/],
  ['append, unknown level', (log) => log.append('x', { durability: 'ful' }), /memory, async, sync, full; got "ful"/],
  [
    'append, no timestamp',
    (log) => log.append('x', { timestamp: new Date() }),
    /timestamp must be a whole number.*got an object/,
  ],
  [
    'append, a time before 1970',
    (log) => log.append('x', { timestamp: -1 }),
    /timestamp must be a whole number.*got -1/,
  ],
  ['appendBatch, a time that is no whole number', (log) => log.appendBatch(['x'], { timestamp: 0.5 }), /got 0.5/],
  [
    'appendSync, a time that no Date has',
    (log) => log.appendSync('x', { timestamp: 2 ** 53 }),
    /timestamp must be a whole/,
  ],
  ['append, no signal', (log) => log.append('x', { signal: {} }), /signal must be an AbortSignal; got an object/],
  [
    'appendBatch, unknown key',
    (log) => log.appendBatch(['x'], { level: 'full' }),
    /"level".*durability, timestamp, expectedSeq, signal/,
  ],
  [
    'appendBatch, an array of options',
    (log) => log.appendBatch(['x'], ['full']),
    /must be an object; got an array of 1/,
  ],
  ['appendSync, unknown key', (log) => log.appendSync('x', { durabilty: 'full' }), /"durabilty".*durability/],
  ['appendSync, a signal', (log) => log.appendSync('x', { signal: undefined }), /"signal".*durability/],
  ['appendSync, a level alone', (log) => log.appendSync('x', 'full'), /must be an object; got "full"/],
  ['writeBatch, options', (log) => log.writeBatch(['x'], { durability: 'full' }), /no options; got an object/],
  ['writeBatch, no list', (log) => log.writeBatch('abc'), /a batch is an array of records/],
  ['write, options', (log) => log.write('x', { durability: 'full' }), /no options; got an object/],
  ['sync, options', (log) => log.sync({ durability: 'full' }), /memory, async, sync, full; got an object/],
  ['writable, unknown key', (log) => log.writable({ durabilty: 'full' }), /"durabilty".*durability, highWaterMark/],
  ['writable, unknown level', (log) => log.writable({ durability: 'none' }), /got "none"/],
  ['writable, a level alone', (log) => log.writable('full'), /must be an object; got "full"/],
  ['writable, no mark', (log) => log.writable({ highWaterMark: '1' }), /highWaterMark must be a whole number.*got "1"/],
  ['readable, unknown key', (log) => log.readable({ form: 3 }), /"form".*from.*highWaterMark/],
  ['readable, null', (log) => log.readable(null), /must be an object; got null/],
  ['readable, no mark', (log) => log.readable({ highWaterMark: 0 }), /highWaterMark must be a whole number.*got 0/],
  ['read, unknown key', (log) => log.read({ folow: true }), /"folow".*follow/],
  ['read, a seq alone', (log) => log.read(5), /must be an object; got 5/],
  ['get, a string', (log) => log.get('0'), /seq must be a whole number.*got "0"/],
  ['get, a bigint', (log) => log.get(1n), /seq must be a whole number from 0 to \d+; got 1n/],
  ['appendBatch, no records', (log) => log.appendBatch([]), /got an empty array/],
  ['trimBefore, nothing', (log) => log.trimBefore(), /seq must be/],
  ['repair, unknown key', (log) => repair(log.dir, { aply: true } as Untyped), /"aply".*apply, backup/],
  ['repair, a flag alone', (log) => repair(log.dir, true as Untyped), /must be an object; got true/],
  ['repair, apply without a backup', (log) => repair(log.dir, { apply: true }), /backup must be a folder's path/],
  ['open, a URL with a host', () => open(new URL('file://host/log')), /dir must be.*got "file:\/\/host\/log"/],
  ['open, a URL with an encoded slash', () => open(new URL('file:///tmp/a%2Fb')), /dir must be.*got "file:/],
  ['open, a URL with a NUL byte', () => open(new URL('file:///tmp/a%00b')), /dir must be.*got "file:/],
  ['open, unknown key', (log) => open(log.dir, { readonly: true } as Untyped), /"readonly".*readOnly/],
]

test.each(WRONG)('%s: refused with ERR_DURLOG_INVALID_ARGUMENT and the allowed values', async (_, call, message) => {
  const log = await scratchLog()
  const error = await errorOf(() => call(log as Log))
  expect(error).toBeInstanceOf(DurlogError)
  expect(error).toMatchObject({ code: 'ERR_DURLOG_INVALID_ARGUMENT', message: expect.stringMatching(message) })
  expect(log.nextSeq).toBe(0)
})

test('a getter among the options that closes the log refuses the append', async () => {
  const log = await scratchLog()
  const options = {
    get durability(): 'sync' {
      void log.close()
      return 'sync'
    },
  }
  expect(await errorOf(() => log.append('x', options))).toMatchObject({ code: 'ERR_DURLOG_CLOSED' })
})

test('a log stays in its folder if the working directory changes', async () => {
  const [here, there] = [scratchDir(), scratchDir()]
  mkdirSync(join(there, 'log'))
  const was = process.cwd()
  onTestFinished(() => process.chdir(was))
  const other = await openUntilDone(join(there, 'log'))
  await other.append('another record')
  process.chdir(here)
  const log = await openUntilDone('log')
  expect(log.dir).toBe(join(process.cwd(), 'log'))
  await log.append('this record')
  const reader = await openUntilDone('log', { readOnly: true })
  const made = [inspect('log'), verify('log'), repair('log').catch(() => undefined)]
  process.chdir(there)
  expect((await log.get(0)).data.toString()).toBe('this record')
  expect((await reader.get(0)).data.toString()).toBe('this record')
  expect(await texts(log.read())).toEqual(['this record'])
  expect(await texts(reader.read())).toEqual(['this record'])
  const [summary, report] = await Promise.all(made)
  expect(summary).toMatchObject({ uuid: log.uuid })
  expect(report).toMatchObject({ uuid: log.uuid })
  process.chdir(here)
  const byUrl = await openUntilDone(pathToFileURL(relative(here, 'log')) as Untyped, { readOnly: true })
  expect(byUrl.dir).toBe(log.dir)
})

test.each<[title: string, call: (log: Untyped) => unknown, message: RegExp]>([
  ['null', async (log) => (await log.cursor('c')).read(null), /read options must be an object; got null/],
  ['a number', async (log) => (await log.cursor('c')).read(5), /read options must be an object; got 5/],
  ['from', async (log) => (await log.cursor('c')).read({ from: 0 }), /"from" is not an option of a cursor's read/],
])('the read of a cursor, with %s: refused with ERR_DURLOG_INVALID_ARGUMENT', async (_, call, message) => {
  const log = await scratchLog()
  expect(await errorOf(() => call(log))).toMatchObject({
    code: 'ERR_DURLOG_INVALID_ARGUMENT',
    message: expect.stringMatching(message),
  })
})

test.each([5, undefined, null])('frames with a segment that is %s is refused', async (segment) => {
  const log = await scratchLog()
  const error = await errorOf(() => frames(log.dir, segment as Untyped).next())
  expect(error).toMatchObject({
    code: 'ERR_DURLOG_INVALID_ARGUMENT',
    message: expect.stringMatching(/^segment must be/),
  })
})

/** What `call` returns while every object inherits `added`. */
function polluted<T>(added: Record<string, unknown>, call: () => T): T {
  Object.assign(Object.prototype, added)
  try {
    return call()
  } finally {
    for (const name of Object.keys(added)) delete (Object.prototype as Untyped)[name]
  }
}

test('properties of a polluted Object.prototype are not options: durability stays sync', async () => {
  const dir = join(scratchDir(), 'log')
  const added = { durability: 'memory', create: false, readOnly: true, recovery: 'salvage', waitMs: -1 }
  const log = await polluted(added, () => open(dir, { strategy: 'mmap' }))
  onTestFinished(() => log.close())
  expect(await log.append('opened so')).toBe(0)
  expect(log.syncedSeq).toBe(0)
  await polluted({ durability: 'memory', expectedSeq: 7 }, () => log.append('appended so', {}))
  expect(log.syncedSeq).toBe(1)
  const reader = polluted({ from: 1, to: 0 }, () => log.read({}))
  expect(await texts(reader)).toEqual(['opened so', 'appended so'])
})

test('options of a class instance, whose getters are on its prototype, are honoured', async () => {
  class Options {
    get durability(): string {
      return 'none'
    }
  }
  const log = await scratchLog()
  expect(await errorOf(() => log.append('x', new Options() as Untyped))).toMatchObject({
    message: expect.stringMatching(/got "none"/),
  })
})

test('one AbortSignal for many calls gets one listener, and none when they have ended', async () => {
  const log = await scratchLog()
  const { signal } = new AbortController()
  const readers = Array.from({ length: 20 }, () => log.read({ follow: true, signal }))
  expect(getEventListeners(signal, 'abort')).toHaveLength(1)
  for (const reader of readers) await reader.return()
  expect(getEventListeners(signal, 'abort')).toHaveLength(0)
})

test('aborting a signal ends every call that has it, and later calls at once', async () => {
  const log = await scratchLog()
  const ending = new AbortController()
  const { signal } = ending
  const pending = Array.from({ length: 20 }, () => errorOf(() => log.read({ follow: true, signal }).next()))
  ending.abort('over')
  expect(new Set(await Promise.all(pending))).toEqual(new Set(['over']))
  expect(await errorOf(() => log.append('x', { signal }))).toBe('over')
  expect(getEventListeners(signal, 'abort')).toHaveLength(0)
})

test('a signal that an encoding aborts cancels the append', async () => {
  const ending = new AbortController()
  const encode = (value: string): string => {
    ending.abort('over')
    return value
  }
  const log = await scratchLog({ encoding: { encode, decode: String } })
  expect(await errorOf(() => (log as Untyped).append('x', { signal: ending.signal }))).toBe('over')
  expect(log.nextSeq).toBe(0)
})
