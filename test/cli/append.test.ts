/** `durlog append` and `durlog import`: the sources of records, and the reports about them. */
import { execFileSync } from 'node:child_process'
import { createWriteStream, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { durlog, durlogProcess, startDurlog } from '../fixtures/command.js'
import { openUntilDone, records, scratchDir, texts } from '../fixtures/scratch.js'

async function stored(dir: string): Promise<string[]> {
  const log = await openUntilDone(dir, { readOnly: true })
  return texts(log.read())
}

describe('blank lines', () => {
  test('are skipped, counted, and reported once', async () => {
    const dir = join(scratchDir(), 'log')
    const { code, stdout, stderr } = await durlog(['append', dir], 'a\nb\n\nc\r\n\r\n\n')
    expect([code, stderr]).toEqual([0, 'durlog: warning: line 3 is blank; blank lines are skipped\n'])
    expect(stdout.toString()).toMatch(/^appended 3 records, seq 0 to 2, at sync in .* s; skipped 3 blank lines\n$/)
    expect(await stored(dir)).toEqual(['a', 'b', 'c\r'])
  })

  test('do not end an append from a program that continues to print', async () => {
    const dir = join(scratchDir(), 'log')
    const child = startDurlog(['append', dir, '--json'])
    const warned = new Promise<string>((resolve) => child.stderr?.once('data', (data: Buffer) => resolve(String(data))))
    child.stdin?.write('first\n\n')
    expect(JSON.parse(await warned)).toEqual({
      warning: { code: 'BLANK_LINE', message: 'line 2 is blank; blank lines are skipped' },
    })
    child.stdin?.end('last\n')
    expect(await new Promise((resolve) => child.on('close', resolve))).toBe(0)
    expect(await stored(dir)).toEqual(['first', 'last'])
  })

  test('count as lines: import names the invalid line', async () => {
    const dir = join(scratchDir(), 'log')
    const { code, stderr } = await durlog(['import', dir], '{"data":"a"}\n\n\n5\n')
    expect([code, stderr]).toEqual([65, expect.stringContaining('line 4 has no "data"')])
  })

  test('a length-prefixed record of one carriage return is not a blank line', async () => {
    const dir = join(scratchDir(), 'log')
    await durlog(['append', dir, '--length-prefixed'], Buffer.from([1, 0, 0, 0, 13]))
    expect(await stored(dir)).toEqual(['\r'])
  })
})

describe('a file that is not a regular file', () => {
  test.skipIf(process.platform === 'win32')('append reads every byte of a FIFO', async () => {
    const folder = scratchDir()
    const fifo = join(folder, 'fifo')
    execFileSync('mkfifo', [fifo])
    for (let round = 0; round < 5; round++) {
      const dir = join(folder, `log${round}`)
      const appended = durlogProcess(['append', dir, fifo])
      const writer = createWriteStream(fifo)
      writer.end('one\ntwo\n')
      expect((await appended).code).toBe(0)
      expect(await stored(dir)).toEqual(['one', 'two'])
    }
  })

  test.skipIf(process.platform === 'win32')('append that fails ends although the FIFO stays open', async () => {
    const folder = scratchDir()
    const fifo = join(folder, 'fifo')
    execFileSync('mkfifo', [fifo])
    mkdirSync(join(folder, 'log'))
    writeFileSync(join(folder, 'log', '00000000000000000000.seg'), 'no log')
    const appended = durlogProcess(['append', join(folder, 'log'), fifo])
    const writer = createWriteStream(fifo)
    expect((await appended).code).toBe(2)
    writer.destroy()
  })

  test('a folder is refused', async () => {
    const folder = scratchDir()
    const { code, stderr } = await durlog(['append', join(folder, 'log'), folder])
    expect([code, stderr]).toEqual([65, expect.stringContaining('it is a folder')])
  })
})

describe('times of JSON lines', () => {
  const LINES = ['{"ts":1000,"a":1}', '{"ts":"1970-01-01T00:00:02Z","a":2}', '{"ts":"1970-01-01T01:00:03.5+01:00"}']
  const EXPECTED = LINES.map((line, i) => ({ data: line, timestamp: [1000, 2000, 3500][i] }))

  test.each([
    ['append', ['--time-field', 'ts']],
    ['import', ['--plain', '--time-field', 'ts']],
  ] as const)('%s %j gives each record the time of its line, and stores the line as it is', async (command, flags) => {
    const dir = join(scratchDir(), 'log')
    expect((await durlog([command, dir, ...flags], `${LINES.join('\n')}\n`)).stderr).toBe('')
    const log = await openUntilDone(dir, { readOnly: true })
    const found = (await records(log.read())).map(({ data, timestamp }) => ({ data: data.toString(), timestamp }))
    expect(found).toEqual(EXPECTED)
  })

  test.each([
    ['5', /line 2 has no member "ts"/],
    ['{"a":1}', /line 2 has no member "ts"/],
    ['{"ts":"yesterday"}', /line 2: "ts" must be milliseconds.* or ISO 8601; got "yesterday"/],
    ['{"ts":"2026-02-30"}', /got "2026-02-30"/],
    ['{', /line 2 is not JSON/],
  ])('the line %s is refused, and the lines before it are stored', async (line, message) => {
    const dir = join(scratchDir(), 'log')
    const { code, stderr } = await durlog(['append', dir, '--time-field', 'ts'], `{"ts":1}\n${line}\n`)
    expect([code, stderr]).toEqual([65, expect.stringMatching(message)])
    expect(await stored(dir)).toEqual(['{"ts":1}'])
  })

  test('import --plain stores lines that are valid JSON, at the time of the import', async () => {
    const dir = join(scratchDir(), 'log')
    // The core's clock moves at each tick of the kernel.
    const before = Date.now() - 100
    const { code, stderr } = await durlog(['import', dir, '--plain'], '{"a": 1}\n[2]\nthree\n')
    expect([code, stderr]).toEqual([65, expect.stringContaining('line 3 is not JSON')])
    const log = await openUntilDone(dir, { readOnly: true })
    const found = await records(log.read())
    expect(found.map(({ data }) => data.toString())).toEqual(['{"a": 1}', '[2]'])
    expect(found.every(({ timestamp }) => timestamp >= before)).toBe(true)
  })
})

test('import --plain ignores a byte order mark, and --resume stores no line twice', async () => {
  const folder = scratchDir()
  const [dir, file] = [join(folder, 'log'), join(folder, 'lines.jsonl')]
  const lines = ['1', '2', '1', '2', '1', '1', '2']
  const run = async (...flags: string[]) => {
    const { code, stdout } = await durlog(['import', dir, '--plain', '--json', ...flags, file])
    const { records, skipped } = JSON.parse(stdout.toString())
    return [code, records, skipped]
  }
  for (let length = 0; length <= lines.length; length++) {
    writeFileSync(file, `\uFEFF${lines.slice(0, length).join('\n\n')}\n`)
    expect(await run('--resume')).toEqual([0, length === 0 ? 0 : 1, Math.max(0, length - 1)])
    expect(await run('--resume')).toEqual([0, 0, length])
  }
  expect(await stored(dir)).toEqual(lines)
  // Without --resume, each import stores the whole file.
  expect(await run()).toEqual([0, 7, 0])
  expect(await stored(dir)).toEqual([...lines, ...lines])
  // The log ends with the first two lines of this file.
  writeFileSync(file, '1\n2\n3\n')
  expect(await run('--resume')).toEqual([0, 1, 2])
})

test('import --shared appends to a log that another process has open as shared', async () => {
  const dir = join(scratchDir(), 'log')
  const log = await openUntilDone(dir, { shared: true })
  await log.append('own')
  const { code, stderr } = await durlogProcess(['import', dir, '--shared'], '{"data":"imported"}\n')
  expect([code, stderr]).toEqual([0, ''])
  expect(await texts(log.read())).toEqual(['own', 'imported'])
})

test.each([
  ['import', 'DIR', '--keep', '--shared'],
  ['import', 'DIR', '--keep', '--plain'],
  ['import', 'DIR', '--time-field', 'ts'],
  ['import', 'DIR', '--plain', '--resume'],
  ['append', 'DIR', '--salvage', '--shared'],
])('%s %s %s %s is refused as wrong usage', async (...args) => {
  const dir = join(scratchDir(), 'log')
  const { code, stderr } = await durlog(args.map((arg) => (arg === 'DIR' ? dir : arg)))
  expect([code, stderr]).toEqual([64, expect.stringMatching(/^durlog: USAGE: --/)])
})
