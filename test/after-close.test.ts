/** Every object with a `close`: calls after it are refused at once, and it settles while more calls are made. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { archive } from '../src/archive/index.js'
import { streamsHandler } from '../src/http/index.js'
import { type Log, open, type ReadableLog } from '../src/index.js'
import { destination } from '../src/pino/index.js'
import { resolveShipperOptions } from '../src/ship/options.js'

import { LogShipper } from '../src/ship/shipper.js'
import { openStreams, type Streams } from '../src/streams/index.js'
import { store } from './fixtures/archive.js'
import { MemoryTarget } from './fixtures/memory-target.mjs'
import { openUntilDone, scratchDir, scratchLog } from './fixtures/scratch.js'

type Calls = Record<string, () => unknown>

interface Closable {
  close(): Promise<void>
  /** Every call of the object, with valid arguments. */
  calls: Calls
  /** A call that is made again and again while the object is closed. */
  load?: () => Promise<unknown>
}

const readable = (log: ReadableLog): Calls => ({
  read: () => log.read().next(),
  follow: () => log.read({ follow: true, from: log.nextSeq }).next(),
  get: () => log.get(0),
  getSync: () => log.getSync(0),
  seqAt: () => log.seqAt(0),
  isCurrent: () => log.isCurrent({ uuid: log.uuid, generation: 0, seq: -1, checksum: undefined }),
  checksum: () => log.checksum(0),
  cursor: () => log.cursor('a'),
  ensureCursor: () => log.ensureCursor('a'),
  cursors: () => log.cursors(),
  removeCursor: () => log.removeCursor('a'),
})

function writer(log: Log): Closable {
  const calls: Calls = {
    ...readable(log),
    append: () => log.append('a'),
    appendBatch: () => log.appendBatch(['a']),
    write: () => log.write('a'),
    sync: () => log.sync(),
    trimBefore: () => log.trimBefore(0),
    truncateAfter: () => log.truncateAfter(0),
    rotate: () => log.rotate(),
    drain: () => log.drain(),
  }
  return { close: () => log.close(), calls, load: () => log.append('a') }
}

function streams(folder: Streams<unknown>): Closable {
  const stream = folder.stream('a')
  const calls: Calls = {
    create: () => stream.create(),
    append: () => stream.append(1),
    appendAll: () => stream.appendAll([1]),
    read: () => stream.read().next(),
    end: () => stream.end(),
    delete: () => stream.delete(),
    info: () => stream.info(),
    appendBatch: () => folder.appendBatch([{ stream: 'a', value: 1 }]),
    list: () => folder.list().next(),
    readAll: () => folder.readAll().next(),
    cursor: () => folder.cursor('a'),
    removeCursor: () => folder.removeCursor('a'),
    checkpoint: () => folder.checkpoint(),
  }
  return { close: () => folder.close(), calls, load: () => stream.append(1) }
}

async function oneRecord(): Promise<Log> {
  const log = await scratchLog()
  await log.append('a')
  return log
}

async function folder(exclusive: boolean): Promise<Streams<unknown>> {
  const made = await openStreams(join(scratchDir(), 'streams'), { exclusive })
  await made.stream('a').append(1)
  return made
}

