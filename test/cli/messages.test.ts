/** Messages with a remedy that names options of the command. */
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, statSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import { toStoreError } from '../../src/archive/store-errors.js'
import { judgeFlush } from '../../src/cli/doctor/flush.js'
import { toFailure } from '../../src/cli/failure.js'
import { DurlogError } from '../../src/errors.js'
import { openStreams } from '../../src/streams/index.js'
import { DURLOG, durlog, durlogProcess, startDurlog } from '../fixtures/command.js'
import { codeOf, openUntilDone, scratchDir, scratchLog } from '../fixtures/scratch.js'

const advice = (code: ConstructorParameters<typeof DurlogError>[0], ...flags: string[]): string =>
  toFailure(new DurlogError(code, 'message'), (flag) => flags.includes(flag)).advice

describe('a folder without a log', () => {
  test.each([
    ['does not exist', '', 'there is no log here yet: the folder does not exist'],
    ['is empty', 'empty', 'there is no log in this folder yet'],
  ])('that %s: the message says so, and how to create one', async (_, name, message) => {
    const dir = join(scratchDir(), name === '' ? 'none' : name)
    if (name !== '') mkdirSync(dir)
    for (const args of [
      ['cat', dir],
      ['stat', dir],
      ['verify', dir],
      ['append', dir, '--no-create'],
    ]) {
      const { code, stderr } = await durlog(args, 'x\n')
      expect([code, stderr]).toEqual([66, expect.stringContaining(message)])
      expect(stderr).toContain('"durlog append DIR" creates a log')
    }
  })
})

describe('a message of the library names flags and commands', () => {
  const flags = ['--segment-bytes', '--max-age', '--stream', '--create', '--to', '--uuid', '--tls-first']
  const shown = (message: string): string =>
    toFailure(new DurlogError('ERR_DURLOG_IO', message), (flag) => flags.includes(flag)).message

  test.each([
    ['segmentBytes must be a multiple of 4096; got 1', '--segment-bytes must be a multiple of 4096; got 1'],
    ['open the log with a larger segmentBytes', 'open the log with a larger --segment-bytes'],
    ['maxAgeMs must be a duration; got "x"', '--max-age must be a duration; got "x"'],
    ['stream must be the name of a stream; got "a b"', '--stream must be the name of a stream; got "a b"'],
    ['create it, or ship with create: true (--create)', 'create it, or ship with --create'],
    ['restore the records before them with to: 5 (--to 5)', 'restore the records before them with --to 5'],
    ['2 logs: choose one with uuid (--uuid): a, b', '2 logs: choose one with --uuid: a, b'],
    ['set tls.handshakeFirst (--tls-first)', 'set --tls-first'],
    [
      'make it the writer with takeOver() (durlog promote), or wait',
      'make it the writer with "durlog promote", or wait',
    ],
    ['read it with readOnly: true (durlog cat DIR)', 'read it with "durlog cat DIR"'],
    ['open it with openStreams() (durlog streams DIR ls)', 'open it with "durlog streams DIR ls"'],
  ])('%s', (message, expected) => {
    expect(shown(message)).toBe(expected)
  })

  test.each([
    'the stream has no record to read',
    'no file /logs/segmentBytes: true; got "segmentBytes"',
    "remove the log's cursor (durlog cursors DIR --remove archive)",
    'maxPendingBytes is 1',
  ])('if the command has them, and it is their name: %s', (message) => {
    expect(shown(message)).toBe(message)
  })
})

test('a log in the place of streams, and the reverse: the message names the commands', async () => {
  const dir = join(scratchDir(), 'log')
  await durlog(['append', dir], 'x\n')
  const { stderr } = await durlog(['streams', dir, 'ls'])
  expect(stderr).toContain('open it with "durlog cat DIR", or choose another folder')
  const none = await durlog(['streams', join(dir, 'none'), 'ls'])
  expect([none.code, none.stderr]).toEqual([66, expect.stringMatching(/with "durlog streams DIR append NAME"\n$/)])
})

