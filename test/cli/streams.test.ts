/** `durlog streams`. */
import { once } from 'node:events'
import { appendFileSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ACTIONS } from '../../src/cli/streams/actions.js'
import { damageOf } from '../../src/cli/streams/judge-line.js'
import type { Folder } from '../../src/streams/api/folder.js'
import { openStreams, type StreamReadOptions } from '../../src/streams/index.js'
import { durlog, durlogProcess, startDurlog } from '../fixtures/command.js'
import { scratchDir } from '../fixtures/scratch.js'
import { values } from '../fixtures/streams.js'

const text = async (args: string[]): Promise<string> => (await durlog(args)).stdout.toString()

describe('while another process has the folder open, and while none has', () => {
  test.each([true, false])('append, cat, tail, export, ls, stat, fork, verify and rm (open: %s)', async (isOpen) => {
    const dir = join(scratchDir(), 'streams')
    const run = isOpen ? durlogProcess : durlog
    const text = async (args: string[]): Promise<string> => (await run(args)).stdout.toString()
    const streams = isOpen ? await openStreams(dir) : undefined
    const input = '{"at":"2026-01-02T03:04:05Z","n":1}\n\n{"at":"2026-01-02T03:04:06Z","n":2}\n'
    expect((await run(['streams', dir, 'append', 'a b', '--time-field', 'at'], input)).code).toBe(0)
    expect(await text(['streams', dir, 'cat', 'a b', '--from', '1'])).toBe('{"at":"2026-01-02T03:04:06Z","n":2}\n')
    expect(await text(['streams', dir, 'tail', 'a b', '-n', '1', '-t'])).toMatch(/^2026-01-02T03:04:06.000Z\t\{/)
    const [first] = (await text(['streams', dir, 'export', 'a b'])).split('\n')
    const value = { at: '2026-01-02T03:04:05Z', n: 1 }
    expect(JSON.parse(first as string)).toEqual({ seq: 0, timestamp: Date.parse(value.at), value })
    await run(['streams', dir, 'fork', 'a b', 'c', '--from', '1'])
    const names = (await text(['streams', dir, 'ls', '--json']))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).name)
    expect(names.sort()).toEqual(['a b', 'c'])
    expect(await text(['streams', dir, 'ls', '--prefix', 'c'])).not.toContain('a b')
    expect(JSON.parse(await text(['streams', dir, 'stat', '--json']))).toMatchObject({ streams: 2, encoding: 'json' })
    expect(await text(['streams', dir, 'stat', 'c'])).toContain('a b, at seq 1')
    expect(await text(['streams', dir, 'verify'])).toBe('read 3 records of 2 streams; none is damaged\n')
    expect((await run(['streams', dir, 'rm', 'c'])).code).toBe(0)
    expect((await run(['streams', dir, 'cat', 'c'])).code).toBe(66)
    await streams?.close()
  })
})

test('cat prints the records that a fork shares with its source, which its file lacks', async () => {
  const dir = join(scratchDir(), 'streams')
  await durlog(['streams', dir, 'append', 'chat'], '{"word":1}\n')
  await durlog(['streams', dir, 'fork', 'chat', 'try-2'])
  await durlog(['streams', dir, 'append', 'try-2'], '{"word":2}\n')
  const { stdout } = await durlog(['streams', dir, 'cat', 'try-2'])
  expect(stdout.toString()).toBe('{"word":1}\n{"word":2}\n')
})

test('stat describes the retention of a stream, and verify reads all of its files', async () => {
  const dir = join(scratchDir(), 'streams')
  const streams = await openStreams(dir)
  await streams.stream('s').create({ retention: { maxRecords: 40, maxAgeMs: '1h' } })
  for (let i = 0; i < 50; i++) void streams.stream('s').append(i)
  await streams.close()
  expect(await text(['streams', dir, 'stat', 's'])).toMatch(/retention +40 records, 3600000 ms/)
  expect(await text(['streams', dir, 'verify'])).toBe('read 50 records of 1 stream; none is damaged\n')
})

test.skipIf(process.platform === 'win32')('tail -f ends when its reader closes the pipe', async () => {
  const dir = join(scratchDir(), 'streams')
  await durlog(['streams', dir, 'append', 's'], '1\n')
  const child = startDurlog(['streams', dir, 'tail', '-f', 's'])
  await once(child.stdout as NodeJS.ReadableStream, 'data')
  const closed = once(child, 'close')
  child.stdout?.destroy()
  expect(await closed).toEqual([0, null])
})

