/** The part of the replication of a log that depends on the kind of the destination. */
import type { DurableCursor, ReadableLog } from '../index.js'

/** The arguments of one session, and the functions that it calls. */
export interface ReplicationSession {
  readonly log: ReadableLog
  readonly cursor: DurableCursor
  /** Whether nothing was ever copied to the destination. */
  readonly isFirst: boolean
  /** Aborts when the replicator closes. */
  readonly signal: AbortSignal
  /** The destination has responded. Of the records up to `seq`, it holds all that it will ever hold. */
  onStart(seq: number): void
  /** `records` more records, up to `seq`, were acknowledged. `inFlight` includes them until the call returns. */
  onReplicated(seq: number, records: number, bytes: number): void
  /** `isCurrent` may have become true. */
  onConfirmed(): void
  /** Neither the log nor the destination holds the records `first` to `last`; they are skipped. */
  onGap(first: number, last: number): void
}

/**
 * Copies records to one kind of destination. Its methods throw a DurlogError if the failure is final, a ShipConflict if
 * another process has written to the destination, and any other error if another session may succeed.
 */
export interface Destination {
  /** Runs a session until its first failure, or until `end`. When it settles, nothing is in flight. */
  run(session: ReplicationSession): Promise<void>
  /** A session failed with `error`. Another session may follow. */
  failed(error: Error): void
  /** Sends the waiting records at once, instead of collecting more. */
  send(): void
  /** As `send`. After that, `isCurrent` is false until the destination has confirmed it. */
  flush(): void
  /** As `checkTrim` of a ShipTarget. */
  checkTrim?(): Promise<void>
  /** Finds out whether another copy has taken over, although nothing waits to be sent. */
  check(): void
  /** Ends the session: starts no more requests, and waits up to `waitMs` for acknowledgements. */
  end(waitMs: number): Promise<void>
  close(): Promise<void>
  /**
   * Whether a restore would deliver the acknowledged records now. False after a cut of the log, which the next session
   * will find, and after `flush` until the destination has confirmed it.
   */
  readonly isCurrent: boolean
  /** Whether the log was not cut after the session began. */
  readonly isUncut: boolean
  /** The destination will read the records from this seq on again, although it may have acknowledged them. */
  readonly neededFrom: number
  /** The number of records that wait for an acknowledgement. */
  readonly inFlight: number
  /** The current way of storing records, as text for people. */
  readonly mode: string
  /** The number of connections after the first one. */
  readonly reconnects: number
}