test('a locked log: the advice names --shared and --wait only if the command has them', async () => {
  expect(advice('ERR_DURLOG_LOCKED', '--shared', '--wait')).toMatch(/--wait.*--shared.*stop that process/)
  expect(advice('ERR_DURLOG_LOCKED')).toMatch(/^stop that process/)
  const dir = join(scratchDir(), 'log')
  await openUntilDone(dir)
  const append = await durlogProcess(['append', dir], 'x\n')
  expect([append.code, append.stderr]).toEqual([75, expect.stringMatching(/--wait.*--shared/)])
  const repair = await durlogProcess(['repair', dir, '--apply'])
  expect([repair.code, repair.stderr]).toEqual([75, expect.not.stringMatching(/--wait|--shared/)])
})

test('a cursor in use: the advice is about cursors, and names --cursor only if the command has it', () => {
  const error = new DurlogError('ERR_DURLOG_LOCKED', 'message', { path: '/log/ship.cursor' })
  expect(toFailure(error, (flag) => flag === '--cursor').advice).toBe(
    'stop that process, or name another --cursor: each destination and each consumer has its own',
  )
  expect(toFailure(error, () => false).advice).toBe('stop that process')
})

test('a locked folder of streams: serve names no commands for logs', () => {
  expect(advice('ERR_DURLOG_LOCKED', '--shared', '--max-streams')).toMatch(/^stop that process.*--shared too$/)
})

test('a full disk: only a command that writes a log advises to trim it, and names --segment-bytes', () => {
  expect(advice('ERR_DURLOG_NO_SPACE', '--segment-bytes')).toMatch(/durlog trim DIR.*--segment-bytes/)
  expect(advice('ERR_DURLOG_NO_SPACE')).toBe('free space on the file system and try again')
  const ofNode = Object.assign(new Error('ENOSPC: no space left on device, write'), {
    ...{ code: 'ENOSPC', errno: -28, syscall: 'write', path: '/backup' },
  })
  expect(toFailure(ofNode, () => false)).toMatchObject({
    code: 'ERR_DURLOG_NO_SPACE',
    message: expect.stringMatching(/^write: No space left on device.* \[\/backup\]$/i),
    exitCode: 73,
    advice: advice('ERR_DURLOG_NO_SPACE'),
  })
})

test.skipIf(!existsSync('/dev/full'))('stdout on a full disk is reported with the code of a full disk', async () => {
  const dir = join(scratchDir(), 'log')
  await durlog(['append', dir], 'record\n')
  const full = openSync('/dev/full', 'w')
  const child = startDurlog(['cat', dir], { stdio: ['ignore', full, 'pipe'] })
  const [stderr] = await Promise.all([text(child.stderr as Readable), once(child, 'exit')])
  closeSync(full)
  expect([child.exitCode, stderr]).toEqual([
    73,
    expect.stringMatching(/^durlog: ERR_DURLOG_NO_SPACE: write: .*\[stdout\]\n {2}free/),
  ])
})

test.skipIf(process.platform !== 'linux').each([['export'], ['tail', '--cursor', 'c']])(
  'stdout is a file that takes only a part of the output: %s fails, and commits no cursor',
  async (command, ...flags) => {
    const dir = join(scratchDir(), 'log')
    await durlog(['append', dir], 'x'.repeat(131_072))
    // The file may have 64 KiB: the system writes as much, and reports the error at the next write.
    const program = `ulimit -f 64; exec '${process.execPath}' '${DURLOG}' "$@" > '${dir}.out'`
    const { status, stderr } = spawnSync('bash', ['-c', program, 'bash', command, dir, ...flags], { encoding: 'utf8' })
    expect([status, stderr]).toEqual([73, expect.stringMatching(/^durlog: ERR_DURLOG_NO_SPACE: write: .*\[stdout\]\n/)])
    expect(statSync(`${dir}.out`).size).toBe(65_536)
    const log = await openUntilDone(dir, { readOnly: true })
    expect((await log.cursors()).map(({ position }) => position)).toEqual(flags.length === 0 ? [] : [0])
  },
)

