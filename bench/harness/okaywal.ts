/** OkayWAL, a write-ahead log in Rust, in a separate process: bench/peers/okaywal, which `npm run bench:vs` builds. */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { PACKAGE_ROOT } from './package-root.js'
import type { CallResult } from './rounds.js'
import { whenEnding } from './scratch.js'

const PROGRAM = join(PACKAGE_ROOT, 'bench/peers/cargo/bin/okaywal-commits')

export class OkayWal {
  static readonly isInstalled: boolean = existsSync(PROGRAM)

  readonly #process: ChildProcessByStdio<Writable, Readable, null>
  readonly #answers: AsyncIterator<string>
  readonly #forget: () => void

  /** Opens a log in `folder` for entries of `bytes`. */
  constructor(folder: string, bytes: number) {
    const running = spawn(PROGRAM, [folder, String(bytes)], { stdio: ['pipe', 'pipe', 'inherit'] })
    running.stdin.on('error', () => {}) // commit() finds that the process has ended
    this.#process = running
    this.#answers = createInterface({ input: running.stdout })[Symbol.asyncIterator]()
    this.#forget = whenEnding(() => running.kill('SIGKILL'))
  }

  /** Commits entries in `appenders` threads for `millis`. */
  async commit(appenders: number, millis: number): Promise<CallResult> {
    this.#process.stdin.write(`${appenders} ${millis}\n`)
    const { value, done } = await this.#answers.next()
    if (done) throw new Error(`${PROGRAM} has ended: it wrote the reason above`)
    const [elapsedUs, ...nanos] = (value as string).split(' ').map(Number)
    const latencies = Float64Array.from(nanos, (time) => time / 1000)
    return { operations: latencies.length, elapsedUs: elapsedUs as number, latencies }
  }

  async close(): Promise<void> {
    this.#process.stdin.end()
    if (this.#process.exitCode === null) await once(this.#process, 'exit')
    this.#forget()
  }
}
