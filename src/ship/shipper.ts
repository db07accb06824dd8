/** Ships a log to a ShipTarget, record by record. */
import type { ReadableLog } from '../index.js'
import { Carrier } from './carrier.js'
import type { ResolvedShipperOptions } from './options.js'
import { RecordWork } from './record-work.js'
import type { ShipTarget } from './types.js'

export class LogShipper extends Carrier {
  constructor(log: ReadableLog, target: ShipTarget, options: ResolvedShipperOptions) {
    super(log, new RecordWork(log, target, options), options)
  }
}
