/** Copies a log to a bucket while the log is written. */
import { EventEmitter } from 'node:events'
import type { LeaseView, ReadableLog, WaitOptions } from '../index.js'
import type { ReplicationLink, ReplicationListener } from '../options/replication-link.js'
import { Lease } from '../ship/lease.js'
import { Replicator } from '../ship/replicator.js'
import { queueMicrotask } from '../timers.js'
import { ArchiveDestination } from './archive-destination.js'
import { Bucket } from './bucket.js'
import { BucketLease } from './bucket-lease.js'
import type { ResolvedArchiveOptions } from './options.js'
import type { ArchiveEvents, Archiver, ArchiveStats } from './types.js'

export class LogArchiver extends EventEmitter<ArchiveEvents> implements Archiver, ReplicationLink {
  readonly #destination: ArchiveDestination
  readonly #replicator: Replicator

  /**
   * With `listener`, the archiver serves the option `replicate` of `log`, and emits no events; with `leaseMs`, it also
   * holds a lease of this duration.
   */
  constructor(
    log: ReadableLog,
    { bucket, replicator, ...options }: ResolvedArchiveOptions,
    listener?: ReplicationListener,
    leaseMs?: number,
  ) {
    super()
    const closing = new AbortController()
    this.#destination = new ArchiveDestination(new Bucket(bucket, closing.signal), log.dir, closing, {
      ...options,
      replicates: listener !== undefined,
      onForked: (generation, from) => queueMicrotask(() => this.emit('forked', generation, from)),
    })
    const lease = leaseMs === undefined ? undefined : new Lease(new BucketLease(bucket, log.uuid), log.dir, leaseMs)
    this.#replicator = new Replicator(log, this.#destination, replicator, listener, lease)
    this.#replicator.on('shipped', (seq) => this.emit('archived', seq))
    this.#replicator.on('lagging', (lag) => this.emit('lagging', lag))
    this.#replicator.on('retry', (retry) => this.emit('retry', retry))
    this.#replicator.on('error', (error) => this.emit('error', error))
  }

  begin(): void {
    this.#replicator.begin()
  }

  stats(): ArchiveStats {
    const { shippedSeq, state, lag, records, bytes, rate, retries, lastError } = this.#replicator.stats()
    const { objects } = this.#destination
    return { archivedSeq: shippedSeq, state, lag, records, bytes, objects, rate, retries, lastError }
  }

  get lease(): LeaseView | undefined {
    return this.#replicator.lease
  }

  flush(): void {
    this.#replicator.flush()
  }

  idle(options?: WaitOptions): Promise<void> {
    return this.#replicator.idle(options)
  }

  close(): Promise<void> {
    return this.#replicator.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}
