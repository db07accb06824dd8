/** `durlog tail` with a cursor and by name, and `durlog cursors`. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { DURLOG, durlog, startDurlog } from '../fixtures/command.js'
import { openUntilDone, scratchDir } from '../fixtures/scratch.js'

/** Starts `durlog`; `until` settles once its stdout, or stderr, holds `text`. */
function start(args: string[]) {
  const child = startDurlog(args)
  const seen = { stdout: '', stderr: '' }
  const waiting = new Set<() => void>()
  for (const name of ['stdout', 'stderr'] as const)
    child[name]?.on('data', (chunk: Buffer) => {
      seen[name] += chunk.toString()
      for (const look of waiting) look()
    })
  const until = (name: 'stdout' | 'stderr', text: string): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (!seen[name].includes(text)) return
        waiting.delete(look)
        resolve()
      }
      waiting.add(look)
      look()
    })
  return { child, seen, until }
}

test.skipIf(process.platform === 'win32').each([
  ['-f', '-n1'],
  ['-F', '-n1'],
  ['-f', '--cursor=c'],
])('tail %s %s of an idle log ends when its reader closes the pipe', async (...flags) => {
  const log = await openUntilDone(join(scratchDir(), 'log'))
  await log.append('one')
  const { child, until } = start(['tail', ...flags, log.dir])
  await until('stdout', 'one\n')
  const closed = once(child, 'close')
  child.stdout?.destroy()
  expect(await closed).toEqual([0, null])
})

test.skipIf(process.platform === 'win32')('tail -f of an idle log, piped into head, ends with head', async () => {
  const log = await openUntilDone(join(scratchDir(), 'log'))
  await log.append('one')
  const pipeline = spawn('sh', ['-c', '"$0" "$@" | head -n1', process.execPath, DURLOG, 'tail', '-f', log.dir])
  onTestFinished(() => void pipeline.kill('SIGKILL'))
  expect(await once(pipeline, 'close')).toEqual([0, null])
})

describe('tail -F', () => {
  test('waits for a log to appear, and continues with a new log of that name', async () => {
    const dir = join(scratchDir(), 'log')
    const { seen, until } = start(['tail', '-F', dir])
    await until('stderr', 'waiting for one')
    const first = await openUntilDone(dir)
    await first.append('one')
    await until('stdout', 'one\n')
    await first.append('two')
    await until('stdout', 'two\n')
    await first.close()
    rmSync(dir, { recursive: true })
    const second = await openUntilDone(dir)
    await second.append('three')
    await until('stdout', 'three\n')
    expect(seen.stdout).toBe('one\ntwo\nthree\n')
  })

  test('continues after the log was cut', async () => {
    const dir = join(scratchDir(), 'log')
    const log = await openUntilDone(dir)
    for (const text of ['a', 'b', 'c']) await log.append(text)
    const { seen, until } = start(['tail', '-F', dir])
    await until('stdout', 'c\n')
    await log.truncateAfter(0)
    await until('stderr', 'the log was cut or trimmed; continuing at seq 1')
    await log.append('new')
    await until('stdout', 'new\n')
    expect(seen.stdout).toBe('a\nb\nc\nnew\n')
  })
})

describe('tail --cursor', () => {
  test('prints each record once over several runs, and creates the cursor', async () => {
    const dir = join(scratchDir(), 'log')
    await durlog(['append', dir], 'a\nb\n')
    expect((await durlog(['tail', dir, '--cursor', 'reader'])).stdout.toString()).toBe('a\nb\n')
    await durlog(['append', dir], 'c\n')
    const { code, stdout, stderr } = await durlog(['tail', dir, '--cursor', 'reader'])
    expect([code, stdout.toString(), stderr]).toEqual([0, 'c\n', ''])
    expect((await durlog(['tail', dir, '--cursor', 'reader'])).stdout.toString()).toBe('')
  })

  test('commits only records that its reader has taken', async () => {
    const dir = join(scratchDir(), 'log')
    const log = await openUntilDone(dir)
    // More than the buffers of the pipe and the command hold.
    for (let i = 0; i < 64; i++) log.write(`${i} ${'x'.repeat(2 ** 16)}`)
    await log.sync()
    const { child, until } = start(['tail', dir, '--cursor', 'reader', '-f'])
    child.stdout?.pause()
    const closed = new Promise((resolve) => child.on('close', resolve))
    child.stdout?.once('readable', () => child.stdout?.destroy())
    await closed
    await until('stderr', '')
    const [cursor] = await log.cursors()
    expect(cursor?.position).toBeLessThan(64)
    const again = await durlog(['tail', dir, '--cursor', 'reader'])
    expect(again.stdout.toString().startsWith(`${cursor?.position} `)).toBe(true)
    expect((await log.cursors())[0]?.position).toBe(64)
  })

  test('with -f prints records as they arrive and commits each', async () => {
    const dir = join(scratchDir(), 'log')
    const log = await openUntilDone(dir)
    const { until } = start(['tail', dir, '-f', '--cursor', 'reader'])
    await log.append('one')
    await until('stdout', 'one\n')
    await log.append('two')
    await until('stdout', 'two\n')
    // The first is committed before the second is read.
    expect((await log.cursors())[0]?.position).toBeGreaterThanOrEqual(1)
  })
})

