/**
 * A producer and a consumer in two processes, either of which is killed at random. Every record is seen at least once
 * and in order, and none after a commit of it that was acknowledged at `sync`. DURLOG_CURSOR_KILLS says how often.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { open } from '../../src/index.js'
import { scratchDir } from '../fixtures/scratch.js'
import { randomFrom } from './payload.mjs'

const PRODUCER = fileURLToPath(new URL('cursor-producer.mjs', import.meta.url))
const CONSUMER = fileURLToPath(new URL('cursor-consumer.mjs', import.meta.url))
const kills = Number(process.env['DURLOG_CURSOR_KILLS'] ?? 20)
/** A process says this much before it is killed, at most. */
const MAX_LINES = 150

/** One process after the other, each killed when it has said as much as the test wants. */
class Victim {
  readonly #script: string
  readonly #dir: string
  readonly #onLine: (line: string) => void
  #child: ChildProcess | undefined
  #closed: Promise<unknown> = Promise.resolve()
  #lines = 0
  #wanted: { lines: number; done: () => void } | undefined

  constructor(script: string, dir: string, onLine: (line: string) => void) {
    this.#script = script
    this.#dir = dir
    this.#onLine = onLine
  }

  start(): void {
    const child = spawn(process.execPath, [this.#script, this.#dir], { stdio: ['pipe', 'pipe', 'pipe'] })
    let errors = ''
    child.stderr.on('data', (text: Buffer) => {
      errors += text
    })
    const lines = createInterface({ input: child.stdout })
    lines.on('line', (line) => {
      this.#onLine(line)
      this.#lines++
      if (this.#wanted !== undefined && this.#lines >= this.#wanted.lines) this.#wanted.done()
    })
    this.#lines = 0
    this.#child = child
    this.#closed = once(child, 'close').then(([code, signal]) => {
      this.#wanted?.done()
      if (signal !== 'SIGKILL' && code !== 0) throw new Error(`${this.#script} ended with ${code}: ${errors}`)
    })
    this.#closed.catch(() => {})
  }

  /** Settles when the process has said `lines` lines, or has ended. */
  said(lines: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        this.#wanted = undefined
        resolve()
      }
      this.#wanted = { lines, done }
      if (this.#lines >= lines) done()
    })
  }

  async kill(): Promise<void> {
    this.#child?.kill('SIGKILL')
    await this.#closed
  }

  /** Asks it to come to an end. */
  async end(): Promise<void> {
    this.#child?.stdin?.end()
    await this.#closed
  }
}

test(`${kills} kills of a producer or its consumer cost no record and bring none back`, {
  timeout: 600_000,
}, async () => {
  const dir = join(scratchDir(), 'log')
  await (await open(dir, { segmentBytes: 262_144 })).close()
  const random = randomFrom(Number(process.env['DURLOG_KILL_SEED'] ?? 1))
  let acknowledged = -1
  let seen = -1
  let next = 0
  let committed = -1
  let again = 0
  const producer = new Victim(PRODUCER, dir, (line) => {
    acknowledged = Math.max(acknowledged, Number(line))
  })
  const consumer = new Victim(CONSUMER, dir, (line) => {
    const [kind, seq] = [line[0], Number(line.slice(1))]
    if (kind === 'f') {
      // Where this life of the consumer goes on.
      if (seq <= committed) throw new Error(`it goes on at ${seq}, and ${committed} was committed at sync`)
      if (seq > seen + 1) throw new Error(`it goes on at ${seq}, and ${seen} was the last that was seen`)
      next = seq
    } else if (kind === 's') {
      if (seq !== next) throw new Error(`record ${seq} came where ${next} was due`)
      if (seq <= seen) again++
      next = seq + 1
      seen = Math.max(seen, seq)
    } else committed = Math.max(committed, seq)
  })
  onTestFinished(async () => {
    await producer.kill()
    await consumer.kill()
  })
  producer.start()
  consumer.start()
  for (let kill = 0; kill < kills; kill++) {
    const victim = random() < 0.5 ? producer : consumer
    await victim.said(1 + Math.floor(random() * MAX_LINES))
    await victim.kill()
    victim.start()
  }
  await producer.end()
  await consumer.end()
  const log = await open(dir, { readOnly: true })
  const { nextSeq } = log
  const [{ position, lagRecords, state } = expect.fail('no cursor')] = await log.cursors()
  await log.close()
  expect(nextSeq).toBeGreaterThan(acknowledged)
  expect([seen, position, lagRecords, state]).toEqual([nextSeq - 1, nextSeq, 0, 'ready'])
  console.log(`cursor kills: ${kills}, records: ${nextSeq}, delivered again: ${again}`)
})
