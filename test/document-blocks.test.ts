/**
 * The code blocks of README.md and docs/RECIPES.md run as printed, with kill -9 where a crash is part of the promise.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { platform } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { open } from '../src/index.js'
import { blocksOf, commandsIn, type Running, Workspace } from './fixtures/document-blocks.js'
import { missingServer } from './fixtures/nats.mjs'
import { texts } from './fixtures/scratch.js'
import { admin, server } from './fixtures/ship.js'

const readme = blocksOf('README.md')
const recipes = blocksOf('docs/RECIPES.md')
const codeIn = (section: string, language: string): string[] =>
  readme.filter((block) => block.section === section && block.language === language).map(({ code }) => code)
const isWindows = platform() === 'win32'

describe.skipIf(isWindows)('README.md', () => {
  test('has the blocks that this file runs, and no others', () => {
    const found = readme.map(({ section, language }) => `${section || 'the first screen'}: ${language}`)
    expect(found).toEqual([
      'the first screen: sh',
      'the first screen: js',
      'An outbox: js',
      'An outbox: js',
      'Many streams: js',
      'Command line: sh',
      'Two commands: sh',
    ])
  })

  test('the first example stores records that the next process reads', async () => {
    const work = new Workspace()
    work.write('first.mjs', codeIn('', 'js')[0] as string)
    expect((await work.sh('node first.mjs')).split('\n').slice(0, 5)).toEqual([
      '0 {"order":17}',
      '1 debit 5',
      '2 credit 5',
      '3 login',
      '4 page view',
    ])
    const log = await open(join(work.dir, 'orders'), { readOnly: true })
    expect(log.nextSeq).toBe(5)
    await log.close()
  })

  test('the outbox: a consumer that is killed continues, and the producer is deployed while it runs', async () => {
    const work = new Workspace()
    for (const code of codeIn('An outbox', 'js')) work.write(/^\/\/ (\S+)/.exec(code)?.[1] as string, code)
    await work.sh('node producer.mjs')
    const consumer = work.start('node consumer.mjs')
    expect(await consumer.line()).toBe('sent 17')
    await work.sh('node producer.mjs')
    expect(await consumer.line()).toBe('sent 17')
    await consumer.kill()
    await work.sh('node producer.mjs')
    const restarted = work.start('node consumer.mjs')
    expect(await restarted.line()).toBe('sent 17')
    await restarted.kill()
    const log = await open(join(work.dir, 'outbox'), { readOnly: true })
    const [mailer] = await log.cursors()
    expect([log.nextSeq, mailer?.name]).toEqual([3, 'mailer'])
    expect(mailer?.position).toBeGreaterThan(0)
    await log.close()
  })

  test('the streams example continues its stream when it runs again', async () => {
    const work = new Workspace()
    work.write('chat.mjs', codeIn('Many streams', 'js')[0] as string)
    expect(await work.sh('node chat.mjs')).toBe('0 hello\n')
    expect(await work.sh('node chat.mjs')).toBe('0 hello\n1 hello\n')
  })

  test('every command of the command line section runs', async () => {
    const work = new Workspace()
    for (const command of commandsIn(codeIn('Command line', 'sh')[0] as string)) {
      const local = command.replace('/mnt/backup', './backup')
      if (!/ tail -f | top /.test(command)) await work.sh(/ doctor /.test(command) ? `${local} || [ $? -le 2 ]` : local)
      else if (/ tail -f /.test(command)) expect(await work.start(local).line()).not.toBe('')
      else expect(await work.sh(`${local} --count 1`)).not.toBe('')
    }
  })

  test('the commands for a fresh clone are scripts of package.json', () => {
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> }
    const named = commandsIn(codeIn('Two commands', 'sh')[0] as string).map(
      (command) => command.split(' ')[2] as string,
    )
    expect(named).toEqual(['demo', 'check'])
    for (const name of named) expect(scripts[name]).toBeDefined()
  })

  test('install, example, promise, limits and the closest rival are on the first screen and a half', () => {
    const lines = readFileSync('README.md', 'utf8').split('\n').slice(0, 66).join('\n')
    for (const what of ['npm install durlog', '```js', 'power loss', '## Limits', 'closest rival'])
      expect(lines).toContain(what)
  })
})

/** How the commands of a recipe are run: all of them to their end, unless `run` is given. */
interface Recipe {
  files?: Record<string, string>
  skip?: string
  run?: (work: Workspace, commands: string[]) => Promise<unknown>
}

