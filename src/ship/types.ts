/** The options, results and events of a shipper, and the interface of its destination. */
import type { EventEmitter } from 'node:events'
import type { DurlogError } from '../errors.js'
import type { StreamEncoding } from '../streams/port/types.js'
import type { ByteSize, Duration, TimePoint, WaitOptions } from '../types.js'

/** A record to ship. */
export interface ShipRecord {
  readonly seq: number
  readonly data: Uint8Array
  readonly timestamp: number
  /** The first seq of a range of lost records. The range ends directly before `voidFrom`, or before this record. */
  readonly gapFrom?: number
  /**
   * The first seq of a range that never held a record, because its writer died. The range ends directly before this
   * record.
   */
  readonly voidFrom?: number
}

/** The last record that the destination holds. */
export interface ShippedRecord {
  /** The log to which the record belongs. */
  readonly uuid: string
  readonly seq: number
  readonly timestamp: number
  /** See `recordCrc`. */
  readonly crc: number
  /** False if the destination holds only the first parts of the record. */
  readonly whole: boolean
  /** The generation of the log that stored it; 0 if it is unknown. */
  readonly generation?: number
  /**
   * The id of the copy of the log that has claimed `generation` after the record; undefined if the record is the newest
   * message.
   */
  readonly claimedBy?: string | undefined
}

/**
 * A destination that holds the records of one log, in order. Its methods throw a DurlogError if the failure is final, a
 * ShipConflict if something else was stored in between, and any other error if another attempt may succeed.
 */
export interface ShipTarget {
  /**
   * Reads the destination's last record; undefined if there is none. Connects if there is no connection. If the
   * destination is missing and `isFirst` (nothing was ever shipped to it), creates it. Records that are published
   * afterwards are stored directly after this record or not at all. When this resolves, earlier publishes that were
   * pending have failed.
   */
  last(isFirst: boolean): Promise<ShippedRecord | undefined>
  /**
   * Whether the destination drops old records by itself, so that it may be empty without having lost any. Known after
   * `last`.
   */
  readonly dropsOld: boolean
  /** The number of records that `publish` accepts now. If it is 0, it changes when an earlier publish settles. */
  readonly room: number
  /**
   * Stores records directly after those of the previous call, or after the destination's last record. Resolves once the
   * destination has acknowledged all of them. If it rejects, later calls reject too.
   */
  publish(records: readonly ShipRecord[], from: ShipOrigin): Promise<void>
  /**
   * Throws if the destination, whose properties may have changed, no longer has to hold acknowledged records: they are
   * about to be trimmed.
   */
  checkTrim?(): Promise<void>
  /**
   * If the destination may have dropped the claim of a copy that has taken over: the highest generation that a copy has
   * announced before its claim. Called after `last`.
   */
  announced?(log: Pick<ShipOrigin, 'uuid'>): Promise<number | undefined>
  /** The current way of publishing, as text for people. */
  readonly mode: string
  /** The number of connections after the first one. */
  readonly reconnects: number
  close(): Promise<void>
}

/** The log to which shipped records belong. */
export interface ShipOrigin {
  readonly uuid: string
  /** The number of cuts of the log. */
  readonly generation: number
  /** The id of the copy of the log; undefined if no other copy may take over. */
  readonly copy?: string | undefined
  /** The encoding of the streams whose main log it is; undefined for any other log. */
  readonly streams?: StreamEncoding | undefined
}

/**
 * The limits beyond which acknowledged records are removed from the log, in whole segments. At least one of the two.
 */
export interface KeepAfterAck {
  /** Remove acknowledged records that are older than this, in milliseconds. */
  maxAgeMs?: Duration | undefined
  /** Remove the oldest acknowledged records while the log's segments take more than this, in bytes. */
  maxBytes?: ByteSize | undefined
}

