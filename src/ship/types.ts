/** The options, results and events of a shipper, and the interface of an engine that it ships to. */
import type { EventEmitter } from 'node:events'
import type { DurlogError } from '../errors.js'
import type { ByteSize, Duration } from '../types.js'

/** A record that is shipped. */
export interface ShipRecord {
  readonly seq: number
  readonly data: Uint8Array
  readonly timestamp: number
  /** The first seq of a range whose records the log has lost; it ends directly before `voidFrom`, or this record. */
  readonly gapFrom?: number
  /** The first seq of a range that never held a record, because its writer died; it ends directly before this record. */
  readonly voidFrom?: number
}

/** The last record that the destination holds. */
export interface ShippedRecord {
  /** The log that it came from. */
  readonly uuid: string
  readonly seq: number
  readonly timestamp: number
  /** See `recordCrc`. */
  readonly crc: number
  /** False if the destination holds only the first parts of it. */
  readonly whole: boolean
}

/**
 * A place in an engine that holds the records of one log, in order. Its methods throw a DurlogError if another try cannot
 * help, a ShipConflict if another message was stored in between, and any other error if another try may help.
 */
export interface ShipTarget {
  /**
   * Asks the destination for its last record; undefined if there is none. Connects if there is no connection. Creates
   * the destination if it is missing and `isFirst`, which means that nothing was ever shipped to it. Records that are
   * published afterwards are stored directly after this one or not at all. Earlier publishes have failed by then.
   */
  last(isFirst: boolean): Promise<ShippedRecord | undefined>
  /** Whether the destination drops old records by itself, so that an empty one has not lost any. Known after `last`. */
  readonly dropsOld: boolean
  /** How many records `publish` takes now; 0 until an earlier one settles. */
  readonly room: number
  /**
   * Stores records directly after the previously published ones, or after the last one. Resolves after all of them are
   * stored as safely as the destination can. If it rejects, later publishes reject too.
   */
  publish(records: readonly ShipRecord[], from: ShipOrigin): Promise<void>
  /** The present way of publishing, for people. */
  readonly mode: string
  /** Connections made after the first one. */
  readonly reconnects: number
  close(): Promise<void>
}

/** The log that records come from. */
export interface ShipOrigin {
  readonly uuid: string
  /** The number of cuts of the log. */
  readonly generation: number
}

/** Which acknowledged records are removed from the log. Records are removed in whole segments. */
export interface KeepAfterAck {
  /** Remove records that are older than this. */
  maxAgeMs?: Duration | undefined
  /** Remove the oldest records while the log is larger than this. */
  maxBytes?: ByteSize | undefined
}

/** The part of the options that does not depend on the engine. */
export interface ShipperOptions {
  /** The name of the log's cursor that holds the position; one for each destination. Default `ship`. */
  cursor?: string | undefined
  /** The most records that may wait for an acknowledgement, 1 to 65,536; default 2000. */
  maxInFlight?: number | undefined
  /** The most bytes of their payloads, unless one record is longer; default 8 MiB. */
  maxInFlightBytes?: ByteSize | undefined
  /** Give up with ERR_DURLOG_DESTINATION_UNREACHABLE after this many milliseconds of failures in a row. Default: never. */
  retryForMs?: Duration | undefined
  /** Emit `lagging` when the oldest record that is not shipped has waited this long; default 10 s. */
  laggingMs?: Duration | undefined
  /**
   * Continue after records that neither the log nor the destination holds; the next record names the gap in the destination.
   * Default false: stop with ERR_DURLOG_DESTINATION_GAP.
   */
  skipGaps?: boolean | undefined
  /** Trim acknowledged records. Only on a log that is open for writing. Default: never. */
  keepAfterAck?: KeepAfterAck | undefined
  /** Closes the shipper. */
  signal?: AbortSignal | undefined
}

export interface ShipLag {
  /** Synced records that are not acknowledged by the destination. */
  records: number
  /** The length of their frames in the log. */
  bytes: number
  /** The age of the oldest of them. */
  ms: number
}

export interface ShipStats {
  /** `connecting` until the destination has answered, `waiting` before the next try, `stopped` by an error or `close`. */
  state: 'connecting' | 'shipping' | 'waiting' | 'stopped'
  /** How records are published, in the words of the engine. */
  mode: string
  /** The last seq that the destination acknowledged; -1 if none is known. */
  shippedSeq: number
  lag: ShipLag
  /** Records and bytes that were acknowledged since the shipper was created. */
  records: number
  bytes: number
  /** Acknowledged records per second, over the last seconds. */
  rate: number
  inFlight: number
  reconnects: number
  retries: number
  /** The newest failure, also one that was retried. */
  lastError: Error | undefined
}

export interface ShipRetry {
  error: Error
  /** The number of failed tries in a row. */
  attempt: number
  pauseMs: number
}

export type ShipEvents = {
  /** Every record up to `seq` is acknowledged. */
  shipped: [seq: number]
  /** The oldest record that is not shipped has waited longer than `laggingMs`. Emitted once, until the shipper has caught up. */
  lagging: [lag: ShipLag]
  retry: [retry: ShipRetry]
  /** Neither the log nor the destination holds records `first` to `last`; only with `skipGaps`. */
  gap: [first: number, last: number]
  /** The shipper has stopped. Without a listener it is an uncaught exception. */
  error: [error: DurlogError]
}

export interface Shipper extends EventEmitter<ShipEvents>, AsyncDisposable {
  stats(): ShipStats
  /**
   * Settles once every record that the log held at the call is synced and acknowledged. Rejects with the error that stops the
   * shipper, or ERR_DURLOG_CLOSED.
   */
  idle(): Promise<void>
  /** Waits briefly for acknowledgements, and closes the cursor and the connection, not the log. */
  close(): Promise<void>
}
