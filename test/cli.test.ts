import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { open } from '../src/index.js'
import { durlog, durlogProcess, startDurlog } from './fixtures/command.js'
import { openUntilDone, records, scratchDir, texts } from './fixtures/scratch.js'

const json = (bytes: Buffer): unknown => JSON.parse(bytes.toString())
/** The folder of a closed log that holds the records `held`. */
async function logOf(...held: string[]): Promise<string> {
  const dir = join(scratchDir(), 'log')
  const log = await open(dir)
  await log.appendBatch(held)
  await log.close()
  return dir
}

async function stored(dir: string): Promise<string[]> {
  const log = await openUntilDone(dir, { readOnly: true })
  return texts(log.read())
}

const lines = (count: number): string => Array.from({ length: count }, (_, i) => `${i + 1}\n`).join('')

describe('append and cat', () => {
  test('50,000 lines appended at sync are printed byte for byte, and verify finds the log clean', async () => {
    const dir = join(scratchDir(), 'log')
    const count = 50_000
    const input = lines(count)
    const appended = await durlogProcess(
      ['append', dir, '--durability', 'sync', '--segment-bytes', '1M', '--json'],
      input,
    )
    expect(appended.stderr).toBe('')
    expect(json(appended.stdout)).toMatchObject({ records: count, first: 0, last: count - 1, durability: 'sync' })
    const printed = await durlogProcess(['cat', dir])
    const sha = (data: string | Buffer): string => createHash('sha256').update(data).digest('hex')
    expect(sha(printed.stdout)).toBe(sha(input))
    const verified = await durlogProcess(['verify', dir, '--json'])
    expect(verified.code).toBe(0)
    expect(json(verified.stdout)).toMatchObject({ state: 'clean', records: count, problems: [] })
  })

  test.each(['memory', 'async', 'sync', 'full'])('append at %s prints the assigned seqs', async (durability) => {
    const dir = await logOf('first')
    const { code, stdout } = await durlog(['append', dir, '--durability', durability], 'a\nb\nc')
    expect(code).toBe(0)
    expect(stdout.toString()).toMatch(new RegExp(`^appended 3 records, seq 1 to 3, at ${durability} in`))
    expect(await stored(dir)).toEqual(['first', 'a', 'b', 'c'])
  })

  test.each(['mmap', 'pwrite', 'direct'])('append works with strategy %s', async (strategy) => {
    const dir = join(scratchDir(), 'log')
    const input = lines(40_000)
    expect((await durlog(['append', dir, '--strategy', strategy, '--segment-bytes', '1M'], input)).code).toBe(0)
    expect((await stored(dir)).map((text) => `${text}\n`).join('')).toBe(input)
  })

  test('length-prefixed records of any bytes are printed as they were appended', async () => {
    const dir = join(scratchDir(), 'log')
    const input = Buffer.concat(
      [Buffer.from([10, 0, 255]), Buffer.alloc(500_000, 7), Buffer.from('x')].flatMap((record) => {
        const length = Buffer.alloc(4)
        length.writeUInt32LE(record.length)
        return [length, record]
      }),
    )
    const appended = await durlog(['append', dir, '--length-prefixed', '--json'], input)
    expect(json(appended.stdout)).toMatchObject({ records: 3 })
    const printed = await durlog(['cat', dir, '--length-prefixed'])
    expect(printed.stdout.equals(input)).toBe(true)
  })

  test('append reads a file', async () => {
    const dir = scratchDir()
    writeFileSync(join(dir, 'input'), 'a\nb\n')
    expect((await durlog(['append', join(dir, 'log'), join(dir, 'input')])).code).toBe(0)
    expect(await stored(join(dir, 'log'))).toEqual(['a', 'b'])
    expect((await durlog(['append', join(dir, 'log'), join(dir, 'none')])).code).toBe(65)
  })

  test('wrong input exits with 65 and names the line; the lines before it are appended', async () => {
    const dir = join(scratchDir(), 'log')
    const long = await durlog(['append', dir, '--max-record-bytes', '5', '--json'], 'fine\nsixsix\n')
    const { error } = JSON.parse(long.stderr)
    expect([long.code, error.code, error.message]).toEqual([
      65,
      'BAD_INPUT',
      expect.stringContaining('line 2 has more'),
    ])
    expect(json(long.stdout)).toMatchObject({ records: 1, first: 0, last: 0 })
    expect(await stored(dir)).toEqual(['fine'])
  })

  test('cat --json prints seq, timestamp and data, and marks base64', async () => {
    const dir = join(scratchDir(), 'log')
    await durlog(['append', dir], Buffer.from([0x61, 0x0a, 0xff, 0x0a]))
    const printed = (await durlog(['cat', dir, '--json'])).stdout.toString().trimEnd().split('\n')
    expect(printed.map((line) => JSON.parse(line))).toMatchObject([
      { seq: 0, data: 'a' },
      { seq: 1, data: '/w==', encoding: 'base64' },
    ])
  })

  test('cat ends without an error when its reader closes stdout', async () => {
    const dir = join(scratchDir(), 'log')
    await durlog(['append', dir], lines(200_000))
    const child = startDurlog(['cat', dir])
    let stderr = ''
    child.stderr?.on('data', (chunk: Buffer) => {
      stderr += chunk.toString()
    })
    await new Promise((resolve) => child.stdout?.once('data', resolve))
    child.stdout?.destroy()
    expect(await new Promise((resolve) => child.on('close', resolve))).toBe(0)
    expect(stderr).toBe('')
  })
})