test('tail -f prints new records of a stream, and waits for one that does not exist', async () => {
  const dir = join(scratchDir(), 'streams')
  const streams = await openStreams(dir)
  const child = startDurlog(['streams', dir, 'tail', '-f', 's'])
  let out = ''
  const line = new Promise<void>((resolve) =>
    child.stdout?.on('data', (chunk) => {
      out += chunk
      if (out.endsWith('2\n')) resolve()
    }),
  )
  await streams.stream('s').append(1)
  await streams.stream('s').append(2)
  await line
  expect(out).toBe('1\n2\n')
  await streams.close()
})

test('verify reports a stream whose file is damaged, and exits with 2', async () => {
  const dir = join(scratchDir(), 'streams')
  const streams = await openStreams(dir)
  for (const name of ['good', 'bad']) await streams.stream(name).append({ n: 1 })
  await streams.close()
  const path = join(dir, 'streams', 'bad.jsonl')
  writeFileSync(path, readFileSync(path, 'utf8').replace('{', 'x'))
  const { code, stdout } = await durlog(['streams', dir, 'verify'])
  expect([code, stdout.toString().split('\n').length]).toEqual([2, 3])
  expect(stdout.toString()).toContain('bad: ')
  expect(stdout.toString()).toContain('read 1 record of 2 streams; 1 is damaged\n')
})

test('verify does not report streams as damaged that are deleted, or lose old records, while it reads them', async () => {
  const dir = join(scratchDir(), 'streams')
  const streams = await openStreams(dir)
  onTestFinished(() => streams.close())
  await streams.stream('trimmed').create({ retention: { maxRecords: 1 } })
  const values = Array.from({ length: 40 }, () => 'x'.repeat(100_000))
  for (const name of ['deleted', 'replaced', 'trimmed']) await streams.stream(name).appendAll(values)
  await streams.checkpoint()
  const interfere = async (name: string): Promise<void> => {
    if (name !== 'trimmed') await streams.stream(name).delete()
    if (name !== 'deleted') await streams.stream(name).appendAll(values)
    for (let i = 0; i < 3; i++) await streams.checkpoint()
  }
  const stream = (name: string): object => ({
    info: () => streams.stream(name).info(),
    async *read(options: StreamReadOptions) {
      const records = streams.stream(name).read(options)
      const { value } = await records.next()
      if (value?.seq === 0) await interfere(name)
      yield value
      yield* records
    },
  })
  const verified = { list: () => streams.list(), stream } as unknown as Folder<unknown>
  await ACTIONS['verify']?.(verified, [], {})
  expect(process.exitCode).toBeUndefined()
})

test('options that an action does not have are refused, and so are missing names', async () => {
  const dir = join(scratchDir(), 'streams')
  for (const args of [['ls', '--watch'], ['cat'], ['cat', 'a', 'b'], ['sweep'], ['import', 'a', 'b', '--name', 'c']])
    expect((await durlog(['streams', dir, ...args])).code).toBe(64)
  expect((await durlog(['streams', dir, 'ls'])).code).toBe(66)
})

test.each([
  ['{"a":1}', undefined],
  ['  [1,2] ', undefined],
  ['{"a":"x', 'torn'],
  ['{"a":[1,2', 'torn'],
  ['lo"}', 'torn'],
  ['{"a":1}{"b":2}', 'fused'],
  ['{"a":"x{"b":2}', 'fused'],
  ['{"a":1,{"b":{"c":2}}', 'fused'],
  ['{"a":1} trailing', 'invalid'],
  ['plain text', 'invalid'],
  ["{'a':1}", 'invalid'],
])('the line %s is judged %s', (line, damage) => {
  expect(damageOf(line)).toBe(damage)
})

const FILE =
  '{"n":0,"at":1000}\n{"n":1,"at":2000}\n{"n":9,"te{"n":2,"at":3000}\n{"n":3,"at":4000}\nnoise\n{"n":4,"at":50'

