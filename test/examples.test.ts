import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { Agent, get, request } from 'node:http'
import { platform } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { open } from '../src/index.js'
import { openRestored } from '../src/open.js'
import { missingServer, natsServer } from './fixtures/nats.mjs'
import { scratchDir, texts } from './fixtures/scratch.js'
import { admin, server, stored } from './fixtures/ship.js'

const EXAMPLES = fileURLToPath(new URL('../examples/', import.meta.url))

/** An example that runs until the test ends it, or by itself. */
class Running {
  readonly child: ChildProcess
  readonly exited: Promise<unknown>
  readonly #lines: AsyncIterator<string>
  readonly #errors: Promise<string>

  constructor(name: string, args: string[], env = {}) {
    const options = { stdio: 'pipe', env: { ...process.env, ...env } } as const
    const child = spawn(process.execPath, [join(EXAMPLES, name), ...args], options)
    onTestFinished(() => {
      child.kill('SIGKILL')
    })
    this.child = child
    this.exited = once(child, 'exit')
    this.#errors = text(child.stderr)
    this.#lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  }

  async line(): Promise<string> {
    const { value, done } = await this.#lines.next()
    if (done) throw new Error(`the example ended: ${await this.#errors}`)
    return value
  }

  say(line: string): void {
    this.child.stdin?.write(`${line}\n`)
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    this.child.kill(signal)
    await this.exited
  }

  /** The rest of the example's output, and its messages. */
  async end(): Promise<{ lines: string[]; errors: string }> {
    this.child.stdin?.end()
    const lines: string[] = []
    for (let next = await this.#lines.next(); !next.done; next = await this.#lines.next()) lines.push(next.value)
    await this.exited
    return { lines, errors: await this.#errors }
  }
}

const start = (name: string, ...args: string[]): Running => new Running(name, args)
const newLog = (): string => join(scratchDir(), 'log')

test('the outbox sends every message in order although both its processes are killed', async () => {
  const dir = newLog()
  const first = start('outbox-producer.mjs', dir)
  first.say('one')
  first.say('two')
  expect([await first.line(), await first.line()]).toEqual(['stored 0', 'stored 1'])
  await first.kill()

  const consumer = start('outbox-consumer.mjs', dir)
  expect(await consumer.line()).toBe('sent one')
  const second = start('outbox-producer.mjs', dir) // a second deploy, while the consumer holds the cursor
  second.say('three')
  expect([await consumer.line(), await consumer.line()]).toEqual(['sent two', 'sent three'])
  await consumer.kill()

  second.say('four')
  expect([await second.line(), await second.line()]).toEqual(['stored 2', 'stored 3'])
  const restarted = start('outbox-consumer.mjs', dir)
  let line = await restarted.line()
  if (line === 'sent three') line = await restarted.line() // killed before its commit
  expect(line).toBe('sent four')
  await restarted.kill('SIGTERM')
  expect(restarted.child.exitCode).toBe(0)
  await second.end()
})

test('event sourcing rebuilds the balance and refuses a withdrawal that it does not cover', async () => {
  const dir = newLog()
  const run = async (...args: string[]): Promise<string[]> =>
    (await start('event-sourcing.mjs', dir, ...args).end()).lines
  expect(await run('deposit', '10')).toEqual(['balance 10'])
  expect(await run('withdraw', '4')).toEqual(['balance 6'])
  expect(await run('withdraw', '7')).toEqual(['refused: the balance is 6', 'balance 6'])
  expect(await run()).toEqual(['balance 6'])
})

test('each run of an agent session adds its messages, and the session is a JSON Lines file', async () => {
  const dir = newLog()
  const run = async (...args: string[]): Promise<string[]> =>
    (await start('agent-session.mjs', dir, ...args).end()).lines
  const path = join(dir, 'streams', 'user%2f7.jsonl')
  expect(await run('user/7')).toEqual(['no messages yet'])
  expect(await run('user/7', 'hello')).toEqual(['hello is message 0', '0 hello', path])
  expect(await run('user/7', 'other', 'hello')).toEqual([
    'other is message 1',
    'hello is message 2',
    '0 hello',
    '1 other',
    '2 hello',
    path,
  ])
  const line = (text: string): string => `{"role":"user","text":"${text}"}\n`
  expect(readFileSync(path, 'utf8')).toBe(line('hello') + line('other') + line('hello'))
})

test('accounts of two processes never lose an event or a refusal, although each process is killed', async () => {
  const dir = newLog()
  const first = start('streams-accounts.mjs', dir)
  first.say('deposit alice ten')
  expect(await first.line()).toBe('deposit NAME AMOUNT, or withdraw NAME AMOUNT')
  first.say('deposit alice 10')
  expect(await first.line()).toBe('event 0: alice has 10')
  const second = start('streams-accounts.mjs', dir)
  second.say('withdraw alice 4')
  expect(await second.line()).toBe('event 1: alice has 6')
  await first.kill()
  second.say('withdraw alice 7')
  expect(await second.line()).toBe('refused: alice has 6')
  const third = start('streams-accounts.mjs', dir)
  for (const one of [second, third]) for (let i = 0; i < 3; i++) one.say('withdraw alice 2')
  const lines = [await second.line(), await second.line(), await third.line(), await third.line(), await third.line()]
  await second.kill()
  const after = start('streams-accounts.mjs', dir)
  after.say('withdraw alice 1')
  expect(await after.line()).toBe('refused: alice has 0')
  expect(lines.filter((line) => line.startsWith('event')).length).toBeLessThanOrEqual(3)
  await Promise.all([third.end(), after.end()])
})

test('agents share a session, and continue when one of them is killed and starts again', async () => {
  const dir = newLog()
  const [one, two] = [
    start('streams-agents.mjs', dir, 'user/7', 'one'),
    start('streams-agents.mjs', dir, 'user/7', 'two'),
  ]
  one.say('hello')
  expect([await one.line(), await two.line()]).toEqual(['0 one: hello', '0 one: hello'])
  await one.kill()
  two.say('still here')
  expect(await two.line()).toBe('1 two: still here')
  const again = start('streams-agents.mjs', dir, 'user/7', 'one')
  expect([await again.line(), await again.line()]).toEqual(['0 one: hello', '1 two: still here'])
  await two.kill()
  again.say('back')
  expect(await again.line()).toBe('2 one: back')
  await again.end()
  expect(
    readFileSync(join(dir, 'streams', 'user%2f7.jsonl'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toEqual([
    { from: 'one', text: 'hello' },
    { from: 'two', text: 'still here' },
    { from: 'one', text: 'back' },
  ])
})

test('the import stores each valid line of each file once, also if it is repeated', async () => {
  const dir = newLog()
  const [file, other] = [join(scratchDir(), 'messages.jsonl'), join(scratchDir(), 'other.jsonl')]
  const run = (path: string) => start('import-json-lines.mjs', dir, path).end()
  writeFileSync(file, '{"a":1}\n\n{"a":\n{"a":3}\n')
  expect(await run(file)).toEqual({ lines: ['2 records'], errors: `${file}:3: not valid JSON\n` })
  writeFileSync(file, '{"a":1}\n\n{"a":\n{"a":3}\n{"a":4}\n')
  expect((await run(file)).lines).toEqual(['3 records'])
  expect((await run(file)).lines).toEqual(['3 records'])
  writeFileSync(other, '{"b":1}\n')
  expect((await run(other)).lines).toEqual(['4 records'])
  expect((await run(file)).lines).toEqual(['4 records'])
})

test.each(['{"b":1}\n', '{"b":1}\n{"b":2}\n{"b":3}\n', '{"a":1}\n{"a":\n{"a":3}\n'])(
  'the import refuses another file with the name of an imported one: %j',
  async (content) => {
    const dir = newLog()
    const file = join(scratchDir(), 'messages.jsonl')
    writeFileSync(file, '{"a":1}\n{"a":2}\n')
    expect((await start('import-json-lines.mjs', dir, file).end()).lines).toEqual(['2 records'])
    writeFileSync(file, content)
    expect((await start('import-json-lines.mjs', dir, file).end()).errors).toContain(
      'is not the file that was imported',
    )
    const log = await open(dir, { readOnly: true })
    expect(log.nextSeq).toBe(2)
    await log.close()
  },
)

test('server-sent events continue after the last event that a browser has received', async () => {
  const dir = newLog()
  const log = await open(dir)
  onTestFinished(() => log.close())
  await log.appendBatch(['a', 'b\nc', 'd'])
  const serving = start('server-sent-events.mjs', dir, '0')
  const port = Number((await serving.line()).split(' ').at(-1))
  const request = get({ host: '127.0.0.1', port, headers: { 'last-event-id': '0' } })
  const [response] = await once(request, 'response')
  let received = ''
  for await (const chunk of response) {
    received += chunk
    if (received.includes('id: 2\n') && received.endsWith('\n\n')) break
  }
  expect(received).toBe('id: 1\ndata: b\ndata: c\n\nid: 2\ndata: d\n\n')
  await serving.kill('SIGTERM')
  expect(serving.child.exitCode).toBe(0)
})

test('the pino service has every line in its log after SIGTERM', async () => {
  const dir = newLog()
  const service = start('pino-service.mjs', dir)
  const log = await openWhenReady(dir)
  onTestFinished(() => log.close())
  const reader = log.read({ follow: true })
  const { port } = JSON.parse((await reader.next()).value?.data.toString() ?? '')
  const [response] = await once(get({ host: '127.0.0.1', port, path: '/orders' }), 'response')
  expect(await text(response)).toBe('ok\n')
  await service.kill('SIGTERM')
  expect(service.child.exitCode).toBe(0)
  const messages = (await texts(log.read())).map((line) => JSON.parse(line).msg)
  expect(messages).toEqual(['listening', 'request', 'stopped'])
})

/** Opens the log for reading once the example has created it. */
async function openWhenReady(dir: string) {
  for (;;) {
    try {
      return await open(dir, { readOnly: true })
    } catch (error) {
      if ((error as { code?: string }).code !== 'ERR_DURLOG_NOT_FOUND') throw error
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
}

describe.skipIf(platform() !== 'linux')('shared logs (Linux only)', () => {
  test('a cluster of four processes stores every message', async () => {
    expect((await start('cluster-outbox.mjs', newLog()).end()).lines).toEqual(['400 messages from 4 processes'])
  })

  test('worker threads append to one log', async () => {
    const { lines } = await start('worker-threads.mjs', newLog()).end()
    const steps = (name: string): string[] => lines.filter((line) => line.split(' ')[1] === name)
    expect(lines.map((line) => Number(line.split(' ')[0]))).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8])
    for (const name of ['a', 'b', 'c']) expect(steps(name).map((line) => line.split(' ')[2])).toEqual(['0', '1', '2'])
  })
})

test('after SIGTERM, a rolling update answers requests on old and new connections, and closes these', async () => {
  // The time after which the process would close the log does not pass.
  const slow = 'const wait = setTimeout; globalThis.setTimeout = (call) => wait(call, 2 ** 31 - 1)'
  const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(slow)}` }
  const serving = new Running('rolling-update.mjs', [newLog(), '0'], env)
  const port = Number((await serving.line()).split(' ').at(-1))
  const agent = (): Agent => new Agent({ keepAlive: true, maxSockets: 1 })
  const post = async (connection: Agent): Promise<string> => {
    const [answer] = await once(request({ port, agent: connection, method: 'POST' }).end('order'), 'response')
    return `${await text(answer)}${answer.headers.connection}`
  }
  const old = agent()
  expect(await post(old)).toBe('0\nkeep-alive')
  serving.child.kill('SIGTERM')
  for (let said = ''; !said.endsWith('close'); ) said = await post(agent())
  expect(await post(old)).toMatch(/^\d+\nclose$/)
})

test('the metrics of a log have the lag of each cursor in records and in seconds', async () => {
  const dir = newLog()
  const log = await openRestored(dir, { uuid: randomUUID(), firstSeq: 0, generation: 0 }, {})
  onTestFinished(() => log.close())
  const [old, waiting] = [Date.now() - 60_000, Date.now() - 30_000]
  await log.append('read', { timestamp: old })
  // The cursor's next seqs have no record.
  await log.skipTo(3, old)
  await log.append('waits', { timestamp: waiting })
  const slow = await log.cursor('slow', { from: 0 })
  await slow.commit(0, { durability: 'sync' })
  await log.cursor('done', { from: 4 })
  const serving = start('prometheus.mjs', dir, '0')
  const port = Number((await serving.line()).split(' ').at(-1))
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  expect(metrics).toContain('durlog_next_seq 4\n')
  expect(metrics).toContain('durlog_cursor_lag_records{cursor="slow"} 3\n')
  expect(metrics).toContain('durlog_cursor_lag_records{cursor="done"} 0\ndurlog_cursor_lag_seconds{cursor="done"} 0\n')
  const age = Number(/lag_seconds\{cursor="slow"\} (.*)/.exec(metrics)?.[1])
  expect(age).toBeGreaterThanOrEqual(30)
  expect(age).toBeLessThan((Date.now() - old) / 1000)
  await serving.kill('SIGTERM')
  expect(serving.child.exitCode).toBe(0)
})

test('the alert rules and the dashboard use metrics that exist', async () => {
  const dir = newLog()
  const serving = start('metrics.mjs', dir, join(scratchDir(), 'sessions'), '0')
  const port = Number((await serving.line()).split(' ').at(-1))
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  expect(metrics).toMatch(/^durlog_commits_total [1-9]/m)
  expect(metrics).not.toMatch(/undefined|NaN/)
  await serving.kill('SIGTERM')
  expect(serving.child.exitCode).toBe(0)
  const root = fileURLToPath(new URL('..', import.meta.url))
  const sources = ['examples/prometheus.mjs', 'examples/metrics.mjs', 'src/http/metrics.ts', 'docs/MONITORING.md']
  const known = sources.map((path) => readFileSync(join(root, path), 'utf8')).join('\n')
  const dashboard = JSON.parse(readFileSync(join(root, 'docs/grafana-dashboard.json'), 'utf8'))
  const expressions = dashboard.panels.flatMap(({ targets }: { targets: { expr: string }[] }) =>
    targets.map(({ expr }) => expr),
  )
  const rules = readFileSync(join(EXAMPLES, 'prometheus-alerts.yml'), 'utf8')
  const used = `${expressions.join('\n')}\n${[...rules.matchAll(/expr: (.*)/g)].map(([, expr]) => expr).join('\n')}`
  const names = new Set([...used.matchAll(/durlog_[a-z_]+/g)].map(([name]) => name.replace(/_bucket$/, '')))
  expect(names.size).toBeGreaterThan(10)
  for (const name of names) expect(known).toContain(name)
})

test('after a person is erased, no record of that person can be read, and the others can', async () => {
  const dir = newLog()
  const run = async (...args: string[]): Promise<string[]> =>
    (await start('erase-person.mjs', dir, ...args).end()).lines
  await run('add', 'ada', 'private')
  await run('add', 'grace', 'public')
  expect(await run('list')).toEqual(['0 private', '1 public'])
  expect(await run('erase', 'ada')).toEqual(['0 erased', '1 public'])
  for (const name of readdirSync(dir)) expect(readFileSync(join(dir, name)).includes('private')).toBe(false)
})

test.skipIf(missingServer !== '')(`an order is in the stream after it was shipped ${missingServer}`, async () => {
  const nats = await server()
  expect((await start('ship-to-jetstream.mjs', newLog(), nats.url).end()).lines).toEqual(['shipped 0'])
  expect((await stored(await admin(nats))).map((message) => message.text)).toEqual(['order 17'])
})

test.skipIf(missingServer !== '')(
  `no acknowledged order is lost when its server is killed ${missingServer}`,
  async () => {
    vi.stubEnv('NATS_SERVER', natsServer())
    onTestFinished(() => void vi.unstubAllEnvs())
    expect((await start('failover.mjs').end()).lines).toEqual([
      'the first server has acknowledged 50 orders, and is killed',
      'the second server is the writer of generation 1',
      'acknowledged 100, stored 100, lost 0, stored twice 0',
    ])
  },
)

test('every example is run by a test, except those that need Electron, Docker or systemd', () => {
  // `npm run test:electron` runs them.
  for (const name of ['main', 'preload'])
    execFileSync(process.execPath, ['--check', join(EXAMPLES, `electron-${name}.cjs`)])
  const source = readdirSync(EXAMPLES).filter((name) => /\.(mjs|py)$/.test(name))
  const tests = [
    'agent-session.mjs',
    'ai-chat.mjs', // by test/http/examples.test.ts
    'cluster-outbox.mjs',
    'erase-person.mjs',
    'event-sourcing.mjs',
    'failover.mjs',
    'import-json-lines.mjs',
    'metrics.mjs',
    'outbox-consumer.mjs',
    'outbox-producer.mjs',
    'pino-service.mjs',
    'prometheus.mjs',
    'python-producer.py', // by test/http/kill.test.ts
    'rolling-update.mjs', // by test/document-blocks.test.ts
    'server-sent-events.mjs',
    'ship-to-jetstream.mjs',
    'snapshot.mjs', // by test/snapshots.test.ts
    'streams-accounts.mjs',
    'streams-agents.mjs',
    'tanstack-chat.mjs', // by test/http/examples.test.ts
    'worker-threads.mjs',
  ]
  expect(source.sort()).toEqual(tests)
})

test('every example prints its usage for an option, and touches no file', () => {
  const names = readdirSync(EXAMPLES).filter((name) => name.endsWith('.mjs'))
  // One process for all of them.
  const program = `
    const told = []
    console.error = (usage) => told.push(usage)
    process.exit = (code) => { throw code }
    for (const name of ${JSON.stringify(names)}) {
      process.argv = [process.execPath, name, '--help']
      await import('${pathToFileURL(EXAMPLES)}' + name).catch((code) => told.push(code))
    }
    console.log(JSON.stringify(told))`
  const cwd = scratchDir()
  const args = ['--no-warnings', '--input-type=module', '-e', program]
  const told = JSON.parse(execFileSync(process.execPath, args, { cwd, encoding: 'utf8' }))
  expect(told).toEqual(names.flatMap((name) => [expect.stringMatching(`^usage: node ${name}`), 64]))
  expect(readdirSync(cwd)).toEqual([])
})

test('durlog example lists every example with its purpose, and prints one by name', async () => {
  const cli = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url))
  const durlog = async (...args: string[]): Promise<string> =>
    text(spawn(process.execPath, [cli, 'example', ...args], { stdio: 'pipe' }).stdout)
  const listed = (await durlog()).trimEnd().split('\n')
  expect(listed).toHaveLength(readdirSync(EXAMPLES).length)
  for (const line of listed) expect(line).toMatch(/^ {2}[A-Za-z-]+ {2,}[A-Za-z].{20,90}$/)
  expect(await durlog('outbox-consumer')).toBe(readFileSync(join(EXAMPLES, 'outbox-consumer.mjs'), 'utf8'))
})
