import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { type EventEmitter, once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pino from 'pino'
import { describe, expect, onTestFinished, test } from 'vitest'
import { inspect, open } from '../src/index.js'
import { destination, type LogDestination, type PinoLogOptions, transport } from '../src/pino/index.js'
import { LineStream } from '../src/pino/transport.js'
import { codeOf, scratchDir, texts } from './fixtures/scratch.js'

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url))
const CHILD = path('fixtures/pino-child.mjs')
/** For a longer trial: npm run trial -- pino --kills 50 */
const KILLS = Number(process.env['DURLOG_PINO_KILLS'] ?? 4)
const LINES_A_KILL = 400

async function linesIn(dir: string): Promise<string[]> {
  const log = await open(dir, { readOnly: true })
  return texts(log.read()).finally(() => log.close())
}

/** The number of lines in the log in `dir`; fails unless each is complete and in its place. */
async function countWhole(dir: string): Promise<number> {
  const lines = await linesIn(dir)
  for (const [i, line] of lines.entries()) {
    const { i: number, msg, filler } = JSON.parse(line)
    if (number !== i || msg !== `line ${i}` || filler.length !== 100 - (i % 100))
      throw new Error(`line ${i} is ${line}`)
  }
  return lines.length
}

/**
 * Runs a process that logs from line `start` on; kills it after `target` flushed lines. Returns how many were flushed.
 */