test('a damaged log: repair advises to fetch the records from a backup before it gives them up', () => {
  const flags = ['--apply', '--from', '--salvage']
  expect(advice('ERR_DURLOG_CORRUPT', ...flags)).toMatch(/durlog verify DIR.*--from BACKUP.*--salvage gives them up$/)
  expect(advice('ERR_DURLOG_CORRUPT', '--salvage')).toMatch(/--salvage continues/)
})

test('an archive that does not exist: restore does not advise to create a log', () => {
  expect(advice('ERR_DURLOG_NOT_FOUND', '--uuid')).toBe('')
})

test('wrong usage with --json: the message has no prefix', async () => {
  const { stderr } = await durlog(['cat', '--json'])
  expect(JSON.parse(stderr.toString()).error).toMatchObject({
    code: 'USAGE',
    message: "missing required argument 'dir'",
  })
})

test("the message of a store's error has one full stop before the remedy", () => {
  const message = 'The bucket does not exist.'
  const headers = { isConditional: false, region: undefined, location: undefined, retryAfter: undefined, timeMs: 0 }
  const response = { status: 404, code: 'NoSuchBucket', message, request: 'GET s3://b/', ...headers }
  expect(toStoreError(response, false).message).toMatch(/does not exist\. Create the bucket/)
})

test('restore to a full device: the advice is to continue', () => {
  const has = (flag: string): boolean => ['--uuid', '--segment-bytes'].includes(flag)
  const { advice } = toFailure(new DurlogError('ERR_DURLOG_NO_SPACE', 'write: No space left on device'), has)
  expect(advice).toBe('free space on the file system, then run the command again to continue')
})

test('an object of an archive is damaged: the advice is not about the folder', () => {
  const error = new DurlogError('ERR_DURLOG_CORRUPT', 'it is damaged', { path: 's3://bucket/log/00000000000000000007' })
  const { advice } = toFailure(error, () => false)
  expect(advice).toMatch(/with "--to SEQ", a restore ends before the damaged one$/)
})

test('restore from a server that is not there: the advice limits --endpoint to buckets', async () => {
  const from = ['nats://127.0.0.1:1', '--stream', 's', '--retry-for', '1']
  const { code, stderr } = await durlog(['restore', join(scratchDir(), 'log'), ...from])
  expect([code, stderr]).toEqual([69, expect.stringContaining('check the address (for a bucket: --endpoint)')])
  expect(stderr).toContain('ECONNREFUSED 127.0.0.1:1; attempt 2 follows in')
})

test('ship to no server: the message names the attempt once', async () => {
  const dir = join(scratchDir(), 'log')
  await durlog(['append', dir], 'x\n')
  const to = ['nats://127.0.0.1:1', '--stream', 's', '--subject', 's', '--retry-for', '1']
  const { code, stderr } = await durlog(['ship', dir, '--once', ...to])
  expect([code, stderr]).toEqual([69, expect.stringMatching(/: connecting: connect ECONNREFUSED/)])
  expect(stderr).not.toMatch(/connecting: connecting/)
})

test('streams ls: the stream with the latest record is first, those of the same time are sorted by name', async () => {
  const dir = join(scratchDir(), 'streams')
  const streams = await openStreams(dir)
  for (const [name, timestamp] of [
    ['b', 1000],
    ['c', 2000],
    ['a', 1000],
  ] as const)
    await streams.stream(name).append(1, { timestamp })
  await streams.close()
  const { stdout } = await durlog(['streams', dir, 'ls'])
  expect(stdout.toString().match(/^│ \w(?= )/gm)).toEqual(['│ c', '│ a', '│ b'])
  expect(stdout.toString()).toContain('│ c      │ 1970-01-01T00:00:02Z │')
})

test('a port in use: the advice names --port, and serve creates no folder', async () => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const dir = join(scratchDir(), 'streams')
  const { code, stderr } = await durlog(['serve', dir, '--port', String(port)])
  server.close()
  expect([code, stderr]).toEqual([74, expect.stringMatching(/EADDRINUSE.*\n {2}.*another one with --port/)])
  expect(existsSync(dir)).toBe(false)
})

