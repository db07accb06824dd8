/** Runs the owner in a thread of this process, so that a busy event loop of the caller delays no other process. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { DurlogError } from '../../errors.js'
import type { Durability } from '../../index.js'
import type { StreamsOptions } from '../types.js'
import { receivedError } from './messages.js'
import { type Owner, startOwner } from './owner.js'
import type { FromOwner, ToOwner } from './owner-worker.js'

// A bundle does not have the file.
const WORKER: string | undefined = typeof __dirname === 'string' ? join(__dirname, 'owner-worker.js') : undefined

export class OwnerHost {
  readonly #dir: string
  #options: StreamsOptions
  #worker: Worker | undefined
  /** Without a worker. */
  #owner: Owner | undefined
  #owns = false
  #answered: ((message: FromOwner) => void) | undefined

  constructor(dir: string, options: StreamsOptions) {
    this.#dir = dir
    this.#options = options
  }

  get owns(): boolean {
    return this.#owns
  }

  /** The level that the processes use: an owner of this process will use it, too. */
  set durability(durability: Durability) {
    this.#options = { ...this.#options, durability }
  }

  /** Starts the thread, so that it can take the folder at once. */
  prepare(): void {
    if (this.#worker !== undefined || WORKER === undefined || !existsSync(WORKER)) return
    const worker = new Worker(WORKER, { name: 'durlog-streams', execArgv: [], stdin: false })
    this.#worker = worker
    worker.unref()
    worker.on('message', (message: FromOwner) => this.#answered?.(message))
    const ended = (cause?: unknown): void => {
      this.#owns = false
      if (this.#worker === worker) this.#worker = undefined
      const error = new DurlogError('ERR_DURLOG_IO', `the thread that owns ${this.#dir} has ended`, { cause })
      this.#answered?.({ kind: 'failed', error: { code: error.code, message: error.message } })
    }
    worker.on('error', ended)
    worker.on('exit', () => ended())
  }

  /** Takes the folder. Rejects with ERR_DURLOG_LOCKED if another process has it, or as opening it does. */
  async own(): Promise<void> {
    this.prepare()
    if (this.#worker === undefined) this.#owner = await startOwner(this.#dir, this.#options)
    else await this.#ask({ kind: 'start', dir: this.#dir, options: this.#options })
    this.#owns = true
  }

  /** Closes the folder if this process has it, and ends the thread. */
  async close(client: string): Promise<void> {
    try {
      if (!this.#owns) return
      this.#owns = false
      if (this.#owner !== undefined) await this.#owner.close(client)
      else if (this.#worker !== undefined) await this.#ask({ kind: 'close', client })
    } finally {
      const worker = this.#worker
      this.#worker = undefined
      await worker?.terminate()
    }
  }

  async #ask(message: ToOwner): Promise<void> {
    const worker = this.#worker as Worker
    const answer = new Promise<FromOwner>((resolve) => {
      this.#answered = resolve
    })
    worker.ref()
    worker.postMessage(message)
    const answered = await answer
    worker.unref()
    if (answered.kind === 'failed') throw receivedError(answered.error)
  }
}
