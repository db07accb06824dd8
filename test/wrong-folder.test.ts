/**
 * A wrong folder, a file in place of a folder, or missing rights: the error has the code, the path, the reason and the
 * remedy.
 */
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { open, trim } from '../src/index.js'
import { openStreams, type StreamsOptions } from '../src/streams/index.js'
import { openUntilDone, scratchDir, scratchLog } from './fixtures/scratch.js'
import { scratchStreams } from './fixtures/streams.js'

const FILE_FOR_FOLDER =
  /a file is in the place of this folder or of one above it: name a folder, or move the file away if a folder belongs there \[/
const MODES: [name: string, options: StreamsOptions][] = [
  ['shared', {}],
  ['exclusive', { exclusive: true }],
]

test.each(
  MODES.flatMap(([mode, options]) =>
    ['log', 'catalog', 'streams', 'index', 'changed', 'owner'].map((name) => [name, mode, options] as const),
  ),
)('a file in the place of %s/ of a folder of streams (%s)', async (name, _, options) => {
  const dir = join(scratchDir(), 'streams')
  mkdirSync(dir)
  writeFileSync(join(dir, name), '')
  await expect(openStreams(dir, options)).rejects.toMatchObject({
    name: 'DurlogError',
    code: 'ERR_DURLOG_NOT_A_LOG',
    path: join(dir, name),
    message: expect.stringMatching(FILE_FOR_FOLDER),
  })
})

test('a file in the place of the folder, or of a folder above it', async () => {
  const file = join(scratchDir(), 'file')
  writeFileSync(file, '')
  for (const path of [file, join(file, 'below')]) {
    const refusal = { code: 'ERR_DURLOG_NOT_A_LOG', message: expect.stringMatching(FILE_FOR_FOLDER) }
    await expect(open(path)).rejects.toMatchObject({ ...refusal, path })
    await expect(openStreams(path)).rejects.toMatchObject(refusal)
  }
})

test.skipIf(process.platform === 'win32').each([
  ['a folder', (path: string) => mkdirSync(path)],
  ['a symbolic link', (path: string) => symlinkSync(path, path)],
  ['a FIFO', (path: string) => void execFileSync('mkfifo', [path])],
])('%s in the place of a file of the log', async (_, make) => {
  const dir = join(scratchDir(), 'log')
  mkdirSync(dir)
  make(join(dir, 'lock'))
  await expect(open(dir)).rejects.toMatchObject({
    code: 'ERR_DURLOG_NOT_A_LOG',
    path: join(dir, 'lock'),
    message: expect.stringMatching(/(remove or rename it|replace it by its target), or choose another folder/),
  })
})

test('open and trim refuse a folder of streams, and name openStreams; a log there can be read', async () => {
  const { dir, streams } = await scratchStreams()
  await streams.stream('a').append(1)
  const refusal = { code: 'ERR_DURLOG_NOT_A_LOG', path: dir, message: expect.stringContaining('openStreams()') }
  await expect(open(dir)).rejects.toMatchObject(refusal)
  await expect(trim(dir, { before: 1 })).rejects.toMatchObject(refusal)
  await expect(open(dir, { readOnly: true })).rejects.toMatchObject({ code: 'ERR_DURLOG_NOT_FOUND' })
})

test('the error of a second writer names the process that has the log open, and the remedy', async () => {
  const log = await scratchLog()
  const message =
    /^this process has the log open already, maybe in a worker thread: close it there first \(process \d+\) \[/
  await expect(open(log.dir)).rejects.toThrow(message)
})

test('a call on a closed folder of streams says that streams are closed', async () => {
  for (const [, options] of MODES) {
    const streams = await openStreams(join(scratchDir(), 'streams'), options)
    await streams.close()
    await expect(streams.stream('a').append(1)).rejects.toMatchObject({
      code: 'ERR_DURLOG_CLOSED',
      message: expect.stringMatching(/^the folder of streams .* has been closed; open it again/),
    })
  }
})

test('truncateAfter names the seqs after which the log can be cut', async () => {
  const log = await openUntilDone(join(scratchDir(), 'log'))
  await log.append('x')
  await expect(log.truncateAfter(7)).rejects.toThrow('the log can be cut after seq -1 to 0; got 7')
})

// A child process can give up its rights permanently.
const AS_NOBODY = `
const { openStreams } = await import(process.argv[1])
process.setgid(65534)
process.setuid(65534)
const options = process.argv[3] === 'exclusive' ? { exclusive: true } : {}
const { code, errnoName, path, message } = await openStreams(process.argv[2], options).catch((error) => error)
console.log(JSON.stringify({ code, errnoName, path, message }))`

test.skipIf(process.getuid?.() !== 0).each(MODES)(
  'a folder of streams whose folder owner/ cannot be entered (%s)',
  async (mode, options) => {
    const { dir, streams } = await scratchStreams(options)
    await streams.close()
    execFileSync('chown', ['-R', '65534', dirname(dir)])
    chmodSync(join(dir, 'owner'), 0)
    const index = new URL('../dist/streams/index.js', import.meta.url).href
    const told = execFileSync(process.execPath, ['--input-type=module', '-e', AS_NOBODY, index, dir, mode])
    expect(JSON.parse(told.toString())).toMatchObject({
      code: 'ERR_DURLOG_IO',
      errnoName: 'EACCES',
      path: expect.stringContaining(join(dir, 'owner')),
      message: expect.stringMatching(
        /permission denied: the user of this process needs the right to read the folder and its files, and to write/,
      ),
    })
  },
)

test.skipIf(process.platform === 'win32').each([false, true])(
  'an open log reads no record of another log that has replaced its folder, and opens no cursor there (read-only: %s)',
  async (readOnly) => {
    const dir = join(scratchDir(), 'log')
    const writer = await openUntilDone(dir)
    await writer.append('old')
    const log = readOnly ? await openUntilDone(dir, { readOnly }) : writer
    expect((await log.get(0)).data.toString()).toBe('old')
    renameSync(dir, `${dir}-moved`)
    const other = await openUntilDone(dir)
    await other.append('new')
    const replaced = {
      code: 'ERR_DURLOG_NOT_A_LOG',
      path: dir,
      message: expect.stringMatching(/the folder was replaced and holds another log now: close the log and open it/),
    }
    await expect(log.read().next()).rejects.toMatchObject(replaced)
    await expect(log.cursor('c')).rejects.toMatchObject(replaced)
    if (log.readOnly) await expect(log.refresh()).rejects.toMatchObject(replaced)
    expect(await other.cursors()).toEqual([])
    await writer.append('kept')
    await writer.close()
    const moved = await openUntilDone(`${dir}-moved`, { readOnly: true })
    expect((await moved.get(1)).data.toString()).toBe('kept')
  },
)
