/** A transport, which pino loads in a worker thread: `pino.transport({ target: 'durlog/pino', options })`. */
import { finished, Writable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import { type Durability, DurlogError, type Log } from '../index.js'
import { flushAtEnd } from './last-flush.js'
import { LineLog, withoutReturn } from './line-log.js'
import { openLog, type PinoLogOptions } from './options.js'

type Done = (error?: Error | null) => void

/** Opens the log in `options.dir` and resolves to a stream of lines. Rejects like `open`. */
export async function transport(options: PinoLogOptions): Promise<Writable> {
  const { log, durability } = await openLog(options)
  return new LineStream(log, durability)
}

/**
 * Stores each line as one record. The callback of a chunk is called once its lines are stored, so that the thread that
 * logs waits while the log has no room.
 */
export class LineStream extends Writable {
  readonly #log: Log
  readonly #lines: LineLog
  readonly #decoder = new StringDecoder('utf8')
  readonly #forget: () => void
  /** The beginning of a line whose end has not arrived yet. */
  #rest = ''

  constructor(log: Log, durability: Durability) {
    super({ decodeStrings: false })
    this.#log = log
    this.#lines = new LineLog(log, durability, (error) => this.destroy(error as Error))
    this.#forget = flushAtEnd(() => this.#log.flushSync(this.#lines.flushed))
  }

  /**
   * Calls `callback` once every line so far is synced. pino's `logger.flush(callback)` calls this method, also after
   * `end` if the process ends at that moment: the log is closed then, which syncs it.
   */
  flush(callback: Done): void {
    if (this.writableEnded || this.destroyed) {
      finished(this, { readable: false }, callback)
      return
    }
    this.write('', (error) => {
      if (error) callback(error)
      else this.#log.sync(this.#lines.flushed).then(() => callback(), callback)
    })
  }

  override _write(chunk: string | Buffer, _encoding: string, done: Done): void {
    const lines = (this.#rest + (typeof chunk === 'string' ? chunk : this.#decoder.write(chunk))).split('\n')
    this.#rest = lines.pop() as string
    this.#store(lines, 0, done)
  }

  override _final(done: Done): void {
    const close: Done = (error) => {
      if (error) done(error)
      else this.#log.close().then(() => done(), done)
    }
    this.#store([this.#rest], 0, close)
  }

  override _destroy(error: Error | null, done: Done): void {
    this.#forget()
    this.#log.close().then(
      () => done(error),
      (failure: Error) => done(error ?? failure),
    )
  }

  /** Stores the lines from `at` on. If there is no room, continues once there is. */
  #store(lines: readonly string[], at: number, done: Done): void {
    try {
      for (let i = at; i < lines.length; i++) {
        if (this.#put(lines[i] as string)) continue
        this.#log.drain().then(() => this.#store(lines, i, done), done)
        return
      }
    } catch (error) {
      done(error as Error)
      return
    }
    done()
  }

  /**
   * Stores a line. Returns false if there is no room. A line that is too long causes a warning: an error would end the
   * transport.
   */
  #put(line: string): boolean {
    try {
      return this.#lines.put(withoutReturn(line))
    } catch (error) {
      if (!(error instanceof DurlogError) || error.code !== 'ERR_DURLOG_RECORD_TOO_LARGE') throw error
      process.emitWarning(error)
      return true
    }
  }
}