test.each([
  ['--port', '70000', 'from 0 to 65535; got 70000'],
  ['--max-body', '9MiB', 'of bytes from 1 to 8388608'],
  ['--max-streams', '3000000000', 'of streams from 0 to 2147483647; got 3000000000'],
  ['--max-connections', '0', 'of connections from 1 to 1048576; got 0'],
  ['--cors', 'https://app.example/path', 'without a path; got "https://app.example/path"'],
  ['--allow-host', 'app.example:80', 'without a port; got "app.example:80"'],
])('serve %s %s: the message begins with the flag, and no folder is created', async (flag, value, message) => {
  const dir = join(scratchDir(), 'streams')
  const { code, stderr } = await durlog(['serve', dir, '--port', '0', flag, value])
  expect([code, stderr]).toEqual([64, expect.stringContaining(`: ${flag} must be `)])
  expect(stderr).toContain(message)
  expect(existsSync(dir)).toBe(false)
})

test('serve --log: the message for a content type begins with the flag', async () => {
  const { code, stderr } = await durlog(['serve', '--port', '0', '--log', scratchDir(), '--content-type', 'json'])
  expect([code, stderr]).toEqual([64, expect.stringContaining(': --content-type must be a media type')])
})

test('a folder of streams is no log: the message names the commands for streams', async () => {
  const dir = join(scratchDir(), 'streams')
  await (await openStreams(dir)).close()
  for (const command of ['cat', 'stat', 'verify']) {
    const { code, stderr } = await durlog([command, dir])
    expect([code, stderr]).toEqual([66, expect.stringMatching(/contains streams.*"durlog streams DIR ls"/)])
  }
})

test('append, import and trim refuse a folder of streams and its main log, and change nothing', async () => {
  const dir = join(scratchDir(), 'streams')
  await durlog(['streams', dir, 'append', 'a'], '1\n')
  const files = readdirSync(join(dir, 'log')).join()
  for (const folder of [dir, join(dir, 'log')]) {
    for (const [args, remedy] of [
      [['append', folder], '"durlog streams DIR append NAME"'],
      [['import', folder], '"durlog streams DIR import FILE"'],
      [['trim', folder, '--max-bytes', '0'], 'checkpoints trim their log'],
    ] as const) {
      const { code, stderr } = await durlog(args, '{"data":"x"}\n')
      expect([code, stderr]).toEqual([64, expect.stringContaining(`${dir} contains streams: `)])
      expect(stderr).toContain(remedy)
    }
  }
  expect(readdirSync(join(dir, 'log')).join()).toBe(files)
  expect((await durlog(['streams', dir, 'cat', 'a'])).stdout.toString()).toBe('1\n')
})

test('a stream that does not exist is NOT_FOUND, as a log that does not exist', async () => {
  const dir = join(scratchDir(), 'streams')
  await (await openStreams(dir)).close()
  const { code, stderr } = await durlog(['streams', dir, 'cat', 'none'])
  expect([code, stderr]).toEqual([
    66,
    'durlog: NOT_FOUND: there is no stream none: "durlog streams DIR ls" lists the names\n',
  ])
})

test('import of ordinary JSON Lines names append and --plain', async () => {
  const { code, stderr } = await durlog(['import', join(scratchDir(), 'log')], '{"a":1}\n')
  expect([code, stderr]).toEqual([65, expect.stringMatching(/line 1 has no "data".*"durlog append" or --plain/)])
})

test('a record that is neither bytes nor text: the message names the option encoding', async () => {
  const log = await scratchLog()
  const message = /open the log with encoding: 'json'/
  await expect(log.append({ a: 1 } as never)).rejects.toThrow(message)
  expect(() => log.write({ a: 1 } as never)).toThrow(message)
  expect(await codeOf(() => log.write(5 as never))).toBe('ERR_DURLOG_INVALID_ARGUMENT')
})

test.each([
  [102.4, '102 us'],
  [8.64, '8.6 us'],
  [170_000, '170.0 ms'],
])('doctor writes %d us as %s', (micros, text) => {
  expect(judgeFlush({ writeUs: 3, syncUs: micros, quickSyncUs: micros }).found).toContain(`${text} for an fdatasync`)
})

