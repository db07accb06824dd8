/** Folders, FIFOs and symbolic links that another program has put in the place of a stream's files. */
import { execFileSync } from 'node:child_process'
import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Streams } from '../../src/streams/index.js'
import { Body } from '../../src/streams/port/body.js'
import { portOf } from '../../src/streams/port/port.js'
import { isExclusive } from '../../src/streams/processes/address.js'
import { Connection } from '../../src/streams/processes/connection.js'
import { FrameMaker } from '../../src/streams/processes/frames.js'
import { codeOf, scratchDir } from '../fixtures/scratch.js'
import { all, scratchStreams, values } from '../fixtures/streams.js'

const TARGET = 'of another program'
const STRANGE: [kind: string, make: (path: string) => void][] = [
  ['a folder', (path) => mkdirSync(join(path, 'inner'), { recursive: true })],
  ['a FIFO', (path) => makeFifo(path)],
  [
    'a symbolic link to a file',
    (path) => {
      const target = join(scratchDir(), 'target')
      writeFileSync(target, TARGET)
      onTestFinished(() => expect(readFileSync(target, 'utf8')).toBe(TARGET))
      symlinkSync(target, path)
    },
  ],
  ['a symbolic link to itself', (path) => symlinkSync(path, path)],
]

/** A reader that waits for a FIFO would keep its thread for ever, so the test ends that. */
function makeFifo(path: string): void {
  execFileSync('mkfifo', [path])
  onTestFinished(() => void execFileSync('sh', ['-c', ': <>"$0"', path]))
}

async function appended(streams: Streams<unknown>, name: string): Promise<number[]> {
  const numbers = Array.from({ length: 20 }, (_, number) => number)
  for (const number of numbers) await streams.stream(name).append(number)
  return numbers
}

describe.skipIf(process.platform === 'win32').each(STRANGE)('%s in the place of', (_, make) => {
  test('the file of a stream: reads report it, and the stream continues in a new file', async () => {
    const { dir, streams, reopen } = await scratchStreams()
    const path = join(dir, 'streams', 's.jsonl')
    const numbers = await appended(streams, 's')
    await streams.checkpoint()
    rmSync(path)
    make(path)
    const strange = lstatSync(path).mode
    await expect(all(streams.stream('s').read())).rejects.toMatchObject({
      code: 'ERR_DURLOG_STREAM_CHANGED',
      message: expect.stringContaining('is not a regular file'),
    })
    const access = portOf(streams)
    const view = await access.find('s')
    expect(await codeOf(access.read(view as never, 0, new Body('json', 1000)))).toBe('ERR_DURLOG_STREAM_CHANGED')
    await streams.stream('s').append('next')
    await appended(streams, 'other')
    await streams.checkpoint()
    expect(streams.changes).toMatchObject([{ stream: 's', lostFirst: 0, lostLast: 19 }])
    expect(lstatSync(streams.changes[0]?.original as string).mode).toBe(strange)
    const again = await reopen()
    expect(await all(again.stream('s').read())).toMatchObject([{ seq: 20, value: 'next' }])
    expect(await values(again.stream('other').read())).toEqual(numbers)
  })

  test.each(['streams/new.jsonl', 'index/new'])('a new file (%s): it is moved to changed/', async (file) => {
    const { dir, streams, reopen } = await scratchStreams()
    make(join(dir, file))
    const strange = lstatSync(join(dir, file)).mode
    const numbers = await appended(streams, 'new')
    await streams.checkpoint()
    expect(streams.changes).toMatchObject([{ stream: 'new', lostFirst: -1, lostLast: -1 }])
    expect(lstatSync(streams.changes[0]?.original as string).mode).toBe(strange)
    expect(await values(streams.stream('new').read())).toEqual(numbers)
    expect(await values((await reopen()).stream('new').read())).toEqual(numbers)
  })

  test('an index: reads report it, and checkpoints add the later records', async () => {
    const { dir, streams } = await scratchStreams()
    await appended(streams, 's')
    await streams.checkpoint()
    rmSync(join(dir, 'index', 's'))
    make(join(dir, 'index', 's'))
    await expect(all(streams.stream('s').read())).rejects.toMatchObject({
      code: 'ERR_DURLOG_STREAM_CHANGED',
      message: expect.stringContaining(`${join(dir, 'index', 's')} is not a regular file`),
    })
    const numbers = await appended(streams, 's')
    await streams.checkpoint()
    expect(streams.changes).toMatchObject([{ stream: 's', lostFirst: -1, lostLast: -1 }])
    expect(await values(streams.stream('s').read({ from: 20 }))).toEqual(numbers)
  })

  test('a file of a deleted stream: checkpoints succeed', async () => {
    const { dir, streams } = await scratchStreams()
    const path = join(dir, 'streams', 's.jsonl')
    await appended(streams, 's')
    await streams.checkpoint()
    rmSync(path)
    make(path)
    await streams.stream('s').delete()
    await streams.checkpoint()
    const numbers = await appended(streams, 's')
    await streams.checkpoint()
    expect(await values(streams.stream('s').read())).toEqual(numbers)
  })
})

