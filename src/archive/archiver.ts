/** Copies a log to a bucket while the log is written. */
import { EventEmitter } from 'node:events'
import type { ReadableLog } from '../index.js'
import { Carrier } from '../ship/carrier.js'
import { Bucket } from './bucket.js'
import type { ResolvedArchiveOptions } from './options.js'
import type { ArchiveEvents, Archiver, ArchiveStats } from './types.js'
import { ArchiveWork } from './work.js'

export class LogArchiver extends EventEmitter<ArchiveEvents> implements Archiver {
  readonly #work: ArchiveWork
  readonly #carrier: Carrier

  constructor(log: ReadableLog, { bucket, carrier, flushMs, flushBytes }: ResolvedArchiveOptions) {
    super()
    const closing = new AbortController()
    this.#work = new ArchiveWork(new Bucket(bucket, closing.signal), log.dir, closing, {
      flushMs,
      flushBytes,
      onForked: (generation, from) => this.#announce('forked', generation, from),
    })
    this.#carrier = new Carrier(log, this.#work, carrier)
    this.#carrier.on('shipped', (seq) => this.#announce('archived', seq))
    this.#carrier.on('lagging', (lag) => this.#announce('lagging', lag))
    this.#carrier.on('retry', (retry) => this.#announce('retry', retry))
    this.#carrier.on('error', (error) => this.emit('error', error))
  }

  /** Emits in a microtask, so that an error of a listener is an uncaught exception and not taken for a failure of the store. */
  #announce<N extends keyof ArchiveEvents>(name: N, ...args: ArchiveEvents[N]): void {
    queueMicrotask(() => this.emit(name, ...(args as never)))
  }

  stats(): ArchiveStats {
    const { shippedSeq, state, lag, records, bytes, rate, retries, lastError } = this.#carrier.stats()
    const { objects } = this.#work
    return { archivedSeq: shippedSeq, state, lag, records, bytes, objects, rate, retries, lastError }
  }

  idle(): Promise<void> {
    return this.#carrier.idle()
  }

  close(): Promise<void> {
    return this.#carrier.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}
