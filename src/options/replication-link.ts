/** The interface between a log and the destination of its option `replicate`. */
import type { DurlogError } from '../errors.js'
import type { LeaseView, Log, ReplicateTo, ReplicationStats } from '../types.js'

/** The reports of a destination to the log that it replicates. */
export interface ReplicationListener {
  /** The destination has acknowledged every record up to `seq`. */
  onReplicated(seq: number): void
  /** An attempt has failed, and another one follows. */
  onRetry(error: Error): void
  /** Replication has stopped because of `error`. */
  onFailed(error: DurlogError): void
}

/** The running replication of a log. */
export interface ReplicationLink {
  /** Begins to copy the records. Until then, only the lease is renewed: an open may take longer than it lasts. */
  begin(): void
  /** Sends the synced records at once: an append waits for them. */
  flush(): void
  /** Undefined if none is held or wanted. */
  readonly lease?: LeaseView | undefined
  stats(): Pick<ReplicationStats, 'state' | 'lag' | 'retries' | 'lastError'>
  /** Sends nothing more after at most 2 s. */
  close(): Promise<void>
}

export interface ReplicationDestination extends ReplicateTo {
  /** Prepares to copy the records of `log`. `open` calls it once. */
  start(log: Log, listener: ReplicationListener): ReplicationLink
}