test('import makes intact lines records once, and lists the others with file and line and keeps them aside', async () => {
  const folder = scratchDir()
  const [dir, file] = [join(folder, 'streams'), join(folder, 'session-7.jsonl')]
  writeFileSync(file, FILE)
  const dry = await durlog(['streams', dir, 'import', '--dry-run', file])
  const report = [
    `${file}:3: fused: {"n":9,"te{"n":2,"at":3000}`,
    `${file}:5: invalid: noise`,
    `${file}:6: torn: {"n":4,"at":50`,
  ]
  expect(dry.stdout.toString().split('\n')).toEqual([
    ...report,
    `${file}: 3 intact lines, nothing is stored; 3 damaged`,
    '',
  ])
  expect([dry.code, readdirSync(folder)]).toEqual([65, ['session-7.jsonl']])
  for (const stored of [3, 0]) {
    const { stdout, code } = await durlog(['streams', dir, 'import', '--time-field', 'at', '--prefix', 'old/', file])
    expect(stdout.toString()).toContain(`3 intact lines, ${stored} new in the stream old/session-7; 3 damaged`)
    expect(code).toBe(65)
  }
  const records = (await text(['streams', dir, 'export', 'old/session-7']))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(records.map(({ timestamp, value }) => [timestamp, value.n])).toEqual([
    [1000, 0],
    [2000, 1],
    [4000, 3],
  ])
  const [aside] = readdirSync(join(dir, 'changed')) as [string]
  const kept = readFileSync(join(dir, 'changed', aside), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(kept.map(({ line, damage, text }) => [line, damage, text])).toEqual([
    [3, 'fused', '{"n":9,"te{"n":2,"at":3000}'],
    [5, 'invalid', 'noise'],
    [6, 'torn', '{"n":4,"at":50'],
  ])
})

test('a repeated import of a file whose earlier lines have changed stores nothing and fails', async () => {
  const folder = scratchDir()
  const [dir, file] = [join(folder, 'streams'), join(folder, 's.jsonl')]
  const run = async (content: string): Promise<[number | null, string]> => {
    writeFileSync(file, content)
    const { code, stderr } = await durlog(['streams', dir, 'import', file])
    return [code, stderr.toString()]
  }
  const lines = (from: number, to: number): string =>
    Array.from({ length: to - from }, (_, at) => `{"n":${from + at}}\n`).join('')
  expect((await run(`${lines(0, 30)}{"n":30\n${lines(31, 40)}`))[0]).toBe(65)
  const stored = await text(['streams', dir, 'cat', 's'])
  for (const content of [lines(0, 40), lines(100, 200), lines(0, 5), lines(0, 30)]) {
    const [code, message] = await run(content)
    expect(code).toBe(65)
    expect(message).toContain('is not the file that was imported before')
  }
  expect(await text(['streams', dir, 'cat', 's'])).toBe(stored)
  expect(await run(`${lines(0, 30)}${lines(31, 50)}`)).toEqual([0, ''])
  expect(await text(['streams', dir, 'cat', 's'])).toBe(`${lines(0, 30)}${lines(31, 50)}`)
})

test('import continues a file whose oldest records retention has removed, and one without a newline at its end', async () => {
  const folder = scratchDir()
  const [dir, file] = [join(folder, 'streams'), join(folder, 's.jsonl')]
  const streams = await openStreams(dir)
  await streams.stream('s').create({ retention: { maxRecords: 1 } })
  await streams.close()
  writeFileSync(file, Array.from({ length: 60 }, (_, n) => `{"n":${n}}`).join('\n'))
  expect((await durlog(['streams', dir, 'import', file])).code).toBe(0)
  appendFileSync(file, '\n{"n":60}\n')
  expect((await durlog(['streams', dir, 'import', file])).stdout.toString()).toContain('61 intact lines, 1 new')
})

test('import and append refuse bytes that are not UTF-8, and import ignores a byte order mark at the beginning', async () => {
  const folder = scratchDir()
  const [dir, file] = [join(folder, 'streams'), join(folder, 's.jsonl')]
  const bytes = [Buffer.from('\uFEFF{"n":1}\n{"n":"'), Buffer.from([0xff, 0xe9]), Buffer.from('"}\n{"n":3}\n')]
  writeFileSync(file, Buffer.concat(bytes))
  const { code, stdout } = await durlog(['streams', dir, 'import', file])
  expect([code, stdout.toString()]).toEqual([65, expect.stringContaining(`${file}:2: invalid: `)])
  expect(await text(['streams', dir, 'cat', 's'])).toBe('{"n":1}\n{"n":3}\n')
  const [aside] = readdirSync(join(dir, 'changed')) as [string]
  const kept = JSON.parse(readFileSync(join(dir, 'changed', aside), 'utf8')) as { base64: string }
  expect(Buffer.from(kept.base64, 'base64').includes(Buffer.from([0xff, 0xe9]))).toBe(true)
  const streams = await openStreams(dir)
  await streams.stream('text').create({ encoding: 'utf8' })
  await streams.close()
  for (const name of ['json', 'text']) {
    const refused = await durlog(['streams', dir, 'append', name], Buffer.from([0x22, 0xe9, 0x22, 0x0a]))
    expect([refused.code, refused.stderr.toString()]).toEqual([65, expect.stringContaining('line 1 is not UTF-8')])
  }
})

test('append refuses a line that is too long for a record, with the limit', async () => {
  const folder = scratchDir()
  const [dir, file] = [join(folder, 'streams'), join(folder, 's.jsonl')]
  writeFileSync(file, `{"n":1}\n"${'x'.repeat(8 << 20)}"\n`)
  const { code, stderr } = await durlog(['streams', dir, 'append', 's', file])
  expect([code, stderr.toString()]).toEqual([65, expect.stringContaining('line 2 has more than 8388608 bytes: ')])
  expect(stderr.toString()).not.toContain('--max-record-bytes')
})

test.each([[[]], [['--dry-run']]])(
  'import reports lines that are too long or have no time, and imports the other lines and files %j',
  async (flags) => {
    const folder = scratchDir()
    const dir = join(folder, 'streams')
    const [long, timeless, intact] = ['long', 'timeless', 'intact'].map((name) => join(folder, `${name}.jsonl`))
    writeFileSync(long as string, `{"at":1}\n"${'x'.repeat(9 << 20)}"\n{"at":2}\n`)
    writeFileSync(timeless as string, '{"at":1}\n{"summary":"no time"}\n{"at":3}\n')
    writeFileSync(intact as string, '{"at":1}\n')
    const files = [long, join(folder, 'missing.jsonl'), timeless, intact] as string[]
    const { code, stdout, stderr } = await durlog(['streams', dir, 'import', ...flags, '--time-field', 'at', ...files])
    expect(code).toBe(65)
    const printed = stdout.toString().split('\n')
    expect(printed).toContain(`${long}:2: too long: "${'x'.repeat(59)}`)
    expect(printed).toContain(`${timeless}:2: no time: {"summary":"no time"}`)
    const stored = flags.length === 0 ? '5 new' : 'nothing is stored'
    expect(printed.at(-2)).toBe(`4 files, 1 of them refused: 5 intact lines, ${stored}; 2 damaged`)
    expect(stderr.toString()).toContain("durlog: can't read ")
    if (flags.length > 0) return
    for (const [name, lines] of [
      ['long', '{"at":1}\n{"at":2}\n'],
      ['timeless', '{"at":1}\n{"at":3}\n'],
      ['intact', '{"at":1}\n'],
    ])
      expect(await text(['streams', dir, 'cat', name as string])).toBe(lines)
  },
)

test('import of many files lists only those with damage, and the totals', async () => {
  const folder = scratchDir()
  const [dir, from] = [join(folder, 'streams'), join(folder, 'projects')]
  mkdirSync(from)
  for (let i = 0; i < 21; i++) writeFileSync(join(from, `${i}.jsonl`), i === 7 ? '1\nno\n' : '1\n')
  const { code, stdout } = await durlog(['streams', dir, 'import', from])
  expect([code, stdout.toString().trimEnd().split('\n')]).toEqual([
    65,
    [
      `${join(from, '7.jsonl')}:2: invalid: no`,
      `${join(from, '7.jsonl')}: 1 intact line, 1 new in the stream 7; 1 damaged`,
      '21 files: 21 intact lines, 21 new; 1 damaged',
    ],
  ])
  const json = await text(['streams', dir, 'import', '--json', from])
  expect(json.match(/"intact":1/g)).toHaveLength(21)
})

test('import makes a stream of each file below a folder, with its path as the name', async () => {
  const folder = scratchDir()
  const [dir, from] = [join(folder, 'streams'), join(folder, 'projects')]
  for (const name of ['a', 'b', 'b/deep']) {
    mkdirSync(join(from, name), { recursive: true })
    writeFileSync(join(from, name, 'session.jsonl'), `{"of":"${name}"}\n`)
  }
  writeFileSync(join(from, 'notes.txt'), 'no JSON Lines')
  for (const stored of [3, 0]) {
    const { code, stdout } = await durlog(['streams', dir, 'import', '--prefix', 'old/', from])
    expect([code, stdout.toString().split('\n').at(-2)]).toEqual([
      0,
      `3 files: 3 intact lines, ${stored} new; 0 damaged`,
    ])
  }
  const listed = await text(['streams', dir, 'ls', '--json'])
  expect([...listed.matchAll(/"name":"([^"]+)"/g)].map(([, name]) => name).sort()).toEqual([
    'old/a/session',
    'old/b/deep/session',
    'old/b/session',
  ])
  expect(await text(['streams', dir, 'cat', 'old/b/deep/session'])).toBe('{"of":"b/deep"}\n')
})