test.skipIf(process.platform === 'win32').each(STRANGE.filter(([kind]) => kind !== 'a folder'))(
  '%s in the place of the mark of an exclusive owner: it is replaced, and other processes do not wait for it',
  async (_, make) => {
    const { dir, reopen } = await scratchStreams()
    const path = join(dir, 'owner', 'exclusive')
    rmSync(path)
    make(path)
    expect(await isExclusive(dir, process.pid)).toBe(false)
    await reopen()
    expect(await isExclusive(dir, process.pid)).toBe(true)
  },
)

test('a checkpoint succeeds after another program has removed the folder for changed files', async () => {
  const { dir, streams } = await scratchStreams()
  await streams.stream('s').append(1)
  await streams.checkpoint()
  rmSync(join(dir, 'changed'), { recursive: true })
  await streams.stream('new').append(1)
  await streams.checkpoint()
  rmSync(join(dir, 'changed'), { recursive: true })
  writeFileSync(join(dir, 'streams', 's.jsonl'), 'foreign\n', { flag: 'a' })
  await streams.stream('s').append(2)
  await streams.checkpoint()
  expect(streams.changes).toMatchObject([{ stream: 's', lostFirst: -1 }])
  expect(readFileSync(streams.changes[0]?.original as string, 'utf8')).toBe('1\nforeign\n')
  expect(await values(streams.stream('s').read())).toEqual([1, 2])
})

test.each(['json', 'buffer'] as const)(
  'a file of %s that another program has made longer than memory is moved aside, and no record is lost',
  async (encoding) => {
    const { dir, streams, reopen } = await scratchStreams({ encoding })
    const value = (n: number): unknown => (encoding === 'json' ? n : Buffer.from([n]))
    const path = join(dir, 'streams', encoding === 'json' ? 's.jsonl' : 's.frames')
    for (let n = 0; n < 20; n++) await streams.stream('s').append(value(n))
    await streams.checkpoint()
    truncateSync(path, 2 ** 42)
    await streams.stream('s').append(value(20))
    await streams.checkpoint()
    expect(streams.changes).toMatchObject([{ stream: 's', lostFirst: -1, lostLast: -1 }])
    expect(statSync(streams.changes[0]?.original as string).size).toBe(2 ** 42)
    expect(statSync(path).size).toBeLessThan(1000)
    expect(await all(streams.stream('s').read())).toMatchObject(Array.from({ length: 21 }, (_, seq) => ({ seq })))
    const again = await reopen()
    expect(await values(again.stream('s').read({ from: 20 }))).toEqual([value(20)])
    expect(readdirSync(join(dir, 'changed'))).toHaveLength(1)
  },
)

test('a process that finds no name in the file `owner/pipe` (Windows: the owner is writing it) does not connect', async () => {
  const dir = scratchDir()
  mkdirSync(join(dir, 'owner'))
  writeFileSync(join(dir, 'owner', 'pipe'), '')
  const platform = Object.getOwnPropertyDescriptor(process, 'platform') as PropertyDescriptor
  onTestFinished(() => void Object.defineProperty(process, 'platform', platform))
  Object.defineProperty(process, 'platform', { value: 'win32' })
  expect(await Connection.dial(dir, new FrameMaker())).toBeUndefined()
})