async function logUntilKilled(dir: string, kind: string, start: number, target: number): Promise<number> {
  const child = spawn(process.execPath, [CHILD, dir, kind, 'stays', String(start)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let told = ''
  child.stdout.on('data', (chunk: Buffer) => {
    told += chunk.toString()
    if (Number(told.trimEnd().split('\n').at(-1)) < target) return
    // At a random point in the following lines and flushes.
    child.stdout.removeAllListeners('data').resume()
    setTimeout(() => child.kill('SIGKILL'), Math.random() * 20)
  })
  await once(child, 'close')
  expect(child.signalCode).toBe('SIGKILL')
  return Number(told.slice(0, told.lastIndexOf('\n')).split('\n').at(-1))
}

/** A destination that is closed when the test is done. */
async function makeDestination(options: Partial<PinoLogOptions> = {}): Promise<LogDestination> {
  const made = await destination({ dir: join(scratchDir(), 'log'), ...options })
  onTestFinished(() => made.close())
  return made
}

const finished = async (stream: Awaited<ReturnType<typeof transport>>): Promise<void> => {
  stream.end()
  await once(stream, 'close')
}

describe.each(['transport', 'destination'])('by a %s, pino', (kind) => {
  test('has every flushed line after each kill -9, complete and in order', { timeout: 600_000 }, async () => {
    const dir = join(scratchDir(), 'log')
    let stored = 0
    for (let kill = 0; kill < KILLS; kill++) {
      const target = stored + 1 + Math.floor(Math.random() * 2 * LINES_A_KILL)
      const flushed = await logUntilKilled(dir, kind, stored, target)
      stored = await countWhole(dir)
      expect(stored).toBeGreaterThanOrEqual(flushed)
    }
    if (KILLS > 4) process.stdout.write(`${kind}: ${stored} lines, ${KILLS} kills\n`)
  })

  test.each(['natural', 'process.exit', 'uncaught'])('keeps every line if the process ends by %s', async (end) => {
    const dir = join(scratchDir(), 'log')
    spawnSync(process.execPath, [CHILD, dir, kind, end, '0'])
    expect(await countWhole(dir)).toBe(1000)
  })
})

test('as one of several targets the transport has every line', async () => {
  const dir = join(scratchDir(), 'log')
  const { stderr } = spawnSync(process.execPath, [CHILD, dir, 'targets', 'natural', '0'], { encoding: 'utf8' })
  expect(stderr).toBe('')
  expect(await countWhole(dir)).toBe(1000)
})

describe('a destination', () => {
  test('stores a line without its line break, and no record for an empty line', async () => {
    const stream = await makeDestination()
    for (const line of ['a\n', 'b\r\n', '\n', 'no break', 'two\nlines\n']) stream.write(line)
    expect(await texts(stream.log.read())).toEqual(['a', 'b', 'no break', 'two\nlines'])
  })

  test.each(['memory', 'async', 'sync', 'full'] as const)(
    'with durability %s brings lines to that level',
    async (durability) => {
      const stream = await makeDestination({ durability })
      const synced = once(stream.log, 'synced')
      const logger = pino(stream)
      for (let i = 0; i < 100; i++) logger.info('x')
      expect(stream.log.nextSeq).toBe(100)
      if (durability === 'sync' || durability === 'full') await synced
      await new Promise((resolve) => logger.flush(resolve))
      expect(stream.log.syncedSeq).toBe(99)
    },
  )

  test('has synced a fatal line and all earlier lines when the call returns', async () => {
    const stream = await makeDestination()
    const logger = pino(stream)
    logger.info('one')
    expect(stream.log.syncedSeq).toBe(-1)
    logger.fatal('two')
    expect(stream.log.syncedSeq).toBe(1)
  })

  test('has synced every line when a handler of uncaught exceptions runs', () => {
    const args = [CHILD, join(scratchDir(), 'log'), 'destination', 'handled', '0']
    expect(spawnSync(process.execPath, args, { encoding: 'utf8' }).stdout).toBe('999\n')
  })

  test('loses no line if there is little room', async () => {
    const stream = await makeDestination({ maxPendingBytes: 65_536, maxRecordBytes: 40_000, strategy: 'pwrite' })
    const lines = Array.from({ length: 500 }, (_, i) => `${i} ${'x'.repeat(5000)}`)
    for (const line of lines) stream.write(`${line}\n`)
    expect(await texts(stream.log.read())).toEqual(lines)
  })

  test('holds lines while the log is trimmed, and stores them in order', async () => {
    const stream = await makeDestination({ segmentBytes: 65_536, maxRecordBytes: 40_000 })
    for (let i = 0; i < 10; i++) stream.write(`${'x'.repeat(20_000)}\n`)
    const trimmed = stream.log.trimBefore(9)
    const refused = Array.from({ length: 100 }, (_, i) => stream.write(`${i}\n`)).filter((stored) => !stored)
    expect(refused.length).toBeGreaterThan(0)
    await new Promise((resolve) => stream.flush(resolve))
    await trimmed
    expect(await texts(stream.log.read({ from: 10 }))).toEqual(Array.from({ length: 100 }, (_, i) => String(i)))
  })

  test('holds at most 256 MiB of lines while the log is trimmed, and emits an error for each further one', async () => {
    const stream = await makeDestination()
    const errors: unknown[] = []
    stream.on('error', (error) => errors.push(error))
    stream.write('first\n')
    const rotated = stream.log.rotate()
    const line = 'x'.repeat(2 ** 24 - 2 ** 16)
    for (let i = 0; i < 18; i++) stream.write(`${line}\n`)
    await rotated
    await stream.close()
    expect(errors).toHaveLength(2)
    expect(errors[0]).toMatchObject({ code: 'ERR_DURLOG_BACKPRESSURE' })
    expect((await inspect(stream.log.dir)).nextSeq).toBe(1 + 16)
  })

  test('emits an error for a line that is too long, and continues', async () => {
    const stream = await makeDestination({ maxRecordBytes: 1000 })
    const failed = once(stream, 'error')
    stream.write(`${'x'.repeat(1001)}\n`)
    stream.write('next\n')
    expect((await failed)[0]).toMatchObject({ code: 'ERR_DURLOG_RECORD_TOO_LARGE' })
    expect(await texts(stream.log.read())).toEqual(['next'])
  })

  test('leaves no listener on the process when it is closed', async () => {
    const count = (): number => process.listenerCount('exit') + process.listenerCount('uncaughtExceptionMonitor')
    const before = count()
    const [one, other] = [await makeDestination(), await makeDestination()]
    expect(count()).toBe(before + 2)
    await one.close()
    other.end()
    await once(other, 'close')
    expect([count(), other.writable]).toEqual([before, false])
  })
})

describe('a transport', () => {
  test('stores lines that arrive in pieces, even if a piece ends within a character', async () => {
    const dir = join(scratchDir(), 'log')
    const stream = await transport({ dir })
    const text = Buffer.from('é first\r\nsecond €\n\nwithout a break')
    for (let at = 0; at < text.length; at += 2) stream.write(text.subarray(at, at + 2))
    await finished(stream)
    expect(await linesIn(dir)).toEqual(['é first', 'second €', 'without a break'])
  })

  test('loses no line if there is little room', async () => {
    const dir = join(scratchDir(), 'log')
    const stream = await transport({ dir, maxPendingBytes: 65_536, maxRecordBytes: 40_000, strategy: 'pwrite' })
    const lines = Array.from({ length: 500 }, (_, i) => `${i} ${'x'.repeat(5000)}`)
    stream.write(`${lines.join('\n')}\n`)
    await finished(stream)
    expect(await linesIn(dir)).toEqual(lines)
  })

  test('makes its writer wait while the log is trimmed, and loses no line', async () => {
    const log = await open(join(scratchDir(), 'log'), { segmentBytes: 65_536, maxRecordBytes: 40_000 })
    for (let i = 0; i < 10; i++) log.write('x'.repeat(20_000))
    const stream = new LineStream(log, 'memory')
    const trimmed = log.trimBefore(9)
    const written = new Promise((resolve) => stream.write('a\nb\n', resolve))
    expect(log.nextSeq).toBe(10)
    await Promise.all([trimmed, written])
    expect(await texts(log.read({ from: 10 }))).toEqual(['a', 'b'])
    await finished(stream)
  })

  test('warns of a line that is too long, and continues', async () => {
    const dir = join(scratchDir(), 'log')
    const stream = await transport({ dir, maxRecordBytes: 1000 })
    const warned = once(process, 'warning')
    stream.write(`${'x'.repeat(1001)}\nnext\n`)
    expect((await warned)[0]).toMatchObject({ code: 'ERR_DURLOG_RECORD_TOO_LARGE' })
    await finished(stream)
    expect(await linesIn(dir)).toEqual(['next'])
  })
})

describe.each([
  ['a transport', async (dir: string) => (await transport({ dir, durability: 'sync' })) as LineStream],
  ['a destination', (dir: string) => destination({ dir, durability: 'sync' })],
] as const)('%s that ends', (_what, make) => {
  test('answers a flush at that moment, and one afterwards, without an error', async () => {
    const dir = join(scratchDir(), 'log')
    const stream = await make(dir)
    const flushed = (): Promise<unknown> => new Promise((resolve) => stream.flush(resolve))
    stream.write('last\n')
    stream.end()
    expect([await flushed(), await flushed()]).toEqual([undefined, undefined])
    expect(await linesIn(dir)).toEqual(['last'])
  })

  test('stores a line that was written during a sync, without an error', async () => {
    const dir = join(scratchDir(), 'log')
    const stream = await make(dir)
    const closed = once(stream as EventEmitter, 'close')
    stream.write('first\n')
    // The sync of this line has begun; it does not include the next one.
    await new Promise(setImmediate)
    stream.write('last\n')
    stream.end()
    await closed
    expect(await linesIn(dir)).toEqual(['first', 'last'])
  })
})

test.each([
  ['no dir', {}],
  ['an unknown option', { dir: 'log', segmentSize: 1 }],
])('options with %s are refused', async (_what, options) => {
  expect(await codeOf(transport(options as PinoLogOptions))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
  expect(await codeOf(destination(options as PinoLogOptions))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
})

test('durlog cat pipes its lines to pino-pretty', async () => {
  const stream = await makeDestination()
  pino(stream).info({ order: 17 }, 'paid')
  await stream.close()
  const printed = execFileSync(process.execPath, [path('../dist/cli/main.js'), 'cat', stream.log.dir])
  const pretty = execFileSync(process.execPath, [path('../node_modules/pino-pretty/bin.js'), '--no-colorize'], {
    input: printed,
  })
  expect(pretty.toString()).toMatch(/INFO \(\d+\): paid\n +order: 17/)
})

test('a line with half of a surrogate pair is stored with U+FFFD in its place', async () => {
  const dir = join(scratchDir(), 'log')
  const lines = await destination({ dir })
  lines.write('half \ud83d\n')
  const rotated = lines.log.rotate()
  lines.write('held \ud83d\n')
  await rotated
  await lines.close()
  expect(await linesIn(dir)).toEqual(['half \ufffd', 'held \ufffd'])
})
