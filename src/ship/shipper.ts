/** Ships a log to a ShipTarget, record by record. */
import type { ReadableLog } from '../index.js'
import type { ReplicationListener } from '../options/replication-link.js'
import type { Lease } from './lease.js'
import type { ResolvedShipperOptions } from './options.js'
import { RecordDestination } from './record-destination.js'
import { Replicator } from './replicator.js'
import type { ShipTarget } from './types.js'

export class LogShipper extends Replicator {
  constructor(
    log: ReadableLog,
    target: ShipTarget,
    options: ResolvedShipperOptions,
    listener?: ReplicationListener,
    lease?: Lease,
  ) {
    super(log, new RecordDestination(log, target, options, listener !== undefined), options, listener, lease)
  }
}
