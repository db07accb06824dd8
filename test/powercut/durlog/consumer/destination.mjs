// Shipping to a destination that outlives the cut. Each stored record is noted before the shipper is notified.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { resolveShipperOptions } from '../../../../dist/ship/options.js'
import { LogShipper } from '../../../../dist/ship/shipper.js'
import { MemoryTarget } from '../../../fixtures/memory-target.mjs'
import { note } from '../notes.mjs'
import { SHIP_CURSOR } from './log.mjs'

/**
 * Starts a shipper to a destination that holds `stored`. `onStored` receives the shipped records; `onFailure` receives
 * the errors that stop the shipper or make it retry, neither of which a cut may cause.
 */
export function startShipping(log, stored, onStored, onFailure) {
  const target = new MemoryTarget(stored, (record) => {
    note(`d ${record.seq} ${crc32(record.data)}`)
    onStored(record)
  })
  const shipper = new LogShipper(log, target, resolveShipperOptions(log, { cursor: SHIP_CURSOR }))
  shipper.on('error', onFailure)
  shipper.on('retry', ({ error }) => onFailure(error))
  return shipper
}

/** The last record of the destination. It is kept between the lives of a workload, outside of the disk under trial. */
export class LastRecord {
  #file = join(tmpdir(), `destination-${process.ppid}.json`)

  get exists() {
    return existsSync(this.#file)
  }

  read() {
    const { data, ...record } = JSON.parse(readFileSync(this.#file, 'utf8'))
    return { ...record, data: Buffer.from(data, 'base64') }
  }

  write({ uuid, seq, timestamp, data }) {
    writeFileSync(this.#file, JSON.stringify({ uuid, seq, timestamp, data: data.toString('base64') }))
  }
}
