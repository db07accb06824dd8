/**
 * Repeated requests after kill -9 of the server: docs/SERVE.md, "Guarantees". SERVE_KILLS sets the number of kills:
 * `npm run trial -- serve`.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { DurableStream, IdempotentProducer, stream } from '@durable-streams/client'
import { expect, onTestFinished, test } from 'vitest'
import { pythonWithClient } from '../../scripts/python-client.mjs'
import { openStreams } from '../../src/streams/index.js'
import { scratchDir } from '../fixtures/scratch.js'
import { all } from '../fixtures/streams.js'

const EXAMPLE = fileURLToPath(new URL('../../examples/python-producer.py', import.meta.url))
const PROGRAM = fileURLToPath(new URL('kill-server.mjs', import.meta.url))
/** 0: each test makes its small default number of kills. */
const KILLS = Number(process.env['SERVE_KILLS'] ?? 0)
const TIMEOUT_MS = 240_000 + KILLS * 10_000
const JSON_TYPE = { 'content-type': 'application/json' }

interface Running {
  child: ChildProcess
  port: number
  exited: Promise<unknown>
}

/** Starts a server that kills itself instead of sending an answer to POST after `answers` answers. */
async function start(dir: string, answers: number, port = 0): Promise<Running> {
  const child = spawn(process.execPath, [PROGRAM, dir, String(answers), String(port)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const exited = once(child, 'exit')
  const [line] = await once(createInterface({ input: child.stdout as NodeJS.ReadableStream }), 'line')
  return { child, port: Number(line), exited }
}

async function stop({ child, exited }: Running): Promise<void> {
  child.kill('SIGKILL')
  await exited
}

/**
 * Repeats a request until it is answered. The client's own retries would treat a conflict as an error, which its
 * producer can resolve.
 */
async function fetchUntilAnswered(...request: Parameters<typeof fetch>): Promise<Response> {
  for (;;) {
    const answer = await fetch(...request).catch(() => undefined)
    if (answer !== undefined && answer.status < 500) return answer
    await setTimeout(10)
  }
}

test(
  'a request that is repeated after kill -9 between the sync and the answer is stored once',
  async () => {
    const dir = join(scratchDir(), 'streams')
    let server = await start(dir, -1)
    const { port } = server
    const url = `http://127.0.0.1:${port}/s`
    await fetch(url, { method: 'PUT', headers: JSON_TYPE })
    await stop(server)
    const post = (seq: number, closed: boolean) =>
      fetch(url, {
        method: 'POST',
        headers: {
          ...JSON_TYPE,
          'producer-id': 'p',
          'producer-epoch': '0',
          'producer-seq': String(seq),
          'stream-closed': String(closed),
        },
        body: JSON.stringify([{ seq }, 'second message']),
      })
    const kills = KILLS || 8
    for (let seq = 0; seq < kills; seq++) {
      server = await start(dir, 0, port)
      await expect(post(seq, seq === kills - 1)).rejects.toThrow()
      await server.exited
      server = await start(dir, -1, port)
      const repeated = await post(seq, seq === kills - 1)
      expect([repeated.status, repeated.headers.get('producer-seq')]).toEqual([204, String(seq)])
      await stop(server)
    }
    const streams = await openStreams(dir, { exclusive: true })
    onTestFinished(() => streams.close())
    const records = await all(streams.stream('s').read())
    const expected = Array.from({ length: kills }, (_, seq) => [{ seq }, 'second message']).flat()
    expect(records.map(({ value }) => value)).toEqual(expected)
    expect(await streams.stream('s').info()).toMatchObject({ ended: true })
  },
  TIMEOUT_MS,
)

test(
  'despite kills of the server, the official client reads every value once and in order, and its producer stores each value once',
  async () => {
    const dir = join(scratchDir(), 'streams')
    let server = await start(dir, -1)
    const { port } = server
    const url = `http://127.0.0.1:${port}/chat`
    const backoffOptions = { initialDelay: 10, maxDelay: 50, multiplier: 1.5, maxRetries: 10_000 }
    const handle = new DurableStream({ url, contentType: 'application/json', backoffOptions })
    await handle.create({ contentType: 'application/json' })
    const found: number[] = []
    const end = new AbortController()
    onTestFinished(() => end.abort())
    const reading = (async () => {
      const live = await stream<number>({ url, offset: '-1', live: 'long-poll', backoffOptions, signal: end.signal })
      for await (const value of live.jsonStream() as unknown as AsyncIterable<number>) found.push(value)
    })()
    const errors: unknown[] = []
    const producer = new IdempotentProducer(handle, 'p', {
      lingerMs: 1,
      fetch: fetchUntilAnswered,
      onError: (error) => errors.push(error),
    })
    let sent = 0
    for (let kill = 0; kill < (KILLS || 5); kill++) {
      for (let i = 0; i < 20; i++) producer.append(JSON.stringify(sent++))
      await expect.poll(() => found.length).toBeGreaterThan(20 * kill)
      await stop(server)
      server = await start(dir, kill % 2 === 0 ? 0 : -1, port)
      if (kill % 2 === 0) {
        for (let i = 0; i < 20; i++) producer.append(JSON.stringify(sent++))
        await server.exited
        server = await start(dir, -1, port)
      }
    }
    await producer.flush()
    await handle.close()
    await reading
    expect(errors).toEqual([])
    expect(found).toEqual(Array.from({ length: sent }, (_, value) => value))
  },
  TIMEOUT_MS,
)

const python = pythonWithClient()
const missingPython = python === undefined ? '(skipped: the Python client cannot be installed)' : ''

test.skipIf(missingPython !== '')(
  `despite kills of the server and of itself, a Python producer stores each line once and in order ${missingPython}`,
  async () => {
    const dir = join(scratchDir(), 'streams')
    const kills = KILLS || 5
    const lines = Array.from({ length: 10 * kills }, (_, line) => `line ${line}\n`)
    const file = join(scratchDir(), 'lines')
    writeFileSync(file, lines.join(''))
    let server = await start(dir, 0)
    const { port } = server
    const produce = (): ChildProcess => {
      const child = spawn(python as string, [EXAMPLE, `http://127.0.0.1:${port}/orders`, file], {
        stdio: ['ignore', 'ignore', 'inherit'],
      })
      onTestFinished(() => void child.kill('SIGKILL'))
      return child
    }
    let producer = produce()
    for (let kill = 0; kill < kills; kill++) {
      // After some answers, the server has synced the next record but not answered its request.
      await server.exited
      if (kill % 4 === 3) {
        producer.kill('SIGKILL')
        producer = produce()
      }
      server = await start(dir, kill === kills - 1 ? -1 : 5 + (kill % 5), port)
    }
    expect(await once(producer, 'exit')).toEqual([0, null])
    expect(await (await fetch(`http://127.0.0.1:${port}/orders`)).text()).toBe(lines.join(''))
    writeFileSync(file, 'another file\n')
    expect(await once(produce(), 'exit')).toEqual([0, null])
    expect(await (await fetch(`http://127.0.0.1:${port}/orders`)).text()).toBe(`${lines.join('')}another file\n`)
  },
  TIMEOUT_MS,
)
