/** Streams whose files cannot be written: they do not block the others. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { streamsHandler } from '../../src/http/index.js'
import { open } from '../../src/index.js'
import { openStreams, type Streams } from '../../src/streams/index.js'
import { codeOf, scratchDir } from '../fixtures/scratch.js'
import { localPort } from '../fixtures/streams.js'
import { readStreams } from '../format/streams-reader.mjs'

const USER = 12345
const MIB = 1 << 20

beforeEach(({ skip }) => skip(process.geteuid?.() !== 0, 'only root can become another user'))

/** A folder of streams, opened as USER. From now on, this process is USER, except in `asRoot`. */
async function openAsUser(dir = scratchDir()): Promise<Streams<unknown>> {
  chownSync(dir, USER, USER)
  process.seteuid?.(USER)
  onTestFinished(() => void process.seteuid?.(0))
  return reopen(dir)
}

async function reopen(dir: string): Promise<Streams<unknown>> {
  const streams = await openStreams(dir, { exclusive: true, checkpointBytes: 65_536, checkpointMs: 60_000 })
  onTestFinished(() => streams.close().catch(() => {}))
  return streams
}

function asRoot(action: () => void): void {
  process.seteuid?.(0)
  action()
  process.seteuid?.(USER)
}

const fileOf = (dir: string, name: string): string => join(dir, 'streams', `${name}.jsonl`)
const take = (path: string): void => asRoot(() => chownSync(path, 0, 0))
const giveBack = (path: string): void => asRoot(() => chownSync(path, USER, USER))
const linesOf = (dir: string, name: string): unknown[] =>
  readFileSync(fileOf(dir, name), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown)

/** The position before which the main log may be trimmed. */
async function storedBefore(dir: string): Promise<unknown> {
  await using log = await open(join(dir, 'log'), { readOnly: true })
  return (await log.cursors())[0]?.position
}

async function valuesOf(streams: Streams<unknown>, name: string, from: number): Promise<unknown[]> {
  const found = []
  for await (const { value } of streams.stream(name).read({ from })) found.push(value)
  return found
}

test('a stream whose file cannot be opened keeps its records in the main log, and the others are stored', async () => {
  const dir = scratchDir()
  const streams = await openAsUser(dir)
  for (const name of ['good', 'bad']) await streams.stream(name).append(0)
  await streams.checkpoint()
  take(fileOf(dir, 'bad'))
  for (let n = 1; n < 4; n++) await streams.appendBatch(['bad', 'good', 'new'].map((stream) => ({ stream, value: n })))
  await expect(streams.checkpoint()).rejects.toMatchObject({
    code: 'ERR_DURLOG_IO',
    errnoName: 'EACCES',
    path: expect.stringContaining('bad.jsonl'),
    message: expect.stringContaining('the stream "bad"'),
  })
  expect(linesOf(dir, 'good')).toEqual([0, 1, 2, 3])
  expect(linesOf(dir, 'new')).toEqual([1, 2, 3])
  await streams.stream('bad').append(4)
  await expect(streams.checkpoint()).rejects.toMatchObject({ errnoName: 'EACCES' })
  expect(await valuesOf(streams, 'bad', 1)).toEqual([1, 2, 3, 4])
  await streams.close().catch(() => {})

  asRoot(() =>
    expect(readStreams(dir).get('bad')?.records).toMatchObject([0, 1, 2, 3, 4].map((value) => ({ seq: value, value }))),
  )
  const again = await reopen(dir)
  expect(await storedBefore(dir)).toBe(2)
  await again.stream('good').append(4)
  expect(await again.stream('bad').append(5)).toMatchObject({ seq: 5 })
  await expect(again.checkpoint()).rejects.toMatchObject({ errnoName: 'EACCES' })
  expect(await valuesOf(again, 'bad', 1)).toEqual([1, 2, 3, 4, 5])
  giveBack(fileOf(dir, 'bad'))
  await again.checkpoint()
  expect(await storedBefore(dir)).toBe(14)
  expect(linesOf(dir, 'bad')).toEqual([0, 1, 2, 3, 4, 5])
  expect(linesOf(dir, 'good')).toEqual([0, 1, 2, 3, 4])
  const all = []
  for await (const { stream, seq } of again.readAll({ from: 0 })) all.push(`${stream} ${seq}`)
  expect(all).toHaveLength(14)
})

