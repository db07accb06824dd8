/** durlog/jetstream: every record of a log, exactly once and in order, in a stream of NATS JetStream. */
import type { ReadableLog } from '../index.js'
import { LogShipper } from '../ship/shipper.js'
import type { Shipper } from '../ship/types.js'
import { resolveShipOptions } from './options.js'
import { JetStreamTarget } from './target.js'
import type { ShipOptions } from './types.js'

export type {
  KeepAfterAck,
  ShipEvents,
  ShipLag,
  Shipper,
  ShipperOptions,
  ShipRetry,
  ShipStats,
} from '../ship/types.js'
export { restore } from './restore.js'
export type { JetStreamPlace, NatsAccess, NatsTls, RestoreOptions, RestoreReport, ShipOptions } from './types.js'

/**
 * Ships every record of `log` to a subject of a stream, from now on until it is closed. `log` may be open for writing or read-only
 * beside its writer. Throws ERR_DURLOG_INVALID_ARGUMENT; whatever else goes wrong is the event `error`, or `retry`.
 */
export function ship(log: ReadableLog, options: ShipOptions): Shipper {
  const resolved = resolveShipOptions(log, options)
  return new LogShipper(log, new JetStreamTarget(resolved), resolved.shipper)
}
