/** A server with which `durlog serve` is compared. Arguments: its kind, its folder, its port. */
import workers from 'node:cluster'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { open } from 'durlog'
import { PACKAGE_ROOT } from './package-root.js'

const PROCESSES = 2

const [kind = '', folder = '', port = '0'] = process.argv.slice(2)

/** Serves one folder of streams from two processes. */
async function cluster(): Promise<void> {
  if (workers.isPrimary) {
    for (let at = 0; at < PROCESSES; at++) workers.fork()
    return
  }
  const { openStreams } = await import('durlog/streams')
  const { streamsHandler } = await import('durlog/http')
  createServer(streamsHandler(await openStreams(join(folder, 'streams')))).listen(Number(port), '127.0.0.1')
}

/** Reads each body and responds with 204. */
function bare(): void {
  createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(204).end())
  }).listen(Number(port), '127.0.0.1')
}

/** As `bare`, but responds after it has appended the body to a log. */
async function log(): Promise<void> {
  const opened = await open(join(folder, 'log'), { durability: 'sync' })
  createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', async () => {
      await opened.append(Buffer.concat(parts))
      response.writeHead(204).end()
    })
  }).listen(Number(port), '127.0.0.1')
}

interface ReferenceModule {
  DurableStreamTestServer: new (options: object) => { start(): Promise<unknown> }
}

async function reference(): Promise<void> {
  const load = createRequire(join(PACKAGE_ROOT, 'bench/peers/'))
  const { DurableStreamTestServer } = load('@durable-streams/server') as ReferenceModule
  await new DurableStreamTestServer({ port: Number(port), host: '127.0.0.1', dataDir: join(folder, 'data') }).start()
}

if (kind === 'bare') bare()
else if (kind === 'log') await log()
else if (kind === 'cluster') await cluster()
else await reference()
