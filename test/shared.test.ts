import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync, writeSync } from 'node:fs'
import { platform } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Log, type OpenOptions, open, verify } from '../src/index.js'
import { Counter, type NativeWriter } from '../src/native/log.js'
import { FolderSource } from '../src/reader/folder-source.js'
import { Reader } from '../src/reader/reader.js'
import { durlogProcess } from './fixtures/command.js'
import { codeOf, openUntilDone, records, scratchDir } from './fixtures/scratch.js'

const WRITER = fileURLToPath(new URL('fixtures/shared-writer.mjs', import.meta.url))
const SHARED: OpenOptions = { shared: true, segmentBytes: 65_536 }

/** The output of a writer: its records by their seqs, and whether it is done. */
interface Writer {
  acknowledged: Map<number, string>
  opened: Promise<void>
  /** Settles when it has ended in any way. */
  ended: Promise<void>
  done: boolean
  kill(): void
}

function listen(writer: Pick<Writer, 'acknowledged'> & { done: boolean }, onOpen: () => void): (line: string) => void {
  return (line) => {
    if (line === 'open') onOpen()
    else if (line === 'done') writer.done = true
    else writer.acknowledged.set(Number.parseInt(line, 10), line.slice(line.indexOf(' ') + 1))
  }
}

function makeWriter(start: (said: (line: string) => void) => { ended: Promise<void>; kill: () => void }): Writer {
  let onOpen = (): void => {}
  const opened = new Promise<void>((resolve) => {
    onOpen = resolve
  })
  const writer = { acknowledged: new Map<number, string>(), done: false, opened } as Writer
  return Object.assign(writer, start(listen(writer, () => onOpen())))
}

function startProcess(...args: readonly string[]): Writer {
  return makeWriter((said) => {
    const child: ChildProcess = spawn(process.execPath, [WRITER, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
    onTestFinished(() => void child.kill('SIGKILL'))
    const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream })
    lines.on('line', said)
    const ended = Promise.all([
      new Promise((resolve) => child.on('close', resolve)),
      new Promise((resolve) => lines.on('close', resolve)),
    ])
    return { ended: ended.then(() => {}), kill: () => void child.kill('SIGKILL') }
  })
}

function startWorker(...args: readonly string[]): Writer {
  return makeWriter((said) => {
    const worker = new Worker(WRITER, { workerData: args })
    worker.on('message', said)
    const ended = new Promise<void>((resolve) => worker.on('exit', () => resolve()))
    return { ended, kill: () => void worker.terminate() }
  })
}

/** Every record of the log, by its seq; fails if the log is damaged. */
async function readBack(dir: string): Promise<Map<number, string>> {
  const report = await verify(dir)
  expect(report.state).toBe('clean')
  const reader = await openUntilDone(dir, { readOnly: true })
  const found = await records(reader.read())
  return new Map(found.map(({ seq, data }) => [seq, data.toString()]))
}

function expectHeld(found: Map<number, string>, writers: readonly Writer[]): void {
  const lost = writers.flatMap(({ acknowledged }) => [...acknowledged].filter(([seq, text]) => found.get(seq) !== text))
  expect(lost).toEqual([])
}

