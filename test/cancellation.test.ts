/** Every iterator of the package can be cancelled while it waits, and then frees what it held. */
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { ReadableStream } from 'node:stream/web'
import { expect, onTestFinished, test } from 'vitest'
import { readArchive } from '../src/archive/index.js'
import { open, type RecordReader } from '../src/index.js'
import { openStreams, type Streams } from '../src/streams/index.js'
import { adjustableClock } from './fixtures/fake-clock.js'
import { scratchDir } from './fixtures/scratch.js'
import { localPort } from './fixtures/streams.js'

/** A reader that waits for a record, and a check that nothing waits for it any more. */
interface Waiting {
  read(signal?: AbortSignal): RecordReader<unknown>
  isFree?(): boolean
}

async function openLog(): Promise<{ dir: string; log: Awaited<ReturnType<typeof open>> }> {
  const dir = join(scratchDir(), 'log')
  const log = await open(dir)
  onTestFinished(() => log.close())
  await log.append('a')
  return { dir, log }
}

async function openFolder(exclusive: boolean): Promise<Streams<unknown>> {
  const streams = (await openStreams(join(scratchDir(), 'streams'), { exclusive } as object)) as Streams<unknown>
  onTestFinished(() => streams.close())
  await streams.stream('s').append(1)
  return streams
}

