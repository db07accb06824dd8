/** The part of carrying a log to a destination that depends on the kind of the destination. */
import type { DurableCursor, ReadableLog } from '../index.js'

/** Of one session. */
export interface WorkSession {
  readonly log: ReadableLog
  readonly cursor: DurableCursor
  /** Nothing was ever carried to the destination. */
  readonly isFirst: boolean
  /** Aborts when the carrier closes. */
  readonly signal: AbortSignal
  /** The destination has answered: it holds every record up to `seq` that it will ever hold. */
  onStart(seq: number): void
  /** `records` more records, up to `seq`, are acknowledged. They count as in flight until the call returns. */
  onCarried(seq: number, records: number, bytes: number): void
  /** Neither the log nor the destination holds the records `first` to `last`; they are skipped. */
  onGap(first: number, last: number): void
}

/**
 * Carries records. Its methods throw a DurlogError if another session cannot help, a ShipConflict if another process has
 * written to the destination, and any other error if another session may help.
 */
export interface Work {
  /** Runs until the first failure, or until `end`; either way nothing is in flight then. */
  run(session: WorkSession): Promise<void>
  /** The carrier has caught `error`, and may start another session. */
  failed(error: Error): void
  /** Carries what waits now, instead of collecting more. */
  flush(): void
  /** Ends the session: starts nothing more, and waits up to `waitMs` for acknowledgements. */
  end(waitMs: number): Promise<void>
  close(): Promise<void>
  /** Whether the acknowledged seqs are those of the log as it is: false after a cut that the next session will find. */
  readonly isCurrent: boolean
  /** Records that wait for an acknowledgement. */
  readonly inFlight: number
  /** How records are stored, in the words of the destination. */
  readonly mode: string
  /** Connections made after the first one. */
  readonly reconnects: number
}