describe.skipIf(platform() !== 'linux')('a log with several writers', () => {
  for (const level of ['memory', 'sync', 'full'] as const) {
    test(`four processes at ${level} lose no record and agree on one order`, async () => {
      const dir = join(scratchDir(), 'log')
      const writers = ['a', 'b', 'c', 'd'].map((name) => startProcess(dir, name, '300', level))
      await Promise.all(writers.map(({ ended }) => ended))
      expect(writers.map(({ done }) => done)).toEqual([true, true, true, true])
      const found = await readBack(dir)
      expect(found.size).toBe(4 * 330)
      expect([...found.keys()]).toEqual([...found.keys()].map((_, at) => at))
      expectHeld(found, writers)
    })
  }

  test('worker threads and processes write one log, and it can be read meanwhile', async () => {
    const dir = join(scratchDir(), 'log')
    const log = await openUntilDone(dir, SHARED)
    const followed: number[] = []
    const follower = (async () => {
      for await (const { seq } of log.read({ follow: true })) {
        followed.push(seq)
        if (followed.length === 3 * 220 + 1) break
      }
    })()
    const writers = [
      startWorker(dir, 'a', '200', 'memory'),
      startWorker(dir, 'b', '200', 'sync'),
      startProcess(dir, 'c', '200', 'memory'),
    ]
    await Promise.all(writers.map(({ ended }) => ended))
    const last = await log.append('the last', { durability: 'memory' })
    await follower
    expect(followed).toEqual(followed.map((_, at) => at))
    expect((await log.get(last)).data.toString()).toBe('the last')
    expect(log.nextSeq).toBe(last + 1)
    expectHeld(await readBack(dir), writers)
  })

  test('killing a process loses no record of the others', async () => {
    const dir = join(scratchDir(), 'log')
    const log = await openUntilDone(dir, SHARED)
    const killed: Writer[] = []
    for (let round = 0; round < 8; round++) {
      const writer = startProcess(dir, `k${round}`, '1000000', round % 2 === 0 ? 'memory' : 'sync')
      await writer.opened
      while (writer.acknowledged.size < round * 40) await log.append(`own ${round}`, { durability: 'memory' })
      writer.kill()
      await writer.ended
      killed.push(writer)
      await log.append(`after ${round}`)
    }
    expectHeld(await readBack(dir), killed)
    expect(log.stats().shared).toMatchObject({ members: 1 })
  })

  test('terminating a worker thread loses no record of the others', async () => {
    const dir = join(scratchDir(), 'log')
    const log = await openUntilDone(dir, SHARED)
    const ended: Writer[] = []
    for (let round = 0; round < 8; round++) {
      const writer = startWorker(dir, `w${round}`, '1000000', round % 2 === 0 ? 'memory' : 'sync')
      await writer.opened
      while (writer.acknowledged.size < round * 40) await log.append(`own ${round}`, { durability: 'memory' })
      writer.kill()
      await writer.ended
      ended.push(writer)
      await log.append(`after ${round}`)
    }
    expectHeld(await readBack(dir), ended)
  })

  test('if all are killed, the next open recovers the acknowledged records', async () => {
    const dir = join(scratchDir(), 'log')
    const all: Writer[] = []
    for (let round = 0; round < 4; round++) {
      const writers = ['a', 'b', 'c'].map((name) => startProcess(dir, `${name}${round}`, '1000000', 'memory'))
      await Promise.all(writers.map(({ opened }) => opened))
      while (writers.some(({ acknowledged }) => acknowledged.size < 200)) await new Promise(setImmediate)
      for (const writer of writers) writer.kill()
      await Promise.all(writers.map(({ ended }) => ended))
      all.push(...writers)
      const log = await open(dir, round % 2 === 0 ? SHARED : { segmentBytes: 65_536 })
      expect(log.recovery.state).not.toBe('corrupt')
      await log.close()
      expectHeld(await readBack(dir), all)
    }
  })

  test('shared and exclusive opens refuse each other', async () => {
    const dir = join(scratchDir(), 'log')
    const shared = await open(dir, SHARED)
    const refused = await open(dir).catch((error: Error) => error)
    expect(refused).toMatchObject({ code: 'ERR_DURLOG_LOCKED', ownerPid: process.pid })
    expect((refused as Error).message).toContain('shared mode')
    await shared.close()
    const alone = await openUntilDone(dir)
    expect(await codeOf(open(dir, SHARED))).toBe('ERR_DURLOG_LOCKED')
    await alone.close()
    await openUntilDone(dir, SHARED)
  })

  test('expectedSeq takes the records of other writers into account', async () => {
    const dir = join(scratchDir(), 'log')
    const [first, second] = [await openUntilDone(dir, SHARED), await openUntilDone(dir, SHARED)] as [Log, Log]
    expect(await first.append('one', { expectedSeq: 0 })).toBe(0)
    const conflict = await second.append('two', { expectedSeq: 0 }).catch((error: unknown) => error)
    expect(conflict).toMatchObject({ code: 'ERR_DURLOG_SEQ_CONFLICT', nextSeq: 1 })
    expect(await second.appendBatch(['two', 'three'], { expectedSeq: 1 })).toEqual({ first: 1, last: 2 })
    expect(first.nextSeq).toBe(3)
    // One of many appends that race for the same seq gets it.
    const raced = await Promise.allSettled(
      Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? first : second).append(`race ${i}`, { expectedSeq: 3 })),
    )
    expect(raced.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  })

  test('a refused append leaves no expected seq set', async () => {
    const log = await openUntilDone(join(scratchDir(), 'log'), { ...SHARED, maxRecordBytes: 100 })
    let appended = 0
    for (const data of ['x'.repeat(101), '', 5 as unknown as string]) {
      const refused = await Promise.allSettled([
        log.append(data, { expectedSeq: 7 }),
        log.appendBatch(['a', data], { expectedSeq: 7 }),
      ])
      expect(refused.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
      expect(await log.append('next')).toBe(appended++)
      expect(await log.appendBatch(['next'])).toEqual({ first: appended, last: appended })
      appended++
    }
  })

  test('a call that needs an exclusive writer is refused with that reason', async () => {
    const log = await openUntilDone(join(scratchDir(), 'log'), SHARED)
    await log.append('one')
    expect(await codeOf(log.truncateAfter(-1))).toBe('ERR_DURLOG_UNSUPPORTED')
    expect(await codeOf(log.rotate())).toBe('ERR_DURLOG_UNSUPPORTED')
    expect(await codeOf(open(log.dir, { ...SHARED, strategy: 'direct' } as object))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
    expect(await codeOf(open(log.dir, { ...SHARED, recovery: 'salvage' } as object))).toBe(
      'ERR_DURLOG_INVALID_ARGUMENT',
    )
  })

  test('an append before bytes that no writer leaves fails with an unknown outcome', async () => {
    for (const call of ['append', 'appendSync'] as const) {
      const log = await open(join(scratchDir(), 'log'), SHARED)
      onTestFinished(() => log.close().catch(() => {}))
      // The first record's frame ends here, after the header.
      const file = openSync(join(log.dir, '00000000000000000000.seg'), 'r+')
      writeSync(file, Buffer.alloc(8, 0xff), 0, 8, 4096 + 32)
      closeSync(file)
      const failure = await (async () => log[call]('8 bytes.'))().catch((error: unknown) => error)
      expect(failure, call).toMatchObject({ code: 'ERR_DURLOG_SYNC_FAILED', outcome: 'unknown' })
      expect(await codeOf(() => log.append('more'))).toBe('ERR_DURLOG_LATCHED')
    }
  })

  test('each writing call works as in an exclusive log, and a trim affects every member', async () => {
    const dir = join(scratchDir(), 'log')
    const [first, second] = [await openUntilDone(dir, SHARED), await openUntilDone(dir, SHARED)] as [Log, Log]
    expect(first.write('a')).toBe(0)
    expect(second.appendSync('b')).toBe(1)
    expect(first.writeBatch(['c', 'd'])).toEqual({ first: 2, last: 3 })
    expect(await second.sync()).toBe(3)
    for (let i = 0; i < 300; i++) first.write('x'.repeat(1000))
    expect(first.flushSync()).toBe(303)
    const firstSeq = await second.trimBefore(200)
    expect(firstSeq).toBeGreaterThan(100)
    expect(first.firstSeq).toBe(firstSeq)
    expect(await codeOf(first.get(0))).toBe('ERR_DURLOG_OUT_OF_RANGE')
    expect(second.stats()).toMatchObject({ mode: 'mmap', shared: { members: 2, slot: 2 } })
  })

  test('durlog append --shared appends while another process writes', async () => {
    const dir = join(scratchDir(), 'log')
    const log = await openUntilDone(dir, SHARED)
    await log.append('one')
    expect(await durlogProcess(['append', '--shared', dir], 'two\nthree\n')).toMatchObject({ code: 0, stderr: '' })
    expect(await log.append('four')).toBe(3)
    expect((await records(log.read())).map(({ data }) => data.toString())).toEqual(['one', 'two', 'three', 'four'])
  })
})

test('a writer can read from its nextSeq while another writer stores the record before it', async () => {
  const log = await openUntilDone(scratchDir(), { shared: true })
  await log.append('a')
  // The counters after another writer has reserved the place of record 1.
  const counters = new Float64Array(16)
  counters[Counter.nextSeq] = 2
  const writer = { counters, uuid: log.uuid, generation: 0 } as NativeWriter
  const source = FolderSource.ofWriter(log.dir, false, writer)
  onTestFinished(() => source.end())
  const reader = new Reader(source, { from: 2, follow: true }, () => Promise.resolve(0))
  const next = reader.next()
  await log.append('b')
  await log.append('c')
  expect((await next).value).toMatchObject({ seq: 2, data: Buffer.from('c') })
  await reader.return()
})
