/**
 * The code blocks of the pages in docs/ run as printed, and twice with `npm run trial -- variants`. Only addresses,
 * ports and the names of buckets differ.
 * README.md and docs/RECIPES.md have a separate test.
 */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { platform } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { open } from '../src/index.js'
import { store } from './fixtures/archive.js'
import { type Block, blocksOf, commandsIn, type Running, Workspace } from './fixtures/document-blocks.js'
import { freePort, missingServer } from './fixtures/nats.mjs'
import { server } from './fixtures/ship.js'
import { EVERY_VARIANT } from './fixtures/variants.js'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc')
const RUN_BLOCKS = fileURLToPath(new URL('fixtures/run-blocks.mjs', import.meta.url))

/** How a block is run. */
interface How {
  /** Statements that declare what the page assumes. */
  before?: string
  after?: string
  /** The text that a block prints which then follows for ever. */
  until?: string
  /** Runs the commands of the block, or the program that it is. Default: each to its end. */
  run?: (work: Workspace, commands: string[]) => Promise<unknown>
  /** The reason why this file does not run it. */
  not?: string
}

interface Page {
  blocks: [at: string, how: How][]
  skip?: string
  workspace?: () => Promise<Workspace>
  /** The reason why the page runs once. */
  once?: string
}

/** Starts a command, waits for a line that contains `text`, and ends it. */
async function runUntil(work: Workspace, command: string, text: string): Promise<void> {
  const running = work.start(`${command} 2>&1`)
  for (;;) if ((await running.line()).includes(text)) break
  await running.kill('SIGTERM')
}

/** Runs a restore that follows until the copy holds records. */
async function runReplica(work: Workspace, command: string, copy: string): Promise<void> {
  const running = work.start(command)
  const next = async (): Promise<number> => {
    const log = await open(join(work.dir, copy), { readOnly: true })
    await log.close()
    return log.nextSeq
  }
  await expect.poll(() => next().catch(() => 0)).toBeGreaterThan(0)
  await running.kill('SIGTERM')
}

/** The address of a server, when it listens. */
async function addressOf(running: Running): Promise<string> {
  for (;;) {
    const address = / at http:\/\/([^/\s]+)/.exec(await running.line())?.[1]
    if (address !== undefined) return address
  }
}

type Special = [pattern: RegExp, run: (command: string) => Promise<unknown>]

/** Runs commands to their end, or as the first pattern says that they match. */
async function runAll(work: Workspace, commands: readonly string[], special: Special[] = []): Promise<void> {
  for (const command of commands) {
    const found = special.find(([pattern]) => pattern.test(command))
    await (found === undefined ? work.sh(command) : found[1](command))
  }
}

/** A copier that runs until it has copied every record, or a restore; a restore needs a new folder. */
const forever = (work: Workspace): Special[] => [
  [
    / (ship|archive) (?!.* --(once|status))/,
    async (command) => {
      const isOfStreams = command.includes(' ./sessions ')
      const append = isOfStreams ? 'streams ./sessions append chat' : 'append ./orders'
      await work.sh(`echo '"order 18"' | npx durlog ${append}`)
      await runUntil(work, `${command} --json`, '"lag":{"records":0,')
    },
  ],
  [/ --follow/, (command) => runReplica(work, command, 'replica')],
  [/ restore \.\/copy /, (command) => work.sh(`rm -rf copy && ${command}`)],
]