/** The options that do not depend on the kind of destination. */
export interface ShipperOptions {
  /**
   * The name of the log's cursor that stores the shipper's position. Each destination needs a separate cursor. Default
   * `ship`.
   */
  cursor?: string | undefined
  /** The largest number of records that wait for an acknowledgement: 1 to 65,536. Default 2000. */
  maxInFlight?: number | undefined
  /**
   * The largest number of payload bytes that wait for an acknowledgement, unless a single record is longer. Default 8
   * MiB.
   */
  maxInFlightBytes?: ByteSize | undefined
  /**
   * Stop with ERR_DURLOG_DESTINATION_UNREACHABLE after this many milliseconds of consecutive failures. Default: never.
   */
  retryForMs?: Duration | undefined
  /** Emit `lagging` when the oldest record that is not shipped has waited this many milliseconds. Default 10 s. */
  laggingMs?: Duration | undefined
  /**
   * Continue after records that neither the log nor the destination holds. In the destination, the next record contains
   * the first lost seq. Default false: stop with ERR_DURLOG_DESTINATION_GAP.
   */
  skipGaps?: boolean | undefined
  /** Trims acknowledged records from the log, which must be open for writing. Default: keep all records. */
  keepAfterAck?: KeepAfterAck | undefined
  /** Aborting the signal closes the shipper. */
  signal?: AbortSignal | undefined
}

export interface ShipLag {
  /** The number of records that the destination has not acknowledged. */
  records: number
  /** The bytes of their frames in the log. */
  bytes: number
  /** The age of the oldest of these records, in milliseconds. */
  ms: number
}

export interface ShipStats {
  /**
   * `connecting` until the destination has responded, `waiting` before another attempt, `stopped` after an error or
   * `close`.
   */
  state: 'connecting' | 'shipping' | 'waiting' | 'stopped'
  /** The current way of publishing, as text for people. */
  mode: string
  /** The last seq that the destination acknowledged; -1 if none is known. */
  shippedSeq: number
  lag: ShipLag
  /** The records and the payload bytes that were acknowledged since the shipper was created. */
  records: number
  bytes: number
  /** Acknowledged records per second, over the last seconds. */
  rate: number
  inFlight: number
  reconnects: number
  retries: number
  /** The newest failure, even if it did not stop the shipper. */
  lastError: Error | undefined
}

export interface ShipRetry {
  error: Error
  /** The number of consecutive failures. */
  attempt: number
  pauseMs: number
}

/** The options that a restore has at every destination. */
export interface CommonRestoreOptions {
  /** End before the first record at or after this time: see `TimePoint`. */
  until?: TimePoint | undefined
  /** Continue until `signal` aborts: the folder is a replica that other processes can read. Default false. */
  follow?: boolean | undefined
  /**
   * Reject with ERR_DURLOG_DESTINATION_UNREACHABLE after this many milliseconds of consecutive failures. Default 5 min;
   * with `follow`, no limit once the folder is a replica.
   */
  retryForMs?: Duration | undefined
  /** With `follow`: called with the next seq each time that all records of the destination are restored. */
  onCaughtUp?: ((nextSeq: number) => void) | undefined
  /** Called after a failed attempt, before the next one. */
  onRetry?: ((retry: ShipRetry) => void) | undefined
  /** Aborting the signal ends the restore: with `follow` it resolves, otherwise it rejects with the signal's reason. */
  signal?: AbortSignal | undefined
}

export type ShipEvents = {
  /** Every record up to `seq` is acknowledged. */
  shipped: [seq: number]
  /**
   * The oldest record that is not shipped has waited longer than `laggingMs`. Emitted again only after all records were
   * shipped.
   */
  lagging: [lag: ShipLag]
  /** An attempt failed; another one follows after `pauseMs`. */
  retry: [retry: ShipRetry]
  /** Neither the log nor the destination holds records `first` to `last`. Emitted only with `skipGaps`. */
  gap: [first: number, last: number]
  /** The shipper has stopped because of `error`. Without a listener, the error is an uncaught exception. */
  error: [error: DurlogError]
}

export interface Shipper extends EventEmitter<ShipEvents>, AsyncDisposable {
  stats(): ShipStats
  /**
   * Resolves once every record that the log held at the time of the call is synced and acknowledged. Rejects with the
   * error that stops the shipper, or with ERR_DURLOG_CLOSED. `signal` ends only the wait.
   */
  idle(options?: WaitOptions): Promise<void>
  /**
   * Waits for acknowledgements for up to 2 s. Then closes the cursor and the shipper's own connection, but not the log.
   */
  close(): Promise<void>
}