async function runAll(work: Workspace, commands: readonly string[]): Promise<string[]> {
  const printed: string[] = []
  for (const command of commands) printed.push(await work.sh(command))
  return printed
}

const RECIPES: Record<string, Recipe> = {
  'Send messages reliably (outbox)': {
    files: { 'messages.txt': 'one\ntwo\nthree\n' },
    run: async (work, commands) => {
      const consume = commands.pop() as string
      await runAll(work, commands)
      const consumer = work.start(consume)
      expect(await consumer.line()).toBe('sent one')
      await consumer.kill()
      // The consumer may have committed every message before it was killed.
      work.write('messages.txt', 'four\n')
      await work.sh(commands.at(-1) as string)
      const restarted = work.start(consume)
      const line = await restarted.line()
      expect(['sent one', 'sent two', 'sent three', 'sent four']).toContain(line)
      for (let next = line; next !== 'sent four'; ) next = await restarted.line()
    },
  },
  'Rebuild state from events': {
    run: async (work, commands) => {
      expect((await runAll(work, commands)).at(-1)).toBe('balance 6\n')
      expect((await runAll(work, commands)).at(-1)).toBe('balance 12\n')
    },
  },
  'Keep a session for each user, or a stream for each aggregate': {
    run: async (work, commands) => {
      const jq = commands.pop() as string
      const message = '{"role":"user","text":"hello"}\n'
      for (const stored of [message, message + message]) {
        await runAll(work, commands)
        expect(await work.sh(jq.replace('jq .text', 'cat'))).toBe(stored)
      }
    },
  },
  'Append from worker threads': {
    skip: platform() === 'linux' ? '' : 'a shared log needs Linux',
    run: async (work, commands) => {
      for (const records of [9, 18])
        expect(((await runAll(work, commands)).at(-1) as string).trim().split('\n')).toHaveLength(records)
    },
  },
  'Follow a log from a browser': {
    run: async (work, commands) => {
      const serve = (commands.pop() as string).replace('8080', '0')
      await runAll(work, commands)
      for (let life = 0; life < 2; life++) {
        const running = work.start(serve)
        const port = /\d+/.exec(await running.line())?.[0]
        const response = await fetch(`http://127.0.0.1:${port}/`, { headers: { 'last-event-id': '0' } })
        const body = response.body as ReadableStream<Uint8Array>
        const { value } = await body.getReader().read()
        expect(Buffer.from(value as Uint8Array).toString()).toMatch(/^id: 1\ndata: 2\n/)
        await running.kill()
      }
    },
  },
  'Log with pino and lose nothing at shutdown': {
    run: async (work, commands) => {
      const [, example, service, print] = commands as [string, string, string, string]
      await work.sh(example)
      const running = work.start(service)
      await expect.poll(() => work.sh(`${print} || true`)).toContain('listening')
      await running.kill()
      expect(await work.sh(print)).toContain('listening')
    },
  },
  'Import existing JSON Lines': {
    files: { 'messages.jsonl': '{"ts":"2026-01-31T12:00Z","text":"a"}\n{"ts":1769860801000,"text":"b"}\n' },
    run: async (work, [first, ...commands]) => {
      await work.sh(first as string)
      await work.sh('mkdir logs')
      for (const number of [2, 10]) work.write(`logs/app.${number}.log`, `{"time":${number},"msg":"${number}"}\n`)
      const [join_, importLogs, select, importRows] = commands as [string, string, string, string]
      const hasSqlite = spawnSync('sqlite3', ['-version']).status === 0 && spawnSync('jq', ['--version']).status === 0
      if (!hasSqlite) process.stdout.write('skipped: the import from SQLite: sqlite3 or jq is missing\n')
      else
        await work.sh(
          "sqlite3 app.db \"CREATE TABLE events (id INTEGER, name TEXT); INSERT INTO events VALUES (1, 'a'), (2, 'b')\"",
        )
      for (let life = 0; life < 2; life++) {
        await runAll(work, [join_, importLogs, ...(hasSqlite ? [select, importRows] : [])])
        expect(await work.sh('npx durlog cat ./app-log')).toBe('{"time":2,"msg":"2"}\n{"time":10,"msg":"10"}\n')
        if (hasSqlite)
          expect(await work.sh('npx durlog cat ./event-log')).toBe('{"id":1,"name":"a"}\n{"id":2,"name":"b"}\n')
      }
      const log = await open(join(work.dir, 'log'), { readOnly: true })
      expect(await texts(log.read())).toEqual([
        '{"ts":"2026-01-31T12:00Z","text":"a"}',
        '{"ts":1769860801000,"text":"b"}',
      ])
      expect((await log.get(0)).timestamp).toBe(Date.UTC(2026, 0, 31, 12))
      await log.close()
    },
  },
  'Back up and restore': {
    run: async (work, commands) => {
      await work.sh('seq 1 100 | npx durlog append ./log')
      const here = (command: string): string =>
        command.replaceAll('/mnt/backup', './backup').replaceAll('/srv/app', '.').replace('*/10 * * * * ', '')
      await runAll(work, commands.map(here))
      expect(await work.sh('npx durlog cat ./backup | tail -1')).toBe('100\n')
      // The second restore needs another folder.
      await work.sh('rm -r ./log-copy && seq 101 102 | npx durlog append ./log')
      await runAll(work, commands.map(here))
      expect(await work.sh('npx durlog cat ./backup | tail -1')).toBe('102\n')
    },
  },
  'Monitor a log': {
    run: async (work, commands) => {
      const serve = (commands.pop() as string).replace('9464', '0')
      for (const records of [3, 6]) {
        await runAll(work, commands)
        const running = work.start(serve)
        const port = /\d+/.exec(await running.line())?.[0]
        const answer = await fetch(`http://127.0.0.1:${port}/metrics`)
        expect(await answer.text()).toContain(`durlog_next_seq ${records}\n`)
        await running.kill()
      }
    },
  },
  'Erase the data of one person': {
    run: async (work, commands) => {
      expect(await runAll(work, commands)).toEqual([
        '',
        '0 met Grace\n',
        '0 met Grace\n1 met Ada\n',
        '0 erased\n1 met Ada\n',
      ])
      // A person who returns gets another key.
      expect((await runAll(work, commands.slice(0, 2))).at(-1)).toBe('0 erased\n1 met Ada\n2 met Grace\n')
    },
  },
  'Survive the loss of the machine': {
    skip: missingServer,
    run: async (work, [, ...commands]) => {
      const nats = await server()
      await admin(nats)
      const here = commands.map((command) => command.replace('nats://127.0.0.1:4222', nats.url))
      for (const seq of [0, 1]) expect((await runAll(work, here)).at(-1)).toBe(`shipped ${seq}\n`)
    },
  },
  'Update a service without a pause': {
    run: async (work, [example, serve]) => {
      await work.sh(example as string)
      const port = async (running: Running): Promise<string> => /\d+/.exec(await running.line())?.[0] as string
      const post = async (to: string): Promise<string> =>
        (await fetch(`http://127.0.0.1:${to}/`, { method: 'POST', body: 'order' })).text()
      let old = work.start((serve as string).replace('8080', '0'))
      let oldPort = await port(old)
      for (const seq of [0, 2]) {
        expect(await post(oldPort)).toBe(`${seq}\n`)
        const next = work.start((serve as string).replace('8080', '0'))
        const nextPort = await port(next)
        expect(await (await fetch(`http://127.0.0.1:${nextPort}/ready`)).text()).toBe('ready\n')
        const first = post(nextPort)
        await old.kill('SIGTERM')
        expect(await first).toBe(`${seq + 1}\n`)
        ;[old, oldPort] = [next, nextPort]
      }
    },
  },
}

describe.skipIf(isWindows)('docs/RECIPES.md', () => {
  test('has no block that this file does not run', () => {
    expect([...new Set(recipes.map(({ section }) => section))]).toEqual(Object.keys(RECIPES))
  })

  for (const [section, { files = {}, skip = '', run = runAll }] of Object.entries(RECIPES)) {
    const blocks = recipes.filter((block) => block.section === section)
    test.skipIf(skip !== '')(`the commands of "${section}" do what the recipe says`, async () => {
      const work = new Workspace()
      for (const [name, content] of Object.entries(files)) work.write(name, content)
      await run(
        work,
        blocks.flatMap(({ code }) => commandsIn(code)),
      )
    })
  }
})