test('a process that connects later knows that checkpoints fail, and after a change of the owner that they succeed', async () => {
  const dir = scratchDir()
  chownSync(dir, USER, USER)
  process.seteuid?.(USER)
  onTestFinished(() => void process.seteuid?.(0))
  const connect = async (): Promise<Streams<unknown>> => {
    const streams = await openStreams(dir, { checkpointMs: 60_000 })
    onTestFinished(() => streams.close().catch(() => {}))
    return streams
  }
  const first = await connect()
  await first.stream('bad').append(0)
  await first.checkpoint()
  take(fileOf(dir, 'bad'))
  await first.stream('bad').append(1)
  await expect(first.checkpoint()).rejects.toMatchObject({ errnoName: 'EACCES' })
  const second = await connect()
  const { isHealthy } = streamsHandler(second)
  expect(isHealthy()).toBe(false)
  giveBack(fileOf(dir, 'bad'))
  await first.close()
  expect(await valuesOf(second, 'bad', 0)).toEqual([0, 1])
  expect(isHealthy()).toBe(true)
})

test('a stream that was created, forked or deleted while no file could be created continues after a restart', async () => {
  const dir = scratchDir()
  const streams = await openAsUser(dir)
  await streams.stream('old').append(0)
  await streams.checkpoint()
  asRoot(() => chmodSync(join(dir, 'streams'), 0o555))
  take(join(dir, 'streams'))
  await streams.stream('new').appendAll([1, 2, 3])
  await streams.stream('gone').append(1)
  expect(await codeOf(streams.checkpoint())).toBe('ERR_DURLOG_IO')
  await streams.stream('fork').create({ fork: { stream: 'new', seq: 2 } })
  await streams.stream('fork').append(4)
  await streams.stream('gone').delete()
  await streams.stream('old').append(1)
  expect(await codeOf(streams.checkpoint())).toBe('ERR_DURLOG_IO')
  expect(linesOf(dir, 'old')).toEqual([0, 1])
  await streams.close().catch(() => {})

  const again = await reopen(dir)
  expect(await valuesOf(again, 'fork', 0)).toEqual([1, 2, 4])
  expect(await again.stream('gone').info()).toBeUndefined()
  giveBack(join(dir, 'streams'))
  asRoot(() => chmodSync(join(dir, 'streams'), 0o700))
  await again.checkpoint()
  expect(linesOf(dir, 'new')).toEqual([1, 2, 3])
  expect(linesOf(dir, 'fork')).toEqual([4])
})

test('only the stream whose file cannot be written runs out of memory for its records', async () => {
  const dir = scratchDir()
  const streams = await openAsUser(dir)
  await streams.stream('bad').append(0)
  await streams.checkpoint()
  take(fileOf(dir, 'bad'))
  const value = 'x'.repeat(MIB / 4)
  await streams.stream('bad').append(1)
  expect(await codeOf(streams.checkpoint())).toBe('ERR_DURLOG_IO')
  let stored = 0
  let refused: unknown
  while (refused === undefined && stored < 40) {
    const append = streams.stream('bad').append(value, { producer: { id: 'p', epoch: 0, seq: stored } })
    refused = await append.then(
      () => void stored++,
      (error) => error,
    )
    await streams.stream('good').append(value)
  }
  expect(stored).toBe(16)
  expect(refused).toMatchObject({ code: 'ERR_DURLOG_IO', outcome: 'not-written', path: fileOf(dir, 'bad') })
  // A repetition of a stored append is answered.
  expect(await streams.stream('bad').append(value, { producer: { id: 'p', epoch: 0, seq: 3 } })).toMatchObject({
    duplicate: true,
    seq: 5,
  })
  for (let n = 0; n < 16; n++) await streams.stream('good').append(value)
  giveBack(fileOf(dir, 'bad'))
  await streams.checkpoint()
  await streams.stream('bad').append(1)
  expect((await valuesOf(streams, 'bad', 0)).length).toBe(19)
})

