/** Copies a log to a bucket while it is written. */
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
      onForked: (generation, from) => void this.emit('forked', generation, from),
    })
    this.#carrier = new Carrier(log, this.#work, carrier)
    this.#carrier.on('shipped', (seq) => this.emit('archived', seq))
    this.#carrier.on('lagging', (lag) => this.emit('lagging', lag))
    this.#carrier.on('retry', (retry) => this.emit('retry', retry))
    this.#carrier.on('error', (error) => this.emit('error', error))
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