describe('if stdout is closed', () => {
  const CALLS: string[][] = [
    ['append', 'DIR'],
    ['cat', 'DIR'],
    ['cat', 'DIR', '--json'],
    ['tail', 'DIR'],
    ['tail', '-f', 'DIR'],
    ['get', 'DIR', '0'],
    ['stat', 'DIR'],
    ['stat', 'DIR', '--json'],
    ['cursors', 'DIR'],
    ['cursors', 'DIR', '--json'],
    ['top', 'DIR', '-n', '1'],
    ['top', 'DIR', '-n', '1', '--json'],
    ['verify', 'DIR'],
    ['verify', 'DIR', '--json'],
    ['repair', 'DIR'],
    ['dump', 'DIR'],
    ['export', 'DIR'],
    ['import', 'DIR'],
    ['trim', 'DIR', '--before', '0'],
    ['trim', 'DIR', '--max-bytes', '0', '--dry-run'],
    ['trim', 'DIR', '--max-age', '0s', '--json'],
    ['stat', 'DIR', '--since', '1h'],
    ['tail', 'DIR', '--cursor', 'reader'],
    ['cursors', 'DIR', '--create', 'reader'],
    ['completion', 'bash'],
    ['man'],
    ['--help'],
    ['help'],
    // The texts of all commands are written by the same line; the bench is loaded from another package.
    ...['append', 'bench'].flatMap((name) => [
      [name, '--help'],
      ['help', name],
    ]),
  ]

  test.each(CALLS)('%s %s %s: the command ends without an error, with its usual status', async (...args) => {
    const dir = join(scratchDir(), 'log')
    if (args.includes('DIR')) {
      const log = await open(dir)
      await log.append('a record')
      await log.close()
    }
    const child = startDurlog(
      args.filter((argument) => argument !== undefined).map((name) => (name === 'DIR' ? dir : name)),
    )
    child.stdout?.destroy()
    child.stdin?.on('error', () => {})
    child.stdin?.end(args[0] === 'import' ? '{"data":"a"}\n' : 'a\n')
    let stderr = ''
    child.stderr?.on('data', (chunk: Buffer) => {
      stderr += chunk.toString()
    })
    expect(await new Promise((resolve) => child.on('close', resolve))).toBe(0)
    expect(stderr).toBe('')
  })

  test('verify and repair exit with their verdict', async () => {
    const dir = join(scratchDir(), 'log')
    const log = await open(dir)
    await log.append('a record')
    await log.append('another one')
    await log.close()
    const segment = join(dir, readdirSync(dir).find((name) => /^\d{20}/.test(name)) as string)
    const bytes = readFileSync(segment)
    bytes.writeUInt8(255, bytes.indexOf('a record'))
    writeFileSync(segment, bytes)
    for (const name of ['verify', 'repair']) {
      const told = await durlog([name, dir])
      const child = startDurlog([name, dir])
      child.stdout?.destroy()
      expect(await new Promise((resolve) => child.on('close', resolve))).toBe(told.code)
      expect(told.code).toBe(2)
    }
  })
})