const OBJECTS: Record<string, () => Promise<Closable>> = {
  'a log': async () => writer(await oneRecord()),
  'a log with an encoding': async () => {
    const log = await open(join(scratchDir(), 'log'), { encoding: 'utf8' })
    await log.append('a')
    return writer(log as unknown as Log)
  },
  'a shared log': async () => {
    const log = await scratchLog({ shared: true })
    await log.append('a')
    const { truncateAfter, rotate, ...calls } = writer(log).calls // a shared log never makes these
    return { ...writer(log), calls }
  },
  'a log that is open for reading': async () => {
    const { dir } = await oneRecord()
    const log = await openUntilDone(dir, { readOnly: true })
    return { close: () => log.close(), calls: { ...readable(log), refresh: () => log.refresh() } }
  },
  'a cursor': async () => {
    const cursor = await (await oneRecord()).cursor('c')
    const calls = {
      read: () => cursor.read().next(),
      commit: () => cursor.commit(0),
      seek: () => cursor.seek(0),
      lag: () => cursor.lag,
      generation: () => cursor.generation,
    }
    return { close: () => cursor.close(), calls, load: () => cursor.seek(1) }
  },
  'a shipper': async () => {
    const log = await oneRecord()
    const made = new LogShipper(log, new MemoryTarget(), resolveShipperOptions(log, {}))
    return { close: () => made.close(), calls: { idle: () => made.idle() }, load: () => log.append('a') }
  },
  'an archiver': async () => {
    const log = await oneRecord()
    const made = archive(log, (await store()).access)
    return { close: () => made.close(), calls: { idle: () => made.idle() }, load: () => log.append('a') }
  },
  'an exclusive folder of streams': async () => streams(await folder(true)),
  'a shared folder of streams': async () => streams(await folder(false)),
  'a cursor of an exclusive folder of streams': async () => streamsCursor(await folder(true)),
  'a cursor of a shared folder of streams': async () => streamsCursor(await folder(false)),
  'a destination of pino': async () => {
    const made = await destination({ dir: join(scratchDir(), 'log') })
    // `flush` is answered: every line is synced.
    const calls = {
      write: () =>
        new Promise<void>((_, reject) => {
          made.once('error', reject)
          made.write('a\n')
        }),
    }
    const load = async (): Promise<void> => void made.write('a\n')
    made.on('error', () => {})
    return { close: () => made.close(), calls, load }
  },
}

async function streamsCursor(made: Streams<unknown>): Promise<Closable> {
  const cursor = await made.cursor('c')
  const calls = { read: () => cursor.read().next(), commit: () => cursor.commit(0) }
  return { close: () => cursor.close().finally(() => made.close()), calls, load: () => cursor.commit(1) }
}

/** Makes a call. Returns the code of its error, or 'done'. */
async function outcome(call: () => unknown): Promise<string> {
  try {
    await call()
    return 'done'
  } catch (error) {
    return (error as { code?: string }).code ?? String(error)
  }
}

test.each(Object.keys(OBJECTS))('%s refuses each call after close, which settles under load', async (name) => {
  const { close, calls, load } = await (OBJECTS[name] as () => Promise<Closable>)()
  let isLoaded = load !== undefined
  const work = async (): Promise<void> => {
    while (isLoaded) {
      await load?.().catch(() => {})
      await new Promise(setImmediate)
    }
  }
  const working = [work(), work()]
  await new Promise(setImmediate)
  const closing = close()
  const during = await Promise.all(Object.entries(calls).map(async ([call, make]) => [call, await outcome(make)]))
  await closing
  isLoaded = false
  await Promise.all(working)
  const after = await Promise.all(Object.entries(calls).map(async ([call, make]) => [call, await outcome(make)]))
  const refused = Object.keys(calls).map((call) => [call, 'ERR_DURLOG_CLOSED'])
  expect({ during, after }).toEqual({ during: refused, after: refused })
})

test('flushSync during close brings the records to the device that were accepted before', async () => {
  const log = await scratchLog()
  const appended = log.append('a')
  const closing = log.close()
  expect(log.flushSync()).toBe(0)
  await appended
  await closing
  expect(() => log.flushSync()).toThrow(expect.objectContaining({ code: 'ERR_DURLOG_CLOSED' }))
})

test('a handler refuses each request after close, which settles under load', async () => {
  const made = await folder(true)
  const handler = streamsHandler(made)
  const send = async (method = 'GET'): Promise<number> => {
    const body = method === 'POST' ? '1' : null
    const headers = { 'content-type': 'application/json' }
    return (await handler.fetch(new Request('http://localhost/a', { method, headers, body }))).status
  }
  let isLoaded = true
  const load = async (): Promise<void> => {
    while (isLoaded) {
      await send('POST')
      await new Promise(setImmediate)
    }
  }
  const before = [send(), send('POST')]
  const loads = [load(), load()]
  const closing = handler.close()
  expect([await send(), await send('POST'), await send('OPTIONS')]).toEqual([503, 503, 503])
  expect(handler.isHealthy()).toBe(false)
  await closing
  isLoaded = false
  await Promise.all(loads)
  expect(await Promise.all(before)).toEqual([200, 204])
  expect([await send(), await send('POST')]).toEqual([503, 503])
  await made.close()
})