test('import refuses to merge two files into one stream, in one command and in two', async () => {
  const folder = scratchDir()
  const dir = join(folder, 'streams')
  const [a, b] = ['a', 'b'].map((name) => {
    mkdirSync(join(folder, name))
    const file = join(folder, name, 'session.jsonl')
    writeFileSync(file, `{"of":"${name}"}\n`)
    return file
  }) as [string, string]
  const run = (...args: string[]) => durlog(['streams', dir, 'import', ...args])
  const both = await run(a, b)
  expect([both.code, both.stderr.toString()]).toEqual([65, expect.stringContaining('both become the stream session')])
  expect((await run(a)).code).toBe(0)
  const second = await run(b)
  expect([second.code, second.stderr.toString()]).toEqual([65, expect.stringContaining('are not of this file')])
  expect(await text(['streams', dir, 'cat', 'session'])).toBe('{"of":"a"}\n')
  // A name states the stream explicitly.
  expect((await run('--name', 'session', b)).code).toBe(0)
  expect(await text(['streams', dir, 'cat', 'session'])).toBe('{"of":"a"}\n{"of":"b"}\n')
})

test('import --watch follows a file that is appended to, and continues after a kill', async () => {
  const folder = scratchDir()
  const [dir, file] = [join(folder, 'streams'), join(folder, 's.jsonl')]
  const streams = await openStreams(dir)
  const written: unknown[] = []
  writeFileSync(file, '')
  for (let round = 0; round < 3; round++) {
    const child = startDurlog(['streams', dir, 'import', '--watch', file])
    for (let n = 0; n < 5; n++) {
      const value = { round, n, text: 'x'.repeat(1000) }
      const line = `${JSON.stringify(value)}\n`
      appendFileSync(file, line.slice(0, 500))
      appendFileSync(file, line.slice(500))
      written.push(value)
      const next = streams.stream('s').read({ from: written.length - 1, follow: true })
      expect((await next.next()).value).toMatchObject({ value })
      await next.return()
    }
    child.kill('SIGKILL')
    await new Promise((resolve) => child.once('close', resolve))
  }
  expect(await values(streams.stream('s').read())).toEqual(written)
  await streams.close()
})

