/** Several processes that serve one folder: docs/SERVE.md, "Several processes". */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { scratchDir } from '../fixtures/scratch.js'

const PROGRAM = fileURLToPath(new URL('cluster-server.mjs', import.meta.url))
const JSON_TYPE = { 'content-type': 'application/json' }
const WORKERS = 3
const KILLS = 4
const APPENDS_PER_KILL = 25
const APPENDS = APPENDS_PER_KILL * (KILLS + 1)

async function startCluster(): Promise<number> {
  const child = spawn(process.execPath, [PROGRAM, join(scratchDir(), 'streams'), String(WORKERS)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(async () => {
    // The workers end after the primary process, and close their end of its standard output.
    child.kill('SIGKILL')
    await once(child, 'close')
  })
  const [line] = await once(createInterface({ input: child.stdout }), 'line')
  return Number(line)
}

/**
 * A client that repeats requests that were not answered, or were answered with 503. Each request has its own
 * connection, which any worker may get.
 */
class Client {
  readonly #port: number

  constructor(port: number) {
    this.#port = port
  }

  async open(path: string, method = 'GET', headers = {}, body?: string): Promise<IncomingMessage> {
    for (;;) {
      try {
        const sent = request({ host: '127.0.0.1', port: this.#port, path, method, headers, agent: false })
        sent.end(body)
        const [answer] = (await once(sent, 'response')) as [IncomingMessage]
        if (answer.statusCode !== 503) return answer
        expect(answer.headers).toHaveProperty('retry-after')
        answer.resume()
      } catch (error) {
        if (!/^(ECONN|EPIPE)/.test((error as NodeJS.ErrnoException).code ?? '')) throw error
      }
      await setTimeout(10)
    }
  }

  async call(path: string, method = 'GET', headers = {}, body?: string): Promise<string> {
    for (;;) {
      const answer = await this.open(path, method, headers, body)
      try {
        const content = await text(answer)
        if ((answer.statusCode ?? 0) < 300) return content
        throw new Error(`${method} ${path}: ${answer.statusCode} ${content}`)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ECONNRESET') throw error
      }
    }
  }

  async owner(): Promise<number> {
    const answer = await this.open('/s0', 'HEAD')
    answer.resume()
    return Number(answer.headers['x-owner'])
  }
}

/**
 * Reads the events of a stream, and connects again after its connection breaks off. Its first connection is to a worker
 * that does not own the folder.
 */
class Subscriber {
  readonly values: unknown[] = []
  connections = 0
  readonly #client: Client
  readonly #path: string
  #offset = '-1'

  constructor(client: Client, path: string) {
    this.#client = client
    this.#path = path
  }

  async run(): Promise<void> {
    for (let hasEnded = false; !hasEnded; ) {
      const answer = await this.#client.open(`${this.#path}?offset=${this.#offset}&live=sse`)
      if (this.connections === 0 && answer.headers['x-worker'] === answer.headers['x-owner']) {
        answer.destroy()
        continue
      }
      this.connections++
      hasEnded = await this.#follow(answer).catch(() => false)
    }
  }

  /** Reads the events of an answer. Returns whether the stream has ended. */
  async #follow(answer: IncomingMessage): Promise<boolean> {
    let rest = ''
    for await (const part of answer.setEncoding('utf8')) {
      const events = (rest + part).split('\n\n')
      rest = events.pop() as string
      for (const event of events) {
        const [, kind, data] = /^id: \S+\nevent: (\w+)\ndata:(.*)$/.exec(event) as unknown as [string, string, string]
        if (kind === 'data') this.values.push(...JSON.parse(data))
        if (kind !== 'control') continue
        const { streamNextOffset, streamClosed } = JSON.parse(data)
        this.#offset = streamNextOffset
        if (streamClosed === true) return true
      }
    }
    return false
  }
}

test('despite kill -9 of workers that own the folder, each append is stored once and in order, and subscribers continue', async () => {
  const client = new Client(await startCluster())
  const paths = Array.from({ length: 4 }, (_, at) => `/s${at}`)
  for (const path of paths) await client.call(path, 'PUT', JSON_TYPE)
  const subscriber = new Subscriber(client, '/s0')
  const events = subscriber.run()
  await expect.poll(() => subscriber.connections).toBe(1)
  const append = (path: string, seq: number, closes: boolean): Promise<string> =>
    client.call(
      path,
      'POST',
      {
        ...JSON_TYPE,
        'producer-id': 'p',
        'producer-epoch': '0',
        'producer-seq': String(seq),
        'stream-closed': String(closes),
      },
      JSON.stringify([seq, `${path} ${seq}`]),
    )
  let kills = 0
  const owners = new Set<number>()
  const produce = async (path: string): Promise<void> => {
    for (let seq = 0; seq < APPENDS; seq++) {
      if (path === '/s0' && seq > 0 && seq % APPENDS_PER_KILL === 0) {
        // The first kill did not hit the subscriber's worker.
        if (kills++ === 1) expect(subscriber.connections).toBe(1)
        let owner = await client.owner()
        // A worker that has not yet noticed the last kill names the earlier owner.
        while (owners.has(owner)) owner = await client.owner()
        owners.add(owner)
        process.kill(owner, 'SIGKILL')
      }
      await append(path, seq, seq === APPENDS - 1)
    }
  }
  await Promise.all(paths.map(produce))
  const expected = (path: string): unknown[] =>
    Array.from({ length: APPENDS }, (_, seq) => [seq, `${path} ${seq}`]).flat()
  for (const path of paths) expect(JSON.parse(await client.call(path))).toEqual(expected(path))
  expect([kills, owners.size]).toEqual([KILLS, KILLS])
  await events
  expect(subscriber.values).toEqual(expected('/s0'))
})
