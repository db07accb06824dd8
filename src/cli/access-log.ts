/** The access log of `durlog serve`: a line of JSON on stdout for each request. */
import { setTimeout as pause } from 'node:timers/promises'
import type { RequestReport } from '../http/index.js'
import { loadOptional } from '../support/optional-package.js'

/** Further lines are lost while this many bytes wait for the reader of stdout. */
const MAX_WAITING_BYTES = 1 << 20
/** The time at the end of the server for the reader of stdout to read the last lines. */
const END_MS = 1000
/** Between two messages about lost lines. */
const QUIET_MS = 60_000

/** A reader that is too slow, and a full disk, lose lines. They delay no request, and do not end the server. */
export class AccessLog {
  readonly #logger: { info(report: RequestReport, message: string): void }
  readonly #say: (line: string) => void
  #saidMs = Number.NEGATIVE_INFINITY

  /** Rejects with ERR_DURLOG_UNSUPPORTED if pino is not installed. `say` gets messages about lost lines. */
  static async start(say: (line: string) => void): Promise<AccessLog> {
    const { pino } = await loadOptional('--access-log needs the package pino', 'pino', () => import('pino'))
    return new AccessLog(pino, say)
  }

  private constructor(pino: typeof import('pino').pino, say: (line: string) => void) {
    this.#logger = pino({}, { write: (line) => this.#write(line) })
    this.#say = say
  }

  /** Logs the target unchanged, including secrets that a client puts into the query. */
  add(report: RequestReport): void {
    this.#logger.info({ ...report, durationMs: Math.round(report.durationMs * 1000) / 1000 }, 'request')
  }

  #write(line: string): void {
    if (process.stdout.writableLength > MAX_WAITING_BYTES) this.#lost('the reader of stdout is too slow')
    else process.stdout.write(line, (error) => error && this.#lost(error.message))
  }

  #lost(reason: string): void {
    const nowMs = performance.now()
    if (nowMs - this.#saidMs < QUIET_MS) return
    this.#saidMs = nowMs
    this.#say(`lines of the access log are lost: ${reason}`)
  }

  /** Waits a limited time for the reader. A write that waits longer would keep the process alive. */
  async end(): Promise<void> {
    const written = new Promise((resolve) => process.stdout.write('', resolve))
    await Promise.race([written, pause(END_MS, undefined, { ref: false })])
    if (process.stdout.writableLength > 0) process.exit()
  }
}