test('import --watch stores the last lines of a file that is rotated, then fails', async () => {
  const folder = scratchDir()
  const [dir, file] = [join(folder, 'streams'), join(folder, 's.jsonl')]
  writeFileSync(file, '1\n')
  const child = startDurlog(['streams', dir, 'import', '--watch', file])
  let stderr = ''
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr += chunk.toString()
  })
  const ended = once(child, 'close')
  await new Promise((resolve) => child.stdout?.once('data', resolve))
  appendFileSync(file, '2\n3')
  renameSync(file, `${file}.1`)
  writeFileSync(file, '4\n')
  expect([(await ended)[0], stderr]).toEqual([65, expect.stringContaining('s.jsonl was replaced after its line 3')])
  const streams = await openStreams(dir)
  expect(await values(streams.stream('s').read())).toEqual([1, 2, 3])
  await streams.close()
})

test('top of a folder of streams lists the streams that grow', async () => {
  const dir = join(scratchDir(), 'streams')
  const streams = await openStreams(dir)
  await streams.stream('before').append(1)
  const child = startDurlog(['top', '--json', '-i', '100', dir])
  const names = new Set<string>()
  const seen = new Promise<void>((resolve) => {
    child.stdout?.on('data', (chunk: Buffer) => {
      for (const [, name] of chunk.toString().matchAll(/"name":"(during \d)"/g)) names.add(name as string)
      if (names.size === 2) resolve()
    })
  })
  let isSeen = false
  void seen.then(() => {
    isSeen = true
  })
  for (let i = 0; !isSeen; i++) await streams.stream(`during ${i % 2}`).append(i)
  expect(names).toEqual(new Set(['during 0', 'during 1']))
  await streams.close()
})