test('cursors lists the position, the state and the owner of each cursor', async () => {
  const dir = join(scratchDir(), 'log')
  const log = await openUntilDone(dir)
  await log.appendBatch(['a', 'b', 'c'])
  await (await log.cursor('audit', { from: 'next' })).close()
  await (await log.cursor('mailer')).commit(0)
  const lines = (await durlog(['cursors', dir])).stdout.toString().split('\n')
  const rows = lines.filter((line) => line.startsWith('│'))
  const cells = rows.map((line) => line.split('│').map((cell) => cell.trim()))
  expect(cells.map((row) => row.slice(1, -1))).toEqual([
    ['cursor', 'position', 'behind', 'state', 'owner'],
    ['audit', '3', '0', 'ready', 'none'],
    ['mailer', '1', '2', 'ready', `process ${process.pid}`],
  ])
  expect(json((await durlog(['cursors', dir, '--json'])).stdout)).toEqual(await log.cursors())
})

describe('reading while a writer has the log open', () => {
  test('cat, get, stat, verify and dump take no lock; append is refused with 75 and the owner', async () => {
    const dir = join(scratchDir(), 'log')
    const log = await openUntilDone(dir)
    await log.append('held')
    expect((await durlogProcess(['cat', dir])).stdout.toString()).toBe('held\n')
    expect((await durlogProcess(['get', dir, '0'])).stdout.toString()).toBe('held')
    expect(json((await durlogProcess(['stat', dir, '--json'])).stdout)).toMatchObject({
      firstSeq: 0,
      nextSeq: 1,
      uuid: log.uuid,
    })
    expect((await durlogProcess(['verify', dir])).code).toBe(0)
    expect((await durlogProcess(['dump', dir])).code).toBe(0)
    const refused = await durlogProcess(['append', dir, '--json'], 'x\n')
    expect(refused.code).toBe(75)
    expect(JSON.parse(refused.stderr).error).toMatchObject({ code: 'ERR_DURLOG_LOCKED', ownerPid: process.pid })
    expect((await durlogProcess(['append', dir], 'x\n')).stderr.toString()).toContain(`process ${process.pid}`)
  })

  test('tail prints the last records, and with -f each new one', async () => {
    const dir = join(scratchDir(), 'log')
    const log = await openUntilDone(dir)
    for (let i = 0; i < 20; i++) await log.append(`r${i}`)
    expect((await durlog(['tail', dir, '-n', '3'])).stdout.toString()).toBe('r17\nr18\nr19\n')
    expect((await durlog(['tail', dir])).stdout.toString().split('\n')).toHaveLength(11)
    const child = startDurlog(['tail', dir, '-n', '1', '-f'])
    let printed = ''
    const until = (text: string): Promise<void> =>
      new Promise((resolve) => {
        const look = (): void => {
          if (!printed.endsWith(text)) return
          child.stdout?.off('data', look)
          resolve()
        }
        child.stdout?.on('data', look)
        look()
      })
    child.stdout?.on('data', (chunk: Buffer) => {
      printed += chunk.toString()
    })
    await until('r19\n')
    await log.append('new')
    await until('new\n')
    await log.append('newer')
    await until('newer\n')
    expect(printed).toBe('r19\nnew\nnewer\n')
  })
})

