/** durlog/jetstream: ships every record of a log to a stream of NATS JetStream, exactly once and in order. */
import type { ReadableLog, ReplicateTo } from '../index.js'
import type { ReplicationDestination } from '../options/replication-link.js'
import { Lease } from '../ship/lease.js'
import { checkLog, resolveReplicate } from '../ship/options.js'
import { LogShipper } from '../ship/shipper.js'
import type { Shipper } from '../ship/types.js'
import { NatsLease } from './nats-lease.js'
import { resolveShipOptions } from './options.js'
import { JetStreamTarget } from './target.js'
import type { ReplicateJetStreamOptions, ShipOptions } from './types.js'

export type { KeptRecords, KeptStream, RejoinReport } from '../ship/rejoin.js'
export type {
  KeepAfterAck,
  ShipEvents,
  ShipLag,
  Shipper,
  ShipperOptions,
  ShipRetry,
  ShipStats,
} from '../ship/types.js'
export { rejoin } from './rejoin.js'
export { restore, standBy, takeOver } from './restore.js'
export type {
  JetStreamPlace,
  NatsAccess,
  NatsTls,
  RejoinOptions,
  ReplicateJetStreamOptions,
  RestoreOptions,
  RestoreReport,
  ShipOptions,
  StandByOptions,
  TakeOverOptions,
  TakeOverReport,
} from './types.js'

/**
 * Ships every synced record of `log` to a subject of a stream until the shipper is closed. `log` may be open for
 * writing, or read-only while another process writes it. Throws ERR_DURLOG_INVALID_ARGUMENT. Reports other failures by
 * the events `error` and `retry`.
 */
export function ship(log: ReadableLog, options: ShipOptions): Shipper {
  checkLog(log)
  const resolved = resolveShipOptions(log, options)
  return new LogShipper(log, new JetStreamTarget(resolved), resolved.shipper)
}

/**
 * A destination for the option `replicate` of `open`: a subject of a stream. Every synced record is shipped. Throws
 * ERR_DURLOG_INVALID_ARGUMENT.
 */
export function jetstream(options: ReplicateJetStreamOptions): ReplicateTo {
  const { keepsLocal, leaseMs, rest } = resolveReplicate('jetstream', options)
  const resolved = resolveShipOptions(undefined, rest)
  const to: ReplicationDestination = {
    keepsLocal,
    start: (log, listener) => {
      const lease = leaseMs === undefined ? undefined : new Lease(new NatsLease(resolved), log.dir, leaseMs)
      return new LogShipper(log, new JetStreamTarget(resolved, true), resolved.shipper, listener, lease)
    },
  }
  return to
}