test('the records of blocked streams are in one block of memory after a restart: each job of a checkpoint looks at all blocks', async () => {
  const dir = scratchDir()
  const streams = await openAsUser(dir)
  asRoot(() => chmodSync(join(dir, 'streams'), 0o555))
  take(join(dir, 'streams'))
  for (let at = 0; at < 100; at++) await streams.stream(`s${at}`).append(at)
  expect(await codeOf(streams.checkpoint())).toBe('ERR_DURLOG_IO')
  await streams.close().catch(() => {})
  const again = await reopen(dir)
  expect(localPort(again).table.memTable.slabs).toHaveLength(1)
  for (let at = 0; at < 100; at++) expect(await valuesOf(again, `s${at}`, 0)).toEqual([at])
})

test('streams that are created while no file can be written run out of memory too', async () => {
  const dir = scratchDir()
  const streams = await openAsUser(dir)
  asRoot(() => chmodSync(join(dir, 'streams'), 0o555))
  take(join(dir, 'streams'))
  const value = 'x'.repeat(MIB / 4)
  let stored = 0
  let refused: unknown
  while (refused === undefined && stored < 40) {
    refused = await streams
      .stream(`s${stored}`)
      .append(value)
      .then(
        () => void stored++,
        (error) => error,
      )
    expect(await codeOf(streams.checkpoint())).toBe('ERR_DURLOG_IO')
  }
  expect(stored).toBe(18)
  expect(refused).toMatchObject({ code: 'ERR_DURLOG_IO', errnoName: 'EACCES', outcome: 'not-written' })
  expect(await valuesOf(streams, 's17', 0)).toEqual([value])
  giveBack(join(dir, 'streams'))
  asRoot(() => chmodSync(join(dir, 'streams'), 0o700))
  await streams.checkpoint()
  expect(await streams.stream('s18').append(value)).toMatchObject({ seq: 0 })
})

test('serve reports a stream that cannot be stored: on stderr, by /healthz and by a metric', async () => {
  const dir = scratchDir()
  const streams = await openAsUser(dir)
  await streams.stream('bad').append(0)
  await streams.close()
  take(fileOf(dir, 'bad'))
  process.seteuid?.(0)
  chmodSync(dirname(dir), 0o1777)
  const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))
  const child = spawn(process.execPath, [main, 'serve', dir, '--port', '0'], { uid: USER, gid: USER })
  onTestFinished(() => void child.kill('SIGKILL'))
  let said = ''
  const until = async (pattern: RegExp): Promise<string> => {
    for (;;) {
      const found = pattern.exec(said)
      if (found !== null) return found[1] as string
      const [text] = (await once(child.stderr, 'data')) as [Buffer]
      said += text
    }
  }
  const url = await until(/at (http\S+)\n/)
  expect(await (await fetch(`${url}/healthz`)).text()).toBe('ok\n')
  const headers = { 'content-type': 'application/json' }
  expect((await fetch(`${url}/bad`, { method: 'POST', headers, body: '1' })).status).toBe(204)
  await until(/(a checkpoint failed: .*"bad")/)
  const health = await fetch(`${url}/healthz`)
  expect([health.status, await health.text()]).toEqual([503, 'failed: checkpoints fail: ERR_DURLOG_IO (EACCES)\n'])
  expect(await (await fetch(`${url}/metrics`)).text()).toContain('durlog_streams_checkpoint_failing 1\n')
  chownSync(fileOf(dir, 'bad'), USER, USER)
  await until(/(checkpoints succeed again)/)
  expect((await fetch(`${url}/healthz`)).status).toBe(200)
})
