/** A server with which `durlog serve` is compared. Arguments: its kind, its folder, its port. */
import workers from 'node:cluster'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { open } from 'durlog'
import { PACKAGE_ROOT } from './package-root.js'

const PROCESSES = 2
/** The length of an answer to a read, as that of `durlog serve`. */
const CHUNK_BYTES = 1 << 20

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

/** Answers reads with parts of the file `file`, and the offset of the next part. */
async function file(): Promise<void> {
  const path = join(folder, 'file')
  const { size } = await stat(path)
  createServer((request, response) => {
    const offset = new URL(request.url ?? '/', 'http://127.0.0.1').searchParams.get('offset')
    const start = Math.max(Number(offset), 0)
    const end = Math.min(start + CHUNK_BYTES, size)
    const next = end === size ? 'stream-up-to-date' : 'stream-next-offset'
    response.writeHead(200, { 'content-length': end - start, [next]: end })
    createReadStream(path, { start, end: end - 1 }).pipe(response)
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
else if (kind === 'file') await file()
else if (kind === 'cluster') await cluster()
else await reference()