test('export and import copy every record, in each encoding', async () => {
  const dir = scratchDir()
  const first = join(dir, 'first')
  await durlog(['append', first], '{"a": 1}\n[2]\n"three"\n')
  for (const encoding of ['utf8', 'base64', 'json']) {
    const exported = await durlog(['export', first, '--encoding', encoding])
    const copy = join(dir, encoding)
    const imported = await durlog(['import', copy, '--encoding', encoding, '--json'], exported.stdout)
    expect(json(imported.stdout)).toMatchObject({ records: 3, first: 0, last: 2 })
    const again = await openUntilDone(copy)
    expect(await texts(again.read())).toEqual([encoding === 'json' ? '{"a":1}' : '{"a": 1}', '[2]', '"three"'])
  }
})

test('export and import without options keep every byte, binary records included', async () => {
  const dir = scratchDir()
  const payloads = [Buffer.from('text'), Buffer.from([0, 255, 10, 13]), Buffer.from('"\u20ac"\n'), Buffer.from([0xc3])]
  const log = await openUntilDone(join(dir, 'log'))
  await log.appendBatch(payloads)
  for (const options of [[], ['--encoding', 'base64']]) {
    const exported = await durlog(['export', log.dir, ...options])
    expect(exported.stderr).toBe('')
    const copy = join(dir, `copy${options.length}`)
    expect((await durlog(['import', copy], exported.stdout)).code).toBe(0)
    const again = await openUntilDone(copy)
    expect((await records(again.read())).map(({ data }) => data)).toEqual(payloads)
  }
})

