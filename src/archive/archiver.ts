/** Copies a log to a bucket while the log is written. */
import { EventEmitter } from 'node:events'
import type { ReadableLog } from '../index.js'
import { Replicator } from '../ship/replicator.js'
import { ArchiveDestination } from './archive-destination.js'
import { Bucket } from './bucket.js'
import type { ResolvedArchiveOptions } from './options.js'
import type { ArchiveEvents, Archiver, ArchiveStats } from './types.js'

export class LogArchiver extends EventEmitter<ArchiveEvents> implements Archiver {
  readonly #destination: ArchiveDestination
  readonly #replicator: Replicator

  constructor(log: ReadableLog, { bucket, replicator, ...options }: ResolvedArchiveOptions) {
    super()
    const closing = new AbortController()
    this.#destination = new ArchiveDestination(new Bucket(bucket, closing.signal), log.dir, closing, {
      ...options,
      onForked: (generation, from) => this.#announce('forked', generation, from),
    })
    this.#replicator = new Replicator(log, this.#destination, replicator)
    this.#replicator.on('shipped', (seq) => this.#announce('archived', seq))
    this.#replicator.on('lagging', (lag) => this.#announce('lagging', lag))
    this.#replicator.on('retry', (retry) => this.#announce('retry', retry))
    this.#replicator.on('error', (error) => this.emit('error', error))
  }

  /** Emits in a microtask, so that an error of a listener is an uncaught exception and not taken for a failure of the store. */
  #announce<N extends keyof ArchiveEvents>(name: N, ...args: ArchiveEvents[N]): void {
    queueMicrotask(() => this.emit(name, ...(args as never)))
  }

  stats(): ArchiveStats {
    const { shippedSeq, state, lag, records, bytes, rate, retries, lastError } = this.#replicator.stats()
    const { objects } = this.#destination
    return { archivedSeq: shippedSeq, state, lag, records, bytes, objects, rate, retries, lastError }
  }

  idle(): Promise<void> {
    return this.#replicator.idle()
  }

  close(): Promise<void> {
    return this.#replicator.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}
