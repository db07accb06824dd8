// A producer whose log removes old records by itself, and a consumer in another process, either of which is killed at
// random.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { open } from '../../dist/index.js'
import { randomFrom } from '../crash/payload.mjs'
import { MAX_BYTES, SEGMENT_BYTES } from './order.mjs'

/** A process says this much before it is killed, at most. */
const MAX_LINES = 120
const LOOK_EVERY_MS = 2

/** The bytes of the log in `dir`: its segments and the files that will become segments. */
function bytesIn(dir) {
  let bytes = 0
  for (const name of readdirSync(dir)) {
    if (name.endsWith('.seg') || name.startsWith('spare-'))
      bytes += statSync(join(dir, name), { throwIfNoEntry: false })?.size ?? 0
  }
  return bytes
}

/** One process after the other, each killed when it has said as much as wanted. */
class Victim {
  #script
  #onLine
  #dir
  #run

  constructor(script, dir, onLine) {
    this.#script = fileURLToPath(new URL(script, import.meta.url))
    this.#dir = dir
    this.#onLine = onLine
  }

  start() {
    const child = spawn(process.execPath, [this.#script, this.#dir], { stdio: ['pipe', 'pipe', 'inherit'] })
    const run = {
      child,
      lines: 0,
      wanted: Number.POSITIVE_INFINITY,
      wake: () => {},
      early: undefined,
      ended: undefined,
    }
    const lines = createInterface({ input: child.stdout })
    lines.on('line', (line) => {
      this.#onLine(line)
      if (++run.lines >= run.wanted) run.wake()
    })
    run.ended = Promise.all([once(child, 'exit'), once(lines, 'close')]).then(([[code, signal]]) => {
      run.early = code ?? signal
      run.wake()
    })
    this.#run = run
  }

  /** Settles when the process has said `lines` lines, or has ended. */
  said(lines) {
    const run = this.#run
    return new Promise((resolve) => {
      run.wanted = lines
      run.wake = resolve
      if (run.lines >= lines || run.early !== undefined) resolve()
    })
  }

  /** Whether it was still alive. */
  async kill() {
    const { child, early, ended } = this.#run
    child.kill('SIGKILL')
    await ended
    return early === undefined
  }

  async end() {
    this.#run.child.stdin.end()
    await this.#run.ended
    return this.#run.early
  }
}

/** Kills one of the two processes `kills` times. Violations are in `problems`. */
export async function runOutbox({ dir, kills, seed }) {
  const random = randomFrom(seed)
  const problems = []
  const told = { acknowledged: -1, seen: -1, next: 0, synced: -1, again: 0, mostBytes: 0, firstSeq: 0 }
  // Made before there is anything to read: retention keeps nothing for a cursor that does not exist.
  const first = await open(dir, { segmentBytes: SEGMENT_BYTES })
  await (await first.cursor('mailer')).close()
  await first.close()

  const producer = new Victim('producer.mjs', dir, (line) => {
    if (line.startsWith('o')) problems.push(`an overrun: ${line.slice(1)}`)
    else told.acknowledged = Math.max(told.acknowledged, Number(line.slice(1)))
  })
  const consumer = new Victim('consumer.mjs', dir, (line) => {
    const seq = Number(line.slice(1))
    if (line.startsWith('f')) {
      if (seq > told.seen + 1) problems.push(`the consumer begins at ${seq} and has seen up to ${told.seen}`)
      if (seq <= told.synced) problems.push(`the consumer begins at ${seq} behind a commit of ${told.synced} at sync`)
      told.next = seq
    } else if (line.startsWith('c')) {
      told.synced = Math.max(told.synced, seq)
    } else {
      if (seq !== told.next) problems.push(`record ${seq} came where ${told.next} was next`)
      if (seq <= told.seen) told.again++
      told.next = seq + 1
      told.seen = Math.max(told.seen, seq)
    }
  })
  const looking = setInterval(() => {
    told.mostBytes = Math.max(told.mostBytes, bytesIn(dir))
  }, LOOK_EVERY_MS)
  try {
    producer.start()
    consumer.start()
    for (let kill = 0; kill < kills && problems.length === 0; kill++) {
      const victim = random() < 0.5 ? producer : consumer
      await victim.said(Math.floor(random() * MAX_LINES))
      if (!(await victim.kill())) problems.push(`a process ended by itself before kill ${kill + 1}`)
      victim.start()
    }
    await producer.said(1)
    const codes = [await producer.end(), await consumer.end()]
    if (codes.some((code) => code !== 0)) problems.push(`the last ones ended with ${codes.join(' and ')}`)
  } finally {
    clearInterval(looking)
  }
  const log = await open(dir, { readOnly: true })
  told.firstSeq = log.firstSeq
  if (told.seen !== log.nextSeq - 1) problems.push(`seen up to ${told.seen} of ${log.nextSeq} records`)
  if (told.seen < told.acknowledged) problems.push(`acknowledged up to ${told.acknowledged}, seen up to ${told.seen}`)
  await log.close()
  if (told.mostBytes > MAX_BYTES) problems.push(`the log took ${told.mostBytes} bytes, its bound is ${MAX_BYTES}`)
  return { problems, ...told, maxBytes: MAX_BYTES }
}