test('import --keep gives each record the seq of its line, or refuses the line', async () => {
  const dir = join(scratchDir(), 'log')
  const line = (seq: number): string => `{"seq":${seq},"timestamp":1000,"data":"${seq}"}\n`
  expect((await durlog(['import', dir, '--keep'], line(0) + line(1))).code).toBe(0)
  expect((await durlog(['import', dir, '--keep'], line(2))).code).toBe(0)
  const refused = await durlog(['import', dir, '--keep'], line(3) + line(3))
  expect(refused.code).toBe(65)
  expect(refused.stderr).toMatch(/line 2: "seq" is 3, but the log's next seq is 4/)
  expect((await durlog(['import', dir, '--keep'], line(5))).code).toBe(65)
  expect((await durlog(['cat', dir])).stdout.toString()).toBe('0\n1\n2\n3\n')
})

test('export and import --keep keep the first seq of a trimmed log, and seqs without a record', async () => {
  const dir = join(scratchDir(), 'log')
  const line = (seq: number): string => `{"seq":${seq},"timestamp":${1000 + seq},"data":"${seq}"}\n`
  const lines = [70, 71, 75, 5000].map(line).join('')
  expect((await durlog(['import', dir, '--keep'], lines)).code).toBe(0)
  const log = await openUntilDone(dir, { readOnly: true })
  expect([log.firstSeq, log.nextSeq]).toEqual([70, 5001])
  expect((await durlog(['export', dir])).stdout.toString()).toBe(lines)
})

test('export and import --keep into an empty folder give back the same bytes, seqs and times', async () => {
  const DAY_MS = 86_400_000
  const log = await openUntilDone(join(scratchDir(), 'first'), { segmentBytes: 65536 })
  // The times are far apart, far in the past, and go back, as after a clock was set back at a segment's end.
  const times = [1_000_000_000_000, 1_000_000_000_001, 1_000_000_000_000 + 60 * DAY_MS, 1_000_000_000_000 - DAY_MS, 0]
  for (const [i, time] of times.entries()) {
    await log.append(`record ${i}`, { timestamp: time })
    await log.append(Buffer.of(255, i), { timestamp: time })
  }
  await Promise.all(Array.from({ length: 500 }, (_, i) => log.append('x'.repeat(i + 1))))
  const before = await records(log.read())
  await log.close()
  const exported = await durlog(['export', log.dir])
  const copy = join(scratchDir(), 'second')
  const imported = await durlog(['import', copy, '--keep', '--segment-bytes', '64K'], exported.stdout)
  expect([imported.stderr, imported.code]).toEqual(['', 0])
  const again = await openUntilDone(copy)
  expect(await records(again.read())).toEqual(before)
  expect((await durlog(['export', copy])).stdout).toEqual(exported.stdout)
})

test('import --keep refuses a line without a valid time', async () => {
  for (const timestamp of ['', ',"timestamp":-1', ',"timestamp":"now"', ',"timestamp":1e300']) {
    const { code, stderr } = await durlog(
      ['import', join(scratchDir(), 'log'), '--keep'],
      `{"seq":0,"data":"a"${timestamp}}\n`,
    )
    expect([code, stderr]).toEqual([65, expect.stringMatching(/line 1: "timestamp" must be milliseconds/)])
  }
})

test('a command whose input cannot be used creates no log and no folder of streams', async () => {
  const dir = join(scratchDir(), 'new')
  const missing = join(scratchDir(), 'missing')
  const empty = scratchDir()
  const tries: [string[], string, string][] = [
    [['import', dir], 'text', 'to store each line unchanged, use "durlog append"'],
    [['import', dir], '\n{"data":5}', 'line 2: "data"'],
    [['import', dir, '--plain', '--time-field', 'ts'], '{"time":1}', 'line 1 has no member "ts"'],
    [['import', dir, '--keep'], '{"seq":"one","timestamp":1,"data":"a"}', 'line 1: "seq" must be the number'],
    [['import', dir, '--keep'], '{"seq":7,"data":"a"}', '"timestamp"'],
    [['import', dir, missing], '', "can't read"],
    [['append', dir, missing], '', "can't read"],
    [['streams', dir, 'append', 'chat', missing], '', "can't read"],
    [['streams', dir, 'append', 'chat'], 'text', 'line 1 is not JSON'],
    [['streams', dir, 'append', 'chat', '--time-field', 'ts'], '{"time":1}', 'line 1 has no member "ts"'],
    [['streams', dir, 'import', empty], '', 'has no file with the extension .jsonl'],
    [['streams', dir, 'import', '--keep', '-'], '{"seq":0}', 'has no "seq", "timestamp" and "value"'],
    [['streams', dir, 'import', missing], '', "can't read"],
  ]
  for (const [args, input, message] of tries) {
    const { code, stderr } = await durlog(args, input)
    expect([args, code, stderr]).toEqual([args, 65, expect.stringContaining(message)])
    expect([args, existsSync(dir)]).toEqual([args, false])
  }
  expect((await durlog(['streams', dir, 'append', 'x'.repeat(1025)], '1')).code).toBe(64)
  expect(existsSync(dir)).toBe(false)
})

test('an unknown command: the message suggests a similar one, and says where all are listed', async () => {
  const { code, stderr } = await durlog(['verfy'])
  expect([code, stderr]).toEqual([
    64,
    'durlog: USAGE: unknown command \'verfy\'\n(Did you mean verify?)\n  "durlog --help" lists the commands\n',
  ])
})

test('import names the invalid line, and appends the lines before it', async () => {
  const dir = join(scratchDir(), 'log')
  const { code, stderr } = await durlog(['import', dir], '{"data":"a"}\n{"data":5}\n')
  expect(code).toBe(65)
  expect(stderr).toContain('line 2')
  expect((await durlog(['cat', dir])).stdout.toString()).toBe('a\n')
})

test('top shows rates, segments and cursors of a log in use', async () => {
  const dir = join(scratchDir(), 'log')
  const log = await open(dir, { segmentBytes: 65536 })
  await log.appendBatch(['a', 'b', 'c'])
  await (await log.cursor('slow')).commit(0)
  const watched = durlogProcess(['top', dir, '--interval', '300', '-n', '3', '--json'])
  const appending = setInterval(() => void log.append('more'), 5)
  const samples = (await watched).stdout
    .toString()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  clearInterval(appending)
  const { nextSeq } = samples[2]
  expect(samples.map(({ appendedPerSecond }) => appendedPerSecond > 0)).toEqual([false, true, true])
  expect(samples[2].commitsPerSecond).toBeGreaterThan(0)
  expect(samples[2].commitMicros).toBeGreaterThan(0)
  expect(samples[2]).toMatchObject({ firstSeq: 0, segments: 1, bytes: 65536, trimmedPerSecond: 0 })
  expect(samples[2].cursors).toMatchObject([{ name: 'slow', position: 1, state: 'ready', ownerPid: process.pid }])
  const text = (await durlog(['top', dir, dir, '-n', '1'])).stdout.toString()
  expect(text.match(/slow/g)).toHaveLength(2)
  expect(nextSeq).toBeGreaterThan(3)
  await log.close()
})

test('trim removes whole segments and prints the new first seq', async () => {
  const dir = join(scratchDir(), 'log')
  await durlog(['append', dir, '--segment-bytes', '64K'], lines(20_000))
  const trimmed = await durlog(['trim', dir, '--before', '10000', '--json'])
  expect(trimmed.code).toBe(0)
  const { firstSeq } = json(trimmed.stdout) as { firstSeq: number }
  expect(firstSeq).toBeGreaterThan(0)
  expect(firstSeq).toBeLessThanOrEqual(10_000)
  expect((await durlog(['cat', dir, '--to', String(firstSeq + 1)])).stdout.toString()).toBe(`${firstSeq + 1}\n`)
  expect((await durlog(['get', dir, '0'])).code).toBe(65)
})

describe('a torn tail', () => {
  /** A log of three records whose last segment ends with a damaged frame, as after a crash. */
  async function tornLog(): Promise<string> {
    const dir = join(scratchDir(), 'log')
    await durlog(['append', dir, '--durability', 'memory'], 'one\ntwo\nthree\n')
    const segment = readdirSync(dir).find((name) => /^\d{20}/.test(name)) as string
    const frames = (await durlog(['dump', dir, '--json'])).stdout.toString().trimEnd().split('\n')
    const free = frames.map((line) => JSON.parse(line)).find(({ kind }) => kind === 'free')
    const bytes = readFileSync(join(dir, segment))
    // A length without its record, as after a crash during an append.
    bytes.fill(0x41, free.offset, free.offset + 20)
    writeFileSync(join(dir, segment), bytes)
    return dir
  }

  test('verify exits with 1; repair reports the cut that it would make, and cuts only with --apply, after a backup', async () => {
    const dir = await tornLog()
    expect((await durlog(['verify', dir])).code).toBe(1)
    const dry = await durlog(['repair', dir, '--json'])
    expect(dry.code).toBe(1)
    expect(json(dry.stdout)).toMatchObject({ state: 'torn-tail', applied: false })
    expect((await durlog(['verify', dir])).code).toBe(1)
    const backup = `${dir}-kept`
    const done = await durlog(['repair', dir, '--apply', '--backup', backup, '--json'])
    expect(done.code).toBe(0)
    expect(json(done.stdout)).toMatchObject({ applied: true, backup })
    expect(readdirSync(backup).length).toBeGreaterThan(0)
    expect((await durlog(['verify', dir])).code).toBe(0)
    expect((await durlog(['cat', dir])).stdout.toString()).toBe('one\ntwo\nthree\n')
  })

  test('a backup needs --apply', async () => {
    expect((await durlog(['repair', 'x', '--backup', 'y'])).code).toBe(64)
  })
})

test('verify exits with 2 if synced records are damaged; cat --salvage prints the intact ones and exits with 2', async () => {
  const dir = join(scratchDir(), 'log')
  const log = await open(dir, { segmentBytes: 65536 })
  await Promise.all(Array.from({ length: 10_000 }, (_, i) => log.append(String(i + 1))))
  await log.close()
  const [first] = readdirSync(dir)
    .filter((name) => /^\d{20}/.test(name))
    .sort()
  const path = join(dir, first as string)
  const bytes = readFileSync(path)
  bytes.writeUInt8(bytes.readUInt8(8192) ^ 0xff, 8192)
  writeFileSync(path, bytes)
  const verified = await durlog(['verify', dir, '--json'])
  expect(verified.code).toBe(2)
  expect(json(verified.stdout)).toMatchObject({ state: 'corrupt' })
  const plain = await durlog(['cat', dir])
  expect(plain.code).toBe(2)
  expect(plain.stderr).toContain('ERR_DURLOG_CORRUPT')
  const salvaged = await durlog(['cat', dir, '--salvage'])
  expect(salvaged.code).toBe(2)
  expect(salvaged.stderr).toContain('lost')
  const printed = salvaged.stdout.toString().trimEnd().split('\n').map(Number)
  expect([printed[0], printed.at(-1)]).toEqual([1, 10_000])
  expect(printed.length).toBeGreaterThanOrEqual(9_998)
})

test('dump prints each frame with its offset', async () => {
  const dir = join(scratchDir(), 'log')
  await durlog(['append', dir], 'a\nbb\n')
  const printed = (await durlog(['dump', dir, '--json'])).stdout.toString().trimEnd().split('\n')
  const found = printed.map((line) => JSON.parse(line)).filter(({ kind }) => kind === 'record')
  expect(found).toMatchObject([
    { seq: 0, length: 1 },
    { seq: 1, length: 2 },
  ])
  expect((await durlog(['dump', dir])).stdout.toString()).toMatch(/\d{20}/)
})

describe('errors', () => {
  test.each([
    [['cat'], 64],
    [['cat', 'x', '--nonsense'], 64],
    [['nonsense'], 64],
    [['append', 'x', '--durability', 'fsync'], 64],
    [['append', 'x', '--segment-bytes', 'much'], 64],
    [['get', 'x', 'y'], 64],
    [['cat', '/nonexistent/log'], 66],
    [['stat', '/nonexistent/log'], 66],
    [['cursors', '/nonexistent/log'], 66],
    [['verify', '/nonexistent/log'], 66],
    [['trim', '/nonexistent/log', '--before', '1'], 66],
  ])('%j ends with %i', async (args, code) => {
    const plain = await durlog(args)
    expect(plain.code).toBe(code)
    expect(plain.stdout.toString()).toBe('')
    expect(plain.stderr).not.toBe('')
    const told = await durlog([...args, '--json'])
    expect(told.code).toBe(code)
    expect(JSON.parse(told.stderr).error).toMatchObject({ exitCode: code })
  })

  test('show the code, the message and the remedy', async () => {
    const { stderr } = await durlog(['cat', '/nonexistent/log'])
    expect(stderr).toMatch(/^durlog: ERR_DURLOG_NOT_FOUND: .*\n {2}check the name of the folder/)
    expect(existsSync('/nonexistent/log')).toBe(false)
  })
})

test('help lists every command and the exit codes, and loads no addon', async () => {
  const { code, stdout } = await durlog(['--help'])
  expect(code).toBe(0)
  for (const name of [
    'append',
    'cat',
    'tail',
    'get',
    'stat',
    'cursors',
    'top',
    'verify',
    'repair',
    'dump',
    'import',
    'export',
    'trim',
    'doctor',
    'bench',
  ])
    expect(stdout.toString()).toMatch(new RegExp(`^ {2}${name} `, 'm'))
  expect(stdout.toString()).toContain('75  another writer')
  expect((await durlog(['append', '--help'])).stdout.toString()).toContain('--durability <level>')
})

test('--version prints the version of the package', async () => {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  const { code, stdout } = await durlog(['--version'])
  expect([code, stdout.toString()]).toEqual([0, `${version}\n`])
})