test('a missing package: there is no advice about options for the disk', () => {
  expect(advice('ERR_DURLOG_UNSUPPORTED', '--strategy')).toBe('')
})

test('a destination that cannot be reached: the advice names what to check', () => {
  expect(advice('ERR_DURLOG_DESTINATION_UNREACHABLE', '--endpoint')).toMatch(/--endpoint.*network/)
  expect(advice('ERR_DURLOG_DESTINATION_UNREACHABLE')).toMatch(/^check the address.*network/)
})

test('serve of a folder with a log names --log', async () => {
  const dir = join(scratchDir(), 'log')
  await durlog(['append', dir], 'x\n')
  const { code, stderr } = await durlog(['serve', dir, '--port', '0'])
  expect([code, stderr]).toEqual([66, expect.stringContaining('--log DIR serves a log')])
})

test('a missing argument and an unknown option: the message has the usage of the command', async () => {
  for (const args of [['append'], ['append', 'log', '--fast']]) {
    const { code, stderr } = await durlog(args)
    expect([code, stderr]).toEqual([64, expect.stringContaining('\n  usage: durlog append [options] <dir> [file]\n')])
  }
})

test('restore refuses options that its source does not have, and names the folder that does not exist', async () => {
  const dir = join(scratchDir(), 'log')
  const copy = join(scratchDir(), 'copy')
  await durlog(['append', dir], 'a\nb\n')
  await durlog(['backup', dir, copy])
  for (const [source, flags, message] of [
    [copy, ['--to', '1'], '--to does not apply to a backup'],
    ['s3://bucket', ['--from', '1'], '--from does not apply to a bucket'],
    ['nats://127.0.0.1', ['--list'], '--list does not apply to a server'],
    ['none', [], 'there is no folder none'],
  ] as const) {
    const { code, stderr } = await durlog(['restore', join(scratchDir(), 'back'), source, ...flags])
    expect([code, stderr]).toEqual([64, expect.stringContaining(message)])
  }
})

test('ship --status of an empty log says that there are no records', async () => {
  const dir = join(scratchDir(), 'log')
  await durlog(['append', dir])
  const { code, stdout } = await durlog(['ship', dir, '--status'])
  expect([code, stdout.toString()]).toEqual([0, expect.stringMatching(/^log +no records, none synced$/m)])
})

test('the names of streams, which any client of a server can choose, cannot control the terminal', async () => {
  const dir = join(scratchDir(), 'streams')
  const streams = await openStreams(dir, { exclusive: true })
  await streams.stream('a\x1b]0;title\x07\nb').append(1)
  await streams.close()
  const outcomes = [
    await durlog(['streams', dir, 'ls']),
    await durlog(['streams', dir, 'stat', 'a\x1b]0;title\x07\nb']),
    await durlog(['streams', dir, 'cat', 'not\x1b[31m']),
  ]
  for (const { stdout, stderr } of outcomes) {
    expect(stdout + stderr).toContain('\\u001b')
    expect(stdout + stderr).not.toMatch(/[^\P{Cc}\n]/u)
  }
})

test('serve: the messages name the flag of a file, and a flag that takes the folder as its value', async () => {
  const dir = join(scratchDir(), 'streams')
  const refused = async (...args: string[]) => {
    const { code, stderr } = await durlog(['serve', ...args, '--port', '0'])
    return [code, stderr.split('\n')[0]]
  }
  const missing = join(dir, 'missing')
  expect(await refused(dir, '--token-file', missing)).toEqual([
    65,
    expect.stringContaining(`BAD_INPUT: can't read --token-file ${missing}: ENOENT`),
  ])
  for (const flag of ['--cors', '--allow-host'])
    expect(await refused(flag, 'app.example', dir)).toEqual([
      64,
      `durlog: USAGE: name the folder before ${flag}, which takes all words that follow it`,
    ])
})

test('help of a command that does not exist says so', async () => {
  const { code, stderr } = await durlog(['help', 'tial'])
  expect([code, stderr]).toEqual([64, 'durlog: USAGE: there is no command "tial": "durlog --help" lists them\n'])
  expect((await durlog(['help', 'tail'])).stdout.toString()).toContain('Usage: durlog tail')
})