test.each(['append', 'import'])(
  '%s stores a line of JSON unchanged, and cat, tail and export print it so',
  async (action) => {
    const folder = scratchDir()
    const [dir, file] = [join(folder, 'streams'), join(folder, 's.jsonl')]
    const line = '{"id":12345678901234567890, "f":1.10,\t"2":"\\u0041","1":1e400}'
    writeFileSync(file, ` ${line}\r\n"text"\r\n[1,\r2]\n`)
    await durlog(['streams', dir, action, ...(action === 'append' ? ['s'] : []), file])
    const lines = [line, '"text"', '[1, 2]'].map((text) => `${text}\n`).join('')
    expect(readFileSync(join(dir, 'streams', 's.jsonl'), 'utf8').replaceAll(/ +$/gm, '')).toBe(lines)
    expect((await durlog(['streams', dir, 'tail', 's'])).stdout.toString()).toBe(lines)
    expect((await durlog(['streams', dir, 'cat', 's', '--json'])).stdout.toString()).toContain(`,"value":${line}}\n`)
    expect((await durlog(['streams', dir, 'export', 's'])).stdout.toString()).toContain(`,"value":${line}}\n`)
  },
)

test('append and import print no control characters of names and of damaged lines', async () => {
  const folder = scratchDir()
  const dir = join(folder, 'streams')
  const name = '\x1b[31ma\nb\u202e'
  const file = join(folder, 'f.jsonl')
  writeFileSync(file, '{"a":"\x1b[31m\n')
  const printed = await Promise.all([
    durlog(['streams', dir, 'append', name], '1\n'),
    durlog(['streams', dir, 'import', '--name', name, file]),
  ])
  const texts = printed.map(({ stdout }) => stdout.toString())
  const escaped = String.raw`\u001b[31ma\u000ab\u202e`
  expect(texts[0]).toBe(`appended 1 record to ${escaped}\n`)
  expect(texts[1]).toContain(`f.jsonl:1: torn: {"a":"${String.raw`\u001b`}[31m\n`)
  expect(texts[1]).toContain(`0 new in the stream ${escaped}; 1 damaged\n`)
})

test('messages about streams name the commands for streams', async () => {
  const dir = join(scratchDir(), 'streams')
  const missing = (await durlog(['streams', dir, 'ls'])).stderr.toString()
  expect(missing).toContain(`there are no streams in ${dir}`)
  expect(missing).toContain('"durlog streams DIR append NAME"')
  await durlog(['streams', dir, 'append', 'a'], '1\n')
  const late = (await durlog(['streams', dir, 'cat', 'a', '--from', '9'])).stderr.toString()
  expect(late).toContain('"durlog streams DIR stat NAME"')
  const folder = await durlog(['streams', dir, 'import', dir])
  expect(folder.code).toBe(65)
  expect(folder.stderr.toString()).toContain('it is a folder of the streams themselves')
  const streams = await openStreams(dir, { exclusive: true })
  const locked = await durlogProcess(['streams', dir, 'ls'])
  expect(locked.code).toBe(75)
  expect(locked.stderr.toString()).toContain('"exclusive"')
  await streams.close()
})

test('append from a program that continues to print ends when a record is refused', async () => {
  const dir = scratchDir()
  const streams = await openStreams(dir)
  await streams.stream('s').append(1)
  await streams.stream('s').end()
  await streams.close()
  const child = startDurlog(['streams', dir, 'append', 's'])
  child.stdin?.write('2\n')
  expect((await once(child, 'close'))[0]).toBe(65)
})

test('a reader of stdout that closes it does not end import and rm before they are done', async () => {
  const folder = scratchDir()
  const dir = join(folder, 'streams')
  const files = ['a', 'b', 'c'].map((name) => join(folder, `${name}.jsonl`))
  for (const file of files) writeFileSync(file, '1\n')
  for (const [args, left] of [
    [
      ['import', ...files],
      ['a', 'b', 'c'],
    ],
    [['rm', '--json', 'a', 'b', 'c'], []],
  ] as const) {
    const child = startDurlog(['streams', dir, ...args])
    child.stdout?.destroy()
    expect((await once(child, 'close'))[0]).toBe(0)
    const names = (await text(['streams', dir, 'ls', '--json'])).match(/[^\n]+/g) ?? []
    expect(names.map((line) => JSON.parse(line).name)).toEqual(left)
  }
})

test('append that fails reports how many records it has stored', async () => {
  const dir = scratchDir()
  const streams = await openStreams(dir)
  await streams.stream('s').append(1)
  await streams.stream('s').end()
  await streams.close()
  const { code, stdout, stderr } = await durlog(['streams', dir, 'append', 's'], '2\n3\n')
  expect([code, stdout.toString()]).toEqual([65, 'appended 0 records to s\n'])
  expect(stderr).toContain('ERR_DURLOG_STREAM_ENDED')
})
