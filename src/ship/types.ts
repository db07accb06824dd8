/** What a shipper is told, what it tells, and what a second engine would have to implement. */
import type { EventEmitter } from 'node:events'
import type { DurlogError } from '../errors.js'

/** A record on its way to the destination. */
export interface ShipRecord {
  readonly seq: number
  readonly data: Uint8Array
  readonly timestamp: number
  /** The first seq of a range whose records the log has lost; it ends right before `voidFrom`, or this record. */
  readonly gapFrom?: number
  /** The first seq of a range that never held a record, as its writer died; it ends right before this record. */
  readonly voidFrom?: number
}

/** The last record that the destination holds. */
export interface ShippedRecord {
  /** The log that it came from. */
  readonly uuid: string
  readonly seq: number
  readonly timestamp: number
  /** As `recordCrc` computes it. */
  readonly crc: number
  /** False if the destination holds only the first parts of it. */
  readonly whole: boolean
}

/**
 * One place of an engine that holds the records of one log, in order. A target that fails throws a DurlogError if another
 * try cannot help, a ShipConflict if something else was stored in between, and any other error if another try may help.
 */
export interface ShipTarget {
  /**
   * Asks the destination for its last record; undefined if there is none. Connects if need be, and makes the destination
   * if it is missing and `isFirst`, which says that nothing was ever shipped to it. Whatever is published afterwards
   * is stored directly after this record or not at all. Publishes that are pending have failed by then.
   */
  last(isFirst: boolean): Promise<ShippedRecord | undefined>
  /** Whether the destination drops old records by itself, so that an empty one has not lost any. Known after `last`. */
  readonly dropsOld: boolean
  /** How many records `publish` takes now; 0 until an earlier one settles. */
  readonly room: number
  /**
   * Stores records directly after those that were published before, or after the last one. Resolves to nothing once all of
   * them are stored as safely as the destination stores anything. If it rejects, those published later reject too.
   */
  publish(records: readonly ShipRecord[], from: ShipOrigin): Promise<void>
  /** How it ships at this moment, for people. */
  readonly mode: string
  /** Connections made after the first one. */
  readonly reconnects: number
  close(): Promise<void>
}

/** The log that records come from. */
export interface ShipOrigin {
  readonly uuid: string
  /** How often the log had been cut. */
  readonly generation: number
}

/** What becomes of records that the destination has acknowledged. Records are removed in whole segments. */
export interface KeepAfterAck {
  /** Those older than this may go. */
  maxAgeMs?: number | undefined
  /** The oldest may go while the log takes more than this. */
  maxBytes?: number | undefined
}

/** The part of the options that does not depend on the engine. */
export interface ShipperOptions {
  /** The name of the log's cursor that holds how far it is; one for each destination. Default `ship`. */
  cursor?: string | undefined
  /** Records on their way at most, 1 to 65,536; default 2000. */
  maxInFlight?: number | undefined
  /** Bytes of payload on their way at most, unless one record is longer; default 8 MiB. */
  maxInFlightBytes?: number | undefined
  /** Give up with ERR_DURLOG_DESTINATION_UNREACHABLE after so many milliseconds of failures in a row. Default: never. */
  retryForMs?: number | undefined
  /** Emit `lagging` when the oldest record that is not shipped has waited this long; default 10 s. */
  laggingMs?: number | undefined
  /**
   * If records were trimmed before they could be shipped: `stop` (default) with ERR_DURLOG_DESTINATION_GAP, or `skip` them; the
   * record after them says so in the destination.
   */
  onGap?: 'stop' | 'skip' | undefined
  /** Trim the log behind what is acknowledged. Only on a log that is open for writing. Default: never. */
  keepAfterAck?: KeepAfterAck | undefined
  /** Closes the shipper. */
  signal?: AbortSignal | undefined
}

export interface ShipLag {
  /** Synced records that are not acknowledged by the destination. */
  records: number
  /** What their frames take in the log. */
  bytes: number
  /** From the oldest of them until now. */
  ms: number
}

export interface ShipStats {
  /** `connecting` until the destination has answered, `waiting` before the next try, `stopped` by an error or `close`. */
  state: 'connecting' | 'shipping' | 'waiting' | 'stopped'
  /** How records are published, in the engine's words. */
  mode: string
  /** The last seq that the destination acknowledged; -1 if none is known. */
  shippedSeq: number
  lag: ShipLag
  /** Records and bytes that were acknowledged since the shipper was made. */
  records: number
  bytes: number
  /** Records acknowledged a second, over the last seconds. */
  rate: number
  inFlight: number
  reconnects: number
  retries: number
  /** The newest failure, also one that was retried. */
  lastError: Error | undefined
}

export interface ShipRetry {
  error: Error
  /** How many tries have failed in a row. */
  attempt: number
  pauseMs: number
}

export type ShipEvents = {
  /** Every record up to `seq` is acknowledged. */
  shipped: [seq: number]
  /** The oldest record that is not shipped has waited longer than `laggingMs`. Once, until the shipper has caught up. */
  lagging: [lag: ShipLag]
  retry: [retry: ShipRetry]
  /** Records `first` to `last` were trimmed before they were shipped; only with `onGap: 'skip'`. */
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
  /** Waits a moment for what is on its way, and closes the cursor and the connection, not the log. */
  close(): Promise<void>
}
