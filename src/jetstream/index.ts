/** durlog/jetstream: ships every record of a log to a stream of NATS JetStream, exactly once and in order. */
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
 * Ships every synced record of `log` to a subject of a stream until the shipper is closed. `log` may be open for writing, or
 * read-only while another process writes it. Throws ERR_DURLOG_INVALID_ARGUMENT. Reports other failures by the events `error` and
 * `retry`.
 */
export function ship(log: ReadableLog, options: ShipOptions): Shipper {
  const resolved = resolveShipOptions(log, options)
  return new LogShipper(log, new JetStreamTarget(resolved), resolved.shipper)
}