describe('cursors', () => {
  test('creates, moves and removes a cursor', async () => {
    const dir = join(scratchDir(), 'log')
    await durlog(['append', dir], 'a\nb\nc\n')
    const positions = async (...args: string[]): Promise<unknown> => {
      const { stdout, stderr } = await durlog(['cursors', dir, ...args, '--json'])
      if (stderr !== '') return JSON.parse(stderr).error.message
      return JSON.parse(stdout.toString()).map(({ name, position }: { name: string; position: number }) => [
        name,
        position,
      ])
    }
    expect(await positions('--create', 'a')).toEqual([['a', 0]])
    expect(await positions('--create', 'b', '--from', 'next')).toEqual([
      ['a', 0],
      ['b', 3],
    ])
    expect(await positions('--create', 'a')).toMatch(/the cursor a already exists, at seq 0; use --seek/)
    expect(await positions('--seek', 'a', '--from', '2')).toEqual([
      ['a', 2],
      ['b', 3],
    ])
    expect(await positions('--seek', 'c', '--from', '2')).toMatch(/there is no cursor c; the log has a, b/)
    expect(await positions('--remove', 'b')).toEqual([['a', 2]])
  })

  test.each([
    [['--seek', 'a'], /--seek needs --from/],
    [['--from', '1'], /--from needs/],
    [['--create', 'a', '--remove', 'b'], /only one of/],
    [['--create', 'a', '--from', 'x'], /must be a seq, first or next/],
  ])('%j is refused as wrong usage', async (args, message) => {
    const { code, stderr } = await durlog(['cursors', 'DIR', ...args])
    expect([code, stderr]).toEqual([64, expect.stringMatching(message)])
  })
})

test('cat and tail -t print the time of each record before it', async () => {
  const dir = join(scratchDir(), 'log')
  const log = await openUntilDone(dir)
  await log.append('a', { timestamp: 1000 })
  await log.append('b', { timestamp: 2000 })
  const expected = '1970-01-01T00:00:01.000Z\ta\n1970-01-01T00:00:02.000Z\tb\n'
  for (const command of ['cat', 'tail']) expect((await durlog([command, dir, '-t'])).stdout.toString()).toBe(expected)
  const { stdout } = await durlog(['cat', dir, '-t', '--json', '--from', '1'])
  expect(JSON.parse(stdout.toString()).timestamp).toBe('1970-01-01T00:00:02.000Z')
})

test('stat shows the times of the oldest and the newest record, and counts a span of time', async () => {
  const dir = join(scratchDir(), 'log')
  const log = await openUntilDone(dir)
  for (let i = 0; i < 10; i++) await log.append(String(i), { timestamp: i * 1000 })
  const span = ['--since', '1970-01-01T00:00:03Z', '--until', '1970-01-01T00:00:07Z']
  expect(JSON.parse((await durlog(['stat', dir, '--json', ...span])).stdout.toString())).toMatchObject({
    oldest: '1970-01-01T00:00:00.000Z',
    newest: '1970-01-01T00:00:09.000Z',
    range: { firstSeq: 3, nextSeq: 7 },
  })
  expect((await durlog(['stat', dir, ...span])).stdout.toString()).toMatch(/^in this time +4, seq 3 to 6$/m)
})