/** The packages exist: they are those that the package.json of durlog names. */
async function installs(_work: Workspace, [command]: string[]): Promise<void> {
  const { peerDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const names = command?.split(' ').slice(2) ?? []
  expect(['durlog', ...Object.keys(peerDependencies)]).toEqual(expect.arrayContaining(names))
}

async function workspaceWithStore(): Promise<Workspace> {
  const s3 = await store()
  const { accessKeyId, secretAccessKey } = s3.access.credentials
  const env = { AWS_ENDPOINT_URL: s3.url, AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey }
  const work = new Workspace(env)
  work.here.set('s3://backups/', `${s3.access.bucket}/`).set('https://minio:9000', s3.url)
  return work
}

async function withNats(work: Workspace): Promise<Workspace> {
  const { url } = await server()
  work.here.set('nats://127.0.0.1:4222', url).set('nats://a:4222,nats://b:4222', url)
  // There is one server.
  work.here.set('replicas: 3', 'replicas: 1')
  return work
}

/** The server of docs/SERVE.md. */
let serving: Running

/** A restore `--until` a time needs a record before it. */
const fillOld = `{
  const log = await open('./orders')
  if (log.nextSeq === 0) await log.append('order 16', { timestamp: Date.UTC(2026, 10, 21) })
  await log.close()
}\n`

const STREAMS = "import { openStreams } from 'durlog/streams'\n"
const openChat = `${STREAMS}const sessions = await openStreams('./sessions')
const chat = sessions.stream(\`chat-\${crypto.randomUUID()}\`)
`
const fill = 'await chat.appendAll(Array.from({ length: 13 }, (_, text) => ({ text })))\n'

/** Every block of every page but README.md and docs/RECIPES.md. */
const PAGES: Record<string, Page> = {
  'CONTRIBUTING.md': {
    blocks: [
      ['the beginning: sh', { not: 'each command takes minutes' }],
      ['the beginning: sh', { not: 'each command takes minutes' }],
      ['the beginning: sh', { not: 'each command takes minutes, and needs a debugger' }],
    ],
  },
  'docs/API.md': {
    blocks: [
      [
        '`DurableCursor`: ts',
        {
          before: `import { open } from 'durlog'
const send = async (data: Buffer) => console.log(\`sent \${data}\`)
const log = await open('./log')
await log.append('a mail')\n`,
          until: 'sent a mail',
        },
      ],
    ],
  },
  'docs/ARCHIVE.md': {
    workspace: workspaceWithStore,
    blocks: [
      ['the beginning: sh', { run: installs }],
      ['the beginning: ts', { before: fillOld }],

      [
        'the beginning: ts',
        {
          before: `import { open } from 'durlog'
import { rm } from 'node:fs/promises'
await rm('./restored', { recursive: true, force: true }) // a restore needs a new folder\n`,
        },
      ],
      [
        'Reading: ts',
        { before: `import { open } from 'durlog'\nconst log = await open('./orders', { readOnly: true })\n` },
      ],
      [
        'On the command line: sh',
        {
          run: (work, commands) => runAll(work, commands, forever(work)),
        },
      ],
      [
        'Streams: ts',
        {
          before: `import { open } from 'durlog'
import { archive } from 'durlog/archive'
import { openStreams } from 'durlog/streams'
await (await openStreams('./sessions')).stream('chat').append('hello')\n`,
          after: 'await archiver.idle()\nawait archiver.close()',
        },
      ],
    ],
  },
  'docs/DURABILITY.md': {
    blocks: [
      [
        'Cursors: ts',
        {
          before: `import { open } from 'durlog'
const log = await open('./log')
await log.append('a row')
const cursor = await log.cursor('rows')
interface Transaction { run(text: string, ...values: number[]): { changes: number } }
const sql: Transaction = { run: () => ({ changes: 1 }) }
const database = { transaction: async (work: (sql: Transaction) => void) => work(sql) }
const apply = (_sql: Transaction, data: Buffer) => console.log(\`applied \${data}\`)\n`,
          until: 'applied a row',
        },
      ],
    ],
  },
  'docs/ELECTRON.md': {
    blocks: [
      ['the beginning: sh', { run: (work, commands) => runAll(work, commands.slice(0, 3)) }],
      ['the beginning: js', { not: 'needs Electron: npm run test:electron' }],
      ['the beginning: js', { not: 'needs Electron: npm run test:electron' }],
    ],
  },
  'docs/INSTALL.md': {
    blocks: [['Bundlers: js', { not: 'needs Rollup: npm run test:install' }]],
  },
  'docs/MONITORING.md': {
    blocks: [
      ['the beginning: sh', {}],
      [
        'OpenTelemetry: js',
        {
          before: `import { open } from 'durlog'
interface Result { observe(value: number, attributes?: Record<string, string>): void }
const told: string[] = []
const calls: Promise<unknown>[] = []
const observe = (name: string): Result => ({
  observe: (value, attributes) => told.push(\`\${name} \${value} \${JSON.stringify(attributes)}\`),
})
const meter = {
  createObservableGauge: (name: string, _options?: { unit: string }) => ({
    addCallback: (callback: (result: Result) => unknown) => calls.push(Promise.resolve(callback(observe(name)))),
  }),
}
const log = await open('./log')
await log.cursor('reader')\n`,
          after: `await Promise.all(calls)
if (told.length !== 2) throw new Error(told.join())`,
        },
      ],
    ],
  },
  'docs/PINO.md': {
    blocks: [
      [
        'In a worker thread: ts',
        {
          // The thread of a transport does not keep the process alive.
          after: `const alive = setInterval(() => {}, 1000)
await new Promise((closed) => { stream.once('close', closed); stream.end() })
clearInterval(alive)`,
        },
      ],
      ['In the same thread: ts', {}],
      [
        'Reading: sh',
        {
          run: async (work, [print, follow]) => {
            expect(await work.sh(print as string)).toContain('paid')
            const running = work.start(`bash -c '${follow}'`)
            for (;;) if ((await running.line()).includes('paid')) break
            await running.kill('SIGTERM')
          },
        },
      ],
    ],
  },
  'docs/REPLICATION.md': {
    skip: missingServer,
    once: 'a writer whose log was taken over must not write again',
    workspace: async () => withNats(await workspaceWithStore()),
    blocks: [
      ['the beginning: ts', { after: 'await log.close()' }],
      [
        'Streams and servers: ts',
        {
          before: `import { archiveTo } from 'durlog/archive'\n${STREAMS}`,
          after: "await streams.stream('7').append('hello')\nawait streams.close()",
        },
      ],
      [
        'Streams and servers: sh',
        {
          run: async (work, [toBucket, toStream]) => {
            await runUntil(work, `${toBucket} --port 0`, ' at http')
            await work.sh('rm -r chat')
            await runUntil(work, `${toStream} --port 0`, ' at http')
          },
        },
      ],
      [
        'Takeover: ts',
        {
          before: "import { open } from 'durlog'\n",
          after: "await log.append('order 19', { durability: 'replicated' })\nawait log.close()",
        },
      ],
      [
        'Takeover: sh',
        {
          run: async (work, [fromBucket, fromStream]) => {
            // Each of them is another standby.
            await work.sh('rm -r replica')
            await work.sh(fromBucket as string)
            await work.sh(
              'rm -r replica && npx durlog ship orders nats://a:4222,nats://b:4222 --stream ORDERS --subject orders.eu-1 --once',
            )
            await work.sh(fromStream as string)
          },
        },
      ],
      [
        'A former writer that returns: sh',
        {
          run: async (work, [rejoin, follow]) => {
            await work.sh(rejoin as string)
            await runReplica(work, follow as string, 'orders')
          },
        },
      ],
      ['Automatic takeover: ts', { not: 'waits for the end of a lease: test/replication/stand-by.test.ts' }],
      ['Automatic takeover: sh', { not: 'waits for the end of a lease: test/cli/standby.test.ts' }],
    ],
  },
  'docs/SERVE.md': {
    workspace: async () => {
      const work = new Workspace()
      work.here.set('3000', String(await freePort()))
      work.here.set('/var/lib/app', '.')
      return work
    },
    blocks: [
      [
        'the beginning: sh',
        {
          run: async (work, [serve]) => {
            serving = work.start(`${serve} --port 0 2>&1`)
            work.here.set('localhost:4437', await addressOf(serving))
          },
        },
      ],
      [
        'the beginning: sh',
        {
          run: async (work, [put, post, read, follow]) => {
            await runAll(work, [put, post] as string[])
            expect(await work.sh(read as string)).toContain('{"text":"hello"}')
            await runUntil(work, follow as string, 'hello')
          },
        },
      ],
      ['the beginning: js', { until: 'hello' }],
      [
        'the beginning: ts',
        {
          // The stream does not exist at first: the EventSource ends.
          before: `interface Events {
  addEventListener(type: string, listener: (event: { data: string; lastEventId: string }) => void): void
  close(): void
  readonly readyState: number
}
const Native = (globalThis as unknown as { EventSource: new (url: string) => Events }).EventSource
const url = 'http://localhost:4437/chat/7'
await fetch(url, { method: 'DELETE' })
let refused = () => {}
const first = new Promise<void>((resolve) => { refused = resolve })
class EventSource extends Native {
  static readonly CLOSED = 2
  constructor(url: string) {
    super(url)
    this.addEventListener('error', refused)
  }
}
let shown = (_message: unknown) => {}
const message = new Promise((resolve) => { shown = resolve })
const show = (message: unknown) => shown(message)\n`,
          after: `await first
const headers = { 'content-type': 'application/json' }
await fetch(url, { method: 'PUT', headers, body: '[{"text":"hello"}]' })
console.log(await message)
process.exit()`,
          run: (work, [program]) => work.sh((program as string).replace('node', 'node --experimental-eventsource')),
        },
      ],
      [
        'the beginning: ts',
        {
          before: 'const rightsOf = (cookie?: string) => (cookie === undefined ? undefined : { read: true })\n',
          after: `const answer = await fetch('http://localhost:3000/v1/stream/chat/7')
if (answer.status !== 401) throw new Error(String(answer.status))
process.exit()`,
          // The server of the first block has the folder open.
          run: async (work, [program]) => {
            await serving.kill('SIGTERM')
            await work.sh(program as string)
          },
        },
      ],
      [
        'the beginning: ts',
        {
          after: `const url = 'http://localhost/v1/stream/route'
const headers = { 'content-type': 'application/json' }
await answer(new Request(url, { method: 'PUT', headers, body: '["from a route"]' }))
console.log(await (await answer(new Request(url))).text())
process.exit()`,
          run: async (work, [program]) => expect(await work.sh(program as string)).toContain('"from a route"]'),
        },
      ],
      [
        'A plain log: sh',
        {
          run: async (work, [serve, read]) => {
            await work.sh(`echo '{"order":17}' | npx durlog append ./orders`)
            const running = work.start(`${serve} --port 0 2>&1`)
            work.here.set('localhost:4437', await addressOf(running))
            await runUntil(work, read as string, '17')
            await running.kill('SIGTERM')
          },
        },
      ],
      [
        'Rights: ts',
        {
          before: `import { streamsHandler } from 'durlog/http'
import { openStreams } from 'durlog/streams'
const streams = await openStreams('./sessions')
const sessionOf = async (cookie?: string) => (cookie === 'ada' ? { id: 'ada' } : undefined)
const isSigned = (stream: string, link?: string) => stream === link\n`,
          after: `const ask = async (handler: typeof ofUsers, headers: Record<string, string>) =>
  (await handler.fetch(new Request('http://localhost/chat/9', { headers }))).status
const found = [
  await ask(ofUsers, { cookie: 'ada' }), await ask(ofUsers, {}),
  await ask(ofLinks, { authorization: 'chat/9' }), await ask(ofLinks, {}),
]
if (found.join() !== '404,401,404,401') throw new Error(found.join())`,
        },
      ],
      ['Proxies: nginx', { not: 'test/http/proxy.test.ts runs it' }],
      ['Proxies: caddy', { not: 'no test has Caddy' }],
      [
        'Several processes: ts',
        {
          run: async (work, [program]) => {
            const cluster = work.start(program as string)
            const answer = (): Promise<number> =>
              fetch(`http://localhost:${work.here.get('3000')}/none`).then(
                ({ status }) => status,
                () => 0,
              )
            await expect.poll(answer).toBe(404)
            await cluster.kill()
          },
        },
      ],
      ['Several folders: nginx', { not: 'test/http/proxy.test.ts runs it' }],
    ],
  },
  'docs/SHIPPING.md': {
    skip: missingServer,
    workspace: () => withNats(new Workspace()),
    blocks: [
      ['the beginning: sh', { run: installs }],
      ['the beginning: ts', { before: fillOld }],
      [
        'Restoring: ts',
        {
          before: `import { rm } from 'node:fs/promises'
await rm('./orders', { recursive: true }) // the machine is lost\n`,
        },
      ],
      [
        'On the command line: sh',
        {
          run: (work, commands) =>
            // The server of this test knows no users; test/cli/ship-access.test.ts uses credentials.
            runAll(
              work,
              commands.map((command) => command.replace(' --creds ship.creds', '')),
              forever(work),
            ),
        },
      ],
    ],
  },
  'docs/SNAPSHOTS.md': {
    blocks: [['the beginning: js', { not: 'test/snapshots.test.ts runs it, with a truncation' }]],
  },
  'docs/STREAMS.md': {
    blocks: [
      ['the beginning: ts', { before: 'type Message = { role: string; text: string }\n', until: 'hello' }],
      [
        'Appends: ts',
        {
          before: `${STREAMS}{
  const bank = await openStreams('./bank')
  const ada = bank.stream('account/ada')
  if (await ada.info()) await ada.delete()
  await ada.appendAll(Array(12).fill({ debit: 1 }))
  await bank.close()
}\n`,
        },
      ],
      ['Durability of one append: ts', { before: `${openChat}const last = 'the end'\n` }],
      ['Durability of one append: ts', { before: `${openChat}const [parts, last] = [['a', 'b'], 'the end']\n` }],
      ['Reading a stream: ts', { before: `${openChat}${fill}` }],
      [
        'Reading all streams: ts',
        {
          before: `${openChat}const addToIndex = async (...entry: unknown[]) => console.log('indexed', ...entry)\n`,
          until: 'indexed',
        },
      ],
      [
        'Options of a stream: ts',
        { before: `${openChat}await sessions.stream('chat').appendAll(Array(12).fill('text'))\n` },
      ],
      ['Retention: ts', { before: openChat }],
    ],
  },
}

const titled = ({ section, language }: Block): string => `${section || 'the beginning'}: ${language}`
const isCode = ({ language }: Block): boolean => language === 'ts' || language === 'js'
const fileOf = (page: string, index: number): string => `${basename(page, '.md')}-${index}`

/**
 * Checks the types of the code of all pages, in one program of the compiler. Returns the JavaScript that it writes, by
 * the name of its file.
 */
function compile(): Map<string, string> {
  const { dir } = new Workspace()
  const files: string[] = []
  for (const [page, { blocks }] of Object.entries(PAGES))
    for (const [index, block] of blocksOf(page).entries()) {
      const [, how] = blocks[index] ?? []
      if (how === undefined || how.not !== undefined || !isCode(block)) continue
      const name = `${fileOf(page, index)}.mts`
      writeFileSync(join(dir, name), `${how.before ?? ''}${block.code}${how.after ?? ''}\nexport {}\n`)
      files.push(name)
    }
  const flags = '--strict --target es2023 --module nodenext --types node --skipLibCheck --outDir js'.split(' ')
  const types = ['--typeRoots', join(ROOT, 'node_modules/@types')]
  const { stdout } = spawnSync(process.execPath, [TSC, ...flags, ...types, ...files], { cwd: dir, encoding: 'utf8' })
  expect(stdout).toBe('')
  return new Map(readdirSync(join(dir, 'js')).map((name) => [name, readFileSync(join(dir, 'js', name), 'utf8')]))
}
let compiled: Map<string, string> | undefined

test('the tests of documents run every block of every page, or name the reason', () => {
  const pages = ['CONTRIBUTING.md', ...readdirSync(join(ROOT, 'docs')).map((name) => `docs/${name}`)]
  const found = pages
    .filter((name) => name.endsWith('.md') && name !== 'docs/RECIPES.md')
    .map((page) => [page, blocksOf(page).map(titled)] as const)
    .filter(([, blocks]) => blocks.length > 0)
  expect(Object.fromEntries(found)).toEqual(
    Object.fromEntries(Object.entries(PAGES).map(([page, { blocks }]) => [page, blocks.map(([at]) => at)])),
  )
})

const LIVES = EVERY_VARIANT ? 2 : 1

describe.skipIf(platform() === 'win32')(`the blocks run as printed, ${LIVES === 2 ? 'twice' : 'once'}`, () => {
  for (const [page, { blocks, skip = '', workspace = async () => new Workspace(), once }] of Object.entries(PAGES))
    test.skipIf(skip !== '' || blocks.every(([, how]) => how.not !== undefined))(`${page} ${skip}`, async () => {
      compiled ??= compile()
      const work = await workspace()
      for (let life = 0; life < (once === undefined ? LIVES : 1); life++) {
        // Programs that follow each other share a process.
        let programs: [file: string, until?: string][] = []
        const runPrograms = async (): Promise<void> => {
          if (programs.length > 0) await work.sh(`node ${RUN_BLOCKS} '${JSON.stringify(programs)}'`)
          programs = []
        }
        for (const [index, block] of blocksOf(page).entries()) {
          const { until, not, run = runAll } = blocks[index]?.[1] ?? {}
          const file = `${fileOf(page, index)}.mjs`
          if (not === undefined && isCode(block)) work.write(file, compiled.get(file) as string)
          if (not !== undefined) continue
          if (isCode(block) && run === runAll) programs.push(until === undefined ? [file] : [file, until])
          else {
            await runPrograms()
            await run(work, isCode(block) ? [`node ${file}`] : commandsIn(block.code))
          }
        }
        await runPrograms()
      }
    })
})