/** A store that never answers. Resolves to its URL. */
async function silentStore(): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => sockets.add(socket))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`
}

const credentials = { accessKeyId: 'id', secretAccessKey: 'secret' }
/** One more than the last record. */
const follow = { from: 1, follow: true }

const READERS: Record<string, () => Promise<Waiting>> = {
  'a log': async () => {
    const { log } = await openLog()
    return { read: (signal) => log.read({ ...follow, ...(signal && { signal }) }) }
  },
  'a log that another process may write': async () => {
    const { dir } = await openLog()
    const log = await open(dir, { readOnly: true })
    onTestFinished(() => log.close())
    return { read: (signal) => log.read({ ...follow, ...(signal && { signal }) }) }
  },
  'a cursor of a log': async () => {
    const { log } = await openLog()
    const cursor = await log.cursor('c', { from: 'next' })
    return { read: (signal) => cursor.read({ follow: true, ...(signal && { signal }) }) }
  },
  'an archive and its log': async () => {
    const { log } = await openLog()
    const place = { bucket: 's3://bucket', endpoint: await silentStore(), credentials }
    return { read: (signal) => readArchive({ ...place, log, ...follow, ...(signal && { signal }) }) }
  },
  'an archive whose store does not answer': async () => {
    const place = { bucket: 's3://bucket', endpoint: await silentStore(), credentials }
    return { read: (signal) => readArchive({ ...place, from: 0, ...(signal && { signal }) }) }
  },
  ...Object.fromEntries(
    [true, false].flatMap((exclusive) => {
      const mode = exclusive ? 'owned' : 'shared'
      const isFree = (streams: Streams<unknown>, name: string) => () =>
        !exclusive || !localPort(streams).table.isWaitedFor(name)
      const ofStream = (name: string) => async (): Promise<Waiting> => {
        const streams = await openFolder(exclusive)
        const options = name === 's' ? follow : { follow: true }
        return { read: (signal) => streams.stream(name).read({ ...options, signal }), isFree: isFree(streams, name) }
      }
      return [
        [`a stream of a folder that is ${mode}`, ofStream('s')],
        [`a missing stream of a folder that is ${mode}`, ofStream('missing')],
        [
          `all streams of a folder that is ${mode}`,
          async () => {
            const streams = await openFolder(exclusive)
            return { read: (signal: AbortSignal) => streams.readAll({ ...follow, signal }) }
          },
        ],
        [
          `a cursor of a folder that is ${mode}`,
          async () => {
            const streams = await openFolder(exclusive)
            const cursor = await streams.cursor('c', { from: 'next' })
            return { read: (signal: AbortSignal) => cursor.read({ follow: true, signal }) }
          },
        ],
      ]
    }),
  ),
}

/** Lets the reader reach its wait: the pending `next` must not have settled. */
async function waits(next: Promise<unknown>): Promise<void> {
  let settled = false
  next.then(
    () => (settled = true),
    () => (settled = true),
  )
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve))
  expect(settled).toBe(false)
}

const DONE = { done: true, value: undefined }

test.each(Object.entries(READERS))('a waiting reader of %s is cancelled, and frees what it held', async (_, make) => {
  const { read, isFree = () => true } = await make()
  const returned = read()
  const next = returned.next()
  await waits(next)
  expect(await returned.return()).toEqual(DONE)
  expect([await next, await returned.next(), isFree()]).toEqual([DONE, DONE, true])

  const batched = read().batches()
  const batch = batched.next()
  await waits(batch)
  expect([await batched.return(), await batch, isFree()]).toEqual([DONE, DONE, true])

  const disposed = read()
  const last = disposed.next()
  await waits(last)
  await disposed[Symbol.asyncDispose]()
  expect([await last, isFree()]).toEqual([DONE, true])
  expect(batched[Symbol.asyncDispose]).toBeInstanceOf(Function)

  for (const stream of [Readable.from(read()), read().readable()]) {
    const closed = new Promise((resolve) => stream.once('close', resolve))
    stream.resume()
    await new Promise((resolve) => setImmediate(resolve))
    stream.destroy()
    await closed
    expect(isFree()).toBe(true)
  }

  const web = ReadableStream.from(read()).getReader()
  const chunk = web.read()
  await waits(chunk)
  await web.cancel()
  expect([await chunk, isFree()]).toEqual([DONE, true])

  const abort = new AbortController()
  const aborted = read(abort.signal).next()
  await waits(aborted)
  abort.abort(new Error('enough'))
  await expect(aborted).rejects.toThrow('enough')
  expect(isFree()).toBe(true)
})

test.each([true, false])('lists can be left at any point (exclusive: %s)', async (exclusive) => {
  const streams = await openFolder(exclusive)
  await streams.stream('t').append(1)
  const list = streams.list()
  expect((await list.next()).value).toMatchObject({ name: 's' })
  expect([await list.return(), await list.next()]).toEqual([DONE, DONE])
  await using other = streams.list({ signal: AbortSignal.abort(new Error('enough')) })
  await expect(other.next()).rejects.toThrow('enough')
})

test.each([true, false])('a stream with a cancelled follower expires (exclusive: %s)', async (exclusive) => {
  const pass = adjustableClock('held')
  const streams = await openFolder(exclusive)
  const stream = streams.stream('ttl')
  await stream.create({ ttlMs: 1000 })
  const reader = stream.read({ follow: true })
  const next = reader.next()
  await waits(next)
  await reader.return()
  // The time to live begins again when the owner learns that the follower has ended: at an unknown moment.
  const passAndLook = () => {
    pass(1000)
    return stream.info()
  }
  await expect.poll(passAndLook).toBeUndefined()
})

test.each([
  ['of a log', async () => open(join(scratchDir(), 'log')).then((log) => log.append('a').then(() => log))],
  ['of a stream, exclusive', async () => (await openFolder(true)).stream('s')],
  ['of a stream, shared', async () => (await openFolder(false)).stream('s')],
])('a reader %s that the program has dropped is collected, although its signal is not', async (_, openIt) => {
  const source = await openIt()
  if ('close' in source) onTestFinished(() => source.close())
  const { setFlagsFromString } = await import('node:v8')
  const { runInNewContext } = await import('node:vm')
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const { signal } = new AbortController()
  const drop = async (): Promise<WeakRef<object>> => {
    const reader = source.read({ follow: true, signal })
    await reader.next()
    return new WeakRef(reader)
  }
  const dropped = await drop()
  await expect
    .poll(() => {
      collect()
      return dropped.deref() === undefined
    })
    .toBe(true)
  expect(signal.aborted).toBe(false)
})
